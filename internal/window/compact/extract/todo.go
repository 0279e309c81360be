package extract

import (
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/limit"
)

// A plan is one list of things to do in its last state.
type plan struct {
	name  string // of the tool, or of the file that the list is in
	turn  int32  // the turn that stated the whole list
	items []planItem
}

// A planItem is one thing to do.
type planItem struct {
	id     string
	text   string
	status string // in the tool's words; "" for none
}

const (
	maxPlans = 6
	maxItems = 100 // of one plan
	maxItem  = 320 // bytes of one
)

var (
	// planWords are in the names of tools and arguments that keep a plan.
	planWords = []string{"todo", "todos", "plan", "plans", "task", "tasks", "checklist", "steps", "backlog", "kanban", "milestones", "subtasks", "worklist", "agenda", "roadmap", "progress"}
	// statusKeys hold the state of an item; itemKeys its text, the best first.
	statusKeys = []string{"status", "state", "done", "completed", "checked", "complete", "progress", "phase", "finished", "isdone", "iscompleted", "stage", "column", "estado", "statut", "stato", "zustand", "erledigt"}
	itemKeys   = []string{"content", "title", "step", "task", "subject", "text", "name", "label", "summary", "item", "todo", "goal", "what", "description", "detail", "details", "notes", "note"}
	// states are the words for an item's state, without signs between the letters.
	states = []string{
		"pending", "inprogress", "completed", "complete", "done", "todo", "open", "doing", "blocked", "cancelled", "canceled", "notstarted", "started", "active", "finished", "skipped", "waiting", "ready",
		"review", "wip", "queued", "failed", "closed", "new", "current", "next", "offen", "erledigt", "pendiente", "hecho", "terminé", "afaire", "encours", "fait", "true", "false",
	}
)

// plans holds the newest state of every list of things to do.
type plans struct {
	list []plan
}

// setList replaces the list of that name, or adds it. An empty list changes nothing.
func (p *plans) setList(name string, turn int32, items []planItem) {
	if len(items) == 0 {
		return
	}
	items = items[:min(len(items), maxItems)]
	p.list = slices.DeleteFunc(p.list, func(old plan) bool { return old.name == name })
	if len(p.list) >= maxPlans {
		p.list = slices.Delete(p.list, 0, 1)
	}
	p.list = append(p.list, plan{name, turn, items})
}

// listNamed returns the list with a name, nil if there is none.
func (p *plans) listNamed(name string) *plan {
	for i := range p.list {
		if p.list[i].name == name {
			return &p.list[i]
		}
	}
	return nil
}

// recordCall records the lists that a call states. edits are the files that it changes: a list in one of them gets the file's name.
func (p *plans) recordCall(tool string, arguments *value, edits []string, turn int32) {
	r := planReader{plans: p, name: tool, named: keepsPlan(tool), turn: turn}
	if !r.named && len(edits) > 0 {
		r.name = edits[len(edits)-1]
	}
	r.readValue(arguments)
	if !r.found && r.named && arguments.object {
		p.recordSingle(tool, arguments, turn)
	}
}

// keepsPlan reports whether the name of a tool or an argument says that it keeps a plan.
func keepsPlan(name string) bool {
	for _, w := range wordsOf(name) {
		if slices.Contains(planWords, w) || strings.Contains(w, "todo") {
			return true
		}
	}
	return false
}

// A planReader looks for lists in the arguments of one call.
type planReader struct {
	*plans
	name  string
	named bool // it is a plan by its name
	found bool
	turn  int32
}

// readValue looks for lists of things to do in a value and in what is nested in it, and stores them.
func (r *planReader) readValue(v *value) {
	switch {
	case v.array:
		if items := itemsOf(v, r.named || keepsPlan(v.key)); len(items) > 0 {
			r.found = true
			r.setList(r.name, r.turn, items)
			return
		}
	case v.isPlain():
		if items := checklistItems(v.text); len(items) > 1 || len(items) == 1 && (r.named || keepsPlan(v.key)) {
			r.found = true
			r.setList(r.name, r.turn, items)
		}
		return
	}
	if items := byState(v, r.named || keepsPlan(v.key)); len(items) > 0 {
		r.found = true
		r.setList(r.name, r.turn, items)
		return
	}
	replaces := slices.ContainsFunc(v.members, func(m value) bool { return strings.HasPrefix(plainKey(m.key), "old") })
	for i := range v.members {
		m := &v.members[i]
		switch {
		case replaces && strings.HasPrefix(plainKey(m.key), "old"):
		case replaces && m.isPlain():
			r.updateList(checklistItems(m.text)) // a part of a list
		default:
			r.readValue(m)
		}
	}
}

// updateList updates a list by items of which an edit shows only some: known items get their new state, others are added.
func (r *planReader) updateList(items []planItem) {
	at := r.plans.listNamed(r.name)
	if at == nil {
		if len(items) > 1 {
			r.setList(r.name, r.turn, items)
		}
		return
	}
	for _, item := range items {
		if i := slices.IndexFunc(at.items, func(old planItem) bool { return old.text == item.text }); i >= 0 {
			at.items[i].status = item.status
		} else if len(at.items) < maxItems {
			at.items = append(at.items, item)
		}
	}
}

