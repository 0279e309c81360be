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
	firstN  = lazy.Regexp(`(?i)\b(?:first|top) (\d{1,4})\b`)
	often   = lazy.Regexp(`(?i)\b(\d{1,3}) times\b`)
)

// fill finds arguments of a tool in a clause. used are the words that became one; ok is
// false where one that is required was not found.
func (t *tool) fill(c *clause) (a arguments, used map[int]bool, ok bool) {
	a, used = arguments{}, map[int]bool{}
	for i := range t.props {
		t.props[i].fill(t, c, a, used)
	}
	if size := firstN().FindStringSubmatch(c.text()); size != nil && t.prop("page_size") != nil {
		n, _ := strconv.Atoi(size[1])
		a[t.prop("page_size").name] = min(max(n, 1), 100)
	}
	for i := range t.props {
		p := &t.props[i]
		if _, there := a[p.name]; there || !p.required {
			continue
		}
		if !p.takes("string") || !t.take(p, c, a, used) {
			return nil, nil, false
		}
	}
	return a, used, true
}

// fill takes what is said of one argument: its value behind its name, a value that only
// it takes, its own name where it is yes or no.
func (p *prop) fill(t *tool, c *clause, a arguments, used map[int]bool) {
	name := p.bareName()
	for i := range c.words {
		w := &c.words[i]
		switch {
		case used[i]:
		case p.kind == "boolean" && w.lower == name && len(name) > 3:
			a[p.name] = true
			used[i] = true
		case len(p.values) > 0 && w.class == filter:
			k := slices.IndexFunc(p.values, func(v string) bool { return normalized(v) == normalized(w.text) })
			if k >= 0 && p.takes("string") {
				p.put(a, p.values[k])
				used[i] = true
			}
		case i == 0 || used[i-1] || c.words[i-1].stem != name && c.words[i-1].lower != name || slices.Contains(t.stems, name):
		case p.takes("string") && len(p.values) == 0 && w.class == ident:
			p.put(a, w.text)
			used[i], used[i-1] = true, true
		case p.takes("integer") && w.class == number:
			if n, err := strconv.Atoi(w.text); err == nil {
				a[p.name] = n
				used[i], used[i-1] = true, true
			}
		}
	}
}

// put adds a value.
func (p *prop) put(a arguments, v string) {
	if p.kind != "array" {
		a[p.name] = v
		return
	}
	list, _ := a[p.name].([]string)
	a[p.name] = append(list, v)
}

// take puts a name of the clause that no other argument has into an argument that has to be there.
func (t *tool) take(p *prop, c *clause, a arguments, used map[int]bool) bool {
	for i := range c.words {
		if w := &c.words[i]; w.class == ident && !used[i] {
			p.put(a, w.text)
			used[i] = true
			return true
		}
	}
	return false
}

// order finds the arguments of a tool that was called by its name, at that word.
func (t *tool) order(c *clause, at int) []arguments {
	if c.json != "" {
		var given arguments
		if json.Unmarshal([]byte(c.json), &given) == nil {
			return []arguments{given}
		}
	}
	a, _, _ := t.fill(c)
	if a == nil {
		a = arguments{}
		used := map[int]bool{}
		for i := range t.props {
			t.props[i].fill(t, c, a, used)
		}
	}
	text := c.text()
	copies := 1
	if found := often().FindStringSubmatch(text); found != nil {
		copies, _ = strconv.Atoi(found[1])
		copies = min(max(copies, 1), maxTools)
		text = strings.Replace(text, found[0], "", 1)
	}
	rest := clause{words: slices.Clone(c.words[at+1:])}
	for i := range t.props {
		p := &t.props[i]
		if _, there := a[p.name]; there {
			continue
		}
		switch {
		case p.takes("integer"):
			if n, found := amount(p, text); found || p.required {
				a[p.name] = n
			}
		case p.kind == "string" && (p.required || p.bareName() == "message" || p.bareName() == "text"):
			if said := textBehindTool(&rest); said != "" || p.required {
				a[p.name] = said
			}
		}
	}
	all := make([]arguments, copies)
	for i := range all {
		all[i] = maps.Clone(a)
		if copies > 1 {
			t.vary(all[i], i)
		}
	}
	return all
}

// vary makes a call another one, where it has a text.
func (t *tool) vary(a arguments, i int) {
	for _, p := range t.props {
		if text, ok := a[p.name].(string); ok {
			a[p.name] = strings.TrimSpace(fmt.Sprintf("%s #%d", text, i+1))
			return
		}
	}
}

// amount returns the number that is said for an argument, in its unit.
func amount(p *prop, text string) (n int64, found bool) {
	name := p.bareName()
	size := sized().FindStringSubmatch(text)
	value, unit := 0.0, int64(1)
	if size != nil {
		value, _ = strconv.ParseFloat(size[1], 64)
		switch strings.ToLower(size[2][:1]) {
		case "k":
			unit = 1 << 10
		case "m":
			unit = 1 << 20
		case "g":
			unit = 1 << 30
		}
	}
	bare := counted().FindStringSubmatch(text)
	switch {
	case strings.Contains(name, "byte") || name == "size":
		if size != nil {
			return int64(value * float64(unit)), true
		}
		n = 1 << 20
	case strings.Contains(name, "mib") || strings.Contains(name, "megabyte") || name == "mb":
		if size != nil {
			return max(1, int64(value*float64(unit))>>20), true
		}
		n = 64
	case strings.Contains(name, "second"):
		if found := lasting().FindStringSubmatch(text); found != nil {
			value, _ = strconv.ParseFloat(found[1], 64)
			return int64(value), true
		}
		return 1, false
	default:
		n = 3
	}
	if bare != nil {
		n, _ = strconv.ParseInt(bare[1], 10, 64)
		return n, true
	}
	return n, false
}

// textBehindTool returns the text that stands behind the name of a tool.
func textBehindTool(c *clause) string {
	for _, w := range c.words {
		if w.quoted {
			return w.text
		}
	}
	words := c.words
	for len(words) > 0 && slices.Contains([]string{"with", "saying", "message", "text", "the", "that", "says", "of", "tool"}, words[0].lower) {
		words = words[1:]
	}
	said := (&clause{words: words}).text()
	if found := often().FindString(said); found != "" {
		said = strings.TrimSpace(strings.Replace(said, found, "", 1))
	}
	return said
}
