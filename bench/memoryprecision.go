package main

import (
	"cmp"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/memory"
	"github.com/plimsoll/plimsoll/internal/memory/recall"
)

// giver tells what a prompt is given of the texts in a store.
type giver struct {
	*Out
	store *memory.Store
	name  map[string]string // of a record, by its id
}

// said is a text that a person has said.
type said struct {
	name, namespace, text string
	at                    time.Time
}

// openGiver returns a giver over a store with these records, which is removed when the benchmark ends.
func openGiver(o *Out, all []said) *giver {
	records := make([]memory.Record, len(all))
	for i, s := range all {
		records[i] = memory.Record{Kind: memory.KindNote, Origin: memory.OriginUser, Namespace: s.namespace, Text: s.text, Said: s.at}
	}
	store, ids, done := openMemory(o, memory.Options{}, records)
	o.Cleanup(done)
	g := &giver{o, store, map[string]string{}}
	for i, id := range ids {
		g.name[id] = all[i].name
	}
	return g
}

// decideFor returns the names of what a prompt is given from these namespaces, and the decision.
func (g *giver) decideFor(text string, namespaces []string) ([]string, recall.Decision) {
	p := recall.Read(text)
	var found memory.Results
	if p.Why == "" {
		found = must(g.store.Search(g.ctx, memory.Query{Text: p.Query, Namespaces: namespaces, Limit: recall.Candidates, Loose: true}))
	}
	d := recall.Decide(p, found, time.Now())
	var names []string
	for _, l := range d.Given {
		names = append(names, g.name[l.ID])
	}
	return names, d
}

// explain notes what a prompt was given instead of what was wanted, and the scores that led to it.
func (g *giver) explain(prompt string, names []string, wanted any, d recall.Decision) {
	g.Note("%s | given %v, wanted %v; %s", prompt, names, wanted, d.Why)
	for _, m := range d.Missed {
		if m.Score > 0.3 {
			g.Note("      %s %.2f %s", g.name[m.ID], m.Score, m.Why)
		}
	}
	for _, l := range d.Given {
		g.Note("      GIVEN %s %.2f %v", g.name[l.ID], l.Score, l.Words)
	}
}

// belief is one of PrecisionMemBench.
type belief struct {
	ID         string   `json:"_id"`
	User       string   `json:"user_id"`
	Type       string   `json:"type"`
	Name       string   `json:"canonical_name"`
	Aliases    []string `json:"aliases"`
	Content    string   `json:"content"`
	Scope      []string `json:"scope"`
	Pinned     bool     `json:"pinned"`
	ResolvedAt *string  `json:"resolved_at"`
	Said       string   `json:"created_at"`
	With       []string `json:"participants"` // of a relation
}

func inScope(b *belief, scope []string) bool {
	return slices.ContainsFunc(b.Scope, func(s string) bool { return slices.Contains(scope, s) })
}

type precisionCase struct {
	ID     string   `json:"caseId"`
	User   string   `json:"userId"`
	Scope  []string `json:"scope"`
	Query  string   `json:"query"`
	Budget *struct {
		Most *int `json:"maxBeliefs"`
	} `json:"budget"`
	Expect precisionExpect `json:"expect"`
}

type precisionExpect struct {
	Beliefs struct {
		Only    *[]string `json:"shouldOnlyInclude"`
		Must    []string  `json:"mustInclude"`
		Exclude []string  `json:"mustExclude"`
	} `json:"relevantBeliefs"`
}

