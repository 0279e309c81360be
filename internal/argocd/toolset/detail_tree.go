package toolset

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/internal/argocd"
	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/tools/mcp/builtin"
)

// resourceSelector holds the arguments that select resources of an application.
type resourceSelector struct {
	Kind              string `json:"kind,omitempty" jsonschema:"E.g. Pod"`
	Group             string `json:"group,omitempty" jsonschema:"Only this API group, e.g. apps"`
	ResourceNamespace string `json:"resource_namespace,omitempty" jsonschema:"Of the resources"`
	ResourceName      string `json:"resource_name,omitempty" jsonschema:"Exactly"`
}

// grouped splits a kind as answers show it, "apps/Deployment", into kind and group, unless another group is given.
func grouped(kind, group string) (string, string) {
	if before, after, found := strings.Cut(kind, "/"); found && (group == "" || strings.EqualFold(group, before)) {
		return after, before
	}
	return kind, group
}

func (p resourceSelector) selects(r treeRef) bool {
	p.Kind, p.Group = grouped(p.Kind, p.Group)
	return (p.Kind == "" || strings.EqualFold(p.Kind, r.Kind)) && (p.Group == "" || strings.EqualFold(p.Group, r.Group)) &&
		(p.ResourceNamespace == "" || p.ResourceNamespace == r.Namespace) && (p.ResourceName == "" || p.ResourceName == r.Name)
}

type treeArguments struct {
	appArgs
	resourceSelector
	Health []string `json:"health,omitempty" jsonschema:"Only these: Healthy, Progressing, Degraded, Suspended, Missing, Unknown, none"`
	paging
}

const treeText = `All resources of an application, also those that controllers made (ReplicaSets, Pods), with their health, unhealthy first; the summary counts all of them. health=["Degraded","Progressing"] shows what needs attention.`