// byState returns the items of an object whose keys are states ("done": ["a"]), or whose keys are things to do and whose values are states;
// nil for any other object. named means that the object is called a plan.
func byState(v *value, named bool) (list []planItem) {
	with := 0
	for i := range v.members {
		m := &v.members[i]
		switch {
		case m.array && slices.Contains(states, plainKey(m.key)):
			with++
			for _, item := range itemsOf(m, true) {
				item.status = m.key
				list = append(list, item)
			}
		case m.isPlain() && named && strings.Contains(m.key, " ") && slices.Contains(states, plainKey(m.text)):
			with += 2
			list = append(list, planItem{text: oneLine(m.key, maxItem), status: m.text})
		}
	}
	if with < 2 || 2*with < len(v.members) {
		return nil
	}
	return list[:min(len(list), maxItems)]
}

// itemsOf returns the items of an array of things with a state; nil for any other array. named means that the array is called a plan; then
// texts without a state are enough.
func itemsOf(v *value, named bool) (list []planItem) {
	with := 0
	for i := range v.members {
		m := &v.members[i]
		var item planItem
		switch {
		case m.object:
			item = readItem(m)
		case m.isPlain():
			if list := checklistItems(m.text); len(list) == 1 {
				item, with = list[0], with+1
			} else if named {
				item.text = oneLine(m.text, maxItem)
			}
		}
		if item.text == "" {
			continue
		}
		if item.status != "" {
			with++
		}
		if len(list) < maxItems {
			list = append(list, item)
		}
	}
	if !named && 2*with < len(v.members) {
		return nil
	}
	return list
}

// readItem returns an object as a thing to do; its text is "" if it is not one.
func readItem(v *value) (item planItem) {
	best, more := len(itemKeys), ""
	longest := ""
	for i := range v.members {
		m := &v.members[i]
		if !m.isPlain() || m.text == "" || m.text == "null" {
			continue
		}
		key := plainKey(m.key)
		switch at := slices.Index(itemKeys, key); {
		case slices.Contains(statusKeys, key):
			item.status = oneLine(m.text, 40)
		case key == "id" || key == "taskid" || key == "key" || key == "number" || key == "index":
			item.id = oneLine(m.text, 40)
		case at >= 0 && at < best:
			if best < len(itemKeys) {
				more = item.text
			}
			best, item.text = at, m.text
		case at >= 0 && at > best:
			if more == "" {
				more = m.text
			}
		case slices.Contains(states, plainKey(m.text)) && item.status == "":
			item.status = oneLine(m.text, 40)
		case len(m.text) > len(longest) && strings.Contains(m.text, " "):
			longest = m.text
		}
	}
	if item.text == "" {
		item.text = longest
	}
	item.text = oneLine(item.text, maxItem)
	if more = oneLine(more, maxItem); more != "" && len(item.text)+len(more) < maxItem && !strings.Contains(item.text, more) && !strings.Contains(more, item.text) {
		item.text += ": " + more
	}
	return item
}

// recordSingle records the one thing to do that a call makes or changes, for tools that take one at a time.
func (p *plans) recordSingle(tool string, v *value, turn int32) {
	for i := range v.members {
		if key := plainKey(v.members[i].key); key == "prompt" || key == "command" && strings.Contains(v.members[i].text, " ") {
			return // a task for another agent
		}
	}
	item := readItem(v)
	name := singleName(tool)
	at := p.listNamed(name)
	if at != nil && item.id != "" {
		for i := range at.items {
			if old := &at.items[i]; old.id == item.id {
				if item.text != "" {
					old.text = item.text
				}
				if item.status != "" {
					old.status = item.status
				}
				return
			}
		}
	}
	if item.text == "" {
		return
	}
	if at == nil {
		p.setList(name, turn, []planItem{item})
		return
	}
	for i := range at.items {
		if at.items[i].text == item.text {
			at.items[i].status = item.status
			return
		}
	}
	if len(at.items) >= maxItems {
		at.items = slices.Delete(at.items, 0, 1)
	}
	at.items = append(at.items, item)
}

// singleName returns the name for the list that several tools keep together, by a word of planWords in theirs: "TaskCreate" and
// "TaskUpdate" both give "task". Without such a word it is the tool's name.
func singleName(tool string) string {
	for _, w := range wordsOf(tool) {
		if keepsPlan(w) {
			return w
		}
	}
	return tool
}

// recordNumber gives the newest thing to do the number that a tool's result names for it: "Task #3 created".
func (p *plans) recordNumber(tool, text string) {
	at := p.listNamed(singleName(tool))
	if at == nil || len(at.items) == 0 || at.items[len(at.items)-1].id != "" {
		return
	}
	i := strings.IndexByte(text[:min(len(text), 400)], '#')
	if i < 0 {
		return
	}
	end := i + 1
	for end < len(text) && end < i+20 && class[text[end]] != 0 && class[text[end]] != 'p' {
		end++
	}
	at.items[len(at.items)-1].id = text[i+1 : end]
}

// stateMark returns the mark for an item's state in a summary: a box if one fits, else an empty box and the tool's own word.
func (item *planItem) stateMark() string {
	switch plainKey(item.status) {
	case "", "pending", "todo", "open", "notstarted", "false":
		return "[ ] "
	case "completed", "complete", "done", "true", "finished", "closed":
		return "[x] "
	}
	return "[ ] (" + item.status + ") "
}

// oneLine returns a text on one line, without control characters, cut to at most n bytes.
func oneLine(text string, n int) string {
	text = text[:min(len(text), 4*n)]
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7F || r == 0x2028 || r == 0x2029 }) {
		text = strings.Map(func(r rune) rune {
			if r < ' ' || r == 0x7F || r == 0x2028 || r == 0x2029 {
				return ' '
			}
			return r
		}, text)
	}
	text = strings.TrimSpace(strings.ToValidUTF8(text, "\uFFFD"))
	if len(text) > n {
		text = limit.Short(text, n)
	}
	return text
}
