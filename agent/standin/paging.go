package standin

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/plimsoll/plimsoll/internal/lazy"
	"github.com/plimsoll/plimsoll/window/wire"
)

var (
	// pageNotice matches the beginning of the gateway's notice of a page of a kept result.
	pageNotice = lazy.Regexp(`\[plimsoll\] Page (\d+) of (\d+)(?: so far)?: ([^()\n]{1,120}) \(([^()\n]{1,60})\)`)
	nextNotice = lazy.Regexp(`Next page: ([A-Za-z0-9_-]{1,64}) (\{[^{}\n]{1,300}\})`)
	handle     = lazy.Regexp(`"handle":"([^"\\\s]{1,100})"`)
	ownPage    = lazy.Regexp(`PAGE (\d+) of (?:\d+ items \()?(\d+)`)
)

// keptResult is a page of a result that somebody keeps.
type keptResult struct {
	page, pages int
	what, size  string
	pager       string // the tool that reads it, where it is named
	handle      string
	more        arguments // of the call for the next page
}

// parsePageNotice reads the last notice about a page of a large result in a text: page, pages, handle and the tool for the next page. It
// returns false without a handle.
func parsePageNotice(text string) (keptResult, bool) {
	all := pageNotice().FindAllStringSubmatchIndex(text, -1)
	if len(all) == 0 {
		return keptResult{}, false
	}
	last := all[len(all)-1]
	said := text[last[0]:]
	found := pageNotice().FindStringSubmatch(said)
	k := keptResult{what: found[3], size: found[4]}
	k.page, _ = strconv.Atoi(found[1])
	k.pages, _ = strconv.Atoi(found[2])
	if next := nextNotice().FindStringSubmatch(said); next != nil {
		k.pager = next[1]
		_ = json.Unmarshal([]byte(next[2]), &k.more) // what is none has no page_size either
	}
	if h := handle().FindStringSubmatch(said); h != nil {
		k.handle = h[1]
	}
	return k, k.handle != ""
}

// listing is a list that was shown, and how another page of it is called.
type listing struct {
	tool        string
	with        arguments
	argument    string // that takes the page
	page, pages int    // pages is 0 where it is not known
}

// listOf returns the list that the result of a call shows, with what is needed to ask for another page of it; false if the call showed
// none.
func (p *planner) listOf(m madeCall) (listing, bool) {
	if k, ok := parsePageNotice(m.result); ok {
		pager := p.findTool(k.pager)
		for i := range p.tools {
			if pager == nil && p.tools[i].pager {
				pager = &p.tools[i]
			}
		}
		if pager != nil {
			l := listing{tool: pager.name, with: arguments{"handle": k.handle}, argument: "page", page: k.page, pages: k.pages}
			if size, ok := k.more["page_size"]; ok {
				l.with["page_size"] = size
			}
			return l, true
		}
	}
	one := p.findTool(m.name)
	if one == nil || one.pager || one.prop("page") == nil || failed(m.result) {
		return listing{}, false
	}
	l := listing{tool: one.name, argument: one.prop("page").name, page: 1}
	if json.Unmarshal([]byte(m.arguments), &l.with) != nil || l.with == nil {
		l.with = arguments{}
	}
	if n, ok := l.with[l.argument].(float64); ok {
		l.page = int(n)
	}
	v, _, _ := readValue(m.result)
	if n, ok := v.number("pagination", "page"); ok {
		l.page = n
	}
	l.pages, _ = v.number("pagination", "total_pages")
	if size := one.prop("page_size"); size != nil && l.with[size.name] == 1.0 { // only the totals were asked for
		delete(l.with, size.name)
		total, _ := v.number("pagination", "total_items")
		l.page, l.pages = 0, (total+shownRows-1)/shownRows
	}
	return l, true
}

