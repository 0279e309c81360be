package toolset

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/plimsoll/plimsoll/internal/argocd"
	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/tools/mcp/builtin"
)

type applicationSetArguments struct {
	target
	Name      string `json:"name" jsonschema:"The application set"`
	Namespace string `json:"namespace,omitempty" jsonschema:"If not Argo CD's"`
	objectDetail
}

func (t *Toolset) applicationSetTool() builtin.Tool {
	return readTool(t, builtin.Tool{
		Name: "applicationset_service__get", Title: "Application set",
		Description: "One application set: its generators, template, strategy, conditions and the applications it made. full=true gives also what a short answer has no room for. application_set_service__generate shows what it would make.",
	}, map[string]string{"path_name": "name", "param_appsetNamespace": "namespace"},
		func(ctx context.Context, c *builtin.Call, client *argocd.Client, in applicationSetArguments) (*builtin.Result, error) {
			raw, err := fetchSet(ctx, client, in.Name, in.Namespace)
			if err != nil {
				return nil, err
			}
			return t.objectResult(c, client, raw, in.objectDetail, "", progressiveSync(raw), func(part int) any { in.Part = part; return in })
		})
}

// progressiveSync describes in a few words how far the steps of a rolling sync are (ApplicationSetApplicationStatus of
// applicationset_types.go); "" if there are no steps.
func progressiveSync(raw []byte) string {
	var set struct {
		Spec struct {
			Strategy struct {
				Rolling struct {
					Steps []json.RawMessage `json:"steps"`
				} `json:"rollingSync"`
			} `json:"strategy"`
		} `json:"spec"`
		Status struct {
			Applications []struct {
				Name   string `json:"application"`
				Status string `json:"status"`
				Step   string `json:"step"`
			} `json:"applicationStatus"`
		} `json:"status"`
	}
	if json.Unmarshal(raw, &set) != nil || len(set.Spec.Strategy.Rolling.Steps) == 0 {
		return ""
	}
	n := len(set.Spec.Strategy.Rolling.Steps)
	parts := []string{fmt.Sprintf("Progressive sync in %d steps", n)}
	for step := range min(n, maxListed) {
		states, open := tally{}, []string{}
		for _, a := range set.Status.Applications {
			if a.Step != strconv.Itoa(step+1) {
				continue
			}
			if states[cmp.Or(a.Status, "none")]++; a.Status != "Healthy" && len(open) < 3 {
				open = append(open, clip(a.Name, 80)+" is "+clip(a.Status, 20))
			}
		}
		var said strings.Builder
		fmt.Fprintf(&said, "step %d: ", step+1)
		if len(states) == 0 {
			said.WriteString("no application")
		}
		for i, state := range slices.Sorted(maps.Keys(states)) {
			fmt.Fprintf(&said, "%s%d %s", map[bool]string{true: ", "}[i > 0], states[state], clip(state, 20))
		}
		if len(open) > 0 {
			said.WriteString(" (" + strings.Join(open, ", ") + ")")
		}
		parts = append(parts, said.String())
	}
	return strings.Join(parts, "; ") + "."
}

// fetchSet reads an application set as the server sends it; namespace may be "".
func fetchSet(ctx context.Context, client *argocd.Client, name, namespace string) ([]byte, error) {
	if err := checkGiven("name", name); err != nil {
		return nil, err
	}
	q := map[string][]string{}
	setQuery(q, "appsetNamespace", namespace)
	return client.Get(ctx, []string{"applicationsets", name}, q)
}

type generateArguments struct {
	target
	Name        string            `json:"name,omitempty" jsonschema:"An application set that exists; or give generators and template"`
	Namespace   string            `json:"namespace,omitempty" jsonschema:"Namespace of the application set, if not Argo CD's"`
	Generators  []map[string]any  `json:"generators,omitempty" jsonschema:"spec.generators of an application set"`
	Template    map[string]any    `json:"template,omitempty" jsonschema:"spec.template of an application set"`
	GoTemplate  bool              `json:"go_template,omitempty" jsonschema:"The template is a Go template"`
	Labels      map[string]string `json:"labels,omitempty" jsonschema:"Labels of the application set"`
	Annotations map[string]string `json:"annotations,omitempty" jsonschema:"Annotations of the application set"`
	Full        bool              `json:"full,omitempty" jsonschema:"Whole applications in place of short rows (default false)"`
	paging
}

const generateText = `Shows which applications an application set would make, without making any: of one that exists (name), or of generators and a template. Generators that ask Git, a source forge or a cluster are run, which may take a while.`

type generatedRow struct {
	Name      string          `json:"name"`
	Project   string          `json:"project,omitempty"`
	Server    string          `json:"server,omitempty"`
	Cluster   string          `json:"cluster,omitempty"`
	Namespace string          `json:"namespace,omitempty"`
	Source    string          `json:"source,omitempty"`
	Sources   []string        `json:"sources,omitempty"`
	Object    json.RawMessage `json:"object,omitempty"`
}

