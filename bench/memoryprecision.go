package main

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/memory"
	"github.com/plimsoll/plimsoll/internal/memory/recall"
)

// giver adds texts to a store, and tells what a prompt is given of them.
type giver struct {
	dir   string
	store *memory.Store
	name  map[string]string // of a record, by its id
}

// said is a text that a person has said.
type said struct {
	name, namespace, text string
	at                    time.Time
}

func openGiver(ctx context.Context, all []said) (*giver, error) {
	dir, err := os.MkdirTemp("", "bench-given-")
	if err != nil {
		return nil, err
	}
	g := &giver{dir: dir, name: map[string]string{}}
	if g.store, err = memory.Open(memory.Options{Dir: dir}); err != nil {
		_ = os.RemoveAll(dir)
		return nil, err
	}
	records := make([]memory.Record, len(all))
	for i, s := range all {
		records[i] = memory.Record{Kind: memory.KindNote, Origin: memory.OriginUser, Namespace: s.namespace, Text: s.text, Said: s.at}
	}
	added, err := g.store.Add(ctx, records...)
	if err != nil {
		g.close()
		return nil, err
	}
	for i, id := range added.IDs {
		g.name[id] = all[i].name
	}
	return g, nil
}

func (g *giver) close() {
	_ = g.store.Close()
	_ = os.RemoveAll(g.dir)
}

