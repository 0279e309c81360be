package standin

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/plimsoll/plimsoll/internal/lazy"
	"github.com/plimsoll/plimsoll/limit"
)

// A rule leads from words to calls, or to an answer. The first whose pattern matches and whose plan has something counts.
type rule struct {
	pattern func() *regexp.Regexp
	plan    func(p *planner, q part, found []string) plan
}

// A part of a question asks for one thing.
type part struct {
	text   string
	turn   *turn
	behind bool // another part: the name of a list alone asks for it
}

// namePattern matches the name of an object.
const namePattern = `["'“]?(?P<name>[\w@*^$.:/-]*[\w*$])["'”]?`

// toolRule returns a rule that calls the tool for questions that match the pattern as a whole. The pattern's named groups become arguments.
// In the pattern NAME and CLUSTER stand for a name, and SHOW for the words before it such as "show me the status of".
func toolRule(pattern, tool string) rule {
	pattern = strings.NewReplacer(
		"NAME", namePattern, "CLUSTER", strings.Replace(namePattern, "<name>", "<cluster>", 1),
		"SHOW", `(?:(?:show|get|describe|inspect|tell me about)(?: me)? )?(?:(?:details?|info|status) of )?(?:the )?`,
	).Replace(pattern)
	compiled := lazy.Regexp(`(?is)^` + pattern + `$`)
	return rule{compiled, func(p *planner, _ part, found []string) plan {
		one := p.findTool(tool)
		if one == nil {
			return plan{}
		}
		a := arguments{}
		for i, name := range compiled().SubexpNames() {
			if prop := one.prop(name); prop != nil && found[i] != "" {
				a[prop.name] = found[i]
			}
		}
		return plan{calls: []call{{name: one.name, arguments: a.json()}}}
	}}
}

// rules are tried in this order: the name of a tool, pages, questions about Argo CD, searches, lists, and a name alone.
var rules = sync.OnceValue(func() []rule {
	return []rule{
		{called, (*planner).planNamedTool},
		{pageOf, func(p *planner, q part, found []string) plan {
			return p.planPage(cmp.Or(found[1], found[2], "next"), q.turn)
		}},
		toolRule(`SHOW(?:resources?|resource tree|tree|children) of NAME`, "get_application_resource_tree"),
		toolRule(`SHOWlogs? (?:of|from) NAME`, "application_service__pod_logs"),
		toolRule(`SHOWevents? (?:of|from) NAME`, "application_service__list_resource_events"),
		toolRule(`SHOW(?:history|deployments) of NAME`, "get_application_history"),
		toolRule(`SHOWsync windows? of NAME`, "get_application_sync_windows"),
		toolRule(`(?:what differs|SHOW(?:diffs?|drift|differences)) (?:in|of) NAME`, "get_application_managed_resources"),
		toolRule(`SHOWproject NAME`, "project_get"),
		toolRule(`SHOWapp(?:lication)? ?set NAME`, "applicationset_service__get"),
		toolRule(`SHOWcluster CLUSTER`, "cluster_service__get"),
		toolRule(`SHOWaccount NAME`, "account_service__get_account"),
		toolRule(`(?:what is |show )?(?:the )?version(?: of argo ?cd)?`, "version_service__version"),
		toolRule(`(?:why is|what is wrong with) NAME.*`, "get_application_details"),
		toolRule(`(?:show )?(?:the )?(?:details?|info|status) of (?:app(?:lication)? )?NAME`, "get_application_details"),
		toolRule(`(?:describe|inspect|tell me about) (?:app(?:lication)? )?NAME`, "get_application_details"),
		{searches, func(p *planner, _ part, found []string) plan {
			return p.search(strings.Trim(found[2], `"'“”`), found[1]+" "+found[3])
		}},
		{anything, func(p *planner, q part, _ []string) plan {
			if !lists().MatchString(q.text) && !q.behind && len(strings.Fields(q.text)) < 2 {
				return plan{}
			}
			return p.planList(q.text)
		}},
		{oneName, func(p *planner, _ part, found []string) plan {
			if strings.EqualFold(found[1], "hello") {
				return plan{}
			}
			return p.search(found[1], "")
		}},
	}
})

