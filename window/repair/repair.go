package repair

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/window/wire"
)

// Note is the text in place of a result that is missing. It must not make a model call again: the call may have run, and may have done
// something that is not to be done twice.
const Note = "[No result was recorded for this call. It may or may not have run. Do not repeat it only because of this note.]"

// Texts of messages that are put in where a dialect wants one of the user.
const (
	beginning = "[The beginning of this conversation is not part of it any more.]"
	between   = "[No message of the user was recorded here.]"
	nothing   = "[Only results of tools that belonged to no call were here.]"
)

// BedrockMaxID is the longest id of a call, in characters, that Amazon Bedrock takes.
const BedrockMaxID = 64

// Options of a repair.
type Options struct {
	// MaxID is the longest id of a call that the provider takes, in characters; 0 is no
	// limit. Values under 24 count as 24: a shortened id holds a digest.
	MaxID int
	// NineIDs is true for a provider whose ids of calls are nine letters and digits, as Mistral's are; then MaxID means nothing.
	NineIDs bool
	// PlainIDs is true for a provider whose ids of calls have letters, digits, '_' and '-' alone, in whatever dialect.
	PlainIDs bool
	// AnyID is true for a model that is not Claude behind a service that speaks Messages: its ids have other characters too
	// ("functions.sh:0"), and the model reads them (kimi-code#3429, litellm#32214).
	AnyID bool
	// UniqueIDs is true for a provider of Chat or Responses that takes an id once in a whole history. Others compare the calls of one
	// message, or those that are open at once.
	UniqueIDs bool
	// Frozen is the number of leading messages that were sent before. They are not changed: a result that comes too late for its call
	// becomes words of the user where it stands.
	Frozen int
}

// Kinds of an [Action].
const (
	Synthesised = "synthesised" // a note was put in for a result that is missing
	Moved       = "moved"       // a result went to its call
	Dropped     = "dropped"     // a result of no call, or a call that can have no note
	Duplicate   = "duplicate"   // a second result of a call, or a copy of a call, was dropped
	Joined      = "joined"      // the words of a second result were appended to those of the first
	Renamed     = "renamed"     // a call and its result got another id
	Reasoning   = "reasoning"   // a reasoning item that led to nothing was dropped
	Inserted    = "inserted"    // a message of the user was put in
	Emptied     = "emptied"     // Chat: a tool_calls with nothing in it went
	Late        = "late"        // a result that came too late became words of the user where it stands
)

// An Action is one thing that was done.
type Action struct {
	Kind    string
	Message int    // index of the changed message in the request before the repair
	CallID  string // as it was before; "" where there is none
	Bytes   int    // size of what was dropped, else 0
}

// Repair returns a request whose calls and results are paired as its dialect wants them, and what was done for that; r itself and nil when
// it was in order. The error is [ErrFrozen] where a message that was sent before would have to be changed, or that of an edit that failed;
// then it returns r.
func Repair(r *wire.Request, o Options) (*wire.Request, []Action, error) {
	if o.MaxID > 0 {
		o.MaxID = max(o.MaxID, minMaxID)
	}
	if needsNoRepair(r, o) {
		return r, nil, nil
	}
	if o.Frozen == 0 {
		return repair(r, o)
	}
	next, actions, err := replaceLate(r, o.Frozen)
	if err == nil && !needsNoRepair(next, o) {
		var more []Action
		next, more, err = repair(next, o)
		actions = append(actions, more...)
	}
	if err == nil && !sameBeginning(r, next, o.Frozen) {
		err = ErrFrozen
	}
	if err != nil {
		return r, nil, err
	}
	return next, actions, nil
}

// ErrFrozen means that calls and results can only be paired by changing a message that was sent before.
var ErrFrozen = errors.New("repair: a message that was sent before would have to be changed")

