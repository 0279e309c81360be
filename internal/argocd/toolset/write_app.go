package toolset

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/plimsoll/plimsoll/internal/argocd"
	"github.com/plimsoll/plimsoll/internal/secrets"
)

// appArgs name an application.
type appArgs struct {
	target
	Name      string `json:"name" jsonschema:"the application"`
	Namespace string `json:"namespace,omitempty" jsonschema:"its namespace, if not Argo CD's"`
	Project   string `json:"project,omitempty" jsonschema:"its project; tells a missing application from a forbidden one"`
}

// query returns the query that selects the application, for requests that have it in the URL.
func (a appArgs) query() url.Values {
	q := url.Values{}
	setQuery(q, "appNamespace", a.Namespace)
	setQuery(q, "project", a.Project)
	return q
}

// setQuery adds a parameter to the query unless its value is "".
func setQuery(q url.Values, key, value string) {
	if value != "" {
		q.Set(key, value)
	}
}

// application has the fields of an Application that the tools need which write. Names are those of pkg/apis/application/v1alpha1/types.go.
type application struct {
	Metadata struct {
		Name              string   `json:"name"`
		Namespace         string   `json:"namespace"`
		DeletionTimestamp string   `json:"deletionTimestamp"`
		Finalizers        []string `json:"finalizers"`
		OwnerReferences   []struct {
			Kind string `json:"kind"`
			Name string `json:"name"`
		} `json:"ownerReferences"`
	} `json:"metadata"`
	Spec struct {
		Project  string   `json:"project"`
		Source   *source  `json:"source"`
		Sources  []source `json:"sources"`
		Hydrator *struct {
			Dry  source `json:"drySource"`
			Sync struct {
				RepoURL string `json:"repoURL"`
				Path    string `json:"path"`
				Branch  string `json:"targetBranch"`
			} `json:"syncSource"`
		} `json:"sourceHydrator"`
		Destination struct {
			Server    string `json:"server"`
			Name      string `json:"name"`
			Namespace string `json:"namespace"`
		} `json:"destination"`
		SyncPolicy *struct {
			Automated *struct {
				Enabled *bool `json:"enabled"`
			} `json:"automated"`
		} `json:"syncPolicy"`
	} `json:"spec"`
	Operation *json.RawMessage `json:"operation"`
	Status    struct {
		Sync struct {
			Status    string   `json:"status"`
			Revision  string   `json:"revision"`
			Revisions []string `json:"revisions"`
		} `json:"sync"`
		Health struct {
			Status string `json:"status"`
		} `json:"health"`
		History        []deployment `json:"history"`
		Resources      []resource   `json:"resources"`
		OperationState *struct {
			Phase      string `json:"phase"`
			Message    string `json:"message"`
			StartedAt  string `json:"startedAt"`
			FinishedAt string `json:"finishedAt"`
			Operation  struct {
				Sync *struct {
					DryRun bool `json:"dryRun"`
				} `json:"sync"`
			} `json:"operation"`
			SyncResult *struct {
				Resources []resource `json:"resources"`
			} `json:"syncResult"`
		} `json:"operationState"`
	} `json:"status"`
}

// source says where manifests come from.
type source struct {
	RepoURL        string `json:"repoURL"`
	Path           string `json:"path"`
	Chart          string `json:"chart"`
	TargetRevision string `json:"targetRevision"`
}

// String returns the source as one short line, with credentials masked.
func (s source) String() string {
	text := secrets.Text(s.RepoURL)
	if s.Chart != "" {
		text += " chart " + s.Chart
	}
	if s.Path != "" {
		text += " " + s.Path
	}
	if s.TargetRevision != "" {
		text += " @ " + s.TargetRevision
	}
	return cutText(text)
}

// deployment is one entry of an application's history.
type deployment struct {
	ID         int64    `json:"id"`
	Revision   string   `json:"revision"`
	Revisions  []string `json:"revisions"`
	DeployedAt string   `json:"deployedAt"`
}

