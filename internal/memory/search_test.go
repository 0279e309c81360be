package memory_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/memory"
)

func search(t *testing.T, s *memory.Store, q memory.Query) []string {
	t.Helper()
	found, err := s.Search(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, it := range found.Items {
		out = append(out, it.Text)
	}
	return out
}

func TestAnyWordOfAQuestionFinds(t *testing.T) {
	s := open(t, t.TempDir())
	add(t, s,
		memory.Record{Text: "We decided to hike on Sunday, if it does not rain."},
		memory.Record{Text: "The function readConfig lives in app/core/config.go."},
		memory.Record{Text: "MAX_RETRIES is five."},
		memory.Record{Text: "東京の会議は金曜日です"},
		memory.Record{Text: "He bought two bicycles."},
	)
	for query, want := range map[string]string{
		"when did they go hiking with the unrelated zebra": "hike",
		"where is readConfig?":                             "readConfig",
		"the config file":                                  "readConfig",
		"config.go":                                        "readConfig",
		"how many retries":                                 "MAX_RETRIES",
		"max_retries":                                      "MAX_RETRIES",
		"会議はいつ":                                            "東京",
		"what did he buy?":                                 "bicycles",
		"which bicycle":                                    "bicycles",
	} {
		if got := search(t, s, memory.Query{Text: query}); len(got) == 0 || !strings.Contains(got[0], want) {
			t.Errorf("%q found %q", query, got)
		}
	}
	for _, query := range []string{"", "the of and", "zzzz", "\x00\xff", strings.Repeat("very long ", 10_000)} {
		if got := search(t, s, memory.Query{Text: query}); len(got) != 0 {
			t.Errorf("%.20q found %q", query, got)
		}
	}
}

func TestASearchKeepsToItsFilter(t *testing.T) {
	s := open(t, t.TempDir())
	monday := time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC)
	fact := func(value string, from, until, expired time.Time) memory.Record {
		return memory.Record{Kind: memory.KindFact, Text: "the database is " + value, Fact: &memory.Fact{
			Subject: "project", Attribute: "database", Value: value, ValidFrom: from, ValidUntil: until, Expired: expired,
		}}
	}
	add(t, s,
		memory.Record{Text: "database: said by the user", Origin: memory.OriginUser, Said: monday},
		memory.Record{Text: "database: said by a tool", Origin: memory.OriginTool, Said: monday.Add(48 * time.Hour)},
		memory.Record{Text: "database: of another key", Scope: "aa"},
		memory.Record{Text: "database: doubtful", Quarantined: true},
		memory.Record{Text: "database: elsewhere", Namespace: "project/y"},
		fact("sqlite", monday, monday.Add(24*time.Hour), monday.Add(24*time.Hour)),
		fact("postgres", monday.Add(24*time.Hour), time.Time{}, time.Time{}),
	)
	here := []string{"project/x"}
	for name, c := range map[string]struct {
		q    memory.Query
		want int
		has  string
	}{
		"all namespaces":    {memory.Query{}, 4, "elsewhere"},
		"one namespace":     {memory.Query{Namespaces: here}, 3, "postgres"},
		"the other scope":   {memory.Query{Namespaces: here, Scope: "aa"}, 4, "another key"},
		"the owner":         {memory.Query{Namespaces: here, AllScopes: true}, 4, "another key"},
		"the user's words":  {memory.Query{Origins: []memory.Origin{memory.OriginUser}}, 1, "by the user"},
		"facts":             {memory.Query{Kinds: []memory.Kind{memory.KindFact}}, 1, "postgres"},
		"facts of then":     {memory.Query{Kinds: []memory.Kind{memory.KindFact}, AsOf: monday.Add(time.Hour)}, 1, "sqlite"},
		"said since":        {memory.Query{Namespaces: here, Origins: []memory.Origin{memory.OriginTool}, Kinds: []memory.Kind{memory.KindEpisode}, Since: monday.Add(time.Hour)}, 1, "by a tool"},
		"said before":       {memory.Query{Namespaces: here, Until: monday.Add(time.Hour)}, 1, "by the user"},
		"the second page":   {memory.Query{Namespaces: here, Limit: 2, Offset: 2}, 1, "database"},
		"behind the end":    {memory.Query{Namespaces: here, Offset: 20}, 0, ""},
		"an unknown place":  {memory.Query{Namespaces: []string{"project/none"}}, 0, ""},
		"an unknown origin": {memory.Query{Origins: []memory.Origin{"nobody"}}, 0, ""},
	} {
		c.q.Text = "which database?"
		got := search(t, s, c.q)
		if len(got) != c.want || !strings.Contains(strings.Join(got, "|"), c.has) {
			t.Errorf("%s: %q", name, got)
		}
	}
	if _, err := s.Search(t.Context(), memory.Query{Text: "x", Namespaces: []string{"nowhere"}}); err == nil {
		t.Error("a namespace that cannot be was searched")
	}
}

