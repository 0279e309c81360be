package toolset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/plimsoll/plimsoll/internal/argocd"
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

func (in appsetCreateArgs) subject() string { return in.Name }

// intent creates an application set, or with upsert replaces its specification. The plan has the applications that it would generate, as far as
// the server can tell.
func (in appsetCreateArgs) intent(ctx context.Context, client *argocd.Client, confirmed bool) (*intent, error) {
	if err := checkName("name", in.Name); err != nil {
		return nil, err
	}
	if len(in.Spec) == 0 {
		return nil, errors.New("spec is empty: an application set needs generators and a template")
	}
	if err := refuseMask("spec", map[string]any(in.Spec)); err != nil {
		return nil, err
	}
	before, err := existingObject(ctx, client, []string{"applicationsets", in.Name}, in.namespaceQuery())
	if err != nil {
		return nil, err
	}
	object := in.applicationSetObject(before)
	sentence := "create the application set " + in.Name
	var warnings []string
	switch {
	case before != nil && in.Upsert:
		sentence = "replace the specification of the application set " + in.Name
		warnings = append(warnings, "applications it no longer generates are deleted, unless its policy says otherwise")
	case before != nil:
		warnings = append(warnings, "there is such a set: the server refuses another specification without upsert=true")
	}
	view, err := newDiffView(comparedParts(before), comparedParts(object))
	if err != nil {
		return nil, err
	}
	i := &intent{sentence: sentence, warnings: warnings, change: view, dryRun: &in.DryRun, next: "list_applications shows what it has made"}
	if !confirmed || in.DryRun {
		made, problem := previewGenerated(ctx, client, object, in.Upsert)
		if problem != nil {
			i.doubts = []string{"which applications it makes could not be found out: " + cutText(problem.Error())}
		}
		i.preview = struct {
			*diffView
			Generates *generation `json:"generates,omitempty"`
		}{view, made}
	}
	query := url.Values{}
	if in.Upsert {
		query.Set("upsert", "true")
	}
	i.request = request{method: http.MethodPost, path: []string{"applicationsets"}, query: query, body: object}
	i.finish = func(d *changeResult, _ []byte) error {
		d.Done = createdSentence(sentence, "the application set "+in.Name, view)
		return nil
	}
	return i, nil
}

func (in appsetCreateArgs) namespaceQuery() url.Values {
	q := url.Values{}
	setQuery(q, "appsetNamespace", in.Namespace)
	return q
}

// applicationSetObject returns the set as the server expects it.
func (in appsetCreateArgs) applicationSetObject(before any) map[string]any {
	object := map[string]any{"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet", "metadata": map[string]any{"name": in.Name}, "spec": map[string]any(in.Spec)}
	if in.Namespace != "" {
		setValue(object, in.Namespace, "metadata", "namespace")
	}
	keepFinalizers(object, before)
	return object
}

// generation lists the applications that an application set generates.
type generation struct {
	Applications int      `json:"applications"`
	Names        []string `json:"names,omitempty"`
}

// previewGenerated returns the applications that the set would make, by a dry run of the server. Servers before 2.13 do not know that parameter
// and would create the set (github.com/argoproj/argo-cd issue 21911), so nothing is sent unless the server is known to be new enough.
func previewGenerated(ctx context.Context, client *argocd.Client, object any, upsert bool) (*generation, error) {
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
	raw, err := request{http.MethodPost, []string{"applicationsets"}, query, object}.sendTo(ctx, client)
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

// generation returns the number of applications that the set has made, and the first of their names.
func (s *applicationSet) generation() *generation {
	g := &generation{Applications: len(s.Status.Resources)}
	for _, r := range s.Status.Resources {
		g.Names = append(g.Names, cutText(r.Name))
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

func (in appsetDeleteArgs) subject() string { return in.Name }

// intent deletes an application set with the applications it has made. It reads the set first, to say what is lost.
func (in appsetDeleteArgs) intent(ctx context.Context, client *argocd.Client, confirmed bool) (*intent, error) {
	if err := checkGiven("name", in.Name); err != nil {
		return nil, err
	}
	query := appsetCreateArgs{Namespace: in.Namespace}.namespaceQuery()
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
	i := &intent{
		sentence: sentence, preview: map[string]any{"deleted": made}, deletes: "the application set " + in.Name,
		request: request{method: http.MethodDelete, path: []string{"applicationsets", in.Name}, query: query},
	}
	if at := set.Metadata.DeletionTimestamp; at != "" {
		i.doubts = []string{"it is being deleted since " + at}
	}
	return i, nil
}
