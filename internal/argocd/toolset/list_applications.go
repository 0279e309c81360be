package toolset

import (
	"context"
	"fmt"
	"strings"

	"github.com/plimsoll/plimsoll/internal/argocd"
	"github.com/plimsoll/plimsoll/internal/argocd/inventory"
	"github.com/plimsoll/plimsoll/tools/mcp/builtin"
)

type listApplicationsArguments struct {
	target
	Project      []string `json:"project,omitempty" jsonschema:"Only these projects"`
	Name         string   `json:"name,omitempty" jsonschema:"Exactly"`
	Repo         string   `json:"repo,omitempty" jsonschema:"Exactly this URL"`
	Namespace    string   `json:"namespace,omitempty" jsonschema:"They live in, not where they deploy to"`
	AppNamespace string   `json:"app_namespace,omitempty" jsonschema:"The same as namespace"`
	Destination  string   `json:"destination_namespace,omitempty" jsonschema:"They deploy to"`
	Cluster      string   `json:"cluster,omitempty" jsonschema:"They deploy to: name or URL"`
	Selector     string   `json:"selector,omitempty" jsonschema:"Labels, e.g. team=payments,env in (prod,stage)"`
	Health       []string `json:"health,omitempty" jsonschema:"Only these: Healthy, Progressing, Degraded, Suspended, Missing, Unknown, none"`
	Sync         []string `json:"sync,omitempty" jsonschema:"Only these: Synced, OutOfSync, Unknown, none"`
	Refresh      string   `json:"refresh,omitempty" jsonschema:"Does nothing: a list cannot refresh applications"`
	detailOptions
	paging
}

const listApplicationsText = `Argo CD applications by page, sorted by name. Every page has exact counts by health, sync status and project ("summary") over ALL that match: for "how many" page_size=1 is the cheapest.
Filters work together; name and repo are exact (search_argocd_resources finds parts). health=["Degraded","Missing"], sync=["OutOfSync"] show what needs attention.
"dest" is cluster and namespace deployed to, "rev" the target revision. "next" is the call for the next page. "link" takes a row's namespace and name.`

func (t *Toolset) listApplications() builtin.Tool {
	return builtin.Typed(builtin.Tool{
		Name:        "list_applications",
		Title:       "List applications",
		Description: listApplicationsText,
		Hints:       reads,
	}, func(ctx context.Context, c *builtin.Call, in listApplicationsArguments) (*builtin.Result, error) {
		namespace, err := oneValue("namespace", in.Namespace, "app_namespace", in.AppNamespace)
		if err != nil {
			return nil, err
		}
		notes := ""
		if refresh := strings.TrimSpace(in.Refresh); refresh != "" {
			notes = fmt.Sprintf("refresh=%s did nothing: Argo CD refreshes one application at a time. ", short(refresh))
		}
		q := listCall{
			target: in.target, paging: in.paging, detailOptions: in.detailOptions, notes: notes,
			list: inventory.ListRequest{
				Kind: argocd.Applications,
				Query: argocd.Query{
					Projects: words(in.Project), Name: strings.TrimSpace(in.Name), Repo: strings.TrimSpace(in.Repo),
					Selector: strings.TrimSpace(in.Selector), AppNamespace: namespace,
				},
				Health: words(in.Health), Sync: words(in.Sync),
				Namespace: strings.TrimSpace(in.Destination),
			},
			cluster: strings.TrimSpace(in.Cluster),
			none:    "No application matches. name and repo are compared exactly: search_argocd_resources finds parts of them. Argo CD also leaves out what this token may not see.",
		}
		in.Refresh = ""
		q.repeatPart = func(p paging, part int) any { in.paging, in.Part = p, part; return in }
		return t.list(ctx, c, q)
	})
}
