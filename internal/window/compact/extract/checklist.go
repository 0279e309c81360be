package extract

import (
	"slices"
	"strings"
)

// recordSpoken records the list of things to do in an agent's words: items with boxes, or items under a heading that calls them a plan.
func (p *plans) recordSpoken(text string, turn int32) {
	if items := checklistItems(text); len(items) > 1 {
		p.setList(ownList, turn, items)
	} else if items := planUnderHeading(text); len(items) > 1 {
		p.setList(ownList, turn, items)
	}
}

const ownList = "the agent's own list"

// planHeads are beginnings of headings of a list of things to do without boxes. All in lower case.
var planHeads = []string{
	"plan", "todo", "to do", "to-do", "next steps", "remaining", "left to do", "still open", "still to do", "what is left", "what's left", "outstanding", "open items", "open points", "steps", "tasks", "backlog",
	"offen", "aufgaben", "nächste schritte", "noch zu tun", "pendiente", "tareas", "próximos pasos", "falta", "étapes", "à faire", "reste", "tâches", "prochaines", "da fare", "prossimi", "tarefas", "próximos passos",
	"te doen", "do zrobienia", "осталось", "план", "задачи", "计划", "待办", "剩余", "下一步", "残り", "やること", "タスク", "할 일", "남은",
}

// isPlan reports whether a heading, in lower case, has one of planHeads at the start of a word; in scripts that write without spaces,
// anywhere.
func isPlan(title string) bool {
	for at := range len(title) {
		c := title[at]
		if c >= 'A' && c < 0xE0 && at > 0 && class[title[at-1]] != 0 && class[title[at-1]] != 'p' {
			continue
		}
		if slices.ContainsFunc(planHeads, func(head string) bool { return strings.HasPrefix(title[at:], head) }) {
			return true
		}
	}
	return false
}

// planUnderHeading returns the items of the last list in a text that stands under a heading such as "Plan:".
func planUnderHeading(text string) (list []planItem) {
	under := false
	for row := range strings.Lines(text) {
		row = strings.TrimSpace(row)
		rest := strings.TrimLeft(row, "-*+•0123456789.) ")
		switch {
		case row == "":
		case under && len(rest) < len(row) && isWorthReading(rest) && !strings.HasPrefix(row, "**"):
			if len(list) < maxItems {
				list = append(list, planItem{text: oneLine(rest, maxItem)})
			}
		default:
			head := strings.TrimRight(strings.Trim(row, "#* _"), "*_ ")
			title := strings.HasPrefix(row, "#") || strings.HasSuffix(head, ":") || strings.HasSuffix(head, "：")
			if under = title && len(head) < 90 && isPlan(strings.ToLower(head)); under {
				list = nil
			}
		}
	}
	return list
}

// boxes are the boxes that begin the items of a list of things to do, behind the mark of the list, with the state they stand for.
var boxes = []struct{ mark, status string }{
	{"[ ]", ""},
	{"[x]", "done"},
	{"[X]", "done"},
	{"[-]", "in progress"},
	{"[~]", "in progress"},
	{"[/]", "in progress"},
	{"[>]", "in progress"},
	{"[*]", "in progress"},
	{"[!]", "blocked"},
	{"[]", ""},
	{"☐", ""},
	{"⬜", ""},
	{"◻", ""},
	{"□", ""},
	{"☑", "done"},
	{"✅", "done"},
	{"☒", "done"},
	{"✔", "done"},
	{"🔲", ""},
	{"⏳", "in progress"},
	{"🔄", "in progress"},
}

// checklistItems returns the items of a text that have a box or a state in words.
func checklistItems(text string) (list []planItem) {
	if !strings.ContainsAny(text, "[☐⬜◻□☑✅☒✔🔲⏳🔄") && !strings.Contains(text, "TODO") && !strings.Contains(text, "DONE") {
		return nil
	}
	for row := range strings.Lines(text) {
		row = strings.TrimSpace(row)
		if len(row) < 5 {
			continue
		}
		rest := strings.TrimLeft(row, "-*+•0123456789.) ")
		for _, box := range boxes {
			if said, ok := strings.CutPrefix(rest, box.mark); ok {
				link := strings.HasPrefix(said, "(")
				if said = oneLine(strings.TrimLeft(said, "\uFE0F:"), maxItem); isWorthReading(said) && !link && len(list) < maxItems {
					list = append(list, planItem{text: said, status: box.status})
				}
				break
			}
		}
		if item, ok := statedItem(rest); ok && len(list) < maxItems {
			list = append(list, item)
		}
	}
	return list
}

// statedItem returns the item in a line that begins with a state in words: "[done] x", "TODO x", "DOING: x"; false for any other line.
func statedItem(row string) (item planItem, ok bool) {
	if rest, found := strings.CutPrefix(row, "["); found {
		word, said, found := strings.Cut(rest, "]")
		if !found || len(word) < 2 || len(word) > 16 || !slices.Contains(states, plainKey(word)) || strings.HasPrefix(said, "(") {
			return item, false
		}
		item = planItem{text: oneLine(strings.TrimLeft(said, ": "), maxItem), status: word}
		return item, isWorthReading(item.text)
	}
	end := strings.IndexAny(row[:min(len(row), 16)], " :")
	if end < 3 || row[:end] != strings.ToUpper(row[:end]) || !slices.Contains(states, plainKey(row[:end])) {
		return item, false
	}
	item = planItem{text: oneLine(strings.TrimLeft(row[end:], ": -"), maxItem), status: strings.ToLower(row[:end])}
	return item, isWorthReading(item.text)
}
