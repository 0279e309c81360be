package toolset

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/plimsoll/plimsoll/internal/argocd"
	"github.com/plimsoll/plimsoll/internal/argocd/redact"
	"github.com/plimsoll/plimsoll/tools/mcp/builtin"
)

// answerSize bounds a default answer, in bytes: the smallest cap that is known of MCP clients is 10 KB.
const answerSize = 9600

// detailTools returns the tools that read single objects and what belongs to them.
func (t *Toolset) detailTools() []builtin.Tool {
	return []builtin.Tool{
		t.applicationTool(), t.treeTool(), t.managedTool(), t.eventsTool(), t.logsTool(),
		t.linksTool(), t.windowsTool(), t.historyTool(), t.resourceTool(), t.actionsTool(),
		t.applicationSetTool(), t.generateTool(), t.projectTool(), t.clusterTool(),
		t.repositoriesTool(), t.certificatesTool(), t.keysTool(), t.keyTool(),
		t.canITool(), t.accountsTool(), t.accountTool(), t.versionTool(),
	}
}

// instanceName returns the instance that the arguments name; "" if none.
func (t target) instanceName() string { return t.Instance }

// readTool returns a tool that only reads. oldNames maps the argument names of the Python server to ours, or to "" for arguments that have
// no effect any more: calls with those are accepted, and no schema shows them.
func readTool[A interface{ instanceName() string }](t *Toolset, tool builtin.Tool, oldNames map[string]string,
	run func(ctx context.Context, c *builtin.Call, client *argocd.Client, in A) (*builtin.Result, error),
) builtin.Tool {
	tool.Hints = reads
	return withOldNames(builtin.Typed(tool, func(ctx context.Context, c *builtin.Call, in A) (*builtin.Result, error) {
		client, err := t.clientFor(c, in.instanceName())
		if err != nil {
			return nil, err
		}
		return run(ctx, c, client, in)
	}), oldNames)
}

// withOldNames returns the tool accepting oldNames too.
func withOldNames(tool builtin.Tool, oldNames map[string]string) builtin.Tool {
	if typed := tool.Run; len(oldNames) > 0 && typed != nil {
		tool.Run = func(ctx context.Context, c *builtin.Call) (*builtin.Result, error) {
			renamed := *c
			renamed.Arguments = withNewNames(c.Arguments, oldNames)
			return typed(ctx, &renamed)
		}
	}
	return tool
}

// formerApplication returns the old argument names that all tools for one application accept, and more.
func formerApplication(more map[string]string) map[string]string {
	names := map[string]string{"path_name": "name", "param_appNamespace": "namespace", "app_namespace": "namespace", "param_project": "project"}
	maps.Copy(names, more)
	return names
}

// withNewNames returns arguments with old names replaced by the present ones, as oldNames maps them. Arguments that are not an object are
// unchanged, and so are two names for one argument: the tool then refuses them with the reason. An argument whose name maps to "" is
// removed if its value is empty, null or false.
func withNewNames(arguments json.RawMessage, oldNames map[string]string) json.RawMessage {
	var values map[string]json.RawMessage
	if json.Unmarshal(arguments, &values) != nil {
		return arguments
	}
	changed := false
	for from, to := range oldNames {
		value, there := values[from]
		if _, both := values[to]; !there || both {
			continue
		}
		if to == "" {
			if s := string(value); s != `""` && s != "null" && s != "false" {
				continue
			}
		} else {
			values[to] = value
		}
		delete(values, from)
		changed = true
	}
	if !changed {
		return arguments
	}
	out, err := json.Marshal(values)
	if err != nil {
		return arguments
	}
	return out
}

// objectDetail holds the arguments that select the parts of one object.
type objectDetail struct {
	Full    bool     `json:"full,omitempty" jsonschema:"The whole object"`
	Include []string `json:"include,omitempty" jsonschema:"With full: managed_fields, history, helm_values, api_versions"`
	Part    int      `json:"part,omitempty" jsonschema:"Of a large object, from 1"`
}

func (d objectDetail) partsToKeep() (keep redact.Keep, full bool, err error) {
	return detailOptions{Full: d.Full, Include: d.Include}.partsToKeep()
}

// objectAnswer is one object of Argo CD.
type objectAnswer struct {
	Instance string   `json:"instance,omitempty"`
	Link     string   `json:"link,omitempty"`
	Note     string   `json:"note,omitempty"`
	LeftOut  []string `json:"left_out,omitempty"`
	// How names the arguments that show what was left out.
	How string `json:"how_to_see_it,omitempty"`
	// Part says which part of a large object Object is, Next is the call for the next part; both nil for a whole object.
	Part   *objectPart     `json:"part,omitempty"`
	Next   *nextCall       `json:"next,omitempty"`
	Object json.RawMessage `json:"object"`
}

