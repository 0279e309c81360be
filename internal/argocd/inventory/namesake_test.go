package inventory

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/plimsoll/plimsoll/internal/argocd"
)

// firstOnly selects as argocd-server does, 2.10 to 3.5: of those of one name it takes the
// first before it looks at projects, and of the sources of an application the first.
type firstOnly struct{ *server }

func (s firstOnly) List(ctx context.Context, kind argocd.Kind, q argocd.Query, each func([]byte) error) (argocd.ListInfo, error) {
	taken := false
	return s.server.List(ctx, kind, q, func(item []byte) error {
		var o map[string]any
		if err := json.Unmarshal(item, &o); err != nil {
			return err
		}
		name, address := get(o, "metadata", "name"), ""
		if kind == argocd.Clusters {
			name, address = get(o, "name"), get(o, "server")
		}
		if q.AppNamespace != "" && get(o, "metadata", "namespace") != q.AppNamespace {
			return nil
		}
		if q.Name != "" || q.Server != "" {
			if taken || q.Name != "" && name != q.Name || q.Server != "" && address != q.Server {
				return nil
			}
			taken = true
		}
		first := get(o, "spec", "source", "repoURL")
		if spec, ok := o["spec"].(map[string]any); ok {
			if many, ok := spec["sources"].([]any); ok && len(many) > 0 {
				first = get(many[0], "repoURL")
			}
		}
		if len(q.Projects) > 0 && !slices.Contains(q.Projects, get(o, "spec", "project")) || q.Repo != "" && first != q.Repo {
			return nil
		}
		return each(item)
	})
}

// namesakes are one name in three namespaces, and one more application.
func namesakes() firstOnly {
	app := func(name, namespace, project, sources string) json.RawMessage {
		return fmt.Appendf(nil, `{"metadata":{"name":%q,"namespace":%q},"spec":{"project":%q,%s}}`, name, namespace, project, sources)
	}
	return firstOnly{&server{who: "namesakes", items: map[argocd.Kind][]json.RawMessage{
		argocd.Applications: {
			app("web", "argocd", "a", `"source":{"repoURL":"https://git/one"}`),
			app("web", "team-b", "b", `"sources":[{"repoURL":"https://charts"},{"repoURL":"https://git/values","ref":"values"}]`),
			app("web", "team-c", "c", `"source":{"repoURL":"https://git/one"}`),
			app("api", "argocd", "a", `"sourceHydrator":{"drySource":{"repoURL":"https://git/dry","path":"charts/api","targetRevision":"main"},"syncSource":{"targetBranch":"env/prod","path":"hydrated/api"}}`),
		},
		argocd.Clusters: {
			json.RawMessage(`{"name":"edge","server":"https://10.0.0.1"}`),
			json.RawMessage(`{"name":"edge","server":"https://10.0.0.2"}`),
		},
	}}}
}

// Filters find all that there is, also where the server would stop at the first.
func TestNamesakesAreAllFound(t *testing.T) {
	t.Parallel()
	v, src := newInventory(t, Options{}), namesakes()
	for _, c := range []struct {
		kind argocd.Kind
		q    argocd.Query
		want int
	}{
		{argocd.Applications, argocd.Query{Name: "web"}, 3},
		{argocd.Applications, argocd.Query{Name: "web", Projects: []string{"c"}}, 1},
		{argocd.Applications, argocd.Query{Name: "web", AppNamespace: "team-b"}, 1},
		{argocd.Applications, argocd.Query{Name: "we"}, 0},
		{argocd.Applications, argocd.Query{Repo: "https://git/one"}, 2},
		{argocd.Applications, argocd.Query{Repo: "https://git/values"}, 1},
		{argocd.Applications, argocd.Query{Repo: "https://git/dry"}, 1},
		{argocd.Clusters, argocd.Query{Name: "edge"}, 2},
		{argocd.Clusters, argocd.Query{Name: "edge", Server: "https://10.0.0.2"}, 1},
	} {
		l, err := v.List(t.Context(), src, ListRequest{Kind: c.kind, Query: c.q})
		if err != nil || l.Pagination.TotalItems != c.want {
			t.Errorf("%s %+v: %v %+v, want %d", c.kind, c.q, err, l, c.want)
		}
		if c.kind == argocd.Clusters {
			continue
		}
		found, err := v.Search(t.Context(), src, SearchRequest{Pattern: ".", Kinds: []argocd.Kind{c.kind}, Query: c.q})
		if err != nil || found.TotalItems != c.want {
			t.Errorf("a search in %+v: %v %+v, want %d", c.q, err, found, c.want)
		}
	}
	one, _ := src.queries.Load(argocd.Applications)
	if q := one.(argocd.Query); q.Repo != "" {
		t.Errorf("the server was asked for %+v", q)
	}
}

// An application with a source hydrator has the source that it syncs from, and is found by
// where that is made of.
func TestSourceHydrator(t *testing.T) {
	t.Parallel()
	v, src := newInventory(t, Options{}), namesakes()
	for pattern, matched := range map[string]string{
		"git/dry": "source.repoURL", "charts/api": "source.dry.path", "^main$": "source.dry.targetRevision",
		"hydrated/": "source.path", "env/prod": "source.targetRevision",
	} {
		found, err := v.Search(t.Context(), src, SearchRequest{Pattern: pattern})
		if err != nil || found.TotalItems != 1 || !slices.Equal(found.Items[0].Matched, []string{matched}) {
			t.Errorf("%s: %v %+v", pattern, err, found)
			continue
		}
		const want = `{"name":"api","namespace":"argocd","project":"a","health":"none","sync":"none","dest":{},"repo":"https://git/dry","path":"hydrated/api","rev":"env/prod"}`
		if got := string(found.Items[0].Row); got != want {
			t.Errorf("%s", got)
		}
	}
	// Hydration that failed is shown, and found by its word; so is the branch that is written first.
	e, err := readEntry(argocd.Applications, []byte(`{"metadata":{"name":"api"},"spec":{"sourceHydrator":{"drySource":{"repoURL":"d"},"syncSource":{"targetBranch":"env/prod"},"hydrateTo":{"targetBranch":"env/prod-next"}}},`+
		`"status":{"sync":{"status":"Synced"},"sourceHydrator":{"currentOperation":{"phase":"Failed","message":"no"}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(e.row()); got != `{"name":"api","project":"","health":"none","sync":"Synced","dest":{},"repo":"d","rev":"env/prod","hydrate_to":"env/prod-next","hydration":"Failed"}` {
		t.Error(got)
	}
	for pattern, matched := range map[string]string{"failed": "hydration", "prod-next": "source.hydrateTo"} {
		p, err := compilePattern(pattern, false, false)
		if err != nil || !slices.Equal(e.matchedFields(p), []string{matched}) {
			t.Errorf("%s: %v %v", pattern, e.matchedFields(p), err)
		}
	}
	// Since 3.5 it may write to another repository.
	e, err = readEntry(argocd.Applications, []byte(`{"spec":{"sources":[{}],"sourceHydrator":{"syncSource":{"repoURL":"r"},"drySource":{"repoURL":"d"}}}}`))
	if err != nil || e.multi || len(e.sources) != 1 || string(e.sources[0].repo) != "r" || string(e.sources[0].dryRepo) != "d" {
		t.Errorf("%+v %v", e, err)
	}
}