// compareGiven prints the precision and recall of what PrecisionMemBench's prompts are given. Its user's records lie in a namespace for each scope. As its
// own judge does, it leaves out what is pinned, and adds what a relation is about. Beliefs that were replaced or resolved are wrong when they are given.
func compareGiven(o *Out, dir string, verbose bool) {
	var beliefs []belief
	var cases []precisionCase
	var sessions []struct {
		Turns []struct {
			Scope   []string        `json:"scope"`
			Message string          `json:"userMessage"`
			Expect  precisionExpect `json:"expect"`
		} `json:"turns"`
	}
	for name, v := range map[string]any{"beliefs.seed": &beliefs, "retrieval.cases": &cases, "session-retrieval.cases": &sessions} {
		readJSON(filepath.Join(dir, "fixtures", name+".json"), v)
	}
	of := map[string]*belief{}
	for i := range beliefs {
		of[beliefs[i].ID] = &beliefs[i]
	}
	space := func(user, scope string) string { return "project/" + strings.ReplaceAll(user+"-"+scope, ":", "-") }
	for _, form := range []struct {
		name string
		text func(b *belief) string
	}{
		{"content", func(b *belief) string { return b.Content }},
		{"name, aliases and content", func(b *belief) string { return b.whole("\n") }},
		{"the same in one line", func(b *belief) string { return b.whole(" ") }},
	} {
		var all []said
		for i := range beliefs {
			b := &beliefs[i]
			at, _ := time.Parse(time.RFC3339, b.Said)
			all = append(all, said{b.ID, space(b.User, b.Scope[0]), form.text(b), at})
		}
		g := openGiver(o, all)
		give := func(user string, scope []string, query string, most int) ([]string, recall.Decision) {
			var spaces []string
			for _, s := range scope {
				spaces = append(spaces, space(user, s))
			}
			names, d := g.decideFor(query, spaces)
			there := func(b *belief) bool { return b != nil && b.User == user && !b.Pinned && inScope(b, scope) }
			names = slices.DeleteFunc(names, func(n string) bool { return !there(of[n]) })
			for _, n := range names { // its own judge adds what a relation is about, whatever was searched with
				for _, with := range of[n].With {
					if of[n].Type == "relation" && there(of[with]) && !slices.Contains(names, with) {
						names = append(names, with)
					}
				}
			}
			return names[:min(len(names), most)], d
		}
		for _, odd := range []bool{true, false} {
			var s precisionScore
			for i, c := range cases {
				if i%2 == 1 != odd {
					continue
				}
				user, most := cmp.Or(c.User, "test-user"), 20
				if c.Budget != nil && c.Budget.Most != nil {
					pinned := 0
					for _, b := range beliefs {
						if b.Pinned && b.User == user && b.Type != "open_question" && b.ResolvedAt == nil && inScope(&b, c.Scope) {
							pinned++
						}
					}
					most = max(*c.Budget.Most-pinned, 0)
				}
				names, d := give(user, c.Scope, c.Query, most)
				if wrong := s.countCase(c.Expect, names); wrong && verbose && odd {
					g.explain(form.name+" | "+c.Query, names, append(c.Expect.Beliefs.Must, *cmp.Or(c.Expect.Beliefs.Only, &[]string{})...), d)
				}
			}
			s.addRows(o, "PrecisionMemBench "+map[bool]string{true: "odd (fitted on)", false: "even"}[odd]+", "+form.name)
		}
		drift, turns, right := 0, 0, 0
		for i, session := range sessions {
			for _, t := range session.Turns {
				names, d := give("test-user", t.Scope, t.Message, 20)
				var s precisionScore
				if wrong := s.countCase(t.Expect, names); !wrong {
					right++
				} else if verbose {
					g.explain(fmt.Sprintf("session %d %.60s", i, t.Message), names, t.Expect.Beliefs, d)
				}
				turns++
				drift += s.wrong
			}
		}
		o.Add(Row{Case: "PrecisionMemBench sessions, " + form.name, Metric: "wrong lines", Value: float64(drift), Unit: "lines"})
		o.Add(Row{Case: "PrecisionMemBench sessions, " + form.name, Metric: fmt.Sprintf("turns right of %d", turns), Value: float64(right), Unit: "turns"})
	}
}

// whole returns the text of a belief with all its names.
func (b *belief) whole(separator string) string {
	return strings.Join(append(append([]string{b.Name}, b.Aliases...), b.Content), separator)
}

// precisionScore counts cases as PrecisionMemBench does.
type precisionScore struct {
	active, activeRight, empty, emptyRight, wrong int
	lines, hits                                   int
	precision, recall                             float64
	precisionOf, recallOf                         int
}

