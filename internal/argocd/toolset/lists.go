package toolset

import (
	"context"
	"fmt"
	"net/url"
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

func (t *Toolset) listApplicationsTool() builtin.Tool {
	return builtin.Typed(builtin.Tool{
		Name:        "list_applications",
		Title:       "List applications",
		Description: listApplicationsText,
		Hints:       reads,
	}, func(ctx context.Context, c *builtin.Call, in listApplicationsArguments) (*builtin.Result, error) {
		namespace, err := sameValue("namespace", in.Namespace, "app_namespace", in.AppNamespace)
		if err != nil {
			return nil, err
		}
		notes := ""
		if refresh := strings.TrimSpace(in.Refresh); refresh != "" {
			notes = fmt.Sprintf("refresh=%s did nothing: Argo CD refreshes one application at a time. ", shortQuote(refresh))
		}
		q := listCall{
			target: in.target, paging: in.paging, detailOptions: in.detailOptions, notes: notes,
			list: inventory.ListRequest{
				Kind: argocd.Applications,
				Query: argocd.Query{
					Projects: splitValues(in.Project), Name: strings.TrimSpace(in.Name), Repo: strings.TrimSpace(in.Repo),
					Selector: strings.TrimSpace(in.Selector), AppNamespace: namespace,
				},
				Health: splitValues(in.Health), Sync: splitValues(in.Sync),
				Namespace: strings.TrimSpace(in.Destination),
			},
			cluster: strings.TrimSpace(in.Cluster),
			none:    "No application matches. name and repo are compared exactly: search_argocd_resources finds parts of them. Argo CD also leaves out what this token may not see.",
		}
		in.Refresh = ""
		q.repeatPart = func(p paging, part int) any { in.paging, in.Part = p, part; return in }
		return t.answerList(ctx, c, q)
	})
}

type listApplicationSetsArguments struct {
	target
	Projects  []string `json:"param_projects,omitempty" jsonschema:"Of the template"`
	Selector  string   `json:"param_selector,omitempty" jsonschema:"Labels, e.g. team=payments"`
	Namespace string   `json:"param_appsetNamespace,omitempty" jsonschema:"They live in"`
	detailOptions
	paging
}

const listApplicationSetsText = `Application sets by page: name, project, kinds of generators, what the template deploys, status. search_argocd_resources finds by parts; applicationset_service__get has all of one.`

func (t *Toolset) listApplicationSetsTool() builtin.Tool {
	return builtin.Typed(builtin.Tool{
		Name:        "applicationset_list",
		Title:       "List application sets",
		Description: listApplicationSetsText,
		Hints:       reads,
	}, func(ctx context.Context, c *builtin.Call, in listApplicationSetsArguments) (*builtin.Result, error) {
		return t.answerList(ctx, c, listCall{
			target: in.target, paging: in.paging, detailOptions: in.detailOptions,
			list: inventory.ListRequest{
				Kind: argocd.ApplicationSets,
				Query: argocd.Query{
					Projects: splitValues(in.Projects), Selector: strings.TrimSpace(in.Selector),
					AppNamespace: strings.TrimSpace(in.Namespace),
				},
			},
			repeatPart: func(p paging, part int) any { in.paging, in.Part = p, part; return in },
			none:       "No application set matches. Argo CD also leaves out what this token may not see.",
		})
	})
}

type listClustersArguments struct {
	target
	Server  string `json:"param_server,omitempty" jsonschema:"Exactly this URL, with its port"`
	Name    string `json:"param_name,omitempty" jsonschema:"Exactly"`
	IDType  string `json:"param_id_type,omitempty" jsonschema:"What param_id_value is: server (default), name or name_escaped"`
	IDValue string `json:"param_id_value,omitempty" jsonschema:"URL or name of the cluster, as param_id_type says"`
	detailOptions
	paging
}

const listClustersText = `Clusters that Argo CD deploys to: name, URL, version, state of the connection, applications. Credentials are never shown.`

func (t *Toolset) listClustersTool() builtin.Tool {
	return builtin.Typed(builtin.Tool{
		Name:        "cluster_service__list",
		Title:       "List clusters",
		Description: listClustersText,
		Hints:       reads,
	}, func(ctx context.Context, c *builtin.Call, in listClustersArguments) (*builtin.Result, error) {
		name, server, err := in.nameOrServer()
		if err != nil {
			return nil, err
		}
		return t.answerList(ctx, c, listCall{
			target: in.target, paging: in.paging, detailOptions: in.detailOptions,
			list: inventory.ListRequest{
				Kind:  argocd.Clusters,
				Query: argocd.Query{Name: name, Server: server},
			},
			repeatPart: func(p paging, part int) any { in.paging, in.Part = p, part; return in },
			none:       "No cluster matches. Names and URLs are compared exactly, a URL with its port: search_argocd_resources finds parts of them. Argo CD also leaves out what this token may not see.",
		})
	})
}

// nameOrServer returns the cluster's name or address from the two ways to give it. The types of ids are those of Argo CD's API.
func (in listClustersArguments) nameOrServer() (name, server string, err error) {
	value := strings.TrimSpace(in.IDValue)
	idName, idServer := "", ""
	switch strings.ToLower(strings.TrimSpace(in.IDType)) {
	case "", "server", "url":
		idServer = value
	case "name":
		idName = value
	case "name_escaped":
		if idName, err = url.QueryUnescape(value); err != nil {
			return "", "", fmt.Errorf("param_id_value %q is not escaped as in a URL: %w; send it as it is, with param_id_type=name", shortQuote(value), err)
		}
	default:
		return "", "", fmt.Errorf("param_id_type is %q; there are: server, name, name_escaped", shortQuote(in.IDType))
	}
	if name, err = sameValue("param_name", in.Name, "param_id_value", idName); err != nil {
		return "", "", err
	}
	server, err = sameValue("param_server", in.Server, "param_id_value", idServer)
	return name, server, err
}

type listProjectsArguments struct {
	target
	Name string `json:"param_name,omitempty" jsonschema:"Exactly"`
	detailOptions
	paging
}

const listProjectsText = `Projects (AppProjects) by page: name, description, what they allow. project_get has all of one.`

func (t *Toolset) listProjectsTool() builtin.Tool {
	return builtin.Typed(builtin.Tool{
		Name:        "project_list",
		Title:       "List projects",
		Description: listProjectsText,
		Hints:       reads,
	}, func(ctx context.Context, c *builtin.Call, in listProjectsArguments) (*builtin.Result, error) {
		return t.answerList(ctx, c, listCall{
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
