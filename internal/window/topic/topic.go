// Package topic finds where one task of a conversation ends and another begins, by the structure of a request: the best place for a cut
// that is due. The proxy and the agent use it, and the proxy finds new prompts by it ([FreshPrompt]).
//
// A boundary is a [Prompt] after the agent's final answer, one after 30 quiet minutes ([Idle]), the client's own note of a new beginning
// ([Clear]) or another directory ([Directory]), a switch to another git branch ([Branch]), or another list of things to do ([Todos]). Words do
// not count: what a text is about tells topics of a real dialogue apart no better than even cuts do (Pk 46 to 51 against 46).
//
// No result of a tool can make one, and what a client writes in the user's role is no prompt; where a profile of the client proves which
// words a person typed ([Options.Typed]), only these are. A request is read once; arguments of calls above 256 KiB are not looked into.
package topic

import (
	"bytes"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/window/compact/extract"
	"github.com/plimsoll/plimsoll/window/wire"
)

// A Sign is a sign that one task ended and another begins.
type Sign string

// The signs, by the names that they have in the journal.
const (
	Prompt    Sign = "prompt"
	Idle      Sign = "idle"
	Clear     Sign = "clear"
	Directory Sign = "directory"
	Branch    Sign = "branch"
	Todos     Sign = "todos"
)

// IdleAfter is the quiet time after which the user's next words begin something new. Providers keep a cached prompt
// for 5 to 60 minutes: a cut there seldom costs one that is still warm.
const IdleAfter = 30 * time.Minute

// A Boundary is a place between two tasks.
type Boundary struct {
	// At is the first message of what begins, by its position in the request.
	At int
	// Shown is the message that shows it: the prompt, the client's note, or the call. It is At, or stands behind it.
	Shown int
	Sign  Sign
}

// Options hold the facts known beside the request. The zero value is fine.
type Options struct {
	// Typed reports whether a person typed words of a message of the user; nil goes by the form of the message, for clients that
	// prove nothing.
	Typed func(r *wire.Request, message int) bool
	// Idle is the time that the conversation was quiet before this request.
	Idle time.Duration
}

// Newest returns the boundary at which a request stands: the model has done nothing in the new task yet, except for the call that shows the
// boundary. ok is false if the request stands at none.
func Newest(r *wire.Request, o Options) (b Boundary, ok bool) {
	all := Boundaries(r, o)
	if len(all) == 0 {
		return Boundary{}, false
	}
	b = all[len(all)-1]
	return b, b.Shown >= lastRun(r)
}

// Boundaries returns the boundaries in a request, in their order. At most one begins at a message.
func Boundaries(r *wire.Request, o Options) []Boundary {
	s := scan{r: r, o: o, final: -1, stretch: -1, prompt: -1, plan: -1}
	for i := range r.Messages {
		switch m := &r.Messages[i]; {
		case m.Role == wire.RoleAssistant:
			s.readAssistant(i, m)
		case m.Role == wire.RoleUser && !hasPart(m, wire.Result):
			s.readUser(i)
		case m.Role != wire.RoleSystem: // readResults of tools, and what is not known
			s.readResults(m)
		}
	}
	if at := newestPrompt(r); o.Idle >= IdleAfter && at > 0 && lastRun(r) > 0 && s.typed(at) {
		s.addBoundary(Boundary{s.stretchStart(at), at, Idle})
	}
	return s.list
}

// lastRun returns the index at which the last run of the model's messages begins; 0 if there is none.
func lastRun(r *wire.Request) int {
	at := 0
	for i, m := range slices.Backward(r.Messages) {
		switch {
		case m.Role == wire.RoleAssistant:
			at = i
		case at > 0 && m.Role != wire.RoleSystem:
			return at
		}
	}
	return at
}

// A scan is one reading of a request.
type scan struct {
	r    *wire.Request
	o    Options
	list []Boundary

	answered bool // the model spoke last, but for the user
	calling  bool // its run has calls
	prompted bool // the user has said what to do
	final    int  // first message behind an answer without calls, while only the user spoke since; -1
	stretch  int  // first message of the user since the model or a tool spoke; -1
	prompt   int  // first message of the stretch with the newest prompt; -1

	directory string // that the client noted last
	branch    string // that was switched to last
	switching []switched
	todos     []string // the list of things to do as it stood last
	plan      int      // the message with the call that stated it; -1
}

// switched is a call that may have switched branches: it has, once its result is no error.
type switched struct {
	at         int
	id, branch string
}

