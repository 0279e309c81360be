package inventory

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/argocd"
)

// scan is what a search is held against: every text of the fields, found by walking the
// decoded JSON and not by the code that searches.
func scan(kind argocd.Kind, o map[string]any) (all []string) {
	add := func(v any) {
		switch v := v.(type) {
		case string:
			all = append(all, v)
		case []any:
			for _, one := range v {
				if s, ok := one.(string); ok {
					all = append(all, s)
				}
			}
		}
	}
	dig := func(v any, keys ...string) any {
		for _, key := range keys {
			m, _ := v.(map[string]any)
			v = m[key]
		}
		return v
	}
	list := func(v any) []any { l, _ := v.([]any); return l }
	labels := func(meta any) {
		m, _ := dig(meta, "labels").(map[string]any)
		for key, value := range m {
			all = append(all, key, value.(string), key+"="+value.(string))
		}
		m, _ = dig(meta, "annotations").(map[string]any)
		for key, value := range m {
			if key != lastApplied {
				all = append(all, key, value.(string))
			}
		}
	}
	destination := func(v any) {
		add(dig(v, "server"))
		add(dig(v, "name"))
		add(dig(v, "namespace"))
	}
	spec := func(v any) {
		add(dig(v, "project"))
		sources := list(dig(v, "sources"))
		if len(sources) == 0 {
			sources = []any{dig(v, "source")}
		}
		for _, s := range sources {
			for _, field := range []string{"repoURL", "path", "chart", "targetRevision"} {
				add(dig(s, field))
			}
		}
		destination(dig(v, "destination"))
	}
	var repos func(v any)
	repos = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			add(v["repoURL"])
			for _, one := range v {
				repos(one)
			}
		case []any:
			for _, one := range v {
				repos(one)
			}
		}
	}
	add(dig(o, "metadata", "name"))
	add(dig(o, "metadata", "namespace"))
	labels(o["metadata"])
	switch kind {
	case argocd.Applications:
		spec(o["spec"])
	case argocd.Projects:
		add(dig(o, "spec", "description"))
		add(dig(o, "spec", "sourceRepos"))
		for _, d := range list(dig(o, "spec", "destinations")) {
			destination(d)
		}
		for _, r := range list(dig(o, "spec", "roles")) {
			add(dig(r, "name"))
		}
	case argocd.ApplicationSets:
		add(dig(o, "spec", "template", "metadata", "name"))
		spec(dig(o, "spec", "template", "spec"))
		repos(dig(o, "spec", "generators"))
	case argocd.Clusters:
		add(o["name"])
		add(o["server"])
		add(o["project"])
		add(o["namespaces"])
		labels(o)
	}
	return all
}

