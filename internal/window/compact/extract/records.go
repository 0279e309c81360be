package extract

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/plimsoll/plimsoll/internal/sorting"
)

// records are the facts that a conversation shows by its structure and not by its words: the state of the plan, the files that were
// changed, the failures of commands that were not run again.
type records struct {
	plans    plans
	changed  map[string]int32 // paths, with the time of their last change by clock
	clock    int32
	failures failures
	prose    []line         // lines of arguments that say why something is done
	answers  map[int32]bool // results that are the user's answers to a question
	ends     map[int32]bool // turns: what the agent said last before the user spoke
	trouble  map[int32]bool // turns: what it said after a failure, before a file was changed
	leads    map[int32]bool // turns: what it said right before a file was changed, and the call that changed it
	stood    int32          // turn: what it said last of all; -1 for nothing
}

// pending is a call that waits for its result.
type pending struct {
	id, tool, command string
	said              int32 // turn in which the agent spoke before it; -1 for none
	reads, writes     bool
	paths             []string // paths that the call names, where it is not known whether it changes them
}

const (
	maxChanged = 4000 // paths
	maxUnnamed = 64   // calls that wait for a result that names none
)

// gatherRecords returns the records of turns. Turns that stay in the conversation (Kept) add nothing; they only replace what was recorded
// before them.
func gatherRecords(turns []Turn) *records {
	r := &records{changed: map[string]int32{}, answers: map[int32]bool{}, ends: map[int32]bool{}, trouble: map[int32]bool{}, leads: map[int32]bool{}, stood: -1}
	said := int32(-1)             // by the agent, since a result came
	trouble := 0                  // calls for which what failed may still be spoken of
	calls := map[string]pending{} // by id
	var unnamed []pending         // of dialects without ids, oldest first
	for i := range turns {
		t := &turns[i]
		turn := int32(i)
		switch t.Kind {
		case Prior:
			r.addPrior(t.Text, turn)
		case Assistant:
			r.plans.recordSpoken(t.Text, turn)
			said = turn
			if !t.Kept {
				r.stood = turn
				if trouble > 0 {
					r.trouble[turn] = true
				}
				for _, path := range editedInText(t.Text) {
					r.addChanged(path)
				}
			}
		case Call:
			v := parseArguments(t.Text)
			paths := editedPaths(t.Tool, &v)
			if trouble--; len(paths) > 0 {
				trouble = 0
				r.leads[said], r.leads[turn] = true, true
			}
			if !t.Kept {
				for _, path := range paths {
					r.addChanged(path)
				}
			}
			r.plans.recordCall(t.Tool, &v, paths, turn)
			if !t.Kept {
				r.addReasons(&v, turn)
			}
			p := pending{id: t.ID, tool: t.Tool, said: said, writes: len(paths) > 0 && hasWord(t.Tool, writingWords)}
			p.command, p.reads = commandOf(t.Tool, &v)
			if len(paths) == 0 && !p.reads && !hasWord(t.Tool, readingWords) {
				p.paths = namedPaths(&v)
			}
			if t.ID != "" {
				calls[t.ID] = p
			} else {
				if len(unnamed) >= maxUnnamed {
					unnamed = slices.Delete(unnamed, 0, maxUnnamed/2)
				}
				unnamed = append(unnamed, p)
			}
		case Result:
			p, ok := calls[t.ID]
			if !ok || t.ID == "" {
				p = pending{tool: t.Tool, command: t.Tool}
				for k := range unnamed {
					if unnamed[k].tool == t.Tool {
						p = unnamed[k]
						unnamed = slices.Delete(unnamed, k, k+1)
						break
					}
				}
			}
			said = -1
			if !t.Kept && len(p.paths) > 0 && confirmsChange(t.Text) {
				r.leads[p.said] = true
				for _, path := range p.paths {
					r.addChanged(path)
				}
			}
			if keepsPlan(p.tool) {
				r.plans.recordNumber(p.tool, t.Text)
			}
			if asksUser(p.tool) {
				r.answers[turn] = true
			}
			if p.writes && !t.Failed && !hasFailMark(strings.TrimSpace(t.Text[:min(len(t.Text), 80)])) {
				continue // an edit shows what it has written
			}
			if r.failures.recordRun(p.command, turn, t.Text, t.Failed, p.reads) {
				trouble = troubled
			}
		}
	}
	speaks := User
	for i, t := range slices.Backward(turns) {
		switch {
		case t.Kind == Assistant && speaks == User:
			r.ends[int32(i)] = true
		case t.Kind == Call, t.Kind == Result:
			speaks = t.Kind
		case t.Kind == User && Own(t.Text) != "":
			speaks = User
		}
	}
	r.plans.list = slices.DeleteFunc(r.plans.list, func(p plan) bool { return turns[p.turn].Kept })
	r.failures.list = slices.DeleteFunc(r.failures.list, func(f failure) bool { return turns[f.turn].Kept })
	return r
}

