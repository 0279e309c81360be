package standin

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/plimsoll/plimsoll/internal/lazy"
)

// arguments of a call under way.
type arguments map[string]any

func (a arguments) json() string {
	text, err := json.Marshal(a) // with the names sorted: the same call is the same text
	if err != nil {
		return "{}"
	}
	return string(text)
}

var (
	sized   = lazy.Regexp(`(?i)\b(\d{1,12}(?:\.\d{1,6})?) ?(bytes?|[kmg]i?b?|b)\b`)
	lasting = lazy.Regexp(`(?i)\b(\d{1,9}(?:\.\d{1,6})?) ?(?:s|sec|seconds?)\b`)
	counted = lazy.Regexp(`\b(\d{1,9})\b`)
	often   = lazy.Regexp(`(?i) ?\b(\d{1,3}) times\b`)
	called  = lazy.Regexp(`(?is)^(?:(?:call|use|run|try|make|the|tool)[ \n])*([\w-]+)[:,]?(?:[ \n]+|$)(.*)`)
	quoted1 = lazy.Regexp("[\"'“`]([^\"'”`]+)[\"'”`]")
	leading = lazy.Regexp(`(?i)^(?:(?:with|saying|message|text|the|that|says|of|tool)\b *)+`)
)

// planNamedTool plans the calls of a tool that the text names. The name may lack the server's. found[1] is the name and found[2] the rest
// of the text. The plan is empty if no tool has that name.
func (p *planner) planNamedTool(_ part, found []string) plan {
	for i := range p.tools {
		t := &p.tools[i]
		if t.pager || !t.matchesName(strings.ToLower(found[1])) {
			continue
		}
		var made plan
		for _, a := range t.parseOrder(found[2]) {
			made.calls = append(made.calls, call{name: t.name, arguments: a.json()})
		}
		return made
	}
	return plan{}
}

// matchesName reports whether a word is the name of the tool, with or without the server's name in front. Case, and "-" for "_", do not
// matter.
func (t *tool) matchesName(word string) bool {
	word = strings.ReplaceAll(word, "-", "_")
	for name := strings.ReplaceAll(strings.ToLower(t.name), "-", "_"); ; {
		if name == word {
			return true
		}
		_, rest, more := strings.Cut(name, "__")
		if !more || slices.Contains(generic, rest) {
			return false
		}
		name = rest
	}
}

// parseOrder returns the arguments that the text after a tool's name gives: one JSON object, or numbers and a text. If the text says so ("3
// times"), there are several copies for as many calls.
func (t *tool) parseOrder(text string) []arguments {
	text = strings.ReplaceAll(text, "\n", " ")
	if at := strings.IndexByte(text, '{'); at >= 0 {
		var given arguments
		if json.NewDecoder(strings.NewReader(text[at:])).Decode(&given) == nil {
			return []arguments{given}
		}
	}
	copies := 1
	if found := often().FindStringSubmatch(text); found != nil {
		copies, _ = strconv.Atoi(found[1])
		copies = min(max(copies, 1), maxTools)
		text = strings.Replace(text, found[0], "", 1)
	}
	a := arguments{}
	for i := range t.props {
		p := &t.props[i]
		switch {
		case p.takes("integer"):
			if n, found := parseAmount(p, text); found || p.required {
				a[p.name] = n
			}
		case p.kind == "string" && (p.required || p.bareName() == "message" || p.bareName() == "text"):
			said := strings.TrimSpace(leading().ReplaceAllString(text, ""))
			if found := quoted1().FindStringSubmatch(text); found != nil {
				said = found[1]
			}
			if said != "" || p.required {
				a[p.name] = said
			}
		}
	}
	all := make([]arguments, copies)
	for i := range all {
		all[i] = maps.Clone(a)
		if copies > 1 {
			t.numberText(all[i], i)
		}
	}
	return all
}

// numberText appends "#" and i+1 to the first argument that is a text, so that the call differs from the others. Without such an argument
// it does nothing.
func (t *tool) numberText(a arguments, i int) {
	for _, p := range t.props {
		if text, ok := a[p.name].(string); ok {
			a[p.name] = strings.TrimSpace(fmt.Sprintf("%s #%d", text, i+1))
			return
		}
	}
}

// parseAmount returns the number in the text that is meant for an argument, converted to the unit that the argument's name tells (bytes,
// MiB, seconds). If the text has none, n is a default and found is false.
func parseAmount(p *prop, text string) (n int64, found bool) {
	name := p.bareName()
	size := sized().FindStringSubmatch(text)
	value, unit := 0.0, int64(1)
	if size != nil {
		value, _ = strconv.ParseFloat(size[1], 64)
		unit = map[byte]int64{'k': 1 << 10, 'm': 1 << 20, 'g': 1 << 30, 'b': 1}[strings.ToLower(size[2])[0]]
	}
	switch {
	case size != nil && (strings.Contains(name, "byte") || name == "size"):
		return int64(value * float64(unit)), true
	case size != nil && (strings.Contains(name, "mib") || name == "mb"):
		return max(1, int64(value*float64(unit))>>20), true
	case strings.Contains(name, "second"):
		if found := lasting().FindStringSubmatch(text); found != nil {
			value, _ = strconv.ParseFloat(found[1], 64)
			return int64(value), true
		}
		return 1, false
	}
	if bare := counted().FindStringSubmatch(text); bare != nil {
		n, _ = strconv.ParseInt(bare[1], 10, 64)
		return n, true
	}
	switch {
	case strings.Contains(name, "byte") || name == "size":
		return 1 << 20, false
	case strings.Contains(name, "mib") || name == "mb":
		return 64, false
	}
	return 3, false
}
