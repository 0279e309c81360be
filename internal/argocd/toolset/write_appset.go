package toolset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/plimsoll/plimsoll/internal/argocd"
	"github.com/plimsoll/plimsoll/tools/mcp/builtin"
)

type appsetCreateArgs struct {
	target
	Name      string `json:"name" jsonschema:"of the application set"`
	Spec      object `json:"spec" jsonschema:"the whole specification: generators, template and so on"`
	Namespace string `json:"namespace,omitempty" jsonschema:"namespace of the set, if not Argo CD's"`
	Upsert    bool   `json:"upsert,omitempty" jsonschema:"replace the specification if there is such a set; default false"`
	DryRun    bool   `json:"dry_run,omitempty" jsonschema:"the server generates the applications and keeps nothing (2.13 and newer); default false"`
	confirmation
}

func (t *Toolset) applicationSetCreateTool() builtin.Tool {
	return writeTool(t, builtin.Tool{
		Name: "applicationset_create", Title: "Create or replace an application set",
		Description: "Creates an application set, which makes applications at once. With upsert it replaces the specification of one that is there. The plan names the applications it makes." + needsConfirmation,
		Hints:       builtin.Hints{Destructive: true, Idempotent: true, OpenWorld: true},
	}, func(in appsetCreateArgs) string { return in.Name }, func(ctx context.Context, c *builtin.Call, client *argocd.Client, confirmed bool, in appsetCreateArgs) (*builtin.Result, error) {
		if err := validName("name", in.Name); err != nil {
			return nil, err
		}
		if len(in.Spec) == 0 {
			return nil, errors.New("spec is empty: an application set needs generators and a template")
		}
		if err := holdsMask("spec", map[string]any(in.Spec)); err != nil {
			return nil, err
		}
		before, err := existing(ctx, client, []string{"applicationsets", in.Name}, in.query())
		if err != nil {
			return nil, err
		}
		object := in.object(before)
		sentence := "create the application set " + in.Name
		var warnings []string
		switch {
		case before != nil && in.Upsert:
			sentence = "replace the specification of the application set " + in.Name
			warnings = append(warnings, "applications it no longer generates are deleted, unless its policy says otherwise")
		case before != nil:
			warnings = append(warnings, "there is such a set: the server refuses another specification without upsert=true")
		}
		view, err := viewOf(specOf(before), specOf(object))
		if err != nil {
			return nil, err
		}
		body, err := compact(object)
		if err != nil {
			return nil, err
		}
		if !confirmed || in.DryRun {
			made, problem := generated(ctx, client, body, in.Upsert)
			if problem != nil {
				warnings = append(warnings, "which applications it makes could not be found out: "+cut(problem.Error()))
			}
			return planResult(c, client, in.Name, plan{Plan: sentence, Warnings: warnings, Change: struct {
				*diffView
				Generates *generation `json:"generates,omitempty"`
			}{view, made}}, "dry_run")
		}
		query := url.Values{}
		if in.Upsert {
			query.Set("upsert", "true")
		}
		if _, err := client.Call(ctx, http.MethodPost, []string{"applicationsets"}, query, body); err != nil {
			return nil, err
		}
		return doneResult(client, changeResult{Done: createdOr(sentence, "the application set "+in.Name, view), Change: view, Warnings: warnings, Next: "list_applications shows what it has made"})
	})
}

func (in appsetCreateArgs) query() url.Values {
	q := url.Values{}
	set(q, "appsetNamespace", in.Namespace)
	return q
}

// object returns the set as the server expects it. The finalizers of a set that is replaced are kept: the server sets them to what it gets.
func (in appsetCreateArgs) object(before any) map[string]any {
	object := map[string]any{"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet", "metadata": map[string]any{"name": in.Name}, "spec": map[string]any(in.Spec)}
	if in.Namespace != "" {
		put(object, in.Namespace, "metadata", "namespace")
	}
	if finalizers := valueAt(before, "metadata", "finalizers"); finalizers != nil {
		put(object, finalizers, "metadata", "finalizers")
	}
	return object
}

// generation lists the applications that an application set generates.
type generation struct {
	Applications int      `json:"applications"`
	Names        []string `json:"names,omitempty"`
}