func (d deployment) String() string {
	revision := d.Revision
	if revision == "" {
		revision = strings.Join(d.Revisions, ", ")
	}
	return cutText(fmt.Sprintf("id %d: %s, deployed %s", d.ID, revision, d.DeployedAt))
}

// resource is one entry of status.resources or of a sync's result.
type resource struct {
	Group           string `json:"group"`
	Version         string `json:"version"`
	Kind            string `json:"kind"`
	Namespace       string `json:"namespace"`
	Name            string `json:"name"`
	Status          string `json:"status"`
	Message         string `json:"message"`
	Hook            bool   `json:"hook"`
	RequiresPruning bool   `json:"requiresPruning"`
}

// String returns the resource as "GROUP/KIND NAMESPACE/NAME".
func (r resource) String() string {
	text := r.Kind
	if r.Group != "" {
		text = r.Group + "/" + text
	}
	if r.Namespace != "" {
		return text + " " + r.Namespace + "/" + r.Name
	}
	return text + " " + r.Name
}

// hasAutoSync reports whether auto-sync is on (SyncPolicy.IsAutomatedSyncEnabled of types.go).
func (a *application) hasAutoSync() bool {
	p := a.Spec.SyncPolicy
	return p != nil && p.Automated != nil && (p.Automated.Enabled == nil || *p.Automated.Enabled)
}

// sources returns the sources, from whichever field has them.
func (a *application) sources() []source {
	if h := a.Spec.Hydrator; h != nil {
		return []source{{RepoURL: cmp.Or(h.Sync.RepoURL, h.Dry.RepoURL), Path: h.Sync.Path, TargetRevision: h.Sync.Branch}}
	}
	if len(a.Spec.Sources) > 0 || a.Spec.Source == nil {
		return a.Spec.Sources
	}
	return []source{*a.Spec.Source}
}

// runningOperation describes the operation that is running or requested; "" if there is none.
func (a *application) runningOperation() string {
	switch s := a.Status.OperationState; {
	case s != nil && s.FinishedAt == "" && s.Phase != "":
		return "an operation is " + s.Phase + " since " + s.StartedAt
	case a.Operation != nil && string(*a.Operation) != "null":
		return "an operation was requested and has not begun"
	}
	return ""
}

// appState is the summary of an application in plans and answers.
type appState struct {
	Name        string   `json:"name"`
	Namespace   string   `json:"namespace,omitempty"`
	Project     string   `json:"project"`
	Health      string   `json:"health,omitempty"`
	Sync        string   `json:"sync,omitempty"`
	Revision    string   `json:"revision,omitempty"`
	Sources     []string `json:"sources,omitempty"`
	Destination string   `json:"destination,omitempty"`
	AutoSync    bool     `json:"auto_sync"`
	Operation   string   `json:"operation,omitempty"`
	Message     string   `json:"operation_message,omitempty"`
	Resources   int      `json:"resources"`
}

// summary returns the summary of the application for plans and answers.
func (a *application) summary() appState {
	s := appState{
		Name: a.Metadata.Name, Namespace: a.Metadata.Namespace, Project: a.Spec.Project,
		Health: a.Status.Health.Status, Sync: a.Status.Sync.Status, Revision: a.Status.Sync.Revision,
		AutoSync: a.hasAutoSync(), Resources: len(a.Status.Resources),
	}
	if s.Revision == "" {
		s.Revision = cutText(strings.Join(a.Status.Sync.Revisions, ", "))
	}
	for _, from := range a.sources() {
		s.Sources = append(s.Sources, from.String())
	}
	s.Sources = firstEntries(s.Sources)
	d := a.Spec.Destination
	if s.Destination = d.Server; s.Destination == "" {
		s.Destination = d.Name
	}
	if s.Destination = secrets.Text(s.Destination); d.Namespace != "" {
		s.Destination += " " + d.Namespace
	}
	if o := a.Status.OperationState; o != nil {
		s.Operation, s.Message = o.Phase, cutText(secrets.Text(o.Message))
	}
	if a.Operation != nil && string(*a.Operation) != "null" && (a.Status.OperationState == nil || a.Status.OperationState.FinishedAt != "") {
		s.Operation, s.Message = "requested", ""
	}
	return s
}