// addChanged records a path as the one changed last. New paths beyond maxChanged are ignored.
func (r *records) addChanged(path string) {
	if _, known := r.changed[path]; known || len(r.changed) < maxChanged {
		r.clock++
		r.changed[path] = r.clock
	}
}

// reasonKeys are names of arguments in which an agent says why it makes a call.
var reasonKeys = []string{"explanation", "reason", "reasoning", "rationale", "thought", "thoughts", "thinking", "message", "summary", "decision", "note", "notes", "comment", "why", "justification", "commitmessage", "body"}

// addReasons adds to prose the arguments of a call that say why it is made, and the message of a commit.
func (r *records) addReasons(v *value, turn int32) {
	say := func(text string) {
		if strings.Count(text, " ") < 4 && text[:min(len(text), 1)] < "\x80" {
			return
		}
		for _, part := range pieces(text[:min(len(text), pasted)], longSentence, longSpoken) {
			if len(r.prose) < maxChanged {
				r.prose = append(r.prose, line{text: part, turn: turn, kind: Assistant, last: true})
			}
		}
	}
	v.forPlainValues(func(text, key string) {
		key = plainKey(key)
		if slices.Contains(reasonKeys, key) {
			say(text)
		} else if slices.Contains(shellKeys, key) && strings.Contains(text, "git commit") {
			words := shellWords(strings.ReplaceAll(text[:min(len(text), pasted)], "\n", " "))
			for i, w := range words[:max(0, len(words)-1)] {
				if w == "-m" || w == "-am" || w == "--message" {
					say(words[i+1])
				}
			}
		}
	})
}

// asksUser reports whether a tool, by its name, asks the user a question, so that its result is the user's answer.
func asksUser(tool string) bool {
	words := wordsOf(tool)
	return slices.ContainsFunc(words, func(w string) bool { return w == "ask" || strings.HasPrefix(w, "ask") }) &&
		slices.ContainsFunc(words, func(w string) bool {
			return strings.Contains(w, "user") || strings.Contains(w, "question") || strings.Contains(w, "followup") || w == "human"
		})
}

// A block is a group of lines of a record; if it does not fit, its first lines are taken.
type block struct {
	section section
	head    string   // heading of the lines; may be ""
	lines   []string // as they are written, with their marks
}

// mayHave reports whether there may be a record in a section.
func (r *records) mayHave(s section) bool {
	switch s {
	case sectionPlan:
		return len(r.plans.list) > 0
	case sectionChanged:
		return len(r.changed) > 0
	}
	return len(r.failures.list) > 0
}

