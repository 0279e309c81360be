package toolset

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/plimsoll/plimsoll/internal/argocd"
)

// projectParts are the arguments for creating or changing a project. Their names are those of the API, so that parts of project_get's
// answer can be sent back.
type projectParts struct {
	Description  *string             `json:"description,omitempty"`
	Destinations []map[string]string `json:"destinations,omitempty" jsonschema:"clusters and namespaces that are allowed: server or name, and namespace; replaces the list"`
	SourceRepos  []string            `json:"sourceRepos,omitempty" jsonschema:"repositories that are allowed; replaces the list"`
	Labels       map[string]string   `json:"labels,omitempty"`
	Annotations  map[string]string   `json:"annotations,omitempty"`
	Spec         object              `json:"spec,omitempty" jsonschema:"JSON merge patch of the specification, for everything else: roles, syncWindows and so on"`
}

// mergePatchFor returns the merge patch of a project that the arguments ask for; what spec says is merged over the other arguments. Values that are
// masks, and unknown keys of destinations, are errors.
func (p projectParts) mergePatchFor() (map[string]any, error) {
	if err := refuseMask("spec", map[string]any(p.Spec)); err != nil {
		return nil, err
	}
	patch := map[string]any{}
	if p.Description != nil {
		setValue(patch, *p.Description, "spec", "description")
	}
	for i, d := range p.Destinations {
		for key := range d {
			if err := checkValue(fmt.Sprintf("the key of destinations[%d]", i), key, "server", "name", "namespace"); err != nil {
				return nil, err
			}
		}
	}
	if p.Destinations != nil {
		setValue(patch, p.Destinations, "spec", "destinations")
	}
	if p.SourceRepos != nil {
		setValue(patch, p.SourceRepos, "spec", "sourceRepos")
	}
	for key, value := range p.Spec {
		setValue(patch, mergePatches(valueAt(patch, "spec", key), value), "spec", key)
	}
	for name, set := range map[string]map[string]string{"labels": p.Labels, "annotations": p.Annotations} {
		for key, value := range set {
			setValue(patch, value, "metadata", name, key)
		}
	}
	return patch, nil
}

type projectCreateArgs struct {
	target
	Name   string `json:"name" jsonschema:"of the new project"`
	Upsert bool   `json:"upsert,omitempty" jsonschema:"replace the specification if there is such a project; default false"`
	DryRun bool   `json:"dry_run,omitempty" jsonschema:"only show it; default false"`
	projectParts
	confirmation
}

func (in projectCreateArgs) subject() string { return in.Name }

// intent creates a project, or with upsert replaces its specification.
func (in projectCreateArgs) intent(ctx context.Context, client *argocd.Client, confirmed bool) (*intent, error) {
	if err := checkName("name", in.Name); err != nil {
		return nil, err
	}
	patch, err := in.mergePatchFor()
	if err != nil {
		return nil, err
	}
	object := mergePatch(map[string]any{"metadata": map[string]any{"name": in.Name}, "spec": map[string]any{}}, patch)
	before, err := existingObject(ctx, client, []string{"projects", in.Name}, nil)
	if err != nil {
		return nil, err
	}
	sentence := "create the project " + in.Name
	var warnings []string
	switch {
	case before != nil && in.Upsert:
		sentence = "replace the specification of the project " + in.Name
		warnings = append(warnings, "what is not given is lost, roles and their tokens too; project_update changes parts")
	case before != nil:
		warnings = append(warnings, "there is such a project: the server refuses another specification without upsert=true; project_update changes parts of one")
	}
	if valueAt(object, "spec", "destinations") == nil || valueAt(object, "spec", "sourceRepos") == nil {
		warnings = append(warnings, "without destinations and sourceRepos no application may use it")
	}
	view, err := newDiffView(comparedParts(before), comparedParts(object))
	if err != nil {
		return nil, err
	}
	return &intent{
		sentence: sentence, warnings: warnings, change: view, dryRun: &in.DryRun,
		request: request{method: http.MethodPost, path: []string{"projects"}, body: map[string]any{"project": object, "upsert": in.Upsert}},
		finish: func(d *changeResult, _ []byte) error {
			d.Done = createdSentence(sentence, "the project "+in.Name, view)
			return nil
		},
	}, nil
}

