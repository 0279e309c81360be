// Package mend changes what a message holds where the provider would refuse the request for it: a client sends its whole history each time,
// and one block that is not taken would end the conversation. Calls without results are for package repair. The proxy mends requests, and
// the agent arguments of calls.
//
// What is mended: empty texts, cache marks beyond four, images (size, type, number, unreadable ones), arguments that end too early or are no
// JSON, names of tools, values of the wrong kind, thinking without a signature, a conversation that ends with the model's words, and
// max_tokens beside a thinking budget. docs/refusals.md has each provider's refusals, and a test plays that page.
//
// Only what would be refused is touched, the same request gives the same bytes, and mending twice gives the same pointer. But for cache marks,
// nothing before Options.From is changed: where only that helps, there is an action [Cut]. [Mend] is pure. A request in order costs a look
// at each new part; images are decoded only where their header breaks a rule, one at a time, into at most 64 MB.
package mend

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/window/wire"
)

// Options give the provider, the model and what its refusals have taught, which decide which rules hold; and what may be changed.
type Options struct {
	// From is the index of the first message that may be changed: those before it were sent as they are. With the number of messages only
	// what is outside of messages is mended (marks, the system prompt, the thinking budget), and a message of the user is added behind the
	// last one where the model needs one.
	From int
	// Provider is its name or address, as package models knows it; Model is the model's name in the request or its path.
	Provider, Model string
	// Betas are the values of the header anthropic-beta, each with one name or several with commas.
	Betas []string

	// What a provider has said in a refusal, see [Learn].

	MaxImages int  // most images in a request; 0 means the model's known limit
	NoPrefill bool // the last message may not be the model's
	NoBlank   bool // no text may be all white space, also beside other content
	Decode    bool // one of the images cannot be read though its header can: decode all

	NeedTools    bool     // a history with calls needs declared tools
	NoEmpty      bool     // no text may be empty, and no message without content
	NoSurrogates bool     // half of a surrogate pair is no JSON
	NoImages     bool     // the model takes no images
	NoFetched    bool     // the provider could not fetch an image by its address
	NoURLs       []string // addresses that the provider could not fetch, in lower case
	NoDocuments  bool     // a document cannot be read: that at Place, all if it is nil
	OldDocuments bool     // there are too many pages: only the newest document stays
	Place        *Place
	NoTypes      []string // media types that are refused
	NoFields     []string // members that are refused: the kind of the block or the role of the message, "" for any, a dot, and the name
	MaxID        int      // most characters of a call's id, for package repair; 0 means the provider's known limit
	NineIDs      bool     // the ids of calls are nine letters and digits, for package repair
	PlainIDs     bool     // they have letters, digits, '_' and '-' alone, whatever the model, for package repair
	UniqueIDs    bool     // an id of a call is taken once in a whole history, for package repair
	Objects      bool     // the arguments of a call have to be an object, also where they are valid JSON or ""
	SystemFirst  bool     // a message of the system has to be the first: later ones become the user's
	NoSystem     bool     // no message may be the system's
	NoDeveloper  bool     // the role is system, and not developer
	NoReferences bool     // a result may not refer to a tool
	NoLostTools  bool     // a result may only refer to tools that the request declares
	// NeedReasoning means that the model's messages need reasoning, which the client has dropped: a space stands for it. The models that ask
	// for it have none that is signed.
	NeedReasoning bool
	NeedAnswers   bool // behind results the model speaks first, not the user
}

// Place names the part of a message that a refusal says is at fault; both are counted from 0.
type Place struct{ Message, Part int }

// Kinds of an [Action].
const (
	Emptied   = "emptied"   // an empty text, or a message of nothing else, went or was filled
	Unmarked  = "unmarked"  // a cache mark of too many went
	Unsigned  = "unsigned"  // thinking without a signature, or at the end of a message, went
	Scaled    = "scaled"    // an image was made smaller
	Retyped   = "retyped"   // an image got the media type that it has
	Described = "described" // a line took the place of an image, a document, or the reference to a tool
	Closed    = "closed"    // arguments that ended too early were closed
	Wrapped   = "wrapped"   // arguments or a result of the wrong kind of JSON were put into the right one
	Renamed   = "renamed"   // the name of a tool in a call
	Filled    = "filled"    // a failed result that said nothing says so
	Prompted  = "prompted"  // a line of the user behind the model's last words
	Trimmed   = "trimmed"   // white space at the end of the model's last words went
	Replaced  = "replaced"  // half of a surrogate pair became U+FFFD
	Unfielded = "unfielded" // a member that the provider does not know went
	Declared  = "declared"  // the tools of earlier calls are declared
	Answered  = "answered"  // a line of the model between results and the user's words
	Recast    = "recast"    // a message got another role
	Reasoned  = "reasoned"  // a message of the model got a space for its reasoning
	Budgeted  = "budgeted"  // max_tokens and the thinking budget were made to fit, or thinking was switched off
	Cut       = "cut"       // nothing was done: a message before Options.From has to change
)

// An Action is one thing that was done; with Cut, one that was not, because a message before Options.From would have to change.
type Action struct {
	Kind    string
	Message int    // index in the request before the change; -1 if it was outside of messages
	CallID  string // of the call concerned; "" when none is
	Bytes   int    // size of what was removed
}