// Bounds of what is read of a question.
const (
	maxQuestion = 16 << 10 // bytes
	maxParts    = 16
)

var (
	outOfSync = lazy.Regexp(`(?i)\bout[ -]of[ -]sync\b`)
	polite    = lazy.Regexp(`(?i)^(?:(?:please|kindly|hello|hi|now|(?:can|could|would|will) you|loop(?: with)?)\b[,:]? *)+`)
	joints    = lazy.Regexp(`(?i),? (?:and|then|also|plus|&) |[,;] +|[.?!] +`)
	pageOf    = lazy.Regexp(`(?i)^(?:show |give me )?(?:the )?(?:page (\d{1,9})|(next|previous|prev|last|first) page|(?:more|next|go on|continue|show more|next \d+))(?:,? please)?$`)
	searches  = lazy.Regexp(`(?is)^(?:search|find|look|locate|grep)(?: for| up)? (?:([a-z ]+?) (?:with|named|called|matching|containing) )?(.+?)(?: (?:in|among) (?:the |all )?([a-z ]+))?$`)
	lists     = lazy.Regexp(`(?i)^(?:list|show|display|enumerate|which|what|give|print|all|are|how many|count|number of)\b`)
	totals    = lazy.Regexp(`(?i)^(?:how many|count|(?:the )?number of)\b`)
	firstN    = lazy.Regexp(`(?i)\b(?:first|top) (\d{1,4})\b`)
	oneName   = lazy.Regexp(`(?s)^` + namePattern + `$`)
	anything  = lazy.Regexp(`(?s)^.`)
	filler    = sync.OnceValue(func() []string {
		return strings.Fields(`a an the of in on for to at by from with me us my our is are was were be there do does did have has all every each list show display
		enumerate which what give print how many count number first top page no not and or are they please can you any some now`)
	})
)

// plan plans the calls for a question. It splits the question at its conjunctions and plans each part; if a part means nothing alone, or is only
// something to search for, it plans the question as a whole.
func (p *planner) plan(t *turn) plan {
	question := outOfSync().ReplaceAllString(limit.Clip(t.question, maxQuestion), "OutOfSync")
	question = strings.TrimRight(strings.TrimSpace(polite().ReplaceAllString(strings.TrimSpace(question), "")), ".?!, ")
	var all plan
	if !strings.Contains(question, "{") {
		parts := joints().Split(question, maxParts)
		for i, text := range parts {
			one := p.planPart(part{strings.TrimSpace(text), t, i > 0})
			if len(one.calls) == 0 || one.search && len(parts) > 1 {
				all = plan{}
				break
			}
			all.calls = append(all.calls, one.calls...)
			all.count = all.count || one.count
			all.whole = all.whole || one.whole
		}
	}
	if len(all.calls) == 0 {
		all = p.planPart(part{question, t, false})
	}
	all.calls = all.calls[:min(len(all.calls), maxCalls)]
	return all
}

// planPart returns the plan of the first rule that matches and leads to a call or a text, else an empty plan.
func (p *planner) planPart(q part) plan {
	for _, r := range p.rules {
		if found := r.pattern().FindStringSubmatch(q.text); found != nil {
			if made := r.plan(p, q, found); len(made.calls) > 0 || made.text != "" {
				return made
			}
		}
	}
	return plan{}
}

// lister returns the tool that lists the kind of items a text names, of several the one named first; nil if there is none.
func (p *planner) lister(text string) *tool {
	stems := joinCompounds(stemsOf(text))
	for _, stem := range stems {
		for i := range p.tools {
			if t := &p.tools[i]; t.lister && slices.Contains(t.stems, stem) && !slices.ContainsFunc(t.stems, func(s string) bool { return !slices.Contains(stems, s) }) {
				return t
			}
		}
	}
	return nil
}

// planList plans the call of a lister, with the conditions in the text as arguments. If the text has other words too, it plans a search for
// them instead, where there is a finder.
func (p *planner) planList(text string) plan {
	one := p.lister(text)
	if one == nil {
		return plan{}
	}
	a, left := one.conditions(text)
	count := totals().MatchString(text)
	if f := p.finder(); f != nil && len(left) > 0 {
		return plan{calls: []call{f.searchCall(strings.Join(left, " "), strings.Join(one.stems, " "))}, count: count}
	}
	size := one.prop("page_size")
	if found := firstN().FindStringSubmatch(text); found != nil && size != nil {
		n, _ := strconv.Atoi(found[1])
		a[size.name] = min(max(n, 1), 100)
	}
	if count && size != nil {
		a[size.name] = 1 // the totals are on every page
	}
	return plan{calls: []call{{name: one.name, arguments: a.json()}}, count: count}
}