func TestSearchesEqualAPlainScan(t *testing.T) {
	t.Parallel()
	v, src := newInventory(t, Options{MaxMatches: 2000}), narrowServer(t)
	type object struct {
		name  string
		texts []string
		o     map[string]any
	}
	objects := map[argocd.Kind][]object{}
	for kind, items := range src.items {
		src.items[kind] = nil
		for i, item := range items {
			if i%every != 0 {
				continue
			}
			src.items[kind] = append(src.items[kind], item)
			o := generic(t, item)
			objects[kind] = append(objects[kind], object{get(o, "metadata", "name") + get(o, "name"), scan(kind, o), o})
		}
	}
	found := 0
	for _, r := range []SearchRequest{
		{Pattern: "payments"},
		{Pattern: "PAYMENTS"},
		{Pattern: "PAYMENTS", CaseSensitive: true},
		{Pattern: "billing-core"},
		{Pattern: "^billing-core$"},
		{Pattern: "prod$"},
		{Pattern: "^[a-z]+-gateway-(dev|stg)"},
		{Pattern: "redis"},
		{Pattern: "redis", Kinds: []argocd.Kind{argocd.Projects, argocd.Clusters}},
		{Pattern: "charts.corp.example.net", Literal: true},
		{Pattern: "charts.corp.example.net"},
		{Pattern: "git@git"},
		{Pattern: "oci://"},
		{Pattern: "10.42.0.1:6443", Literal: true},
		{Pattern: "perf-us-west-2"},
		{Pattern: "equipe|équipe"},
		{Pattern: "ÉQUIPE"},
		{Pattern: "«billing»"},
		{Pattern: "grafana/"},
		{Pattern: "kube-system"},
		{Pattern: "domain=identity"},
		{Pattern: "tier=gold", Literal: true},
		{Pattern: "corp.example.net/tier"},
		{Pattern: "release/2026\\.1[01]"},
		{Pattern: "HEAD", CaseSensitive: true},
		{Pattern: "deployer"},
		{Pattern: "{{ .cluster }}", Literal: true},
		{Pattern: "config\\.git$", Kinds: []argocd.Kind{argocd.ApplicationSets}},
		{Pattern: "eks|aks"},
		{Pattern: "o.connor@"},
		{Pattern: "applicationset"},
		{Pattern: "nothing has this in it"},
		{Pattern: "^(?:dr|edge)-"},
		{Pattern: "\\d{3}"},
		{Pattern: `\Qcharts.corp`},
		{Pattern: "k"}, // the Kelvin sign is one too
	} {
		expression := r.Pattern
		if r.Literal {
			expression = regexp.QuoteMeta(expression)
		}
		if !r.CaseSensitive {
			expression = "(?i)" + expression
		}
		re := regexp.MustCompile(expression)
		kinds := r.Kinds
		if kinds == nil {
			kinds = argocd.Kinds()
		}
		totals, scanned, health := map[argocd.Kind]int{}, map[argocd.Kind]int{}, map[string]int{}
		var names []string
		for _, kind := range kinds {
			totals[kind], scanned[kind] = 0, len(objects[kind])
			var here []string
			for _, o := range objects[kind] {
				if slices.ContainsFunc(o.texts, re.MatchString) {
					totals[kind]++
					here = append(here, o.name)
					if kind == argocd.Applications {
						status := get(o.o, "status", "health", "status")
						if status == "" {
							status = "none"
						}
						health[status]++
					}
				}
			}
			slices.Sort(here)
			names = append(names, here...)
		}
		r.PageSize = 100
		f, err := v.Search(t.Context(), src, r)
		if err != nil {
			t.Errorf("%+v: %v", r, err)
			continue
		}
		found += f.TotalItems
		if !maps.Equal(f.Totals, totals) || !maps.Equal(f.Scanned, scanned) || f.TotalItems != len(names) {
			t.Errorf("%+v: %v of %v, want %v of %v", r, f.Totals, f.Scanned, totals, scanned)
		}
		if slices.Contains(kinds, argocd.Applications) != (f.Counts != nil) || f.Counts != nil && !maps.Equal(f.Counts.Health, health) {
			t.Errorf("%+v: counts %+v, want %v", r, f.Counts, health)
		}
		for i, hit := range f.Items {
			if name := get(generic(t, hit.Row), "name"); name != names[i] || len(hit.Matched) == 0 || len(hit.Matched) > maxMatched {
				t.Errorf("%+v: hit %d is %q for %v, want %q", r, i, name, hit.Matched, names[i])
				break
			}
		}
	}
	if found < 1000/every {
		t.Errorf("only %d matches: the searches test nothing", found)
	}
}

func TestMatchedFields(t *testing.T) {
	t.Parallel()
	v := newInventory(t, Options{})
	src := &server{items: lists(map[argocd.Kind]string{
		argocd.Applications: `{"metadata":{"name":"shop","namespace":"argocd","labels":{"team":"needle","needle":"x"},"annotations":{"note":"a Needle"}},
			"spec":{"project":"p","destination":{"name":"c","namespace":"n"},"sources":[{"repoURL":"https://h/a"},{"repoURL":"https://u:pw@h/needle.git","targetRevision":"v1"}]}}`,
		argocd.Projects:        `{"metadata":{"name":"p"},"spec":{"description":"with a n\u0065edle","roles":[{"name":"ci"},{"name":"needle"}],"destinations":[{"server":"*","namespace":"needle-*"}]}}`,
		argocd.ApplicationSets: `{"metadata":{"name":"set"},"spec":{"generators":[{"matrix":{"generators":[{"list":{}},{"git":{"repoURL":"https://h/needle"}}]}}],"template":{"metadata":{"name":"{{x}}"},"spec":{"project":"needle","source":{"path":"needle"}}}}}`,
		argocd.Clusters:        `{"name":"c","server":"https://needle:6443","labels":{"a":"b"},"namespaces":["one","needle"],"info":{"applicationsCount":3,"connectionState":{"status":"Failed","message":"no\nroute"}}}`,
	})}
	f, err := v.Search(t.Context(), src, SearchRequest{Pattern: "needle"})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []Hit{
		{argocd.Applications, object(`{"name":"shop","namespace":"argocd","project":"p","health":"none","sync":"none","dest":"c n","sources":[{"repo":"https://h/a"},{"repo":"https://u:********@h/needle.git","rev":"v1"}]}`), []string{"labels.team", "labels.needle", "annotations.note", "sources[1].repoURL"}},
		{argocd.Projects, object(`{"name":"p","description":"with a needle","destinations":["* needle-*"],"roles":2}`), []string{"description", "destinations[0].namespace", "roles[1].name"}},
		{argocd.ApplicationSets, object(`{"name":"set","project":"needle","generators":["matrix(list,git)"],"template":"{{x}}","path":"needle","applications":0}`), []string{"project", "template.source.path", "generators[0].matrix.generators[1].git.repoURL"}},
		{argocd.Clusters, object(`{"name":"c","server":"https://needle:6443","connection":"Failed","message":"no route","applications":3,"namespaces":["one","needle"]}`), []string{"server", "namespaces[1]"}},
	} {
		if got := f.Items[i]; got.Kind != want.Kind || string(got.Row) != string(want.Row) || !slices.Equal(got.Matched, want.Matched) {
			t.Errorf("hit %d is\n%s %s %q, want\n%s %s %q", i, got.Kind, got.Row, got.Matched, want.Kind, want.Row, want.Matched)
		}
	}
}

