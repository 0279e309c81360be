package toolset

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/internal/argocd"
)

type actionArgs struct {
	appArgs
	Action            string            `json:"action" jsonschema:"e.g. restart; list_resource_actions shows those there are"`
	Kind              string            `json:"kind" jsonschema:"of the resource"`
	ResourceName      string            `json:"resource_name"`
	ResourceNamespace string            `json:"resource_namespace,omitempty" jsonschema:"of the resource; empty for one without"`
	Group             string            `json:"group,omitempty" jsonschema:"API group; empty: found by kind and name"`
	Version           string            `json:"version,omitempty" jsonschema:"API version; empty: found by kind and name"`
	Parameters        map[string]string `json:"parameters,omitempty" jsonschema:"of the action, by name"`
	confirmation
}

// actionRequest is ResourceActionRunRequestV2 of server/application/application.proto.
type actionRequest struct {
	Name         string            `json:"name"`
	Namespace    string            `json:"namespace,omitempty"`
	ResourceName string            `json:"resourceName"`
	Version      string            `json:"version"`
	Group        string            `json:"group,omitempty"`
	Kind         string            `json:"kind"`
	Action       string            `json:"action"`
	AppNamespace string            `json:"appNamespace,omitempty"`
	Project      string            `json:"project,omitempty"`
	Parameters   []actionParameter `json:"resourceActionParameters,omitempty"`
}

type actionParameter struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

func (in actionArgs) subject() string { return in.ResourceName }

// intent runs an action on a resource. It asks the server first, and refuses an action that the resource does not have or that is not
// possible now.
func (in actionArgs) intent(ctx context.Context, client *argocd.Client, confirmed bool) (*intent, error) {
	if err := checkGiven("action", in.Action, "kind", in.Kind, "resource_name", in.ResourceName); err != nil {
		return nil, err
	}
	if in.Version == "" {
		if err := in.resolveResource(ctx, client); err != nil {
			return nil, err
		}
	}
	actions, err := in.availableActions(ctx, client)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(actions))
	for i, a := range actions {
		if names[i] = a.Name; a.Disabled {
			names[i] += " (not possible now)"
		}
	}
	at := slices.IndexFunc(actions, func(a resourceAction) bool { return a.Name == in.Action })
	in.Kind, in.Group = grouped(in.Kind, in.Group)
	what := resource{Group: in.Group, Kind: in.Kind, Namespace: in.ResourceNamespace, Name: in.ResourceName}
	switch {
	case at < 0:
		return nil, fmt.Errorf("%s has no action %q: nothing was changed; it has: %s", what, cutText(in.Action), strings.Join(firstEntries(names), ", "))
	case actions[at].Disabled:
		return nil, fmt.Errorf("action %q of %s is not possible in the state it is in: nothing was changed", in.Action, what)
	}
	i := &intent{
		sentence: fmt.Sprintf("run %s on %s of %s", in.Action, what, in.Name), next: lookAdvice(in.Name),
		preview: map[string][]string{"actions": firstEntries(names)},
	}
	if confirmed {
		i.request, err = in.actionRequestFor(ctx, client)
	}
	return i, err
}

// resolveResource sets group, version and namespace of the resource from the application's tree. It is an error if no resource fits, or several.
func (in *actionArgs) resolveResource(ctx context.Context, client *argocd.Client) error {
	var found []resource
	fit := 0
	match := func(r resource) {
		if strings.EqualFold(r.Kind, in.Kind) && r.Name == in.ResourceName && (in.Group == "" || r.Group == in.Group) && (in.ResourceNamespace == "" || r.Namespace == in.ResourceNamespace) {
			if fit++; len(found) < maxListed {
				found = append(found, r)
			}
		}
	}
	// The tree has what controllers made too, such as pods. One node is held at a time.
	_, err := client.Elements(ctx, []string{"applications", in.Name, "resource-tree"}, in.query(), map[string]func([]byte) error{
		"nodes": func(item []byte) error {
			var r resource
			if json.Unmarshal(item, &r) == nil {
				match(r)
			}
			return nil
		},
	})
	if err != nil {
		return err
	}
	switch len(found) {
	case 1:
		in.Kind, in.Group, in.Version, in.ResourceNamespace = found[0].Kind, found[0].Group, found[0].Version, found[0].Namespace
		return nil
	case 0:
		return fmt.Errorf("%s has no resource of kind %q called %q: nothing was changed; get_application_resource_tree lists them", in.Name, cutText(in.Kind), cutText(in.ResourceName))
	}
	list := make([]string, len(found))
	for i, r := range found {
		list[i] = r.String()
	}
	if fit > len(found) {
		list = append(list, fmt.Sprintf("and %d more", fit-len(found)))
	}
	return fmt.Errorf("%d resources fit: %s; say group or resource_namespace", fit, strings.Join(list, ", "))
}

// resourceQuery returns the query that selects the resource, for requests that have it in the URL.
func (in *actionArgs) resourceQuery() url.Values {
	q := in.query()
	setQuery(q, "namespace", in.ResourceNamespace)
	setQuery(q, "resourceName", in.ResourceName)
	setQuery(q, "version", in.Version)
	setQuery(q, "group", in.Group)
	setQuery(q, "kind", in.Kind)
	return q
}

// availableActions asks the server which actions the resource has.
func (in *actionArgs) availableActions(ctx context.Context, client *argocd.Client) ([]resourceAction, error) {
	raw, err := client.Get(ctx, []string{"applications", in.Name, "resource", "actions"}, in.resourceQuery())
	if err != nil {
		return nil, err
	}
	var list resourceActions
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, fmt.Errorf("%s: the server's answer is no list of actions: %w", client.Name(), err)
	}
	return list.Actions, nil
}

// actionRequestFor returns the request of Argo CD 3.1 and newer, which has parameters, or the older one if the server is older
// (docs/operator-manual/upgrading/3.0-3.1.md).
func (in *actionArgs) actionRequestFor(ctx context.Context, client *argocd.Client) (request, error) {
	version, err := client.Version(ctx)
	if err != nil {
		return request{}, err
	}
	path := []string{"applications", in.Name, "resource", "actions"}
	if version.Major > 3 || version.Major == 3 && version.Minor >= 1 {
		body := actionRequest{
			Name: in.Name, Namespace: in.ResourceNamespace, ResourceName: in.ResourceName, Version: in.Version,
			Group: in.Group, Kind: in.Kind, Action: in.Action, AppNamespace: in.Namespace, Project: in.Project,
		}
		for name, value := range in.Parameters {
			body.Parameters = append(body.Parameters, actionParameter{name, value})
		}
		return request{method: http.MethodPost, path: append(path, "v2"), body: body}, nil
	}
	if len(in.Parameters) > 0 {
		return request{}, fmt.Errorf("parameters of actions need Argo CD 3.1, this is %s: nothing was changed", version.Text)
	}
	return request{method: http.MethodPost, path: path, query: in.resourceQuery(), body: in.Action}, nil
}