// planPage plans the call for a page of the list that was shown last. which is a number, or first, last, next or previous. Without such a
// list or page the plan is a text that says so.
func (p *planner) planPage(which string, t *turn) plan {
	l, ok := p.lastList(t.before)
	if !ok {
		return plan{text: "No list was shown that has pages. Ask for one first, such as: " + p.exampleQuestion() + "."}
	}
	want := 0
	switch which = strings.ToLower(which); which {
	case "next":
		want = l.page + 1
	case "previous", "prev":
		want = l.page - 1
	case "first":
		want = 1
	case "last":
		want = l.pages
	default:
		want, _ = strconv.Atoi(which)
	}
	switch {
	case l.pages == 1 && want != 1:
		return plan{text: "There is no other page: all of it was shown."}
	case want < 1 && which == "last":
		return plan{text: "How many pages there are is not known any more; ask for one by its number."}
	case want < 1:
		return plan{text: "There is no page before the first."}
	case l.pages > 0 && want > l.pages:
		return plan{text: fmt.Sprintf("There is no page %d: the last page is %d.", want, l.pages)}
	}
	l.with[l.argument] = want
	return plan{calls: []call{{name: l.tool, arguments: l.with.json()}}, whole: true}
}

// lastList returns the list that was shown last. If its result is no longer in the conversation, the call and the "PAGE n of m" in the answer are
// enough. It returns false if none was shown.
func (p *planner) lastList(ms []message) (listing, bool) {
	results := map[string]string{}
	page, pages := 1, 0
	for i, m := range slices.Backward(ms) {
		switch m.role {
		case wire.RoleTool:
			results[m.callID] = m.text
		case wire.RoleAssistant:
			for _, c := range slices.Backward(m.calls) {
				if l, ok := p.listOf(madeCall{call: c, result: results[c.id]}); ok {
					if l.pages == 0 && pages > 0 {
						l.page, l.pages = page, pages
					}
					return l, true
				}
			}
			if said := ownPage().FindStringSubmatch(m.text); said != nil && len(m.calls) == 0 && pages == 0 {
				page, _ = strconv.Atoi(said[1])
				pages, _ = strconv.Atoi(said[2])
			}
		case wire.RoleUser:
			if pageOf().MatchString(strings.TrimRight(strings.TrimSpace(m.text), ".?!")) {
				continue
			}
			for _, one := range p.plan(&turn{before: ms[:i], question: m.text}).calls {
				if l, ok := p.listOf(madeCall{call: one}); ok {
					l.page, l.pages = page, pages
					return l, true
				}
			}
		}
	}
	return listing{}, false
}

// exampleQuestion returns a question that leads to the call of a tool that is offered.
func (p *planner) exampleQuestion() string {
	for i := range p.tools {
		if p.tools[i].lister && len(p.tools[i].stems) > 0 && p.tools[i].prop("page") != nil {
			return `"list all ` + p.tools[i].noun() + `"`
		}
	}
	return `"list all …"`
}

// help describes the stand-in, and what it can do with these tools.
func (p *planner) help() string {
	var b strings.Builder
	b.WriteString("I am " + Model + ": not a language model, but a stand-in that goes by the words of a question. ")
	var names, examples []string
	for i := range p.tools {
		t := &p.tools[i]
		if names = append(names, t.name); len(examples) >= 4 {
			continue
		}
		switch {
		case t.finder:
			examples = append(examples, `"search for prod"`)
		case t.lister && len(t.stems) > 0 && (t.prop("page") != nil):
			examples = append(examples, `"list all `+t.noun()+`"`)
		}
	}
	if len(names) == 0 {
		b.WriteString("No tools are offered in this request and no results came of any, so I cannot look anything up.")
		return b.String()
	}
	b.WriteString("None of them told me which tool to call. The tools here: ")
	if n := len(names); n > 12 {
		names = append(names[:12], fmt.Sprintf("and %d more", n-12))
	}
	b.WriteString(strings.Join(names, ", ") + ".")
	if len(examples) > 0 {
		b.WriteString(" I understand, for example: " + strings.Join(examples, ", ") + ", or the name of a tool.")
	} else {
		b.WriteString(" I understand the name of a tool, with numbers and texts for it.")
	}
	return b.String()
}