type projectUpdateArgs struct {
	target
	Name   string `json:"name" jsonschema:"the project"`
	DryRun bool   `json:"dry_run,omitempty" jsonschema:"only show what would change; default false"`
	projectParts
	confirmation
}

func (in projectUpdateArgs) subject() string { return in.Name }

// intent changes parts of a project. The server refuses if the project has changed since it was read.
func (in projectUpdateArgs) intent(ctx context.Context, client *argocd.Client, confirmed bool) (*intent, error) {
	before, err := readProject(ctx, client, in.Name)
	if err != nil {
		return nil, err
	}
	patch, err := in.mergePatchFor()
	if err != nil {
		return nil, err
	}
	if len(patch) == 0 {
		return nil, errors.New("no change was asked for: send what is to change, e.g. description, or spec as a merge patch")
	}
	after := mergePatch(before, patch)
	view, err := newDiffView(comparedParts(before), comparedParts(after))
	if err != nil {
		return nil, err
	}
	return &intent{
		sentence: view.describe("the project " + in.Name), change: view, dryRun: &in.DryRun,
		// The body has the resourceVersion that was read, so Kubernetes refuses the change if the project has changed since.
		request: request{method: http.MethodPut, path: []string{"projects", in.Name}, body: map[string]any{"project": after}},
	}, nil
}

// readProject reads a project as a tree, with nothing masked, as it is written back.
func readProject(ctx context.Context, client *argocd.Client, name string) (any, error) {
	if err := checkGiven("name", name); err != nil {
		return nil, err
	}
	raw, err := client.Get(ctx, []string{"projects", name}, nil)
	if err != nil {
		return nil, err
	}
	return decodeTree(raw)
}

type projectDeleteArgs struct {
	target
	Name string `json:"name" jsonschema:"the project"`
	confirmation
}

func (in projectDeleteArgs) subject() string { return in.Name }

// intent deletes a project. The plan says how many applications are in it.
func (in projectDeleteArgs) intent(ctx context.Context, client *argocd.Client, confirmed bool) (*intent, error) {
	before, err := readProject(ctx, client, in.Name)
	if err != nil {
		return nil, err
	}
	i := &intent{
		sentence: "delete the project " + in.Name, current: projectSummary(before),
		request: request{method: http.MethodDelete, path: []string{"projects", in.Name}}, deletes: "the project " + in.Name,
	}
	if !confirmed {
		n, err := countApplications(ctx, client, in.Name)
		switch {
		case err != nil:
			i.doubts = []string{"its applications could not be counted: " + cutText(err.Error())}
		case n > 0:
			i.doubts = []string{fmt.Sprintf("%d applications are in it: the server refuses as long as there is one", n)}
		}
	}
	return i, nil
}

// countApplications returns the number of applications in a project.
func countApplications(ctx context.Context, client *argocd.Client, project string) (int, error) {
	info, err := client.List(ctx, argocd.Applications, argocd.Query{Projects: []string{project}, Fields: []string{"metadata.name"}}, func([]byte) error { return nil })
	return info.Items, err
}

// projectSummary returns a summary of a project: its description, and counts of its lists.
func projectSummary(project any) any {
	count := func(key string) int {
		list, _ := valueAt(project, "spec", key).([]any)
		return len(list)
	}
	return map[string]any{
		"description": shortJSON(valueAt(project, "spec", "description")), "destinations": count("destinations"),
		"sourceRepos": count("sourceRepos"), "roles": count("roles"), "syncWindows": count("syncWindows"),
	}
}
