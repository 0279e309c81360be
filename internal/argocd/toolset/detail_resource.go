package toolset

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/internal/argocd"
	"github.com/plimsoll/plimsoll/tools/mcp/builtin"
)

// resourceArguments name one resource of an application.
type resourceArguments struct {
	appArgs
	Kind              string `json:"kind" jsonschema:"E.g. Deployment"`
	ResourceName      string `json:"resource_name" jsonschema:"Its name"`
	ResourceNamespace string `json:"resource_namespace,omitempty" jsonschema:"Found by kind and name if empty"`
	Group             string `json:"group,omitempty" jsonschema:"API group; empty: found by kind and name"`
	Version           string `json:"version,omitempty" jsonschema:"API version; empty: found by kind and name"`
}

// locate returns the resource that the arguments name, found in the application's tree.
func (in *resourceArguments) locate(ctx context.Context, c *builtin.Call, client *argocd.Client) (treeRef, error) {
	if err := checkGiven("name", in.Name, "kind", in.Kind, "resource_name", in.ResourceName); err != nil {
		return treeRef{}, err
	}
	want := resourceSelector{in.Kind, in.Group, in.ResourceNamespace, in.ResourceName}
	return locateResource(ctx, c, client, in.appArgs, want)
}

// locateResource returns the one resource of an application that want selects. It is an error if there is none, or several, which are listed.
func locateResource(ctx context.Context, c *builtin.Call, client *argocd.Client, app appArgs, want resourceSelector) (treeRef, error) {
	var found []treeRef
	all := 0
	match := func(raw []byte) error {
		var r treeRef
		if err := decode(client, "resource tree", raw, &r); err != nil {
			return err
		}
		if want.selects(r) && !slices.Contains(found, r) {
			if all++; all <= maxListed {
				found = append(found, r)
			}
		}
		return nil
	}
	if err := checkGiven("name", app.Name); err != nil {
		return treeRef{}, err
	}
	_, err := client.Elements(ctx, []string{"applications", app.Name, "resource-tree"}, app.query(), map[string]func([]byte) error{
		"nodes": match, "orphanedNodes": match, "hosts": func([]byte) error { return nil },
	})
	switch {
	case err != nil:
		return treeRef{}, err
	case all == 1:
		return found[0], nil
	case all == 0:
		return treeRef{}, fmt.Errorf("the application %q has no resource %s/%s%s in its cluster; get_application_resource_tree lists those it has",
			shortQuote(app.Name), shortQuote(cmp.Or(want.Kind, "*")), shortQuote(want.ResourceName), namespacePhrase(want.ResourceNamespace))
	}
	list := make([]string, len(found))
	for i, r := range found {
		list[i] = r.groupKind() + "/" + r.Name + namespacePhrase(r.Namespace)
	}
	return treeRef{}, fmt.Errorf("%d resources of %q fit: %s; say which with kind, group and resource_namespace", all, shortQuote(app.Name), strings.Join(list, ", "))
}

func namespacePhrase(namespace string) string {
	if namespace == "" {
		return ""
	}
	return " in namespace " + shortQuote(namespace)
}

const resourceText = `The live manifest of one resource of an application; Secrets and credentials are masked. kind and resource_name are enough where they are unique.`

type getResourceArguments struct {
	resourceArguments
	objectDetail
}

func (t *Toolset) resourceTool() builtin.Tool {
	return readTool(t, builtin.Tool{Name: "get_resource", Title: "Live manifest of a resource", Description: resourceText}, nil,
		func(ctx context.Context, c *builtin.Call, client *argocd.Client, in getResourceArguments) (*builtin.Result, error) {
			r, err := in.locate(ctx, c, client)
			if err != nil {
				return nil, err
			}
			answer, err := read[struct {
				Manifest string `json:"manifest"`
			}](ctx, client, "the resource", []string{"applications", in.Name, "resource"}, in.resourceQuery(r))
			if err != nil {
				return nil, err
			}
			if answer.Manifest == "" {
				return nil, fmt.Errorf("%s has no manifest: it is gone from the cluster", r)
			}
			return t.objectResult(c, client, []byte(answer.Manifest), in.objectDetail, "", "", func(part int) any { in.Part = part; return in })
		})
}

// resourceQuery returns the query by which the server's requests select the resource.
func (in *resourceArguments) resourceQuery(r treeRef) map[string][]string {
	q := in.query()
	setQuery(q, "namespace", r.Namespace)
	setQuery(q, "resourceName", r.Name)
	setQuery(q, "version", cmp.Or(in.Version, r.Version))
	setQuery(q, "group", r.Group)
	setQuery(q, "kind", r.Kind)
	return q
}

type resourceActionsAnswer struct {
	Instance string       `json:"instance,omitempty"`
	Of       string       `json:"resource"`
	Actions  []actionView `json:"actions"`
	Note     string       `json:"note,omitempty"`
	Left     int          `json:"more,omitempty"`
}

// resourceActions are those of types.go.
type resourceActions struct {
	Actions []resourceAction `json:"actions"`
}

type resourceAction struct {
	Name     string `json:"name"`
	Disabled bool   `json:"disabled"`
	Params   []struct {
		Name string `json:"name"`
	} `json:"params"`
}

type actionView struct {
	Name     string   `json:"name"`
	Possible bool     `json:"possible_now"`
	Params   []string `json:"parameters,omitempty"`
}

func (t *Toolset) actionsTool() builtin.Tool {
	return readTool(t, builtin.Tool{
		Name: "list_resource_actions", Title: "Actions of a resource",
		Description: "The actions that Argo CD offers for one resource of an application, such as restart of a Deployment, and whether they are possible now. kind and resource_name are enough where they are unique.",
	}, nil, func(ctx context.Context, c *builtin.Call, client *argocd.Client, in resourceArguments) (*builtin.Result, error) {
		r, err := in.locate(ctx, c, client)
		if err != nil {
			return nil, err
		}
		list, err := read[resourceActions](ctx, client, "the actions", []string{"applications", in.Name, "resource", "actions"}, in.resourceQuery(r))
		if err != nil {
			return nil, err
		}
		a := resourceActionsAnswer{Instance: t.instanceLabel(client), Of: r.groupKind() + "/" + r.Name + namespacePhrase(r.Namespace), Actions: []actionView{}}
		for i, one := range list.Actions {
			if i == 60 {
				a.Left = len(list.Actions) - i
				break
			}
			v := actionView{Name: clip(one.Name, 100), Possible: !one.Disabled}
			for _, p := range one.Params {
				v.Params = append(v.Params, clip(p.Name, 60))
			}
			v.Params = firstEntries(v.Params)
			a.Actions = append(a.Actions, v)
		}
		if len(a.Actions) == 0 {
			a.Note = "Argo CD has no action for this kind, or this token may run none."
		}
		return builtin.JSON(a)
	})
}