func TestTooMany(t *testing.T) {
	t.Parallel()
	src := narrowServer(t)
	for _, o := range []Options{{}, {SnapshotTTL: time.Hour}} {
		v := newInventory(t, o)
		for range 2 {
			_, err := v.Search(t.Context(), src, SearchRequest{Pattern: "argocd"})
			var many *TooMany
			if !errors.As(err, &many) {
				t.Fatalf("%v", err)
			}
			// Every application, project and application set is in this namespace.
			if many.Limit != 1000 || many.Total < 819+236+287 || many.Totals[argocd.Applications] != 819 || many.Totals[argocd.Projects] != 236 ||
				many.Counts.Health["Healthy"] != 584 || len(many.Counts.Projects) != 10 {
				t.Errorf("%+v", many)
			}
			if text := err.Error(); !strings.Contains(text, "819 applications, 236 projects, 287 applicationsets") || !strings.Contains(text, "project") {
				t.Error(text)
			}
		}
		if n := v.Stats().Passes; o.SnapshotTTL > 0 && n != 1 {
			t.Errorf("%d passes for one question", n)
		}
	}
	// Exactly as many as there may be is not too many.
	v := newInventory(t, Options{MaxMatches: 819})
	f, err := v.Search(t.Context(), src, SearchRequest{Pattern: "argocd", Kinds: []argocd.Kind{argocd.Applications}, Page: 9, PageSize: 100})
	if err != nil || f.TotalItems != 819 || len(f.Items) != 19 {
		t.Errorf("%v %+v", err, f)
	}
	var beyond *NoPage
	if _, err = v.Search(t.Context(), src, SearchRequest{Pattern: "argocd", Kinds: []argocd.Kind{argocd.Applications}, Page: 10, PageSize: 100}); !errors.As(err, &beyond) || beyond.Last != 9 {
		t.Errorf("%v", err)
	}
}

func TestRefusedKinds(t *testing.T) {
	t.Parallel()
	v, src := newInventory(t, Options{}), narrowServer(t)
	no := &argocd.Error{Instance: "test", Op: "list clusters", Kind: argocd.Forbidden, Message: "permission denied"}
	src.items[argocd.Clusters] = nil
	src.fail = map[argocd.Kind]error{argocd.Clusters: no}
	f, err := v.Search(t.Context(), src, SearchRequest{Pattern: "redis"})
	if err != nil || !strings.Contains(f.Failed[argocd.Clusters], "permission denied") || f.TotalItems == 0 {
		t.Fatalf("%v %+v", err, f)
	}
	if _, said := f.Totals[argocd.Clusters]; said {
		t.Errorf("a total is given of what was not read: %v", f.Totals)
	}
	if _, err := v.Search(t.Context(), src, SearchRequest{Pattern: "redis", Kinds: []argocd.Kind{argocd.Clusters}}); !errors.Is(err, no) {
		t.Errorf("nothing could be read: %v", err)
	}
	// A refusal after objects came is a list that broke off.
	src.items[argocd.Clusters] = recorded(t, argocd.Clusters)
	if _, err := v.Search(t.Context(), src, SearchRequest{Pattern: "redis"}); !errors.Is(err, no) {
		t.Errorf("half a list: %v", err)
	}
	// So is everything else.
	for _, kind := range []argocd.ErrorKind{argocd.Unauthenticated, argocd.Unreachable, argocd.Timeout, argocd.Server, argocd.Broken} {
		bad := &argocd.Error{Kind: kind}
		src.fail[argocd.Clusters], src.items[argocd.Clusters] = bad, nil
		if f, err := v.Search(t.Context(), src, SearchRequest{Pattern: "redis"}); !errors.Is(err, bad) || f != nil {
			t.Errorf("%s: %v %v", kind, f, err)
		}
	}
}