func (r generatedRow) shortened(maxBytes int) generatedRow {
	r.Source, r.Server = clip(r.Source, max(100, maxBytes)), clip(r.Server, max(100, maxBytes))
	r.Sources = clips(r.Sources, max(2, maxBytes/100), max(80, maxBytes/2))
	return r
}

func (t *Toolset) generateTool() builtin.Tool {
	return readTool(t, builtin.Tool{Name: "application_set_service__generate", Title: "Preview an application set", Description: generateText},
		map[string]string{"applicationSet_metadata_labels": "labels", "applicationSet_metadata_annotations": "annotations"},
		func(ctx context.Context, c *builtin.Call, client *argocd.Client, in generateArguments) (*builtin.Result, error) {
			object, err := in.applicationSetFor(ctx, client)
			if err != nil {
				return nil, err
			}
			body, err := compact(map[string]any{"applicationSet": object})
			if err != nil {
				return nil, err
			}
			c.Progress(0, 0, "the generators run")
			raw, err := client.Ask(ctx, []string{"applicationsets", "generate"}, nil, body)
			if err != nil {
				return nil, err
			}
			var answer struct {
				Applications []json.RawMessage `json:"applications"`
			}
			if err := decode(client, "the generated applications", raw, &answer); err != nil {
				return nil, err
			}
			found := rows[generatedRow]{narrow: "give generators that make fewer"}
			for _, one := range answer.Applications {
				r, err := generatedOf(client, one, in.Full)
				if err == nil {
					err = found.add(r)
				}
				if err != nil {
					return nil, err
				}
			}
			sorting.StableBy(found.list, func(a, b generatedRow) int { return cmp.Compare(a.Name, b.Name) })
			a := paged[generatedRow]{Instance: t.instanceLabel(client)}
			if len(found.list) == 0 {
				a.Note = "The generators make no application."
			}
			return page(c, a, found.list, in.paging, func(p paging) any { in.paging = p; return in })
		})
}

// generatedOf returns the row for a generated application; with full it has the whole object instead of a summary.
func generatedOf(client *argocd.Client, raw []byte, full bool) (generatedRow, error) {
	var app struct {
		Metadata struct {
			Name string `json:"name"`
		} `json:"metadata"`
		Spec struct {
			Project     string         `json:"project"`
			Source      deployedFrom   `json:"source"`
			Sources     []deployedFrom `json:"sources"`
			Destination struct {
				Server    string `json:"server"`
				Name      string `json:"name"`
				Namespace string `json:"namespace"`
			} `json:"destination"`
		} `json:"spec"`
	}
	if err := decode(client, "a generated application", raw, &app); err != nil {
		return generatedRow{}, err
	}
	r := generatedRow{Name: app.Metadata.Name}
	if full {
		var err error
		r.Object, err = slimmed(raw)
		return r, err
	}
	d := app.Spec.Destination
	r.Project, r.Server, r.Cluster, r.Namespace, r.Source = app.Spec.Project, d.Server, d.Name, d.Namespace, app.Spec.Source.String()
	for _, s := range app.Spec.Sources {
		r.Sources = append(r.Sources, s.String())
	}
	return r, nil
}

// applicationSetFor returns the application set to generate from: the existing one of this name, or one made of the given parts.
func (in generateArguments) applicationSetFor(ctx context.Context, client *argocd.Client) (any, error) {
	parts := len(in.Generators) > 0 || len(in.Template) > 0
	switch {
	case in.Name != "" && parts:
		return nil, errors.New("name, and generators or template: send the name of an application set that exists, or the parts of a new one")
	case in.Name != "":
		raw, err := fetchSet(ctx, client, in.Name, in.Namespace)
		if err != nil {
			return nil, err
		}
		var whole struct {
			Metadata struct {
				Name        string            `json:"name"`
				Namespace   string            `json:"namespace"`
				Labels      map[string]string `json:"labels"`
				Annotations map[string]string `json:"annotations"`
			} `json:"metadata"`
			Spec json.RawMessage `json:"spec"`
		}
		if err := decode(client, "the application set", raw, &whole); err != nil {
			return nil, err
		}
		return map[string]any{"metadata": whole.Metadata, "spec": whole.Spec}, nil
	case len(in.Generators) == 0 || len(in.Template) == 0:
		return nil, errors.New("generators and template are needed, or the name of an application set that exists")
	}
	if err := refuseMask("template", in.Template); err != nil {
		return nil, err
	}
	// The server wants a name; what is made is called what the template says.
	metadata := map[string]any{"name": "preview"}
	if in.Namespace != "" {
		metadata["namespace"] = in.Namespace
	}
	if len(in.Labels) > 0 {
		metadata["labels"] = in.Labels
	}
	if len(in.Annotations) > 0 {
		metadata["annotations"] = in.Annotations
	}
	spec := map[string]any{"generators": in.Generators, "template": in.Template}
	if in.GoTemplate {
		spec["goTemplate"] = true
	}
	return map[string]any{"metadata": metadata, "spec": spec}, nil
}