// countCase counts a case and reports whether it is wrong.
func (s *precisionScore) countCase(e precisionExpect, got []string) bool {
	wanted := e.Beliefs.Must
	if e.Beliefs.Only != nil {
		wanted = *e.Beliefs.Only
	}
	hits := 0
	for _, n := range got {
		if slices.Contains(wanted, n) {
			hits++
		} else if e.Beliefs.Only != nil || slices.Contains(e.Beliefs.Exclude, n) {
			s.wrong++
		}
	}
	if e.Beliefs.Only == nil && len(wanted) == 0 {
		return s.wrong > 0
	}
	right := hits == len(wanted) && (e.Beliefs.Only == nil || hits == len(got))
	if len(wanted) > 0 {
		s.active++
		s.recall += float64(hits) / float64(len(wanted))
		s.recallOf++
		if right {
			s.activeRight++
		}
	} else {
		s.empty++
		if right {
			s.emptyRight++
		}
	}
	s.lines, s.hits = s.lines+len(got), s.hits+hits
	if len(got) > 0 {
		s.precision += float64(hits) / float64(len(got))
	}
	if len(got)+len(wanted) > 0 {
		s.precisionOf++
	}
	return !right
}

func (s *precisionScore) addRows(o *Out, name string) {
	o.Add(Row{Case: name, Metric: fmt.Sprintf("active right of %d", s.active), Value: float64(s.activeRight), Unit: "cases"})
	o.Add(Row{Case: name, Metric: fmt.Sprintf("of %d lines are right", s.lines), Value: 100 * float64(s.hits) / float64(max(s.lines, 1)), Unit: "%"})
	o.Add(Row{Case: name, Metric: "precision, nothing given counts as 0", Value: 100 * s.precision / float64(max(s.precisionOf, 1)), Unit: "%"})
	o.Add(Row{Case: name, Metric: "recall", Value: 100 * s.recall / float64(max(s.recallOf, 1)), Unit: "%"})
	o.Add(Row{Case: name, Metric: fmt.Sprintf("empty right of %d", s.empty), Value: float64(s.emptyRight), Unit: "cases"})
}

// comparePrompts prints how many of the prompts that want nothing get something, and how many of the others get what they want.
func comparePrompts(o *Out, dir, name string, verbose bool) {
	var all []said
	for f := range fieldsOf(filepath.Join(dir, "store.tsv")) {
		all = append(all, said{f[0], "user", f[2], time.Now().AddDate(0, 0, -must(strconv.Atoi(f[1])))})
	}
	g := openGiver(o, all)
	nothing, given, want, right, lines, wrong := 0, 0, 0, 0, 0, 0
	for f := range fieldsOf(filepath.Join(dir, name)) {
		names, d := g.decideFor(strings.NewReplacer(`\n`, "\n", `\t`, "\t").Replace(f[2]), nil)
		lines += len(names)
		for _, n := range names {
			if n != f[1] {
				wrong++
			}
		}
		var wanted []string
		if f[1] == "-" {
			nothing++
			given += min(len(names), 1)
		} else {
			want++
			wanted = f[1:2]
			if slices.Contains(names, f[1]) {
				right++
			}
		}
		if verbose && !slices.Equal(names, wanted) {
			g.explain(f[2], names, f[1], d)
		}
	}
	o.Add(Row{Case: name, Metric: fmt.Sprintf("of %d that want nothing get something", nothing), Value: 100 * float64(given) / float64(nothing), Unit: "%"})
	o.Add(Row{Case: name, Metric: fmt.Sprintf("of %d that want something get it", want), Value: 100 * float64(right) / float64(want), Unit: "%"})
	o.Add(Row{Case: name, Metric: fmt.Sprintf("of %d lines are wrong", lines), Value: 100 * float64(wrong) / float64(max(lines, 1)), Unit: "%"})
}

// fieldsOf returns the three fields of each line of a file.
func fieldsOf(file string) iter.Seq[[]string] {
	return func(yield func([]string) bool) {
		for line := range strings.Lines(string(must(os.ReadFile(file)))) {
			fields := strings.SplitN(strings.TrimSuffix(line, "\n"), "\t", 3)
			if len(fields) < 3 {
				check(fmt.Errorf("%s: a line has %d fields, not three: %q", file, len(fields), line))
			}
			if !yield(fields) {
				return
			}
		}
	}
}
