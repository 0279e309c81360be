package prompt

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/agent"
)

// ArgoCD is the [Options].Kind of the agent of that name.
const ArgoCD = "argocd"

const (
	// DefaultRows is the number of items on a page of an answer, and DefaultAll the number up to which
	// all are shown without pages.
	DefaultRows = 20
	DefaultAll  = 50
	// narrowPage is the page size of tools where there is little room.
	narrowPage = 10
	// narrowWindow is the window, in tokens, under which pages of tools are narrow: a page of
	// 20 rows has up to 3,500 tokens, and a few of them have to fit beside the question.
	narrowWindow = 16_000
	// rowTokens is about what a row of a table takes of an answer.
	rowTokens = 40
	// leastRows is a page of an answer, however little room there is.
	leastRows = 5
	// maxNames bounds the tools of a kind that are named.
	maxNames = 12
)

// Options describe the agent and its model.
type Options struct {
	// Intro introduces the agent; "" goes by Kind.
	Intro string
	// Kind is [ArgoCD], or "".
	Kind string
	// Extra is appended as it is.
	Extra string
	// SearchForced demands that things are searched before they are listed, and narrower
	// pages: for an agent that ran out of memory, or again and again out of its window.
	SearchForced bool
	// MaxTokens bounds one answer of the model; 0 is not known.
	MaxTokens int
	// Window is the model's, in tokens; 0 is not known.
	Window int
}

// limits are the numbers in a prompt.
type limits struct {
	rows, all int // of answers
	page      int // of tools; 0 is their own default
}

// limits returns how many rows the model is told to show and to ask for. A short answer lowers the rows; a narrow window, or SearchForced,
// lowers the page too, which otherwise is 0 (as the tool has it).
func (o *Options) limits() limits {
	l := limits{rows: DefaultRows, all: DefaultAll}
	if o.MaxTokens > 0 {
		// Half of an answer is for the text around the table.
		room := o.MaxTokens / 2 / rowTokens
		l.rows = min(l.rows, max(room, leastRows))
		l.all = min(l.all, max(room, l.rows))
	}
	if o.SearchForced || o.Window > 0 && o.Window < narrowWindow {
		l.page = narrowPage
		l.rows = min(l.rows, narrowPage)
		l.all = min(l.all, 2*narrowPage)
	}
	return l
}

// Compose returns what makes the prompt of a list of tools. The same tools give the same
// bytes, in whatever order they come, because providers keep prompts by their beginning. It
// may be called from any goroutine.
func Compose(o Options) func([]agent.ToolSpec) string {
	return func(specs []agent.ToolSpec) string {
		w := &writer{o: &o, k: sortTools(specs), l: o.limits()}
		w.writeIntro()
		if len(specs) == 0 {
			w.section("Tools")
			w.say("No tools are connected. Answer from what you know, and say so.")
		} else {
			w.writeFinding()
			w.writePages()
			w.writeAnswers()
			w.writeKept()
			w.writeChanges()
			w.results()
		}
		if extra := strings.TrimSpace(o.Extra); extra != "" {
			w.b.WriteString("\n" + extra + "\n")
		}
		return w.b.String()
	}
}

// writer writes one prompt.
type writer struct {
	o *Options
	k kinds
	l limits
	b strings.Builder
}

func (w *writer) section(title string) { w.b.WriteString("\n# " + title + "\n") }

// say writes an item of a list.
func (w *writer) say(format string, args ...any) {
	w.b.WriteString("- " + fmt.Sprintf(format, args...) + "\n")
}

// SearchFirst returns the gate of a query with these tools (see [agent.Options]). While forced returns true, the gate refuses the first
// call of a tool that lists everything, and names the search to make instead. It does so once, and not if the query has searched already.
// The result is nil if there is no tool to search with or none that lists.
func SearchFirst(specs []agent.ToolSpec, forced func() bool) func(agent.Call) string {
	k := sortTools(specs)
	if len(k.search) == 0 || len(k.list) == 0 {
		return nil
	}
	done := false
	return func(c agent.Call) string {
		if slices.Contains(k.search, c.Name) {
			done = true
		}
		if done || !slices.Contains(k.list, c.Name) || !forced() {
			return ""
		}
		done = true
		search := k.search[0]
		server, _, several := strings.Cut(c.Name, "__")
		for _, name := range k.search {
			if several && strings.HasPrefix(name, server+"__") {
				search = name
				break
			}
		}
		i := slices.IndexFunc(specs, func(s agent.ToolSpec) bool { return s.Name == search })
		return fmt.Sprintf("Search first: this agent ran out of memory a moment ago, and lists take the most of it. Call %s with %s, with the narrowest words that fit. "+
			"Where nothing but the whole list will do, call %s once more.", search, exampleArguments(specs[i].Schema), c.Name)
	}
}

// exampleArguments returns an example of the arguments of a search, as JSON: the required ones, or if there are none the one that takes the
// words.
func exampleArguments(schema json.RawMessage) string {
	var s struct {
		Properties map[string]struct {
			Type any `json:"type"`
		} `json:"properties"`
		Required []string `json:"required"`
	}
	_ = json.Unmarshal(schema, &s) // without one there are no arguments
	names := slices.Clone(s.Required)
	if len(names) == 0 {
		for _, name := range []string{"query", "pattern", "q", "text", "keyword", "search"} {
			if _, ok := s.Properties[name]; ok {
				names = append(names, name)
				break
			}
		}
	}
	slices.Sort(names)
	var list []string
	for _, name := range names {
		value := `"…"`
		switch s.Properties[name].Type {
		case "integer", "number":
			value = "1"
		case "boolean":
			value = "false"
		case "array":
			value = `["…"]`
		case "object":
			value = "{}"
		}
		list = append(list, fmt.Sprintf("%q:%s", name, value))
	}
	return "{" + strings.Join(list, ",") + "}"
}