// generated returns what the set would generate, by a dry run of the server. Servers before 2.13 do not know that parameter and would
// create the set (github.com/argoproj/argo-cd issue 21911), so nothing is sent unless the server is known to be new enough.
func generated(ctx context.Context, client *argocd.Client, body []byte, upsert bool) (*generation, error) {
	version, err := client.Version(ctx)
	if err != nil {
		return nil, err
	}
	if version.Major < 2 || version.Major == 2 && version.Minor < 13 {
		return nil, fmt.Errorf("a dry run needs Argo CD 2.13, this is %s", version.Text)
	}
	query := url.Values{"dryRun": {"true"}}
	if upsert {
		query.Set("upsert", "true")
	}
	raw, err := client.Call(ctx, http.MethodPost, []string{"applicationsets"}, query, body)
	if err != nil {
		return nil, err
	}
	var answer applicationSet
	if err := json.Unmarshal(raw, &answer); err != nil {
		return nil, fmt.Errorf("%s: the server's answer is no application set: %w", client.Name(), err)
	}
	return answer.generation(), nil
}

// applicationSet has the fields of an ApplicationSet that are used here.
type applicationSet struct {
	Metadata struct {
		DeletionTimestamp string `json:"deletionTimestamp"`
	} `json:"metadata"`
	Spec struct {
		SyncPolicy *struct {
			PreserveResourcesOnDeletion bool `json:"preserveResourcesOnDeletion"`
		} `json:"syncPolicy"`
	} `json:"spec"`
	Status struct {
		Resources []struct {
			Name string `json:"name"`
		} `json:"resources"`
	} `json:"status"`
}

func (s *applicationSet) generation() *generation {
	g := &generation{Applications: len(s.Status.Resources)}
	for _, r := range s.Status.Resources {
		g.Names = append(g.Names, cut(r.Name))
	}
	g.Names = firstEntries(g.Names)
	return g
}

type appsetDeleteArgs struct {
	target
	Name      string `json:"name" jsonschema:"the application set"`
	Namespace string `json:"namespace,omitempty" jsonschema:"namespace of the set, if not Argo CD's"`
	confirmation
}

func (t *Toolset) applicationSetDeleteTool() builtin.Tool {
	return writeTool(t, builtin.Tool{
		Name: "applicationset_service__delete", Title: "Delete an application set",
		Description: "Deletes an application set, and with it the applications it has made and what they deployed, unless its policy preserves that. There is no way to keep the applications." + needsConfirmation,
		Hints:       builtin.Hints{Destructive: true, Idempotent: true, OpenWorld: true},
	}, func(in appsetDeleteArgs) string { return in.Name }, func(ctx context.Context, c *builtin.Call, client *argocd.Client, confirmed bool, in appsetDeleteArgs) (*builtin.Result, error) {
		if err := required("name", in.Name); err != nil {
			return nil, err
		}
		query := appsetCreateArgs{Namespace: in.Namespace}.query()
		raw, err := client.Get(ctx, []string{"applicationsets", in.Name}, query)
		if err != nil {
			return nil, err
		}
		var set applicationSet
		if err := json.Unmarshal(raw, &set); err != nil {
			return nil, fmt.Errorf("%s: the server's answer is no application set: %w", client.Name(), err)
		}
		made := set.generation()
		sentence := fmt.Sprintf("delete the application set %s, the %d applications it has made, and what they deployed", in.Name, made.Applications)
		if p := set.Spec.SyncPolicy; p != nil && p.PreserveResourcesOnDeletion {
			sentence = fmt.Sprintf("delete the application set %s and the %d applications it has made; what they deployed stays", in.Name, made.Applications)
		}
		if !confirmed {
			p := plan{Plan: sentence, Change: map[string]any{"deleted": made}}
			if at := set.Metadata.DeletionTimestamp; at != "" {
				p.Warnings = []string{"it is being deleted since " + at}
			}
			return planResult(c, client, in.Name, p)
		}
		if _, err := client.Call(ctx, http.MethodDelete, []string{"applicationsets", in.Name}, query, nil); err != nil {
			return goneOr(err, client, "the application set "+in.Name, nil)
		}
		return doneResult(client, changeResult{Done: sentence})
	})
}