// treeRef identifies a resource (ResourceRef of types.go).
type treeRef struct {
	Group     string `json:"group"`
	Version   string `json:"version"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	UID       string `json:"uid"`
}

func (r treeRef) groupKind() string {
	if r.Group == "" {
		return r.Kind
	}
	return r.Group + "/" + r.Kind
}

func (r treeRef) String() string { return r.Kind + "/" + r.Name }

// treeNode has the fields of a ResourceNode, and of a ResourceStatus those that are used.
type treeNode struct {
	treeRef
	Status     string    `json:"status"` // of a ResourceStatus: Synced, OutOfSync
	Pruning    bool      `json:"requiresPruning"`
	ParentRefs []treeRef `json:"parentRefs"`
	Images     []string  `json:"images"`
	Created    string    `json:"createdAt"`
	Health     *struct {
		Status  string `json:"status"`
		Message string `json:"message"`
	} `json:"health"`
	Info []struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	} `json:"info"`
}

func (n treeNode) healthName() string {
	if n.Health == nil {
		return "none"
	}
	return cmp.Or(n.Health.Status, "none")
}

// nodeView is a resource in an answer.
type nodeView struct {
	Kind      string   `json:"kind"`
	Namespace string   `json:"namespace,omitempty"`
	Name      string   `json:"name"`
	Health    string   `json:"health,omitempty"`
	Sync      string   `json:"sync,omitempty"`
	Prune     bool     `json:"to_be_pruned,omitempty"`
	Orphaned  bool     `json:"orphaned,omitempty"`
	Message   string   `json:"message,omitempty"`
	Parent    string   `json:"parent,omitempty"`
	Info      string   `json:"info,omitempty"`
	Images    []string `json:"images,omitempty"`
	Created   string   `json:"created,omitempty"`
}

// shortened returns the view with shorter texts and fewer images; below 100 bytes it has only names and states.
func (v nodeView) shortened(maxBytes int) nodeView {
	v.Message = clip(v.Message, maxBytes)
	v.Info = clip(v.Info, maxBytes/2)
	v.Images = clips(v.Images, max(1, maxBytes/100), max(60, maxBytes/2))
	if maxBytes < 100 { // with names this long there is room for nothing else
		v.Images, v.Info, v.Created, v.Parent = nil, "", "", clip(v.Parent, maxBytes)
	}
	return v
}

// view returns the node for an answer; only its first parent is named.
func (n treeNode) view() nodeView {
	v := nodeView{
		Kind: n.groupKind(), Namespace: n.Namespace, Name: n.Name, Health: n.healthName(), Sync: n.Status,
		Prune: n.Pruning, Images: n.Images, Created: n.Created,
	}
	if v.Health == "none" {
		v.Health = ""
	}
	if n.Health != nil {
		v.Message = n.Health.Message
	}
	for _, parent := range n.ParentRefs {
		v.Parent = parent.String()
		break
	}
	var info []string
	for _, i := range n.Info {
		info = append(info, i.Name+": "+i.Value)
	}
	v.Info = strings.Join(info, ", ")
	return v
}

// rankFine is the lowest rank of health that needs no attention; resources are sorted by rank.
const rankFine = 4

// healthRank orders health states: the smaller the rank, the more it needs attention. From rankFine on, nothing is wrong.
func healthRank(status string) int {
	switch status {
	case "Degraded":
		return 0
	case "Missing":
		return 1
	case "Unknown":
		return 2
	case "Progressing":
		return 3
	case "Suspended":
		return rankFine
	case "Healthy":
		return rankFine + 1
	}
	return rankFine + 2 // none: kinds that have no health
}

// healthNames are the values of the argument health.
var healthNames = [...]string{"Healthy", "Progressing", "Degraded", "Suspended", "Missing", "Unknown", "none"}

// healthFilter returns the values of the argument health as a set, in the server's spelling; nil if it is empty, and everything passes. An
// unknown value is an error that lists the known ones.
func healthFilter(values []string) (map[string]bool, error) {
	var set map[string]bool
	for _, value := range splitValues(values) {
		i := slices.IndexFunc(healthNames[:], func(name string) bool { return strings.EqualFold(name, value) })
		if i < 0 {
			return nil, fmt.Errorf("health has no value %q; there are: %s", shortQuote(value), strings.Join(healthNames[:], ", "))
		}
		if set == nil {
			set = map[string]bool{}
		}
		set[healthNames[i]] = true
	}
	return set, nil
}

type treeSummary struct {
	Resources int   `json:"resources"`
	Orphaned  int   `json:"orphaned,omitempty"`
	Health    tally `json:"by_health"`
	Kinds     tally `json:"by_kind"`
}

func (t *Toolset) treeTool() builtin.Tool {
	return readTool(t, builtin.Tool{Name: "get_application_resource_tree", Title: "Resource tree of an application", Description: treeText},
		formerApplication(map[string]string{"path_applicationName": "name", "param_namespace": "resource_namespace", "param_name": "resource_name", "param_kind": "kind", "param_group": "group"}),
		func(ctx context.Context, c *builtin.Call, client *argocd.Client, in treeArguments) (*builtin.Result, error) {
			health, err := healthFilter(in.Health)
			if err != nil {
				return nil, err
			}
			if err := checkGiven("name", in.Name); err != nil {
				return nil, err
			}
			sum := treeSummary{Health: tally{}, Kinds: tally{}}
			found := rows[nodeView]{narrow: "ask for one kind, or for health=[\"Degraded\",\"Progressing\",\"Missing\"]"}
			read := 0
			each := func(orphaned bool) func(raw []byte) error {
				return func(raw []byte) error {
					if read++; read%progressEvery == 0 {
						c.Progress(float64(read), 0, fmt.Sprintf("%d resources read", read))
					}
					var n treeNode
					if err := decode(client, "resource tree", raw, &n); err != nil {
						return err
					}
					if orphaned {
						sum.Orphaned++
					} else {
						sum.Resources++
						sum.Health[n.healthName()]++
						sum.Kinds[n.groupKind()]++
					}
					if !in.selects(n.treeRef) || health != nil && !health[n.healthName()] {
						return nil
					}
					v := n.view().shortened(maxShown * 2)
					v.Orphaned = orphaned
					return found.add(v)
				}
			}
			_, err = client.Elements(ctx, []string{"applications", in.Name, "resource-tree"}, in.query(), map[string]func([]byte) error{
				"nodes": each(false), "orphanedNodes": each(true),
				"hosts": func([]byte) error { return nil }, // the machines of the cluster
			})
			if err != nil {
				return nil, err
			}
			sorting.StableBy(found.list, func(a, b nodeView) int {
				return cmp.Or(cmp.Compare(healthRank(a.Health), healthRank(b.Health)), cmp.Compare(a.Kind, b.Kind),
					cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
			})
			sum.Kinds = sum.Kinds.top(20)
			a := paged[nodeView]{Instance: t.instanceLabel(client), Of: in.Name, Summary: sum}
			if len(found.list) == 0 {
				a.Note = "No resource matches; the summary counts all there are."
			}
			return page(c, a, found.list, in.paging, func(p paging) any { in.paging = p; return in })
		})
}
