package toolset

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/plimsoll/plimsoll/internal/argocd"
	"github.com/plimsoll/plimsoll/internal/lazy"
)

type createArgs struct {
	target
	Name             string            `json:"name" jsonschema:"of the new application"`
	Project          string            `json:"project" jsonschema:"project it belongs to"`
	RepoURL          string            `json:"repo_url,omitempty" jsonschema:"Git, Helm or OCI repository"`
	Path             string            `json:"path,omitempty" jsonschema:"path within the repository"`
	Chart            string            `json:"chart,omitempty" jsonschema:"chart, for a Helm repository"`
	DestServer       string            `json:"dest_server,omitempty" jsonschema:"URL of the cluster"`
	DestName         string            `json:"dest_name,omitempty" jsonschema:"name of the cluster, in place of dest_server"`
	DestNamespace    string            `json:"dest_namespace,omitempty" jsonschema:"namespace in the cluster"`
	Revision         string            `json:"revision,omitempty" jsonschema:"default HEAD; a chart needs its version"`
	AutomatedSync    bool              `json:"automated_sync,omitempty" jsonschema:"default false"`
	Prune            bool              `json:"prune,omitempty" jsonschema:"with automated_sync; default false"`
	SelfHeal         bool              `json:"self_heal,omitempty" jsonschema:"with automated_sync; default false"`
	Namespace        string            `json:"namespace,omitempty" jsonschema:"its namespace, if not Argo CD's"`
	Validate         *bool             `json:"validate,omitempty" jsonschema:"the server checks source and destination first; default true"`
	Upsert           bool              `json:"upsert,omitempty" jsonschema:"replace the specification if there is such an application; default false"`
	DirectoryRecurse bool              `json:"directory_recurse,omitempty" jsonschema:"manifests of subdirectories too; default false"`
	Spec             object            `json:"spec,omitempty" jsonschema:"merged over what the other arguments say (JSON merge patch): several sources, Helm values and so on"`
	Labels           map[string]string `json:"labels,omitempty"`
	Annotations      map[string]string `json:"annotations,omitempty"`
	DryRun           bool              `json:"dry_run,omitempty" jsonschema:"only show it; default false"`
	confirmation
}

func (in createArgs) subject() string { return in.Name }

// intent creates an application, or with upsert replaces its specification, and keeps the finalizers of the existing one.
func (in createArgs) intent(ctx context.Context, client *argocd.Client, confirmed bool) (*intent, error) {
	object, err := in.applicationObject()
	if err != nil {
		return nil, err
	}
	before, err := existingObject(ctx, client, []string{"applications", in.Name}, appArgs{Namespace: in.Namespace, Project: in.Project}.query())
	if err != nil {
		return nil, err
	}
	sentence := "create the application " + in.Name + " in project " + in.Project
	var warnings []string
	if before != nil && in.Upsert {
		sentence = "replace the specification of the application " + in.Name
		keepFinalizers(object, before)
	} else if before != nil {
		warnings = append(warnings, "there is such an application: the server refuses another specification without upsert=true; update_application changes parts of one")
	}
	if in.AutomatedSync {
		warnings = append(warnings, "auto-sync deploys it at once")
	}
	view, err := newDiffView(comparedParts(before), comparedParts(object))
	if err != nil {
		return nil, err
	}
	i := &intent{sentence: sentence, warnings: warnings, change: view, dryRun: &in.DryRun, next: lookAdvice(in.Name)}
	if !confirmed || in.DryRun {
		i.doubts = projectWarning(ctx, client, in.Project)
	}
	query := url.Values{"validate": {"true"}}
	if in.Validate != nil && !*in.Validate {
		query.Set("validate", "false")
	}
	if in.Upsert {
		query.Set("upsert", "true")
	}
	i.request = request{method: http.MethodPost, path: []string{"applications"}, query: query, body: object}
	i.finish = func(d *changeResult, raw []byte) error {
		d.Done = createdSentence(sentence, "the application "+in.Name, view)
		return d.showState(client, raw)
	}
	return i, nil
}

// createdSentence returns sentence, or a sentence that nothing was done if the object already had these values.
func createdSentence(sentence, what string, view *diffView) string {
	if view.All > 0 {
		return sentence
	}
	return what + " was there already, with this specification: nothing was changed"
}

// dnsName matches the names that Kubernetes allows for an object (RFC 1123 subdomain).
var dnsName = lazy.Regexp(`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`)

// checkName returns an error for a name that Kubernetes would refuse. Its limit is 253 characters.
func checkName(argument, name string) error {
	if err := checkGiven(argument, name); err != nil {
		return err
	}
	if len(name) > 253 || !dnsName().MatchString(name) {
		return fmt.Errorf("%s is %q: a name has at most 253 lower case letters, digits, - and ., and begins and ends with a letter or digit", argument, cutText(name))
	}
	return nil
}