// addBoundary adds a boundary to the list, which is in order. Of two at one message the one that is shown by a later message stays.
func (s *scan) addBoundary(b Boundary) {
	for i, old := range s.list {
		if old.At == b.At {
			if b.Shown > old.Shown {
				s.list[i] = b
			}
			return
		}
	}
	at := len(s.list)
	for at > 0 && s.list[at-1].At > b.At {
		at--
	}
	s.list = slices.Insert(s.list, at, b)
}

// stretchStart returns the first message of the run of user messages that a message is in; the message itself if it is in none.
func (s *scan) stretchStart(message int) int {
	if s.stretch >= 0 {
		return s.stretch
	}
	return message
}

// typed reports whether a person typed a message, by Options.Typed, or without that by its form.
func (s *scan) typed(message int) bool {
	if s.o.Typed != nil {
		return s.o.Typed(s.r, message)
	}
	return isPrompt(s.r, message) && !strings.HasPrefix(strings.TrimSpace(Words(s.r, message)), "[")
}

// readUser reads a message of the user without results: a prompt that a person typed begins a new task if the model had finished.
func (s *scan) readUser(i int) {
	if s.stretch < 0 {
		s.stretch = i
		if s.answered && !s.calling && s.prompted {
			s.final = i
		}
	}
	s.readNotes(i)
	s.prompted = s.prompted || isPrompt(s.r, i)
	if !s.typed(i) {
		return
	}
	s.prompt = s.stretch
	if s.final >= 0 {
		s.addBoundary(Boundary{s.final, i, Prompt})
	}
}

const (
	clearNote     = "<command-name>/clear</command-name>"
	directoryNote = "<environment_context>"
	// noteBytes bounds what is read of a client's note, in bytes.
	noteBytes = 4 << 10
)

// readNotes reads what the client itself wrote into a message of the user: a cleared conversation or another directory begins a new task.
func (s *scan) readNotes(i int) {
	for j := range s.r.Messages[i].Parts {
		p := &s.r.Messages[i].Parts[j]
		if p.Kind != wire.Text || len(p.Texts) != 1 || p.Texts[0].Len() > noteBytes {
			continue
		}
		raw := s.r.Raw(p.Texts[0])
		if !bytes.Contains(raw, []byte("command-name")) && !bytes.Contains(raw, []byte("environment_context")) {
			continue
		}
		text := strings.TrimSpace(s.r.Words(p))
		switch {
		case strings.HasPrefix(text, clearNote):
			if i > 0 {
				s.addBoundary(Boundary{s.stretchStart(i), i, Clear})
			}
		case strings.HasPrefix(text, directoryNote):
			directory := between(text, "<cwd>", "</cwd>")
			if directory != "" && s.directory != "" && directory != s.directory {
				s.addBoundary(Boundary{s.stretchStart(i), i, Directory})
			}
			if directory != "" {
				s.directory = directory
			}
		}
	}
}

// between returns the text between two marks, without white space around it; "" if one is missing.
func between(text, from, to string) string {
	_, rest, ok := strings.Cut(text, from)
	if !ok {
		return ""
	}
	inner, _, ok := strings.Cut(rest, to)
	if !ok {
		return ""
	}
	return strings.TrimSpace(inner)
}

// readAssistant reads a message of the model and its calls.
func (s *scan) readAssistant(i int, m *wire.Message) {
	if !s.answered || s.stretch >= 0 {
		s.calling = false
	}
	s.answered, s.final, s.stretch = true, -1, -1
	for j := range m.Parts {
		if p := &m.Parts[j]; p.Kind == wire.Call {
			s.calling = true
			s.readCall(i, p)
		}
	}
}

// readCall reads a call that writes a list of things to do, or that switches to another git branch.
func (s *scan) readCall(i int, p *wire.Part) {
	raw, quoted := s.r.Raw(p.Raw), false
	if p.Raw.IsZero() {
		if len(p.Texts) != 1 {
			return
		}
		raw, quoted = s.r.Raw(p.Texts[0]), true
	}
	arguments := func() string {
		if quoted {
			raw = wire.Unquote(nil, raw)
		}
		return string(raw)
	}
	if extract.KeepsTodos(p.Name) {
		s.readTodos(i, extract.Todos(p.Name, arguments()))
		return
	}
	if !bytes.Contains(raw, []byte("git")) {
		return
	}
	if branch := branchOf(extract.Words(extract.Command(p.Name, arguments()))); branch != "" && len(s.switching) < maxSwitching {
		s.switching = append(s.switching, switched{i, p.CallID, branch})
	}
}

// maxSwitching bounds the calls whose results are waited for.
const maxSwitching = 64

