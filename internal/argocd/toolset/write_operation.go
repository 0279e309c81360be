package toolset

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/internal/argocd"
	"github.com/plimsoll/plimsoll/tools/mcp/builtin"
)

type terminateArgs struct {
	appArgs
	confirmation
}

func (t *Toolset) terminateTool() builtin.Tool {
	return writeTool(t, builtin.Tool{
		Name: "terminate_operation", Title: "End a running operation",
		Description: "Ends the sync or rollback that an application is in the middle of. What it has applied stays." + needsConfirmation,
		Hints:       builtin.Hints{Destructive: true, Idempotent: true, OpenWorld: true},
	}, func(in terminateArgs) string { return in.Name }, func(ctx context.Context, c *builtin.Call, client *argocd.Client, confirmed bool, in terminateArgs) (*builtin.Result, error) {
		app, _, err := readApplication(ctx, client, in.appArgs)
		if err != nil {
			return nil, err
		}
		sentence := "end the operation of " + in.Name
		if !confirmed {
			p := plan{Plan: sentence, Current: app.state()}
			if app.busy() == "" {
				p.Warnings = []string{"no operation is running: there is nothing to end"}
			}
			return planResult(c, client, in.Name, p)
		}
		if _, err := client.Call(ctx, http.MethodDelete, []string{"applications", in.Name, "operation"}, in.query(), nil); err != nil {
			return nil, err
		}
		return doneResult(client, changeResult{Done: sentence, Next: nextLook(in.Name)})
	})
}

type rollbackArgs struct {
	appArgs
	ID     *int64 `json:"id,omitempty" jsonschema:"id of the deployment to go back to, as get_application_history has it (a number, no revision); without it the plan lists those there are"`
	Prune  bool   `json:"prune,omitempty" jsonschema:"delete resources that the deployment did not have; default false"`
	DryRun bool   `json:"dry_run,omitempty" jsonschema:"the server tries it and applies nothing; default false"`
	confirmation
}

// rollbackRequest is ApplicationRollbackRequest of server/application/application.proto.
type rollbackRequest struct {
	Name         string `json:"name"`
	ID           int64  `json:"id"`
	DryRun       bool   `json:"dryRun"`
	Prune        bool   `json:"prune"`
	AppNamespace string `json:"appNamespace,omitempty"`
	Project      string `json:"project,omitempty"`
}

// deploymentList returns the deployments that a rollback can go back to, for a sentence.
func deploymentList(known []string) string {
	if len(known) == 0 {
		return "none, as it has never been deployed"
	}
	return strings.Join(firstEntries(known), "; ")
}

func (t *Toolset) rollbackTool() builtin.Tool {
	return writeTool(t, builtin.Tool{
		Name: "rollback_application", Title: "Roll an application back",
		Description: "Deploys again what an application had before. The plan lists the deployments and their ids. Not possible while auto-sync is on." + needsConfirmation,
		Hints:       builtin.Hints{Destructive: true, OpenWorld: true},
	}, func(in rollbackArgs) string { return in.Name }, func(ctx context.Context, c *builtin.Call, client *argocd.Client, confirmed bool, in rollbackArgs) (*builtin.Result, error) {
		app, _, err := readApplication(ctx, client, in.appArgs)
		if err != nil {
			return nil, err
		}
		history := slices.Clone(app.Status.History)
		slices.Reverse(history) // the newest first, as the likely targets of a rollback
		known := make([]string, len(history))
		for i, d := range history {
			known[i] = d.String()
		}
		if in.ID == nil {
			if confirmed {
				return nil, fmt.Errorf("id is missing: nothing was changed; deployments of %s: %s", in.Name, deploymentList(known))
			}
			return planResult(c, client, in.Name, plan{
				Plan: "roll back " + in.Name + ": add the id of one of these deployments, the newest is first", Current: app.state(), Change: firstEntries(known), Warnings: in.warnings(app),
			})
		}
		at := slices.IndexFunc(history, func(d deployment) bool { return d.ID == *in.ID })
		if at < 0 {
			return nil, fmt.Errorf("%s has no deployment with id %d: nothing was changed; it has %s", in.Name, *in.ID, deploymentList(known))
		}
		sentence := fmt.Sprintf("roll back %s to %s", in.Name, history[at])
		warnings := in.warnings(app)
		if at == 0 {
			warnings = append(warnings, "that is the newest deployment: what runs now unless it was changed since")
		}
		if in.DryRun {
			sentence = "dry run: " + sentence
		}
		if !confirmed {
			return planResult(c, client, in.Name, plan{Plan: sentence, Current: app.state(), Warnings: warnings})
		}
		body, err := json.Marshal(rollbackRequest{in.Name, *in.ID, in.DryRun, in.Prune, in.Namespace, in.Project})
		if err != nil {
			return nil, err
		}
		raw, err := client.Call(ctx, http.MethodPost, []string{"applications", in.Name, "rollback"}, nil, body)
		if err != nil {
			return nil, err
		}
		return started(ctx, client, in.appArgs, app, raw, in.DryRun, changeResult{Done: sentence})
	})
}

func (in rollbackArgs) warnings(app *application) (warnings []string) {
	if app.automated() {
		warnings = append(warnings, "auto-sync is on: the server refuses a rollback; update_application with automated_sync=false turns it off")
	}
	if in.Prune {
		warnings = append(warnings, "prune deletes resources that the deployment did not have")
	}
	return append(warnings, app.obstacles()...)
}

type refreshArgs struct {
	appArgs
	Hard bool `json:"hard,omitempty" jsonschema:"forget cached manifests too; default false"`
	confirmation
}

func (t *Toolset) refreshTool() builtin.Tool {
	return writeTool(t, builtin.Tool{
		Name: "refresh_application", Title: "Refresh an application",
		Description: "Makes Argo CD compare an application with its source now. Nothing is deployed, unless auto-sync is on and finds a difference." + needsConfirmation,
		Hints:       builtin.Hints{Idempotent: true, OpenWorld: true},
	}, func(in refreshArgs) string { return in.Name }, func(ctx context.Context, c *builtin.Call, client *argocd.Client, confirmed bool, in refreshArgs) (*builtin.Result, error) {
		how := "normal"
		if in.Hard {
			how = "hard"
		}
		sentence := how + " refresh of " + in.Name
		if !confirmed {
			app, _, err := readApplication(ctx, client, in.appArgs)
			if err != nil {
				return nil, err
			}
			p := plan{Plan: sentence, Current: app.state()}
			if app.automated() {
				p.Warnings = []string{"auto-sync is on: what the refresh finds changed is deployed"}
			}
			return planResult(c, client, in.Name, p)
		}
		if err := required("name", in.Name); err != nil {
			return nil, err
		}
		query := in.query()
		query.Set("refresh", how)
		raw, err := client.Get(ctx, []string{"applications", in.Name}, query)
		if err != nil {
			return nil, err
		}
		app, err := decodeApplication(client, raw)
		if err != nil {
			return nil, err
		}
		return doneResult(client, changeResult{Done: sentence, State: app.state(), looked: true})
	})
}