// readApplication reads an application, and returns it decoded and raw. It is an error if no name is given, or if the answer is not an
// application with a name.
func readApplication(ctx context.Context, client *argocd.Client, a appArgs) (*application, []byte, error) {
	if err := checkGiven("name", a.Name); err != nil {
		return nil, nil, err
	}
	raw, err := client.Get(ctx, []string{"applications", a.Name}, a.query())
	if err != nil {
		return nil, nil, err
	}
	app, err := decodeApplication(client, raw)
	if err == nil && app.Metadata.Name == "" {
		err = notObjectError(client, "the application") // nothing is planned or changed for a guess
	}
	return app, raw, err
}

func decodeApplication(client *argocd.Client, raw []byte) (*application, error) {
	app := &application{}
	if err := json.Unmarshal(raw, app); err != nil {
		return nil, fmt.Errorf("%s: the server's answer is no application: %w", client.Name(), err)
	}
	return app, nil
}

// isNotFound reports whether the server said that the object does not exist.
func isNotFound(err error) bool {
	var e *argocd.Error
	return errors.As(err, &e) && e.Kind == argocd.Missing
}

// lookAdvice returns a sentence that suggests how to look at an application after a change.
func lookAdvice(name string) string {
	return fmt.Sprintf("get_application_details with name=%q shows how it goes on", name)
}

type deleteArgs struct {
	appArgs
	Cascade           bool   `json:"cascade,omitempty" jsonschema:"delete what it deployed too; default false: that stays in the cluster"`
	PropagationPolicy string `json:"propagation_policy,omitempty" jsonschema:"with cascade: foreground or background"`
	confirmation
}

func (in deleteArgs) subject() string { return in.Name }

// intent deletes an application, with cascade also its resources. An application that is being deleted with its resources is refused without
// cascade, as that would stop half way.
func (in deleteArgs) intent(ctx context.Context, client *argocd.Client, confirmed bool) (*intent, error) {
	if err := checkValue("propagation_policy", in.PropagationPolicy, "foreground", "background"); err != nil {
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
	setQuery(query, "propagationPolicy", in.PropagationPolicy)
	return &intent{
		sentence: sentence, warnings: in.warnings(app), current: app.summary(), preview: view,
		request: request{method: http.MethodDelete, path: []string{"applications", in.Name}, query: query},
		deletes: "the application " + in.Name,
		again: func() error {
			// Argo CD answers "forbidden" for an application that is gone, unless the project is given.
			_, _, err := readApplication(ctx, client, appArgs{Name: in.Name, Namespace: in.Namespace, Project: app.Spec.Project})
			return err
		},
		finish: func(d *changeResult, _ []byte) error {
			d.State = app.summary()
			return nil
		},
	}, nil
}

// cascades reports whether deleting the application also deletes what it deployed, by its finalizers.
func (a *application) cascades() bool {
	return slices.ContainsFunc(a.Metadata.Finalizers, func(f string) bool { return strings.HasPrefix(f, "resources-finalizer.argocd.argoproj.io") })
}

// warnings returns what the user should know before the application is deleted, such as that something will make it again.
func (in deleteArgs) warnings(app *application) (warnings []string) {
	if at := app.Metadata.DeletionTimestamp; at != "" {
		warnings = append(warnings, "it is being deleted since "+at)
	}
	for _, o := range app.Metadata.OwnerReferences {
		warnings = append(warnings, fmt.Sprintf("%s %s made it and will make it again", o.Kind, cutText(o.Name)))
	}
	if len(app.Metadata.Finalizers) > 0 && !in.Cascade {
		warnings = append(warnings, "its finalizer that deletes the resources is taken away")
	}
	if s := app.runningOperation(); s != "" {
		warnings = append(warnings, s)
	}
	return firstEntries(warnings)
}
