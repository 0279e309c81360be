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

func (t *Toolset) listClusters() builtin.Tool {
	return builtin.Typed(builtin.Tool{
		Name:        "cluster_service__list",
		Title:       "List clusters",
		Description: listClustersText,
		Hints:       reads,
	}, func(ctx context.Context, c *builtin.Call, in listClustersArguments) (*builtin.Result, error) {
		name, server, err := in.identify()
		if err != nil {
			return nil, err
		}
		return t.list(ctx, c, listCall{
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

// identify returns the cluster's name or address from the two ways to give it. The types of ids are those of Argo CD's API.
func (in listClustersArguments) identify() (name, server string, err error) {
	value := strings.TrimSpace(in.IDValue)
	idName, idServer := "", ""
	switch strings.ToLower(strings.TrimSpace(in.IDType)) {
	case "", "server", "url":
		idServer = value
	case "name":
		idName = value
	case "name_escaped":
		if idName, err = url.QueryUnescape(value); err != nil {
			return "", "", fmt.Errorf("param_id_value %q is not escaped as in a URL: %w; send it as it is, with param_id_type=name", short(value), err)
		}
	default:
		return "", "", fmt.Errorf("param_id_type is %q; there are: server, name, name_escaped", short(in.IDType))
	}
	if name, err = oneValue("param_name", in.Name, "param_id_value", idName); err != nil {
		return "", "", err
	}
	server, err = oneValue("param_server", in.Server, "param_id_value", idServer)
	return name, server, err
}