// conditions finds arguments for the tool in a text: a word that is a value of one argument only, the name of a boolean, and a name
// followed by its value. left are the words that are neither that nor usual in such a question.
func (t *tool) conditions(text string) (a arguments, left []string) {
	a = arguments{}
	words := strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(`,;?!"'`, r) })
	for i := 0; i < len(words); i++ {
		word := words[i]
		taken := slices.ContainsFunc(t.props, func(p prop) bool {
			at := slices.IndexFunc(p.values, func(v string) bool { return v != "none" && normalize(v) == normalize(word) })
			switch {
			case at >= 0:
				p.setValue(a, p.values[at])
			case p.kind == "boolean" && strings.EqualFold(p.bareName(), word):
				a[p.name] = true
			case i+1 < len(words) && singular(strings.ToLower(word)) == p.bareName() && !slices.Contains(t.stems, p.bareName()) && len(p.values) == 0:
				if n, err := strconv.Atoi(words[i+1]); err == nil && p.takes("integer") {
					a[p.name] = n
				} else if p.takes("string") {
					p.setValue(a, words[i+1])
				} else {
					return false
				}
				i++
			default:
				return false
			}
			return true
		})
		lower := strings.ToLower(word)
		_, err := strconv.Atoi(word)
		if !taken && err != nil && !slices.Contains(filler(), lower) && !slices.Contains(t.stems, singular(lower)) && !slices.Contains(generic, singular(lower)) &&
			!(singular(lower) == "set" && slices.Contains(t.stems, "applicationset")) && !slices.Contains(t.title, singular(lower)) {
			left = append(left, word)
		}
	}
	return a, left
}

// setValue sets the argument to v, or appends v if the argument is a list.
func (p *prop) setValue(a arguments, v string) {
	if p.kind != "array" {
		a[p.name] = v
		return
	}
	list, _ := a[p.name].([]string)
	a[p.name] = append(list, v)
}

// normalize returns the letters and digits of a text in lower case, for comparison.
func normalize(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, text)
}

// finder returns the first tool that searches, nil if there is none.
func (p *planner) finder() *tool {
	for i := range p.tools {
		if p.tools[i].finder {
			return &p.tools[i]
		}
	}
	return nil
}

// search plans a search for a text, where there is a tool for that.
func (p *planner) search(text, about string) plan {
	f := p.finder()
	if f == nil {
		return plan{}
	}
	return plan{calls: []call{f.searchCall(text, about)}, search: true}
}

// searchCall returns a call that searches for text. If the tool filters by kind, it searches the kinds that the words of about name. Text
// becomes a regular expression where the tool takes one.
func (t *tool) searchCall(text, about string) call {
	query := t.queryProp()
	said := strings.ToLower(query.about + " " + t.about)
	if strings.Contains(said, "regular expression") || strings.Contains(said, "regex") || strings.Contains(said, "re2") {
		if text = strings.ReplaceAll(text, " ", ".*"); !compiles(text) {
			text = regexp.QuoteMeta(text)
		}
	}
	a := arguments{query.name: limit.Short(text, 500)}
	stems := joinCompounds(stemsOf(about))
	for _, p := range t.props {
		if p.kind != "array" || !strings.Contains(p.bareName(), "type") && !strings.Contains(p.bareName(), "kind") {
			continue
		}
		for word := range strings.FieldsFuncSeq(p.about, func(r rune) bool { return !unicode.IsLetter(r) }) {
			if kinds, _ := a[p.name].([]string); slices.Contains(stems, singular(strings.ToLower(word))) && !slices.Contains(kinds, word) {
				p.setValue(a, word)
			}
		}
	}
	return call{name: t.name, arguments: a.json()}
}

func compiles(pattern string) bool {
	_, err := regexp.Compile(pattern)
	return err == nil
}
