package standin

import (
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/limit"
)

const (
	maxColumns = 5
	maxCell    = 44 // runes
	maxLines   = 40
	maxTables  = 4
)

// meta are members that are about the answer and not of it.
var meta = []string{"pagination", "next", "link", "argocd_base_url", "summary_only", "how_to_see_it", "left_out", "progress", "resources_searched", "searched_resource_types", "managedFields"}

// countsText returns the counts in an answer (by status, by kind) as lines of Markdown, the largest of each first; "" if there are none.
func countsText(v *value) string {
	var b strings.Builder
	say := func(name string, of *value) {
		type count struct {
			name string
			n    int
		}
		var all []count
		for _, m := range of.members {
			n, ok := of.number(m.name)
			if !ok {
				return
			}
			if n > 0 {
				all = append(all, count{m.name, n})
			}
		}
		sorting.StableBy(all, func(a, b count) int { return b.n - a.n })
		var said []string
		for _, c := range all[:min(len(all), 10)] {
			said = append(said, fmt.Sprintf("%s %d", clean(c.name), c.n))
		}
		if len(said) > 0 {
			fmt.Fprintf(&b, "\n- %s: %s", strings.TrimPrefix(clean(name), "by_"), strings.Join(said, ", "))
		}
	}
	for _, m := range v.members {
		switch {
		case m.kind != '{' || m.name != "summary" && m.name != "breakdown" && m.name != "counts" && m.name != "totals":
			continue
		case m.name == "breakdown":
			say("where", m.value)
			continue
		}
		for _, inner := range m.members {
			if inner.kind == '{' {
				say(inner.name, inner.value)
			}
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return "\n" + b.String()
}

// membersText returns the members of an object that are plain values as lines of Markdown, each with its path, at most maxLines; "" if v is
// no object.
func membersText(v *value) string {
	for inner := v.get("object"); inner != nil && inner.kind == '{'; { // a whole object, in a wrapper or two
		if v = inner; len(v.members) != 1 {
			break
		}
		inner = v.members[0].value
	}
	if v.kind != '{' {
		return ""
	}
	var all []string
	var walk func(path string, v *value, depth int)
	walk = func(path string, v *value, depth int) {
		for _, m := range v.members {
			name := path + m.name
			switch text := scalar(m.value); {
			case slices.Contains(meta, m.name) || len(all) > maxLines:
			case text != "":
				all = append(all, fmt.Sprintf("- %s: %s", clean(limit.Short(name, 80)), limit.Short(clean(text), 160)))
			case m.kind == '{' && depth < 4:
				walk(name+".", m.value, depth+1)
			}
		}
	}
	walk("", v, 0)
	if len(all) > maxLines {
		all = append(all[:maxLines], "- …")
	}
	return strings.Join(all, "\n")
}

// tablesText returns the lists of objects in an answer as tables of Markdown, at most maxTables.
func tablesText(v *value) string {
	var b strings.Builder
	n := 0
	add := func(name string, list *value) {
		if list.kind != '[' || list.total == 0 || len(list.items) == 0 || list.items[0].kind != '{' {
			return
		}
		if n++; n > maxTables {
			return
		}
		b.WriteString("\n\n")
		if name != "" {
			b.WriteString(clean(name) + ":\n\n")
		}
		b.WriteString(tableText(list))
	}
	add("", v)
	for _, m := range v.members {
		name := m.name
		if slices.Contains(meta, name) {
			continue
		}
		if name == "items" || name == "data" || name == "results" {
			name = ""
		}
		add(name, m.value)
		if m.kind != '{' || name != "" {
			continue
		}
		for _, inner := range m.members {
			add(inner.name, inner.value)
		}
	}
	return b.String()
}

// tableText returns a list of objects as a table of Markdown. A list of up to shownWhole items is shown whole, of a longer one the first
// shownRows.
func tableText(list *value) string {
	rows := list.items
	if list.total > shownWhole {
		rows = rows[:min(len(rows), shownRows)]
	}
	columns := columnsOf(rows)
	var b strings.Builder
	line := func(cells []string) { b.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	line(columns)
	line(slices.Repeat([]string{"---"}, len(columns)))
	for _, row := range rows {
		cells := make([]string, len(columns))
		for i, name := range columns {
			cells[i] = cell(row.get(name))
		}
		line(cells)
	}
	if left := list.total - len(rows); left > 0 {
		fmt.Fprintf(&b, "(%d more)\n", left)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// columnsOf returns the members to show as columns, at most maxColumns: those that at least half of the rows have and whose values differ between
// rows. The first column, and those of two rows or fewer, need not differ.
func columnsOf(rows []*value) []string {
	type column struct {
		name  string
		have  int
		same  bool
		first string
	}
	var all []column
	for _, row := range rows {
		for _, m := range row.members {
			text := scalar(m.value)
			if text == "" || len(m.name) > 40 {
				continue
			}
			at := slices.IndexFunc(all, func(c column) bool { return c.name == m.name })
			if at < 0 {
				if len(all) == 64 {
					continue
				}
				all = append(all, column{name: m.name, same: true, first: text})
				at = len(all) - 1
			}
			all[at].have++
			all[at].same = all[at].same && all[at].first == text
		}
	}
	var names []string
	for i, c := range all {
		if len(names) == maxColumns {
			break
		}
		constant := c.same && c.have == len(rows) && len(rows) > 2 && i > 0
		if 2*c.have >= len(rows) && !constant {
			names = append(names, c.name)
		}
	}
	if len(names) == 0 {
		return []string{"(no columns)"}
	}
	return names
}

// scalar returns a plain value, or a list of plain values joined by commas, as text; "" for nil, an object, or a list with objects in it.
func scalar(v *value) string {
	if v == nil {
		return ""
	}
	if v.kind != '[' {
		return v.text
	}
	var all []string
	for _, one := range v.items {
		if one.kind == '{' || one.kind == '[' {
			return ""
		}
		all = append(all, one.text)
	}
	return strings.Join(all, ", ")
}

// cell returns a value as the text of a cell, on one line and shortened.
func cell(v *value) string {
	return limit.ShortRunes(strings.ReplaceAll(clean(limit.Short(scalar(v), 4*maxCell)), "|", `\|`), maxCell)
}