// First returns the index of the first message before [Options.From] that would have to change; false when there is none. A caller who may
// change it calls Mend again with From 0.
func First(actions []Action) (message int, ok bool) {
	for _, a := range actions {
		if a.Kind == Cut && (!ok || a.Message < message) {
			message, ok = a.Message, true
		}
	}
	return message, ok
}

// Mend returns the request without the contents that its provider refuses, and what was done for that; r itself when there was nothing to
// do, which costs next to nothing. The error is that of an edit that failed; then it returns r and no actions.
func Mend(r *wire.Request, o Options) (*wire.Request, []Action, error) {
	if o.Model == "" {
		o.Model = r.Model
	}
	next, actions, err := mendWith((*mending).mendRaw, r, o)
	for _, step := range taughtSteps(o) {
		if err == nil {
			var more []Action
			next, more, err = mendWith(step, next, o)
			actions = append(actions, more...)
		}
	}
	if err == nil {
		var more []Action
		next, more, err = mendOnce(next, o)
		actions = append(actions, more...)
		o = o.Lasting() // which documents go is said of the request as it came
	}
	rounds := 0
	// What was mended may show something else: a mark too many in a list that was written anew.
	for before := r; err == nil && next != before && rounds < maxRounds; rounds++ {
		var more []Action
		before = next
		next, more, err = mendOnce(before, o)
		actions = append(actions, slices.DeleteFunc(more, func(a Action) bool { return a.Kind == Cut })...)
	}
	if err != nil {
		return r, nil, fmt.Errorf("mending a %s request of %d messages: %w", r.Dialect, len(r.Messages), err)
	}
	sorting.StableBy(actions, func(a, b Action) int { return cmp.Compare(a.Message, b.Message) })
	return next, actions, nil
}

// taughtSteps returns what has to be done to whole messages before their contents are mended, by what refusals have taught; mostly nothing.
func taughtSteps(o Options) (steps []func(*mending)) {
	if o.SystemFirst || o.NoSystem || o.NoDeveloper {
		steps = append(steps, (*mending).recastSystem)
	}
	if o.NeedAnswers {
		steps = append(steps, (*mending).addAnswers)
	}
	if o.NeedReasoning {
		steps = append(steps, (*mending).addReasoning)
	}
	return steps
}

// maxRounds limits how often a mended request is checked again. One round is enough unless a request has several faults at once.
const maxRounds = 3

// mendOnce applies all rules to a request once.
func mendOnce(r *wire.Request, o Options) (*wire.Request, []Action, error) {
	return mendWith(func(m *mending) {
		m.dropEmptySystem()
		m.countImages()
		for i := m.from; i < len(r.Messages); i++ {
			m.mendMessage(i)
		}
		m.mendThinking()
		m.declareTools()
		m.mendEnding()
		m.dropMarks()
	}, r, o)
}

// mendWith builds a request with the edits that apply makes. It returns r if there are none.
func mendWith(apply func(*mending), r *wire.Request, o Options) (*wire.Request, []Action, error) {
	m := &mending{r: r, o: o, rules: rulesOf(r.Dialect, o), from: min(max(o.From, 0), len(r.Messages))}
	apply(m)
	if m.d == nil {
		return r, m.actions, nil
	}
	next, err := m.d.Build()
	return next, m.actions, err
}

// A mending is the state of mending one request.
type mending struct {
	r       *wire.Request
	o       Options
	rules   rules
	from    int
	d       *wire.Draft // nil until something is to be done
	actions []Action

	dropped map[int]bool      // messages that are dropped
	gone    []wire.Span       // spans that are dropped or replaced: marks in them do not count
	notes   map[string]string // lines to put into the results of calls, by noteKey
	scratch []byte
	pixels  int  // number of pixels decoded so far
	surplus int  // number of the oldest images that have to go
	crowd   bool // there are so many images that each has to be small
}

// draft returns the draft of the mended request, which it creates on first use.
func (m *mending) draft() *wire.Draft {
	if m.d == nil {
		m.d = m.r.Draft()
	}
	return m.d
}

// addAction adds an Action to those that Mend returns.
func (m *mending) addAction(kind string, message int, id string, bytes int) {
	m.actions = append(m.actions, Action{Kind: kind, Message: message, CallID: id, Bytes: bytes})
}

// mendMessage mends the parts of message i: empty ones, calls, results and media. It ends once it has dropped the message, whose index stays.
func (m *mending) mendMessage(i int) {
	msg := &m.r.Messages[i]
	if !m.dropEmptyParts(i, msg) {
		return
	}
	for j := range msg.Parts {
		switch p := &msg.Parts[j]; p.Kind {
		case wire.Call:
			m.mendCall(i, p)
		case wire.Result:
			m.mendResult(i, j, p)
		case wire.Media:
			m.mendMedia(i, j, p)
		}
	}
}

// dropMessage drops a whole message.
func (m *mending) dropMessage(i int) {
	if m.dropped == nil {
		m.dropped = map[int]bool{}
	}
	m.dropped[i] = true
	m.gone = append(m.gone, m.r.Messages[i].Span)
	m.draft().DropMessages(i, i+1)
	m.addAction(Emptied, i, "", m.r.Messages[i].Span.Len())
}

// lastMessage returns the index of the last message that is not dropped, -1 if there is none.
func (m *mending) lastMessage() int {
	i := len(m.r.Messages) - 1
	for i >= 0 && m.dropped[i] {
		i--
	}
	return i
}
