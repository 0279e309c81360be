package toolset

import (
	"context"
	"strings"

	"github.com/plimsoll/plimsoll/internal/argocd"
	"github.com/plimsoll/plimsoll/internal/argocd/inventory"
	"github.com/plimsoll/plimsoll/tools/mcp/builtin"
)

type listProjectsArguments struct {
	target
	Name string `json:"param_name,omitempty" jsonschema:"Exactly"`
	detailOptions
	paging
}

const listProjectsText = `Projects (AppProjects) by page: name, description, what they allow. project_get has all of one.`

func (t *Toolset) listProjects() builtin.Tool {
	return builtin.Typed(builtin.Tool{
		Name:        "project_list",
		Title:       "List projects",
		Description: listProjectsText,
		Hints:       reads,
	}, func(ctx context.Context, c *builtin.Call, in listProjectsArguments) (*builtin.Result, error) {
		return t.list(ctx, c, listCall{
			target: in.target, paging: in.paging, detailOptions: in.detailOptions,
			list: inventory.ListRequest{
				Kind:  argocd.Projects,
				Query: argocd.Query{Name: strings.TrimSpace(in.Name)},
			},
			repeatPart: func(p paging, part int) any { in.paging, in.Part = p, part; return in },
			none:       "No project matches. param_name is compared exactly: search_argocd_resources finds parts of names. Argo CD also leaves out what this token may not see.",
		})
	})
}