const (
	wholeObject = "full=true gives the whole object, " + wholeParts + " these parts too"
	wholeParts  = `include=["managed_fields","history","helm_values","api_versions"]`
)

// objectResult answers with the object raw, secrets masked: shortened to what fits, or whole (in parts if it is large) if d asks for that.
// repeat returns the arguments of the same call for another part.
func (t *Toolset) objectResult(c *builtin.Call, client *argocd.Client, raw []byte, d objectDetail, link, note string, repeat func(part int) any) (*builtin.Result, error) {
	keep, full, err := d.partsToKeep()
	if err != nil {
		return nil, err
	}
	if b := bytes.TrimSpace(raw); len(b) == 0 || b[0] != '{' || len(bytes.Trim(b, "{} \t\r\n")) == 0 {
		return nil, notObjectError(client, "the object")
	}
	slim, left, err := redact.Slim(raw, keep)
	if err != nil {
		return nil, fmt.Errorf("%s: the server's answer: %w", client.Name(), err)
	}
	a := objectAnswer{Instance: t.instanceLabel(client), Link: link, Note: note, LeftOut: left}
	if !full {
		var cut []string
		slim, cut = trimTo(slim, min(answerSize, roomOf(c))-len(link)-len(note)-600-size(left))
		a.LeftOut = append(a.LeftOut, cut...)
	}
	if len(a.LeftOut) > 0 {
		a.How = wholeObject
		if full {
			a.How = wholeParts + " gives these parts too"
		}
	}
	a.Object = slim
	r, err := pageResult(a)
	if err != nil || !full || d.Part <= 1 && len(r.Text) <= roomOf(c) {
		return r, err
	}
	if a.Part, a.Object, err = partOf(slim, d.Part, roomOf(c)-(len(r.Text)-len(slim))); err != nil {
		return nil, err
	}
	if a.Part.HasNext {
		a.Next = &nextCall{Tool: c.Tool, Arguments: repeat(a.Part.Part + 1)}
	}
	return pageResult(a)
}

// notObjectError returns the error for valid JSON that is not the expected object: null, {}, or the answer of another kind of server.
// Without it that would be shown as an object without a status.
func notObjectError(client *argocd.Client, what string) error {
	return &argocd.Error{
		Instance: client.Name(), Op: "read " + what, Kind: argocd.NotArgoCD, Message: "the answer is no object of Argo CD: it has no name",
		Hint: "check that " + client.URL() + " is the URL of an Argo CD server, and look for a proxy in front of it that changes answers",
	}
}

// size returns about how many bytes texts take in an answer.
func size(texts []string) (n int) {
	for _, text := range texts {
		n += len(text) + 3
	}
	return n
}

// fetchOf reads an application or, with path, the address below it (such as "resource-tree"), and returns the JSON. It is an error if no name
// is given.
func fetchOf(ctx context.Context, client *argocd.Client, path []string, in appArgs) ([]byte, error) {
	if err := checkGiven("name", in.Name); err != nil {
		return nil, err
	}
	return client.Get(ctx, append([]string{"applications", in.Name}, path...), in.query())
}

// appLink returns the address of an application's page, in the form that all tools show; "" if its namespace is not known.
func appLink(client *argocd.Client, namespace, name string) string {
	if namespace == "" {
		return ""
	}
	return client.URL() + "/applications/" + namespace + "/" + name
}

// linkOf returns [appLink] for an application as the server sent it; "" if that cannot be read.
func linkOf(client *argocd.Client, raw []byte) string {
	var app struct {
		Metadata struct {
			Name      string `json:"name"`
			Namespace string `json:"namespace"`
		} `json:"metadata"`
	}
	if json.Unmarshal(raw, &app) != nil {
		return ""
	}
	return appLink(client, app.Metadata.Namespace, app.Metadata.Name)
}

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
			if err := checkGiven("name", in.Name); err != nil {
				return nil, err
			}
			raw, err := client.Get(ctx, []string{"projects", in.Name, "detailed"}, nil)
			if err != nil {
				return nil, err
			}
			return t.objectResult(c, client, raw, in.objectDetail, client.URL()+"/settings/projects/"+in.Name, "", func(part int) any { in.Part = part; return in })
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
			if err := checkGiven("cluster", in.Cluster); err != nil {
				return nil, err
			}
			id, err := in.idType()
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
			return t.objectResult(c, client, raw, in.objectDetail, "", "", func(part int) any { in.Part = part; return in })
		})
}

// idType returns "name" or "server": the type that was given, or else the one that the text of cluster looks like.
func (in clusterArguments) idType() (string, error) {
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
	return "", fmt.Errorf("id_type is %q: it can be name or server", shortQuote(in.IDType))
}