// applicationObject returns the application as the server expects it; an error names the argument that is missing or wrong.
func (in createArgs) applicationObject() (map[string]any, error) {
	if err := checkName("name", in.Name); err != nil {
		return nil, err
	}
	if err := checkGiven("project", in.Project); err != nil {
		return nil, err
	}
	if in.DestServer != "" && in.DestName != "" {
		return nil, errors.New("dest_server and dest_name are both given: a destination has one of them")
	}
	if (in.Prune || in.SelfHeal) && !in.AutomatedSync {
		return nil, errors.New("prune and self_heal say how auto-sync works: they need automated_sync=true")
	}
	if err := refuseMask("spec", map[string]any(in.Spec)); err != nil {
		return nil, err
	}
	spec := map[string]any{"project": in.Project}
	if in.RepoURL != "" {
		setValue(spec, in.RepoURL, "source", "repoURL")
		revision := in.Revision
		if revision == "" && in.Chart == "" {
			revision = "HEAD"
		}
		for key, value := range map[string]string{"path": in.Path, "chart": in.Chart, "targetRevision": revision} {
			if value != "" {
				setValue(spec, value, "source", key)
			}
		}
		if in.DirectoryRecurse {
			setValue(spec, true, "source", "directory", "recurse")
		}
	}
	for key, value := range map[string]string{"server": in.DestServer, "name": in.DestName, "namespace": in.DestNamespace} {
		if value != "" {
			setValue(spec, value, "destination", key)
		}
	}
	if in.AutomatedSync {
		setValue(spec, map[string]any{"prune": in.Prune, "selfHeal": in.SelfHeal}, "syncPolicy", "automated")
	}
	if in.Spec != nil {
		spec, _ = mergePatch(spec, map[string]any(in.Spec)).(map[string]any)
	}
	switch {
	case valueAt(spec, "source", "repoURL") == nil && valueAt(spec, "sources") == nil:
		return nil, errors.New("repo_url is missing: an application needs a source (repo_url, or spec with sources)")
	case valueAt(spec, "destination", "server") == nil && valueAt(spec, "destination", "name") == nil:
		return nil, errors.New("dest_server is missing: an application needs a destination (dest_server or dest_name)")
	}
	metadata := map[string]any{"name": in.Name}
	if in.Namespace != "" {
		metadata["namespace"] = in.Namespace
	}
	if in.Labels != nil {
		metadata["labels"] = in.Labels
	}
	if in.Annotations != nil {
		metadata["annotations"] = in.Annotations
	}
	return map[string]any{"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": metadata, "spec": spec}, nil
}

// existingObject returns an object as a tree; nil if the server says that there is none, or refuses to tell, as it does for objects that a user
// may not see.
func existingObject(ctx context.Context, client *argocd.Client, path []string, query url.Values) (any, error) {
	raw, err := client.Get(ctx, path, query)
	var e *argocd.Error
	if errors.As(err, &e) && (e.Kind == argocd.Missing || e.Kind == argocd.Forbidden) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return decodeTree(raw)
}

// comparedParts returns the parts of an object that are compared: labels, annotations and spec; an empty object for none.
func comparedParts(object any) any {
	if object == nil {
		return map[string]any{}
	}
	out := map[string]any{}
	for _, path := range [][]string{{"metadata", "labels"}, {"metadata", "annotations"}, {"spec"}} {
		if v := valueAt(object, path...); v != nil {
			// Encoded and decoded, so that maps of a caller are compared like those of a server.
			if raw, err := compact(v); err == nil {
				if v, err = decodeTree(raw); err == nil {
					setValue(out, v, path...)
				}
			}
		}
	}
	return out
}

// projectWarning returns a warning if the project does not exist; nil otherwise, also if that cannot be found out.
func projectWarning(ctx context.Context, client *argocd.Client, project string) []string {
	if _, err := client.Get(ctx, []string{"projects", project}, nil); isNotFound(err) {
		return []string{fmt.Sprintf("there is no project %q: the server will refuse it; project_list shows those there are", cutText(project))}
	}
	return nil
}

// keepFinalizers copies the finalizers of the replaced object: an upsert of the server merges labels and annotations, but sets the
// finalizers to what it gets, so they would be lost.
func keepFinalizers(object map[string]any, before any) {
	if finalizers := valueAt(before, "metadata", "finalizers"); finalizers != nil {
		setValue(object, finalizers, "metadata", "finalizers")
	}
}
