package toolset

import (
	"context"
	"fmt"
	"strings"

	"github.com/plimsoll/plimsoll/internal/argocd"
	"github.com/plimsoll/plimsoll/tools/mcp/builtin"
)

type projectArguments struct {
	target
	Name string `json:"name" jsonschema:"The project"`
	objectDetail
}

func (t *Toolset) projectTool() builtin.Tool {
	return readTool(t, builtin.Tool{
		Name: "project_get", Title: "Project",
		Description: "One Argo CD project: allowed repositories, destinations and kinds, roles with their policies and groups, sync windows, and its own repositories and clusters. full=true gives also what a short answer has no room for.",
	}, map[string]string{"param_name": "name", "path_name": "name"},
		func(ctx context.Context, c *builtin.Call, client *argocd.Client, in projectArguments) (*builtin.Result, error) {
			if err := required("name", in.Name); err != nil {
				return nil, err
			}
			raw, err := client.Get(ctx, []string{"projects", in.Name, "detailed"}, nil)
			if err != nil {
				return nil, err
			}
			return t.object(c, client, raw, in.objectDetail, client.URL()+"/settings/projects/"+in.Name, "", func(part int) any { in.Part = part; return in })
		})
}

type clusterArguments struct {
	target
	Cluster string `json:"cluster" jsonschema:"Its name, or its URL with the port (https://10.0.0.1:6443)"`
	IDType  string `json:"id_type,omitempty" jsonschema:"name or server; empty: what has :// in it is a URL"`
	objectDetail
}

func (t *Toolset) clusterTool() builtin.Tool {
	return readTool(t, builtin.Tool{
		Name: "cluster_service__get", Title: "Cluster",
		Description: "One cluster that Argo CD deploys to, by its name or its URL: connection and its error, version, number of applications and resources, namespaces, how Argo CD signs in. Credentials are masked; include=[\"api_versions\"] lists the API versions.",
	}, map[string]string{"path_id_value": "cluster", "param_id_type": "id_type", "param_server": "", "param_name": ""},
		func(ctx context.Context, c *builtin.Call, client *argocd.Client, in clusterArguments) (*builtin.Result, error) {
			if err := required("cluster", in.Cluster); err != nil {
				return nil, err
			}
			id, err := in.identify()
			if err != nil {
				return nil, err
			}
			// ClusterID of server/cluster/cluster.proto: without a type it is the URL.
			q := map[string][]string{}
			if id == "name" {
				q["id.type"] = []string{"name"}
			}
			raw, err := client.Get(ctx, []string{"clusters", strings.TrimSpace(in.Cluster)}, q)
			if err != nil {
				return nil, err
			}
			return t.object(c, client, raw, in.objectDetail, "", "", func(part int) any { in.Part = part; return in })
		})
}

func (in clusterArguments) identify() (string, error) {
	switch kind := strings.ToLower(strings.TrimSpace(in.IDType)); kind {
	case "name":
		return "name", nil
	case "server", "url":
		return "server", nil
	case "":
		if strings.Contains(in.Cluster, "://") {
			return "server", nil
		}
		return "name", nil
	}
	return "", fmt.Errorf("id_type is %q: it can be name or server", short(in.IDType))
}
