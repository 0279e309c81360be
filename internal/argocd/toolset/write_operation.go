package toolset

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/internal/argocd"
)

type terminateArgs struct {
	appArgs
	confirmation
}

func (in terminateArgs) subject() string { return in.Name }

// intent ends the operation that is running; the plan says if there is none.
func (in terminateArgs) intent(ctx context.Context, client *argocd.Client, confirmed bool) (*intent, error) {
	app, _, err := readApplication(ctx, client, in.appArgs)
	if err != nil {
		return nil, err
	}
	i := &intent{
		sentence: "end the operation of " + in.Name, current: app.summary(), next: lookAdvice(in.Name),
		request: request{method: http.MethodDelete, path: []string{"applications", in.Name, "operation"}, query: in.query()},
	}
	if app.runningOperation() == "" {
		i.doubts = []string{"no operation is running: there is nothing to end"}
	}
	return i, nil
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

func (in rollbackArgs) subject() string { return in.Name }

// intent rolls an application back to an earlier deployment. Without an id the plan lists the deployments.
func (in rollbackArgs) intent(ctx context.Context, client *argocd.Client, confirmed bool) (*intent, error) {
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
		return &intent{
			sentence: "roll back " + in.Name + ": add the id of one of these deployments, the newest is first",
			current:  app.summary(), preview: firstEntries(known), doubts: in.warnings(app),
		}, nil
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
	return &intent{
		sentence: sentence, doubts: warnings, current: app.summary(),
		request: request{
			method: http.MethodPost, path: []string{"applications", in.Name, "rollback"},
			body: rollbackRequest{in.Name, *in.ID, in.DryRun, in.Prune, in.Namespace, in.Project},
		},
		finish: func(d *changeResult, raw []byte) error {
			return d.describeStarted(ctx, client, in.appArgs, app, raw, in.DryRun)
		},
	}, nil
}

// warnings returns what the user should know before a rollback, such as that the server will refuse it.
func (in rollbackArgs) warnings(app *application) (warnings []string) {
	if app.hasAutoSync() {
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

func (in refreshArgs) subject() string { return in.Name }

// intent compares an application with Git again. If confirmed, the application is not read before.
func (in refreshArgs) intent(ctx context.Context, client *argocd.Client, confirmed bool) (*intent, error) {
	how := "normal"
	if in.Hard {
		how = "hard"
	}
	i := &intent{
		sentence: how + " refresh of " + in.Name,
		request:  request{method: http.MethodGet, path: []string{"applications", in.Name}, query: in.query()},
		finish: func(d *changeResult, raw []byte) error {
			d.looked = true
			return d.showState(client, raw)
		},
	}
	i.request.query.Set("refresh", how)
	if confirmed {
		return i, checkGiven("name", in.Name)
	}
	app, _, err := readApplication(ctx, client, in.appArgs)
	if err != nil {
		return nil, err
	}
	i.current = app.summary()
	if app.hasAutoSync() {
		i.doubts = []string{"auto-sync is on: what the refresh finds changed is deployed"}
	}
	return i, nil
}
