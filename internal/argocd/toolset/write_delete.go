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
)

type deleteArgs struct {
	appArgs
	Cascade           bool   `json:"cascade,omitempty" jsonschema:"delete what it deployed too; default false: that stays in the cluster"`
	PropagationPolicy string `json:"propagation_policy,omitempty" jsonschema:"with cascade: foreground or background"`
	confirmation
}

func (in deleteArgs) subject() string { return in.Name }

func (in deleteArgs) intent(ctx context.Context, client *argocd.Client, confirmed bool) (*intent, error) {
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
	view := map[string][]string{"stays": firstEntries(resources)}
	if in.Cascade {
		view = map[string][]string{"deleted": firstEntries(resources)}
	}
	query := in.query()
	// Always sent: the server's own default is to delete the resources.
	query.Set("cascade", strconv.FormatBool(in.Cascade))
	set(query, "propagationPolicy", in.PropagationPolicy)
	return &intent{
		sentence: sentence, warnings: in.warnings(app), current: app.state(), preview: view,
		request: request{method: http.MethodDelete, path: []string{"applications", in.Name}, query: query},
		deletes: "the application " + in.Name,
		again: func() error {
			// Argo CD answers "forbidden" for an application that is gone, unless the project is given.
			_, _, err := readApplication(ctx, client, appArgs{Name: in.Name, Namespace: in.Namespace, Project: app.Spec.Project})
			return err
		},
		finish: func(d *changeResult, _ []byte) error {
			d.State = app.state()
			return nil
		},
	}, nil
}

// cascades reports whether deleting the application also deletes what it deployed, by its finalizers.
func (a *application) cascades() bool {
	return slices.ContainsFunc(a.Metadata.Finalizers, func(f string) bool { return strings.HasPrefix(f, "resources-finalizer.argocd.argoproj.io") })
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