// What stands beside the words of a question is found with it, unless each passage is to stand alone.
func TestNeighboursAreFound(t *testing.T) {
	s := open(t, t.TempDir())
	var talk []memory.Record
	for i, text := range []string{"good morning", "what is the wifi password of the cabin?", "it is written on the fridge", "fine", "see you", "bye now", "later"} {
		talk = append(talk, memory.Record{Text: text, Source: memory.Source{Conversation: "c1", Turn: i + 1}})
	}
	add(t, s, talk[3], talk[1], talk[0], talk[2], talk[6], talk[5], talk[4]) // in whatever order they come
	got := search(t, s, memory.Query{Text: "wifi password of the cabin"})
	if len(got) < 2 || got[0] != talk[1].Text || got[1] != talk[2].Text {
		t.Errorf("found %q", got)
	}
	if got := search(t, s, memory.Query{Text: "wifi password of the cabin", Alone: true}); len(got) != 1 {
		t.Errorf("alone: %q", got)
	}
	found, err := s.Search(t.Context(), memory.Query{Text: "fridge"})
	if err != nil || len(found.Items) == 0 {
		t.Fatal(found, err)
	}
	around, err := s.Get(t.Context(), found.Items[0].ID, 1)
	if err != nil || len(around) != 3 || around[0].Text != talk[1].Text || around[2].Text != talk[3].Text {
		t.Errorf("%+v, %v", around, err)
	}
}

// An open index sees what others add, change, remove and forget.
func TestAnIndexFollows(t *testing.T) {
	dir := t.TempDir()
	reader, writer := open(t, dir), open(t, dir)
	if got := search(t, reader, memory.Query{Text: "heron"}); len(got) != 0 {
		t.Fatal(got)
	}
	ids := add(t, writer, memory.Record{Text: "a heron on the roof"}, memory.Record{Text: "two herons in the reeds", Origin: memory.OriginUser}).IDs
	steps := []struct {
		do   func() error
		want string
	}{
		{func() error { return nil }, "a heron on the roof|two herons in the reeds"},
		{func() error {
			return writer.Update(t.Context(), memory.Record{ID: ids[0], Kind: memory.KindEpisode, Origin: memory.OriginTool, Namespace: "project/x", Text: "a stork"})
		}, "two herons in the reeds"},
		{func() error { _, err := writer.GC(t.Context()); return err }, "two herons in the reeds"},
		{func() error { return writer.Remove(t.Context(), ids[1]) }, ""},
		{func() error {
			_, err := writer.Add(t.Context(), memory.Record{Namespace: "project/x", Text: "heron number three"})
			return err
		}, "heron number three"},
		{func() error {
			_, err := writer.Forget(t.Context(), memory.Filter{Namespaces: []string{"project/x"}, AllScopes: true})
			return err
		}, ""},
	}
	for i, step := range steps {
		if err := step.do(); err != nil {
			t.Fatal(i, err)
		}
		got := search(t, reader, memory.Query{Text: "herons", Alone: true})
		if len(got) == 2 && got[0] > got[1] {
			got[0], got[1] = got[1], got[0]
		}
		if strings.Join(got, "|") != step.want {
			t.Errorf("step %d: %q", i, got)
		}
		if fresh := search(t, open(t, dir), memory.Query{Text: "herons", Alone: true}); len(fresh) != len(got) {
			t.Errorf("step %d: a new index finds %q", i, fresh)
		}
	}
}

