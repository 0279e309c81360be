package toolset

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/plimsoll/plimsoll/internal/argocd"
	"github.com/plimsoll/plimsoll/tools/mcp/builtin"
)

type deleteArgs struct {
	appArgs
	Cascade           bool   `json:"cascade,omitempty" jsonschema:"delete what it deployed too; default false: that stays in the cluster"`
	PropagationPolicy string `json:"propagation_policy,omitempty" jsonschema:"with cascade: foreground or background"`
	confirmation
}

func (t *Toolset) deleteApplicationTool() builtin.Tool {
	return writeTool(t, builtin.Tool{
		Name: "delete_application", Title: "Delete an application",
		Description: "Deletes an application from Argo CD. What it deployed stays in the cluster unless cascade is true. The plan lists it." + needsConfirmation,
		Hints:       builtin.Hints{Destructive: true, Idempotent: true, OpenWorld: true},
	}, func(in deleteArgs) string { return in.Name }, func(ctx context.Context, c *builtin.Call, client *argocd.Client, confirmed bool, in deleteArgs) (*builtin.Result, error) {
		if err := oneOf("propagation_policy", in.PropagationPolicy, "foreground", "background"); err != nil {
			return nil, err
		}
		if in.PropagationPolicy != "" && !in.Cascade {
			return nil, errors.New("propagation_policy is given and cascade is false: it says how resources are deleted, so it needs cascade=true")
		}
		app, _, err := readApplication(ctx, client, in.appArgs)
		if err != nil {
			return nil, err
		}
		resources := make([]string, 0, len(app.Status.Resources))
		for _, r := range app.Status.Resources {
			resources = append(resources, r.String())
		}
		slices.Sort(resources)
		sentence := fmt.Sprintf("delete the application %s; its %d resources stay in the cluster", in.Name, len(resources))
		if in.Cascade {
			sentence = fmt.Sprintf("delete the application %s and its %d resources in the cluster", in.Name, len(resources))
		}
		if at := app.Metadata.DeletionTimestamp; at != "" && !in.Cascade && app.cascades() {
			return nil, fmt.Errorf("%s is being deleted with what it deployed since %s: without cascade that would stop half way, and what is left would stay in the cluster. Nothing was changed: wait until it is gone, or send cascade=true", in.Name, at)
		}
		warnings := in.warnings(app)
		if !confirmed {
			view := map[string][]string{"stays": firstEntries(resources)}
			if in.Cascade {
				view = map[string][]string{"deleted": firstEntries(resources)}
			}
			return planResult(c, client, in.Name, plan{Plan: sentence, Current: app.state(), Change: view, Warnings: warnings})
		}
		query := in.query()
		// Always sent: the server's own default is to delete the resources.
		query.Set("cascade", strconv.FormatBool(in.Cascade))
		set(query, "propagationPolicy", in.PropagationPolicy)
		if _, err := client.Call(ctx, http.MethodDelete, []string{"applications", in.Name}, query, nil); err != nil {
			return goneOr(err, client, "the application "+in.Name, func() error {
				// Argo CD answers "forbidden" for an application that is gone, unless the project is given.
				_, _, err := readApplication(ctx, client, appArgs{Name: in.Name, Namespace: in.Namespace, Project: app.Spec.Project})
				return err
			})
		}
		return doneResult(client, changeResult{Done: sentence, State: app.state(), Warnings: warnings})
	})
}

// cascades reports whether deleting the application also deletes what it deployed, by its finalizers.
func (a *application) cascades() bool {
	return slices.ContainsFunc(a.Metadata.Finalizers, func(f string) bool { return strings.HasPrefix(f, "resources-finalizer.argocd.argoproj.io") })
}

// goneOr answers a deletion that failed with err: if the server no longer knows the object, it is gone, which is not a failure. again, if
// not nil, reads the object; it is called if the server says "forbidden".
func goneOr(err error, client *argocd.Client, what string, again func() error) (*builtin.Result, error) {
	refused, is := errors.AsType[*argocd.Error](err)
	switch {
	case isNotFound(err):
	case is && refused.Kind == argocd.Forbidden && again != nil && isNotFound(again()):
	default:
		return nil, err
	}
	return doneResult(client, changeResult{Done: what + " is gone now: it was deleted meanwhile", looked: true})
}

func (in deleteArgs) warnings(app *application) (warnings []string) {
	if at := app.Metadata.DeletionTimestamp; at != "" {
		warnings = append(warnings, "it is being deleted since "+at)
	}
	for _, o := range app.Metadata.OwnerReferences {
		warnings = append(warnings, fmt.Sprintf("%s %s made it and will make it again", o.Kind, cut(o.Name)))
	}
	if len(app.Metadata.Finalizers) > 0 && !in.Cascade {
		warnings = append(warnings, "its finalizer that deletes the resources is taken away")
	}
	if s := app.busy(); s != "" {
		warnings = append(warnings, s)
	}
	return firstEntries(warnings)
}