func TestBadPatterns(t *testing.T) {
	t.Parallel()
	v, src := newInventory(t, Options{}), &server{}
	for pattern, want := range map[string]string{
		"*-prod":                  `missing argument to repetition operator "*" at byte 1; to look for the text itself send literal=true, or "\\*-prod"; for any text in this place write ".*-prod"`,
		"a(b":                     `missing closing ) "a(b" at byte 1; to look for the text itself send literal=true, or "a\\(b"`,
		"prod[":                   `missing closing ] "[" at byte 5`,
		"(?=x)":                   `invalid or unsupported Perl syntax "(?=" at byte 1`,
		`\1`:                      `invalid escape sequence`,
		"":                        "it is empty",
		"a{2,1}":                  "invalid repeat count",
		"((a{100}){100}){100}":    "",
		"\xff":                    "not UTF-8",
		strings.Repeat("a", 1025): "1025 bytes",
	} {
		_, err := v.Search(t.Context(), src, SearchRequest{Pattern: pattern})
		var bad *BadPattern
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20q: %v", pattern, err)
		}
	}
	if n := src.lists.Load(); n != 0 {
		t.Errorf("%d lists were read for patterns that are none", n)
	}
	if _, err := v.Search(t.Context(), src, SearchRequest{Pattern: "*-prod", Literal: true}); err != nil {
		t.Errorf("the same as a text: %v", err)
	}
	if _, err := v.Search(t.Context(), src, SearchRequest{Pattern: "x", Kinds: []argocd.Kind{"pods"}}); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q is no kind", "pods")) {
		t.Errorf("%v", err)
	}
}

// A word for a state finds by health, sync, operation and connection; a part of such a word finds nothing that way.
func TestStatusWordsFind(t *testing.T) {
	t.Parallel()
	app := func(name, health, sync, phase string) json.RawMessage {
		return fmt.Appendf(nil, `{"metadata":{"name":%q},"spec":{"project":"p"},"status":{"health":{"status":%q},"sync":{"status":%q},"operationState":{"phase":%q}}}`, name, health, sync, phase)
	}
	src := &server{who: "me", items: map[argocd.Kind][]json.RawMessage{
		argocd.Applications: {app("a", "Degraded", "OutOfSync", "Failed"), app("b", "Healthy", "Synced", "Succeeded"), app("sync-tool", "Missing", "Synced", "Running")},
		argocd.Clusters:     {json.RawMessage(`{"name":"c","server":"https://c","connectionState":{"status":"Failed"}}`)},
	}}
	v := newInventory(t, Options{})
	for pattern, want := range map[string]string{
		"degraded": "a[health]", "OutOfSync": "a[sync]", "failed": "a[operation] c[connection]", "Degraded|Missing": "a[health] sync-tool[health]",
		"sync": "sync-tool[name]", "Succ": "", "^Synced$": "b[sync] sync-tool[sync]",
	} {
		found, err := v.Search(t.Context(), src, SearchRequest{Pattern: pattern})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, hit := range found.Items {
			var row struct{ Name string }
			if err := json.Unmarshal(hit.Row, &row); err != nil {
				t.Fatal(err)
			}
			got = append(got, row.Name+fmt.Sprint(hit.Matched))
		}
		if fmt.Sprint(strings.Join(got, " ")) != want {
			t.Errorf("%s finds %q, want %q", pattern, got, want)
		}
	}
	if found, err := v.Search(t.Context(), src, SearchRequest{Pattern: "DEGRADED", CaseSensitive: true}); err != nil || len(found.Items) != 0 {
		t.Errorf("upper case finds %v, %v", found, err)
	}
}
