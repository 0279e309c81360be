package standin

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/internal/lazy"
	"github.com/plimsoll/plimsoll/limit"
)

// signature ends every answer that comes of a plan: what wrote it is no language model.
const signature = "\n\n— " + Model + ", no language model"

const (
	maxSections = 16
	// maxError and maxText bound what is repeated of an error and of a text, in bytes.
	maxError = 800
	maxText  = 2 << 10
)

// describeResults writes the answer to a question from the results of its calls: one section for each call, at most maxSections.
func (p *planner) describeResults(t *turn, planned plan) string {
	var sections []string
	shown := t.callsToShow()
	for _, m := range shown[:min(len(shown), maxSections)] {
		text := p.describeCall(m, planned)
		if len(shown) > 1 {
			text = "**" + m.name + "**\n\n" + text
		}
		sections = append(sections, text)
	}
	if n := len(shown) - maxSections; n > 0 {
		sections = append(sections, fmt.Sprintf("(%d more calls were made.)", n))
	}
	return strings.Join(sections, "\n\n") + signature
}

// callsToShow returns the calls whose results go into the answer. Of calls that are equal, or that differ in page_size alone, only the last
// counts.
func (t *turn) callsToShow() []madeCall {
	var all []madeCall
	for i, m := range t.made {
		var a arguments
		_ = json.Unmarshal([]byte(m.arguments), &a) // none: there is nothing to be the same
		again := slices.ContainsFunc(t.made[i+1:], func(later madeCall) bool {
			if later.name != m.name {
				return false
			}
			var b arguments
			_ = json.Unmarshal([]byte(later.arguments), &b)
			if _, sized := a["page_size"]; !sized {
				b = maps.Clone(b)
				delete(b, "page_size")
			}
			return key(later.call) == key(m.call) || len(a) > 0 && a.json() == b.json() || len(a) == 0 && len(b) == 0
		})
		if !again {
			all = append(all, m)
		}
	}
	return all
}

var troubles = lazy.Regexp(`(?i)^\W*(error|failed|failure|fail:|panic|cannot|can't|timed? ?out|cancell?ed|not run|unknown tool|no result|no such|invalid|refused|the call|the tool|this call|the mcp server|there is no|interrupted)|\bstatus [45]\d\d\b|permission denied|(was|is|were) (taken back|cancell?ed|given up|interrupted|not run)|malformed`)

// failed reports whether a result is an error. The protocol has no mark for it.
func failed(text string) bool {
	if v, _, _ := readValue(text); v != nil {
		return v.str("error") != ""
	}
	return troubles().MatchString(text[:min(len(text), 600)]) && strings.Count(text[:min(len(text), 4<<10)], "\n") < 12
}

// describeCall describes the result of one call: an error, a JSON value, a page of a large result, or text.
func (p *planner) describeCall(m madeCall, planned plan) string {
	v, rest, _ := readValue(m.result)
	k, paged := parsePageNotice(m.result)
	switch {
	case !m.done:
		return "The call of " + m.name + " has no result."
	case failed(m.result):
		text := m.result
		if said := v.str("error"); said != "" {
			text = said
		}
		return "This did not work. " + m.name + " says: " + limit.Short(clean(text), maxError) + breakdown(v)
	case v != nil:
		return p.describeJSON(m, v, rest, planned)
	case paged:
		return fmt.Sprintf("PAGE %d of %d: %s (%s).\n\n%s%s", k.page, k.pages, k.what, k.size, quoteStart(pageNotice().ReplaceAllString(m.result, "")), nextPageOffer(k.page, k.pages))
	case strings.TrimSpace(m.result) == "" || m.result == "(no output)":
		return m.name + " answered, and said nothing."
	}
	lines := strings.Count(strings.TrimSuffix(m.result, "\n"), "\n") + 1
	if lines == 1 && len(m.result) <= maxError {
		return m.name + " says: " + clean(m.result)
	}
	return fmt.Sprintf("%s answered %d lines, %s. They begin:\n\n%s", m.name, lines, limit.Bytes(len(m.result)).Human(), quoteStart(m.result))
}

// breakdown returns the counts by kind of a search that was refused for too many matches, and the suggestion that came with them; "" if the
// value has none.
func breakdown(v *value) string {
	text := ""
	if v.get("breakdown") != nil {
		text = countsText(v)
	}
	if next := v.str("suggestion"); next != "" {
		text += "\n- to go on: " + clean(limit.Short(next, maxError))
	}
	return text
}