// readTodos reads a list of things to do. If none of its items was in the last list, a new task began.
func (s *scan) readTodos(i int, items []string) {
	if len(items) == 0 {
		return
	}
	replaced := len(s.todos) > 0 && !slices.ContainsFunc(items, func(item string) bool { return slices.Contains(s.todos, item) })
	if replaced {
		at := i
		if s.prompt > s.plan { // the new task began with what the user said
			at = s.prompt
		}
		s.addBoundary(Boundary{at, i, Todos})
	}
	s.todos, s.plan = items, i
}

// readResults reads the results of calls that switch branches: one that succeeded, to another branch than before, begins a new task.
func (s *scan) readResults(m *wire.Message) {
	s.answered, s.final, s.stretch = false, -1, -1
	for j := range m.Parts {
		p := &m.Parts[j]
		if p.Kind != wire.Result {
			continue
		}
		at := slices.IndexFunc(s.switching, func(w switched) bool { return w.id == p.CallID })
		if at < 0 {
			continue
		}
		call := s.switching[at]
		s.switching = slices.Delete(s.switching, at, at+1)
		if p.Failed || call.branch == s.branch {
			continue
		}
		s.addBoundary(Boundary{call.at, call.at, Branch})
		s.branch = call.branch
	}
}

// branchOf returns the git branch that a command line switches to; "" for none. "git checkout NAME" counts if NAME can't be a file.
func branchOf(words []string) string {
	for i := 0; i+2 < len(words); i++ {
		if words[i] != "git" || i > 0 && !slices.Contains([]string{";", "&&", "||", "|", "&", "("}, words[i-1]) {
			continue
		}
		rest := words[i+1:]
		if end := slices.IndexFunc(rest, func(w string) bool { return slices.Contains([]string{";", "&&", "||", "|", "&", ")"}, w) }); end >= 0 {
			rest = rest[:end]
		}
		for len(rest) > 1 && rest[0] == "-C" {
			rest = rest[2:]
		}
		if len(rest) < 2 {
			continue
		}
		creates := false
		var plain []string
		for _, w := range rest[1:] {
			switch {
			case w == "--":
				plain = append(plain, "", "") // files follow
			case strings.HasPrefix(w, "-"):
				creates = creates || slices.Contains([]string{"-b", "-B", "-c", "-C", "--create", "--force-create"}, w)
			default:
				plain = append(plain, w)
			}
		}
		switch {
		case len(plain) == 0:
		case rest[0] == "switch", rest[0] == "checkout" && creates:
			return plain[0]
		case rest[0] == "checkout" && len(plain) == 1 && !strings.ContainsAny(plain[0], ".~^@:*") && plain[0] != "HEAD":
			return plain[0]
		}
	}
	return ""
}

// FreshPrompt returns the index of the message with a prompt that the model has not begun to answer, -1 if the request ends otherwise: with
// results of tools, with text that a client writes by itself, or with words that come while tools run.
func FreshPrompt(r *wire.Request) int {
	at := newestPrompt(r)
	if at < 0 {
		return -1
	}
	for i := at - 1; i >= 0; i-- {
		switch m := &r.Messages[i]; m.Role {
		case wire.RoleSystem:
		case wire.RoleUser:
			if hasPart(m, wire.Result) {
				return -1
			}
		case wire.RoleAssistant:
			if hasPart(m, wire.Call) {
				return -1
			}
			return at
		default:
			return -1
		}
	}
	return at
}

// newestPrompt returns the index of the message with the prompt that the request ends with, whatever stands before it; else -1.
func newestPrompt(r *wire.Request) int {
	for i, m := range slices.Backward(r.Messages) {
		switch {
		case m.Role == wire.RoleSystem:
		case m.Role == wire.RoleUser && isPrompt(r, i):
			return i
		default:
			return -1
		}
	}
	return -1
}

// Words returns the words of a message without the elements that clients add to them.
func Words(r *wire.Request, message int) string {
	var all []string
	for j := range r.Messages[message].Parts {
		if p := &r.Messages[message].Parts[j]; p.Kind == wire.Text && p.Raw.IsZero() {
			if own := extract.Own(r.Words(p)); own != "" && !strings.HasPrefix(own, "<") {
				all = append(all, own)
			}
		}
	}
	return strings.Join(all, "\n")
}

// isPrompt reports whether a user's message has words outside of a client's own elements, and no tool result.
func isPrompt(r *wire.Request, i int) bool {
	if hasPart(&r.Messages[i], wire.Result) {
		return false
	}
	words := Words(r, i)
	return words != "" && !extract.IsSummary(words)
}

// hasPart reports whether a message has a part of a kind.
func hasPart(m *wire.Message, kind wire.PartKind) bool {
	return slices.ContainsFunc(m.Parts, func(p wire.Part) bool { return p.Kind == kind })
}
