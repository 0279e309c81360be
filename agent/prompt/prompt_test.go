package prompt_test

import (
	"math/rand/v2"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/agent/prompt"
	"github.com/plimsoll/plimsoll/agent/toolbox"
	"github.com/plimsoll/plimsoll/internal/argocd"
	"github.com/plimsoll/plimsoll/internal/argocd/simulator"
	"github.com/plimsoll/plimsoll/internal/argocd/toolset"
	"github.com/plimsoll/plimsoll/internal/testing/golden"
	"github.com/plimsoll/plimsoll/tools/mcp/builtin"
)

// argocdTools is a toolbox with the tools of Argo CD over a simulated installation.
func argocdTools(t testing.TB, writes bool) *toolbox.Toolbox {
	t.Helper()
	played, err := simulator.New(simulator.Options{})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(played)
	t.Cleanup(web.Close)
	client, err := argocd.New(argocd.Options{Name: "played", URL: web.URL})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	set, err := toolset.New(toolset.Options{Instances: []*argocd.Client{client}, AllowWrites: writes})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = set.Close() })
	server, err := builtin.New(builtin.Options{Name: "argocd", Version: "1", Tools: set.Tools(), Instructions: set.Instructions()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	box, err := toolbox.New(t.Context(), toolbox.Options{Servers: []toolbox.Server{{Name: "argocd", Peer: server.Dial}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = box.Close() })
	return box
}

func listed(t testing.TB, box *toolbox.Toolbox) []agent.ToolSpec {
	t.Helper()
	specs, err := box.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return specs
}

func TestPromptOfTheArgoCDAgent(t *testing.T) {
	t.Parallel()
	specs := listed(t, argocdTools(t, true))
	got := prompt.Compose(prompt.Options{Kind: prompt.ArgoCD, MaxTokens: 4096, Window: 128_000, Extra: "Answer in English."})(specs)
	golden.Check(t, filepath.Join("testdata", "argocd.md"), got)
}

// The rules of the prompt speak of what the tools really do.
func TestWhatThePromptSaysIsSo(t *testing.T) {
	t.Parallel()
	box := argocdTools(t, false)
	out, err := box.Call(t.Context(), agent.Call{Name: "list_applications", Arguments: "{}"}, func(string) {})
	if err != nil || out.Failed {
		t.Fatal(err, out.Text)
	}
	for _, w := range []string{`"total_items":819`, `"total_pages":41`, `"summary"`, `"page":2`} {
		if !strings.Contains(out.Text, w) {
			t.Errorf("%s is not in the first page of all applications: %.400s", w, out.Text)
		}
	}
	text := prompt.Compose(prompt.Options{Kind: prompt.ArgoCD})(listed(t, box))
	for _, w := range []string{"search_argocd_resources", "list_applications", "PAGE 1 of X items (N pages)", "The tools only read", "result_page", "result_search"} {
		if !strings.Contains(text, w) {
			t.Errorf("%s is not in the prompt:\n%s", w, text)
		}
	}
	for _, w := range []string{"result_query", "confirm", "installations"} {
		if strings.Contains(text, w) {
			t.Errorf("the prompt speaks of %s, which is not there:\n%s", w, text)
		}
	}
}

const pagedSchema = `{"type":"object","properties":{"page":{},"page_size":{}}}`

func reading(name, schema string) agent.ToolSpec {
	return agent.ToolSpec{Name: name, Schema: []byte(schema), ReadOnly: true}
}

func TestRules(t *testing.T) {
	t.Parallel()
	search, list := reading("find_things", "{}"), reading("listThings", pagedSchema)
	for name, c := range map[string]struct {
		o        prompt.Options
		specs    []agent.ToolSpec
		has, not []string
	}{
		"no tools":    {has: []string{"No tools are connected"}, not: []string{"PAGE", "search"}},
		"intro":       {o: prompt.Options{Intro: "You are Ada.", Kind: prompt.ArgoCD}, has: []string{"You are Ada."}, not: []string{"GitOps"}},
		"extra":       {o: prompt.Options{Extra: " Be brief.\n"}, has: []string{"\nBe brief.\n"}},
		"both":        {specs: []agent.ToolSpec{search, list}, has: []string{"search with find_things.", "list with listThings", "page and page_size (listThings)", "50 items or fewer", "first 20 items"}, not: []string{"Large results", "page_size=50"}},
		"list only":   {specs: []agent.ToolSpec{list}, has: []string{"List with listThings"}, not: []string{"earch with"}},
		"search only": {specs: []agent.ToolSpec{search}, has: []string{"search with find_things"}, not: []string{"list with", "Pages of tools"}},
		"forced": {
			o: prompt.Options{SearchForced: true}, specs: []agent.ToolSpec{search, list},
			has: []string{"Search with find_things before anything else", "page_size=10", "20 items or fewer", "first 10 items"}, not: []string{"Only a question"},
		},
		"small window": {o: prompt.Options{Window: 8000}, specs: []agent.ToolSpec{search, list}, has: []string{"page_size=10", "search with find_things"}},
		"small answer": {o: prompt.Options{MaxTokens: 800}, specs: []agent.ToolSpec{list}, has: []string{"first 10 items", "10 items or fewer", "about 720 tokens"}},
		"tiny answer":  {o: prompt.Options{MaxTokens: 50}, specs: []agent.ToolSpec{list}, has: []string{"first 5 items", "5 items or fewer"}},
		"large answer": {o: prompt.Options{MaxTokens: 100_000}, specs: []agent.ToolSpec{list}, has: []string{"first 20 items", "50 items or fewer"}},
		"kept": {
			specs: []agent.ToolSpec{reading("plimsoll_result_page", "{}"), reading("result_search", "{}"), reading("result_query", "{}")},
			has:   []string{"read on: plimsoll_result_page", "To find something in it: result_search", "is JSON: result_query"}, not: []string{"Finding things"},
		},
		"changes": {
			specs: []agent.ToolSpec{{Name: "drop", Schema: []byte(`{"properties":{"confirm":{}}}`)}, {Name: "add", Schema: []byte(`nonsense`)}},
			has:   []string{"These may change something: add and drop.", "confirm (drop)"}, not: []string{"only read"},
		},
		"instances": {specs: []agent.ToolSpec{reading("x", `{"properties":{"instance":{}}}`), search}, has: []string{"several installations"}},
		"words":     {specs: []agent.ToolSpec{reading("small_wallet", "{}"), reading("research", "{}"), reading("a__listAll", "{}")}, has: []string{"List with a__listAll."}, not: []string{"small_wallet", "research"}},
	} {
		got := prompt.Compose(c.o)(c.specs)
		for _, w := range c.has {
			if !strings.Contains(got, w) {
				t.Errorf("%s: %q is not in:\n%s", name, w, got)
			}
		}
		for _, w := range c.not {
			if strings.Contains(got, w) {
				t.Errorf("%s: %q is in:\n%s", name, w, got)
			}
		}
	}
}

func TestSameToolsSameBytes(t *testing.T) {
	t.Parallel()
	specs := listed(t, argocdTools(t, true))
	compose := prompt.Compose(prompt.Options{Kind: prompt.ArgoCD})
	want := compose(specs)
	if len(want) > 5<<10 {
		t.Errorf("the prompt is %d bytes", len(want))
	}
	order := slices.Clone(specs)
	for range 20 {
		rand.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		if got := compose(order); got != want {
			t.Fatalf("another order gave another prompt:\n%s\n---\n%s", got, want)
		}
	}
}

func FuzzCompose(f *testing.F) {
	f.Add("list_all", `{"properties":{"page":1,"page_size":2}}`, true, 100)
	f.Add("ÄÖ listÜber", `{`, false, -7)
	f.Fuzz(func(t *testing.T, name, schema string, reads bool, n int) {
		spec := agent.ToolSpec{Name: name, Schema: []byte(schema), ReadOnly: reads}
		specs := []agent.ToolSpec{spec, spec}
		got := prompt.Compose(prompt.Options{MaxTokens: n, Window: -n})(specs)
		if utf8.ValidString(name) && !utf8.ValidString(got) {
			t.Errorf("no UTF-8: %q", got)
		}
		if len(got) > 6<<10+6*len(name) {
			t.Errorf("%d bytes", len(got))
		}
	})
}