// A store that only adds holds no index: what it keeps of 20,000 records is a digest each.
func TestAddingHoldsNoIndex(t *testing.T) {
	dir := t.TempDir()
	fill := open(t, dir)
	var batch []memory.Record
	for n := range 20_000 {
		batch = append(batch, memory.Record{Namespace: "project/x", Text: fmt.Sprintf("record %d, which has some words of its own: %d", n, n*7919)})
	}
	if _, err := fill.Add(t.Context(), batch...); err != nil {
		t.Fatal(err)
	}
	if err := fill.Close(); err != nil {
		t.Fatal(err)
	}
	batch, fill = nil, nil
	live := func() int64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := live()
	s, err := memory.Open(memory.Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	opened := live() - before
	add(t, s, memory.Record{Text: "one more heron"})
	added := live() - before
	if opened > 64<<10 || added > 2<<20 {
		t.Errorf("%d bytes when it is open, %d after an Add", opened, added)
	}
	if got := search(t, s, memory.Query{Text: "heron"}); len(got) != 1 {
		t.Errorf("%q", got)
	}
	t.Logf("%d bytes when it is open, %d after an Add, %d after a Search", opened, added, live()-before)
}

// All of it may be called from many goroutines.
func TestManyGoroutines(t *testing.T) {
	s := open(t, t.TempDir())
	done := make(chan error)
	for g := range 4 {
		go func() {
			for n := range 25 {
				if _, err := s.Add(t.Context(), memory.Record{Namespace: "project/x", Text: fmt.Sprintf("word%d number%d", g, n)}); err != nil {
					done <- err
					return
				}
				if _, err := s.Search(t.Context(), memory.Query{Text: "number3"}); err != nil {
					done <- err
					return
				}
			}
			done <- nil
		}()
	}
	for range 4 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if page, err := s.List(t.Context(), memory.Filter{}); err != nil || page.Total != 100 {
		t.Errorf("%d, %v", page.Total, err)
	}
}

// What was said at the time that a question names counts more, and so does what was told in the days behind it; nothing is left out.
func TestATimeInAQuestionPrefersWhatWasSaidThen(t *testing.T) {
	s := open(t, t.TempDir())
	for _, said := range []struct {
		day  int
		text string
	}{{1, "for the hike on Monday"}, {9, "in the first cold"}, {13, "at the harbour"}, {28, "near the mill"}} {
		add(t, s, memory.Record{Text: "We met Bruno " + said.text, Said: time.Date(2026, 3, said.day, 12, 0, 0, 0, time.Local)})
	}
	for question, want := range map[string]string{
		"who met Bruno on 12 March 2026?":          "harbour", // told a day later
		"who met Bruno on 2026-03-28?":             "mill",
		"who met Bruno on March 9, 2026":           "cold",
		"who met Bruno at the mill in March 2026?": "mill", // all were: words decide
		"who hiked Monday, 12 March 2026?":         "hike", // the only one that has these words
	} {
		got := search(t, s, memory.Query{Text: question})
		if len(got) == 0 || !strings.Contains(got[0], want) {
			t.Errorf("%q found %q", question, got)
		}
		if strings.Contains(question, "Bruno") && len(got) != 4 {
			t.Errorf("%q left some out: %q", question, got)
		}
	}
}
