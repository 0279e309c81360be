package toolset

import (
	"context"
	"strings"

	"github.com/plimsoll/plimsoll/internal/argocd"
	"github.com/plimsoll/plimsoll/internal/argocd/inventory"
	"github.com/plimsoll/plimsoll/tools/mcp/builtin"
)

type listApplicationSetsArguments struct {
	target
	Projects  []string `json:"param_projects,omitempty" jsonschema:"Of the template"`
	Selector  string   `json:"param_selector,omitempty" jsonschema:"Labels, e.g. team=payments"`
	Namespace string   `json:"param_appsetNamespace,omitempty" jsonschema:"They live in"`
	detailOptions
	paging
}

const listApplicationSetsText = `Application sets by page: name, project, kinds of generators, what the template deploys, status. search_argocd_resources finds by parts; applicationset_service__get has all of one.`

func (t *Toolset) listApplicationSets() builtin.Tool {
	return builtin.Typed(builtin.Tool{
		Name:        "applicationset_list",
		Title:       "List application sets",
		Description: listApplicationSetsText,
		Hints:       reads,
	}, func(ctx context.Context, c *builtin.Call, in listApplicationSetsArguments) (*builtin.Result, error) {
		return t.list(ctx, c, listCall{
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
