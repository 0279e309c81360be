package journal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"sync"
	"time"
)

// Unknown is an event of a kind that this version does not know: a newer one has written it. It is kept as it came.
type Unknown struct {
	Name string
	Body json.RawMessage
}

// Kind implements [Event].
func (u Unknown) Kind() string { return u.Name }

// MarshalJSON writes the event as it came; null if its record had none.
func (u Unknown) MarshalJSON() ([]byte, error) {
	if len(u.Body) == 0 {
		return []byte("null"), nil
	}
	return u.Body, nil
}

// known has the type of every kind of event.
var known = sync.OnceValue(func() map[string]reflect.Type {
	types := map[string]reflect.Type{}
	for _, e := range []Event{
		LayerChosen{},
		LayerFailed{},
		Waiting{},
		Admitted{},
		Refused{},
		RunStarted{},
		ChildKilled{},
		OOMKills{},
		OOMDKills{},
		MemoryRaised{},
		Pressure{},
		Leftover{},
		Orphan{},
		RunIdle{},
		RunWoke{},
		Forgotten{},
		Warned{},
		CleanedUp{},
		RunEnded{},
		LimitSet{},
		LimitReached{},
		LimitUsed{},
		EditorSeen{},
		WindowRequest{},
		WindowResponse{},
		WindowStalled{},
		WindowRateWaited{},
		WindowPlan{},
		WindowRepaired{},
		WindowCompacted{},
		WindowBreak{},
		WindowTransformed{},
		WindowOverflow{},
		WindowRefused{},
		WindowPassed{},
		WindowBreaker{},
		WindowOn{},
		WindowOff{},
		WindowSummaryUnused{},
		WindowLoop{},
		WindowStore{},
		WindowSummary{},
		ToolCalled{},
		ToolResultLarge{},
		ToolsListed{},
		ToolRefused{},
		ToolRead{},
		ToolServer{},
		ToolNoise{},
		ToolsTallied{},
		SpoolEvicted{},
		AgentQueryStarted{},
		AgentQueryEnded{},
		AgentQueryRefused{},
		AgentCalled{},
		AgentResultCut{},
		AgentCallLeaked{},
		AgentLoop{},
		AgentRequest{},
		AgentRoom{},
		AgentRetry{},
		AgentForgot{},
		MemoryCaptured{},
		MemoryReach{},
		MemoryDropped{},
		MemoryRecalled{},
		AgentSessionsEvicted{},
		AgentSessionCut{},
		AgentSessionDamaged{},
		AgentSessionTorn{},
		MemoryEvicted{},
		MemoryConsolidated{},
		MemoryForgotten{},
		MemoryRefused{},
		MemoryDamaged{},
		MemoryVectorsMade{},
		MemoryVectorsFailed{},
		MemoryVectorsFull{},
		AgentQueueClosed{},
		AgentQueueReopened{},
		AgentQueueRemoved{},
		AgentTasksEvicted{},
		MemoryNoteEvicted{},
		MemoryFacts{},
		MemoryFactsFailed{},
	} {
		types[e.Kind()] = reflect.TypeOf(e)
	}
	return types
})

// UnmarshalJSON reads what [Record.MarshalJSON] has written. An event of an unknown kind becomes [Unknown], and a missing one the zero value of
// its kind. A record without a kind, and a field of a wrong type, are errors; the record is then not to be used.
func (r *Record) UnmarshalJSON(text []byte) error {
	if r.readWritten(text) {
		return nil
	}
	var in struct {
		Seq   uint64          `json:"seq"`
		Time  time.Time       `json:"time"`
		Kind  string          `json:"kind"`
		Event json.RawMessage `json:"event"`
	}
	if err := json.Unmarshal(text, &in); err != nil {
		return err
	}
	if in.Kind == "" {
		return fmt.Errorf("a record without a kind is none")
	}
	*r = Record{Seq: in.Seq, Time: in.Time}
	as, ok := known()[in.Kind]
	if !ok {
		r.Event = Unknown{Name: in.Kind, Body: in.Event}
		return nil
	}
	event := reflect.New(as)
	if len(in.Event) > 0 {
		if err := json.Unmarshal(in.Event, event.Interface()); err != nil {
			return fmt.Errorf("record %d, %s: %w", in.Seq, in.Kind, err)
		}
	}
	r.Event = event.Elem().Interface().(Event)
	return nil
}

// readWritten reads a record in exactly the form that [Record.MarshalJSON] writes, without going over the bytes of the event three times, as
// encoding/json does for an object within an object. For any other form, an unknown kind or an event that does not fit it returns false, which is
// no error, and leaves r as it was.
func (r *Record) readWritten(text []byte) bool {
	rest, ok := bytes.CutPrefix(text, []byte(`{"seq":`))
	if !ok {
		return false
	}
	number, rest, ok := bytes.Cut(rest, []byte(`,"time":"`))
	if !ok || len(number) == 0 || len(number) > 19 || number[0] == '0' && len(number) > 1 {
		return false
	}
	seq := uint64(0)
	for _, c := range number {
		if c < '0' || c > '9' {
			return false
		}
		seq = seq*10 + uint64(c-'0')
	}
	when, rest, ok := bytes.Cut(rest, []byte(`","kind":"`))
	if !ok || bytes.IndexByte(when, '\\') >= 0 {
		return false
	}
	var at time.Time
	if at.UnmarshalText(when) != nil {
		return false
	}
	kind, rest, ok := bytes.Cut(rest, []byte(`","event":`))
	if !ok || len(rest) == 0 || rest[len(rest)-1] != '}' {
		return false
	}
	as, ok := known()[string(kind)]
	if !ok {
		return false
	}
	event := reflect.New(as)
	if json.Unmarshal(rest[:len(rest)-1], event.Interface()) != nil {
		return false
	}
	*r = Record{Seq: seq, Time: at, Event: event.Elem().Interface().(Event)}
	return true
}