// quoteStart returns the first lines of a text in a Markdown code block, without control characters.
func quoteStart(text string) string {
	var b strings.Builder
	b.WriteString("```\n")
	n := 0
	for line := range strings.Lines(text[:min(len(text), 64<<10)]) {
		line = limit.Short(clean(strings.TrimRight(line, "\r\n")), 200)
		if n++; n > shownRows || b.Len()+len(line) > maxText {
			b.WriteString("…\n")
			break
		}
		b.WriteString(line + "\n")
	}
	b.WriteString("```")
	return b.String()
}

// describeJSON describes a result that is JSON: how many items and which page, then tables of its lists or the members of an object.
func (p *planner) describeJSON(m madeCall, v *value, rest string, planned plan) string {
	var b strings.Builder
	one := p.findTool(m.name)
	total, isList := v.number("pagination", "total_items")
	page, _ := v.number("pagination", "page")
	pages, _ := v.number("pagination", "total_pages")
	if k, ok := parsePageNotice(rest); ok && k.pages > 1 {
		page, pages, isList = k.page, k.pages, isList || v.kind == '['
		fmt.Fprintf(&b, "PAGE %d of %d: %s (%s).", k.page, k.pages, k.what, k.size)
	} else if isList {
		what := fmt.Sprintf("%d %s%s", total, nounOf(one, m.name, total), describeConditions(m.arguments))
		from, _ := v.number("pagination", "showing_from")
		to, _ := v.number("pagination", "showing_to")
		switch {
		case planned.count && pages > 1 || total == 0:
			b.WriteString(what + ".")
		case pages > 1:
			fmt.Fprintf(&b, "PAGE %d of %d items (%d pages): %s; %d to %d are shown.", page, total, pages, what, from, to)
		default:
			b.WriteString(what + ".")
		}
	}
	if isList {
		b.WriteString(countsText(v))
	} else {
		b.WriteString(membersText(v))
	}
	if note := v.str("note"); note != "" && isList {
		b.WriteString("\n\n" + clean(limit.Short(note, maxError)))
	}
	if !planned.count || pages <= 1 {
		b.WriteString(tablesText(v))
		b.WriteString(nextPageOffer(page, pages))
	}
	text := strings.TrimSpace(b.String())
	text = cmp.Or(text, m.name+" answered, and there is nothing in it.")
	return text
}

// nextPageOffer returns words that offer the pages behind this one, "" if there are none.
func nextPageOffer(page, pages int) string {
	if page < 1 || page >= pages {
		return ""
	}
	return fmt.Sprintf("\n\nTo go on: \"next page\", or \"page %d\" and so on to \"page %d\".", page+1, pages)
}

// nounOf returns the noun for n items of a tool, singular for 1. t may be nil for a tool that is not offered; the noun then comes from the
// name.
func nounOf(t *tool, name string, n int) string {
	noun := "matches"
	if t != nil {
		noun = t.noun()
	} else if bare, err := newTool(name, "", nil); err == nil && !strings.Contains(name, "search") && !strings.Contains(name, "find") {
		noun = bare.noun() // the tools are withheld at the last step
	}
	switch {
	case n != 1:
		return noun
	case strings.HasSuffix(noun, "ies"):
		return strings.TrimSuffix(noun, "ies") + "y"
	case noun == "matches":
		return "match"
	}
	return strings.TrimSuffix(noun, "s")
}

// describeConditions returns the arguments that narrowed a list in words, with a blank before them; "" if there are none.
func describeConditions(arguments string) string {
	v, _, _ := readValue(arguments)
	if v == nil {
		return ""
	}
	with, all := "with ", []string(nil)
	for _, m := range v.members { // sorted: the stand-in writes them so
		text := scalar(m.value)
		switch {
		case m.name == "page" || m.name == "page_size" || text == "" || strings.HasPrefix(m.name, "resource_types"):
			continue
		case m.name == "query":
			all = append(all, fmt.Sprintf("for %q", limit.Short(clean(text), 100)))
		default:
			all = append(all, fmt.Sprintf("%s%s %s", with, strings.TrimPrefix(m.name, "param_"), limit.Short(clean(text), 100)))
			with = ""
		}
	}
	if len(all) == 0 {
		return ""
	}
	return " " + strings.Join(all, ", ")
}

// clean returns a text on one line, without control and direction characters, on which a terminal would act.
func clean(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r == '\r' || r == 0x2028 || r == 0x2029:
			return ' '
		case r < ' ' || r >= 0x7f && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 || r == 0x200e || r == 0x200f || r == 0xfeff:
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	return strings.TrimSpace(text)
}