// blocksOf returns the records of a section, the newest first. For failures it returns the lines that say most, or with more the others.
func (r *records) blocksOf(s section, more bool) (blocks []block) {
	switch s {
	case sectionPlan:
		said := map[string]bool{}
		for _, p := range slices.Backward(r.plans.list) {
			b := block{section: s, head: "- " + oneLine(p.name, 120) + ":"}
			for _, item := range p.items {
				if said[item.text] {
					continue
				}
				said[item.text] = true
				b.lines = append(b.lines, "  "+item.stateMark()+item.text)
			}
			if len(b.lines) > 0 {
				blocks = append(blocks, b)
			}
		}
	case sectionChanged:
		paths := sorting.CollectBy(maps.Keys(r.changed), func(a, b string) int { return cmp.Compare(r.changed[b], r.changed[a]) })
		for _, path := range paths {
			if strings.Contains(path, changedNext) || strings.HasPrefix(path, `"`) {
				path = strconv.Quote(path)
			}
			blocks = append(blocks, block{section: s, lines: []string{"- " + path}})
		}
	case sectionFailures, sectionRetired:
		said := map[string]bool{}
		list := slices.Clone(r.failures.list)
		sorting.StableBy(list, func(a, b failure) int { // the last come first
			if a.sure == b.sure {
				return 0
			} else if b.sure {
				return -1
			}
			return 1
		})
		for _, f := range slices.Backward(list) {
			if f.over != (s == sectionRetired) {
				continue
			}
			b := block{section: s, head: "- $ " + f.command}
			if f.code != 0 {
				b.head += " (exit code " + strconv.Itoa(f.code) + ")"
			}
			for i, l := range f.lines {
				switch {
				case said[l]:
					continue
				case i < f.best != more:
					b.lines = append(b.lines, "  | "+l)
				}
				said[l] = true
			}
			if len(b.lines) > 0 {
				blocks = append(blocks, b)
			}
		}
	}
	return blocks
}

// addPrior adds the records of an earlier summary.
func (r *records) addPrior(text string, turn int32) {
	at := sectionNone
	name := ""
	var items []planItem
	var plans []plan
	flush := func() {
		if at == sectionPlan && name != "" {
			plans = append(plans, plan{name, turn, items})
		}
		name, items = "", nil
	}
	var found []failure
	var paths []string
	for row := range strings.Lines(text) {
		row = strings.TrimRight(row, "\r\n")
		if strings.HasPrefix(row, "## ") {
			flush()
			at = sectionTitled(row)
			continue
		}
		switch at {
		case sectionPlan:
			if head, ok := strings.CutPrefix(row, "- "); ok {
				flush()
				name = strings.TrimSuffix(head, ":")
			} else if list := checklistItems(row); len(list) == 1 {
				item := list[0]
				if rest, ok := strings.CutPrefix(strings.TrimSpace(row), "[ ] ("); ok {
					if status, said, ok := strings.Cut(rest, ") "); ok {
						item.status, item.text = status, said
					}
				}
				items = append(items, item)
			}
		case sectionChanged:
			if list, ok := strings.CutPrefix(row, "- "); ok {
				paths = append(paths, changedPaths(list)...)
			}
		case sectionFailures, sectionRetired:
			if head, ok := strings.CutPrefix(row, "- $ "); ok {
				f := failure{command: head, turn: turn, sure: true, over: at == sectionRetired}
				if command, code, ok := strings.Cut(head, " (exit code "); ok {
					f.command = command
					f.code, _ = strconv.Atoi(strings.TrimSuffix(code, ")"))
				}
				found = append(found, f)
			} else if l, ok := strings.CutPrefix(row, "  | "); ok && len(found) > 0 {
				f := &found[len(found)-1]
				f.lines = append(f.lines, l)
				f.best = min(len(f.lines), maxFailBest)
			}
		}
	}
	flush()
	// They were written newest first.
	for _, p := range slices.Backward(plans) {
		r.plans.setList(p.name, p.turn, p.items)
	}
	for _, path := range slices.Backward(paths) {
		r.addChanged(path)
	}
	for _, f := range slices.Backward(found) {
		r.failures.addFailure(f)
	}
}

// changedPaths returns the paths in a summary's row of changed files.
func changedPaths(row string) (paths []string) {
	for row != "" {
		path, rest, _ := strings.Cut(row, changedNext)
		if whole, err := strconv.QuotedPrefix(row); err == nil {
			path, _ = strconv.Unquote(whole)
			rest = strings.TrimPrefix(row[len(whole):], changedNext)
		}
		if path != "" && len(path) <= maxPath {
			paths = append(paths, path)
		}
		row = rest
	}
	return paths
}

// sectionTitled returns the section whose title is a row of a summary, sectionNone for any other row.
func sectionTitled(row string) section {
	for s, title := range titles {
		if title != "" && row == title {
			return section(s)
		}
	}
	return sectionNone
}