// give returns the names of what a prompt is given, and the decision.
func (g *giver) give(ctx context.Context, text string, namespaces []string) ([]string, recall.Decision, error) {
	p := recall.Read(text)
	var found memory.Results
	if p.Why == "" {
		var err error
		if found, err = g.store.Search(ctx, memory.Query{Text: p.Query, Namespaces: namespaces, Limit: recall.Candidates, Loose: true}); err != nil {
			return nil, recall.Decision{}, err
		}
	}
	d := recall.Decide(p, found, time.Now())
	var names []string
	for _, l := range d.Given {
		names = append(names, g.name[l.ID])
	}
	return names, d, nil
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
func compareGiven(ctx context.Context, o *Out, dir string, verbose, scoped bool) error {
	var beliefs []belief
	var cases []precisionCase
	if err := readJSON(filepath.Join(dir, "fixtures", "beliefs.seed.json"), &beliefs); err != nil {
		return err
	}
	if err := readJSON(filepath.Join(dir, "fixtures", "retrieval.cases.json"), &cases); err != nil {
		return err
	}
	var sessions []struct {
		Turns []struct {
			Scope   []string        `json:"scope"`
			Message string          `json:"userMessage"`
			Expect  precisionExpect `json:"expect"`
		} `json:"turns"`
	}
	if err := readJSON(filepath.Join(dir, "fixtures", "session-retrieval.cases.json"), &sessions); err != nil {
		return err
	}
	for _, form := range []string{"content", "name, aliases and content", "the same in one line"} {
		var all []said
		of := map[string]*belief{}
		for i := range beliefs {
			b := &beliefs[i]
			of[b.ID] = b
			text := b.Content
			whole := append(append([]string{b.Name}, b.Aliases...), b.Content)
			switch form {
			case "name, aliases and content":
				text = strings.Join(whole, "\n")
			case "the same in one line":
				text = strings.Join(whole, " ")
			}
			at, _ := time.Parse(time.RFC3339, b.Said)
			all = append(all, said{b.ID, "project/" + strings.NewReplacer(":", "-").Replace(b.User+"-"+b.Scope[0]), text, at})
		}
		g, err := openGiver(ctx, all)
		if err != nil {
			return err
		}
		give := func(user string, scope []string, query string, most int) ([]string, recall.Decision, error) {
			var spaces []string
			for _, s := range scope {
				spaces = append(spaces, "project/"+strings.NewReplacer(":", "-").Replace(user+"-"+s))
			}
			if !scoped {
				spaces = nil
			}
			names, d, err := g.give(ctx, query, spaces)
			names = slices.DeleteFunc(names, func(n string) bool {
				b := of[n]
				return b.User != user || b.Pinned || !inScope(b, scope)
			})
			for _, n := range names { // its own judge adds what a relation is about, whatever was searched with
				for _, with := range of[n].With {
					b := of[with]
					if of[n].Type == "relation" && b != nil && b.User == user && !b.Pinned && !slices.Contains(names, with) && inScope(b, scope) {
						names = append(names, with)
					}
				}
			}
			return names[:min(len(names), most)], d, err
		}
		for _, odd := range []bool{true, false} {
			var s precisionScore
			for i, c := range cases {
				if i%2 == 1 != odd {
					continue
				}
				user, most := c.User, 20
				if user == "" {
					user = "test-user"
				}
				if c.Budget != nil && c.Budget.Most != nil {
					pinned := 0
					for _, b := range beliefs {
						if b.Pinned && b.User == user && b.Type != "open_question" && b.ResolvedAt == nil && inScope(&b, c.Scope) {
							pinned++
						}
					}
					most = max(*c.Budget.Most-pinned, 0)
				}
				names, d, err := give(user, c.Scope, c.Query, most)
				if err != nil {
					g.close()
					return err
				}
				wrong := s.add(c.Expect, names)
				if verbose && odd && wrong {
					o.Note("%s | %s | given %v, wanted %v; %s", form, c.Query, names, append(c.Expect.Beliefs.Must, *cmp.Or(c.Expect.Beliefs.Only, &[]string{})...), d.Why)
					for _, m := range d.Missed {
						if m.Score > 0.3 {
							o.Note("      %s %.2f %s", g.name[m.ID], m.Score, m.Why)
						}
					}
					for _, l := range d.Given {
						o.Note("      GIVEN %s %.2f %v", g.name[l.ID], l.Score, l.Words)
					}
				}
			}
			s.print(o, "PrecisionMemBench "+map[bool]string{true: "odd (fitted on)", false: "even"}[odd]+", "+form)
		}
		drift, turns, right := 0, 0, 0
		for i, session := range sessions {
			for _, t := range session.Turns {
				names, d, err := give("test-user", t.Scope, t.Message, 20)
				if err != nil {
					g.close()
					return err
				}
				var s precisionScore
				if s.add(t.Expect, names) {
					if verbose {
						o.Note("session %d %.60s | given %v, wanted %v", i, t.Message, names, t.Expect.Beliefs)
						for _, m := range d.Missed {
							if m.Score > 0.3 {
								o.Note("      %s %.2f %s", g.name[m.ID], m.Score, m.Why)
							}
						}
						for _, l := range d.Given {
							o.Note("      GIVEN %s %.2f %v", g.name[l.ID], l.Score, l.Words)
						}
					}
				} else {
					right++
				}
				turns++
				drift += s.wrong
			}
		}
		o.Add(Row{Case: "PrecisionMemBench sessions, " + form, Metric: "wrong lines", Value: float64(drift), Unit: "lines"})
		o.Add(Row{Case: "PrecisionMemBench sessions, " + form, Metric: fmt.Sprintf("turns right of %d", turns), Value: float64(right), Unit: "turns"})
		g.close()
	}
	return nil
}

// precisionScore counts cases as PrecisionMemBench does.
type precisionScore struct {
	active, activeRight, empty, emptyRight, wrong int
	lines, hits                                   int
	precision, recall                             float64
	precisionOf, recallOf                         int
}

// add counts a case and reports whether it is wrong.
func (s *precisionScore) add(e precisionExpect, got []string) bool {
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

func (s *precisionScore) print(o *Out, name string) {
	o.Add(Row{Case: name, Metric: fmt.Sprintf("active right of %d", s.active), Value: float64(s.activeRight), Unit: "cases"})
	o.Add(Row{Case: name, Metric: fmt.Sprintf("of %d lines are right", s.lines), Value: 100 * float64(s.hits) / float64(max(s.lines, 1)), Unit: "%"})
	o.Add(Row{Case: name, Metric: "precision, nothing given counts as 0", Value: 100 * s.precision / float64(max(s.precisionOf, 1)), Unit: "%"})
	o.Add(Row{Case: name, Metric: "recall", Value: 100 * s.recall / float64(max(s.recallOf, 1)), Unit: "%"})
	o.Add(Row{Case: name, Metric: fmt.Sprintf("empty right of %d", s.empty), Value: float64(s.emptyRight), Unit: "cases"})
}

// comparePrompts prints how many of the prompts that want nothing get something, and how many of the others get what they want.
func comparePrompts(ctx context.Context, o *Out, dir, name string, verbose bool) error {
	var all []said
	if err := eachLine(filepath.Join(dir, "store.tsv"), func(f []string) error {
		days, err := strconv.Atoi(f[1])
		all = append(all, said{f[0], "user", f[2], time.Now().AddDate(0, 0, -days)})
		return err
	}); err != nil {
		return err
	}
	g, err := openGiver(ctx, all)
	if err != nil {
		return err
	}
	defer g.close()
	nothing, given, want, right, lines, wrong := 0, 0, 0, 0, 0, 0
	if err := eachLine(filepath.Join(dir, name), func(f []string) error {
		names, d, err := g.give(ctx, strings.NewReplacer(`\n`, "\n", `\t`, "\t").Replace(f[2]), nil)
		if err != nil {
			return err
		}
		bad := false
		if lines += len(names); f[1] == "-" {
			nothing++
			wrong += len(names)
			if bad = len(names) > 0; bad {
				given++
			}
		} else {
			want++
			for _, n := range names {
				if n != f[1] {
					wrong++
				}
			}
			if slices.Contains(names, f[1]) {
				right++
			}
			bad = !slices.Equal(names, []string{f[1]})
		}
		if verbose && bad {
			o.Note("%s | given %v, wanted %s; %s", f[2], names, f[1], d.Why)
			for _, m := range d.Missed[:min(len(d.Missed), 3)] {
				o.Note("      %s %.2f %s", g.name[m.ID], m.Score, m.Why)
			}
			for _, l := range d.Given {
				o.Note("      GIVEN %s %.2f %v", g.name[l.ID], l.Score, l.Words)
			}
		}
		return nil
	}); err != nil {
		return err
	}
	o.Add(Row{Case: name, Metric: fmt.Sprintf("of %d that want nothing get something", nothing), Value: 100 * float64(given) / float64(nothing), Unit: "%"})
	o.Add(Row{Case: name, Metric: fmt.Sprintf("of %d that want something get it", want), Value: 100 * float64(right) / float64(want), Unit: "%"})
	o.Add(Row{Case: name, Metric: fmt.Sprintf("of %d lines are wrong", lines), Value: 100 * float64(wrong) / float64(max(lines, 1)), Unit: "%"})
	return nil
}

// eachLine calls f with the three fields of each line of a file.
func eachLine(file string, f func(fields []string) error) error {
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	for lines := bufio.NewScanner(in); lines.Scan(); {
		fields := strings.SplitN(lines.Text(), "\t", 3)
		if len(fields) < 3 {
			return fmt.Errorf("%s: a line has %d fields, not three: %q", file, len(fields), lines.Text())
		}
		if err := f(fields); err != nil {
			return err
		}
	}
	return nil
}
