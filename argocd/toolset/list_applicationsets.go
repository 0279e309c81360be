package toolset

import (
	"context"
	"strings"

	"github.com/plimsoll/plimsoll/argocd"
	"github.com/plimsoll/plimsoll/argocd/inventory"
	"github.com/plimsoll/plimsoll/tools/mcp/builtin"
)

type listApplicationSetsArguments struct {
	target
	Projects  []string `json:"param_projects,omitempty" jsonschema:"Only application sets whose template is in these projects"`
	Selector  string   `json:"param_selector,omitempty" jsonschema:"Kubernetes label selector, e.g. team=payments"`
	Namespace string   `json:"param_appsetNamespace,omitempty" jsonschema:"Only application sets that live in this namespace"`
	detailOptions
	paging
}

const listApplicationSetsText = `List Argo CD application sets, one page at a time, sorted by name.

A row has the name, namespace, project, the kinds of generators, what the template deploys and the status. For all of one use applicationset_service__get. To find application sets by a part of a name, repository or path use search_argocd_resources with resource_types=["applicationsets"]. "pagination" and "summary" count all that match, not only the page; "next" is the call for the following page.`

func (t *Toolset) listApplicationSets() builtin.Tool {
	return builtin.Typed(builtin.Tool{
		Name:        "applicationset_list",
		Title:       "List application sets",
		Description: listApplicationSetsText,
		Hints:       reads,
	}, func(ctx context.Context, c *builtin.Call, in listApplicationSetsArguments) (*builtin.Result, error) {
		return t.list(ctx, c, request{
			target: in.target, paging: in.paging, detailOptions: in.detailOptions,
			list: inventory.ListRequest{
				Kind: argocd.ApplicationSets,
				Query: argocd.Query{
					Projects: words(in.Projects), Selector: strings.TrimSpace(in.Selector),
					AppNamespace: strings.TrimSpace(in.Namespace),
				},
			},
			repeatPart: func(p paging, part int) any { in.paging, in.Part = p, part; return in },
			none:       "No application set matches. Argo CD also leaves out what this token may not see.",
		})
	})
}