// repair pairs calls and results by the rules of the dialect, without the quick check first. It returns ErrFrozen if frozen messages would
// change.
func repair(r *wire.Request, o Options) (*wire.Request, []Action, error) {
	p := pair(r)
	p.frozen = o.Frozen
	p.chooseIDs(o)
	p.joinSecond()
	d := r.Draft()
	p.draft = d
	switch p.rules.Results {
	case wire.ResultsBehind:
		p.placeBehindCalls()
	case wire.ResultsAnywhere:
		p.placeAnywhere()
	case wire.ResultsFirst:
		p.placeFirst()
	case wire.ResultsInOrder:
		p.placeInOrder()
	}
	paired, err := d.Build()
	if err != nil {
		return r, nil, fmt.Errorf("repairing %d calls and %d results of a %s request: %w", len(p.calls), len(p.results), r.Dialect, err)
	}
	next, err := p.insertUsers(paired)
	if err != nil {
		return r, nil, fmt.Errorf("completing a repaired %s request: %w", r.Dialect, err)
	}
	if next != paired && !isServedInOrder(next) { // what was put in ends a turn in which something was asked
		var more []Action
		if next, more, err = repair(next, o); err != nil {
			return r, nil, err
		}
		p.actions = append(p.actions, more...)
	}
	sorting.StableBy(p.actions, func(a, b Action) int { return cmp.Compare(a.Message, b.Message) })
	return next, p.actions, nil
}

// insertUsers inserts messages of the user where the dialect requires one: at the beginning, or before calls. It must be called last,
// because only then is it clear where one is missing.
func (p *pairing) insertUsers(r *wire.Request) (*wire.Request, error) {
	if len(r.Messages) == 0 {
		if len(p.r.Messages) == 0 {
			return r, nil
		}
		return p.insertUser(r, 0, nothing)
	}
	switch {
	case p.rules.UserFirst:
		if i := firstNonSystem(r); i < len(r.Messages) && r.Messages[i].Role == wire.RoleAssistant && !r.Bypass.Partial() {
			return p.insertUser(r, i, beginning)
		}
	case p.rules.CallsBehindUser:
		d := r.Draft()
		for i := range r.Messages {
			if !callsWithoutUser(r, i) || i == 0 && r.Bypass.Partial() {
				continue
			}
			text := between
			if i == 0 {
				text = beginning
			}
			d.InsertMessages(i, wire.TextMessage(r.Dialect, wire.RoleUser, text))
			p.addAction(Inserted, 0, "", 0)
		}
		return d.Build()
	}
	return r, nil
}

// insertUser inserts a message of the user with a text, and records that.
func (p *pairing) insertUser(r *wire.Request, before int, text string) (*wire.Request, error) {
	d := r.Draft()
	d.InsertMessages(before, wire.TextMessage(r.Dialect, wire.RoleUser, text))
	p.addAction(Inserted, 0, "", 0)
	return d.Build()
}

// firstNonSystem returns the index of the first message that is not the system's; the number of messages if there is none.
func firstNonSystem(r *wire.Request) int {
	for i := range r.Messages {
		if r.Messages[i].Role != wire.RoleSystem {
			return i
		}
	}
	return len(r.Messages)
}

// callsWithoutUser reports whether message i is the model's, has calls and does not follow a message of the user's or a tool's.
func callsWithoutUser(r *wire.Request, i int) bool {
	m := &r.Messages[i]
	return m.Role == wire.RoleAssistant && (i == 0 || r.Messages[i-1].Role == wire.RoleAssistant) && hasCall(m)
}

// hasCall reports whether a message has a call.
func hasCall(m *wire.Message) bool {
	for j := range m.Parts {
		if m.Parts[j].Kind == wire.Call {
			return true
		}
	}
	return false
}

// addAction records an Action.
func (p *pairing) addAction(kind string, message int, id string, bytes int) {
	p.actions = append(p.actions, Action{Kind: kind, Message: message, CallID: id, Bytes: bytes})
}
