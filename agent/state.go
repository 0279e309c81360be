package agent

import (
	"reflect"
	"strings"
	"sync"

	"github.com/plimsoll/plimsoll/agent/internal/repeat"
	"github.com/plimsoll/plimsoll/limit"
)

// MemoryUsage is the bytes that running queries hold: texts, and what the structures around
// them take. Strings that the conversation's store holds too are counted here once.
type MemoryUsage struct {
	Messages    int64 `json:"messages"`     // of the conversation, and of the answer as far as it came
	StepResults int64 `json:"step_results"` // see [StepResult]
	CallHistory int64 `json:"call_history"` // what loops are recognised by
	Total       int64 `json:"total"`
}

func (u *MemoryUsage) add(v MemoryUsage) {
	u.Messages += v.Messages
	u.StepResults += v.StepResults
	u.CallHistory += v.CallHistory
	u.Total += v.Total
}

var (
	messageBytes = int64(reflect.TypeFor[Message]().Size())
	callBytes    = int64(reflect.TypeFor[Call]().Size())
	resultBytes  = int64(reflect.TypeFor[StepResult]().Size())
)

// size is what a message takes, in bytes.
func (m *Message) size() int64 {
	n := messageBytes + int64(len(m.Role)+len(m.Text)+len(m.CallID)+len(m.Name)+len(m.Opaque))
	for _, c := range m.Calls {
		n += callBytes + int64(len(c.ID)+len(c.Name)+len(c.Arguments))
	}
	return n
}

func sizeOf(ms []Message) int64 {
	var n int64
	for i := range ms {
		n += ms[i].size()
	}
	return n
}

func (s *StepResult) size() int64 {
	return resultBytes + int64(len(s.CallID)+len(s.Name)+len(s.Text))
}

// held is everything that a query holds, and how much that is: every change counts itself.
type held struct {
	mu       sync.Mutex
	messages []Message
	partial  string          // the parts of an answer that ended at the output limit
	streamed strings.Builder // the answer of the request that runs, as far as it came
	results  map[string]*StepResult
	order    []string // of results
	calls    *repeat.Detector
	use      MemoryUsage
	peak     MemoryUsage
	maxBytes int64 // of results
}

func newHeld(l Limits) *held {
	h := &held{
		results:  map[string]*StepResult{},
		calls:    repeat.New(repeat.Options{Window: l.CallHistory, Identical: l.Identical}),
		maxBytes: int64(maxResults),
	}
	h.count(0, 0, h.calls.Bytes())
	return h
}

// count adds to what is counted; the lock is held.
func (h *held) count(messages, results, calls int64) {
	h.use.add(MemoryUsage{messages, results, calls, messages + results + calls})
	if h.use.Total > h.peak.Total {
		h.peak = h.use
	}
}

// usage tells what is held now and was at most.
func (h *held) usage() (now, peak MemoryUsage) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.use, h.peak
}

// recount counts everything anew.
func (h *held) recount() MemoryUsage {
	h.mu.Lock()
	defer h.mu.Unlock()
	u := MemoryUsage{Messages: sizeOf(h.messages) + int64(len(h.partial)+h.streamed.Len())}
	for _, s := range h.results {
		u.StepResults += s.size()
	}
	if h.calls != nil {
		u.CallHistory = h.calls.Bytes()
	}
	u.Total = u.Messages + u.StepResults + u.CallHistory
	return u
}

// list is the messages. Nobody changes what it returns.
func (h *held) list() []Message {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.messages[:len(h.messages):len(h.messages)]
}

func (h *held) append(ms ...Message) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.messages = append(h.messages, ms...)
	h.count(sizeOf(ms), 0, 0)
}

func (h *held) replace(ms []Message) {
	h.mu.Lock()
	defer h.mu.Unlock()
	was := sizeOf(h.messages)
	h.messages = append([]Message(nil), ms...)
	h.count(sizeOf(h.messages)-was, 0, 0)
}

// stream takes in a piece of an answer, up to most bytes of all parts; what goes beyond is
// left out, and full is true.
func (h *held) stream(piece string, most int) (taken string, full bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	room := most - len(h.partial) - h.streamed.Len()
	if len(piece) > room {
		piece, full = limit.Clip(piece, max(room, 0)), true
	}
	h.streamed.WriteString(piece)
	h.count(int64(len(piece)), 0, 0)
	return piece, full
}

// unstream takes the answer that was streamed.
func (h *held) unstream() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	text := h.streamed.String()
	h.streamed.Reset()
	h.count(-int64(len(text)), 0, 0)
	return text
}

// streamedText is the answer as far as it came, with the parts before it.
func (h *held) streamedText() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.partial + h.streamed.String()
}

func (h *held) setPartial(text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.count(int64(len(text)-len(h.partial)), 0, 0)
	h.partial = text
}

// store keeps a step result, and drops the oldest when there is too much.
func (h *held) store(s *StepResult) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if old, ok := h.results[s.CallID]; ok {
		h.count(0, -old.size(), 0)
	} else {
		h.order = append(h.order, s.CallID)
	}
	h.results[s.CallID] = s
	h.count(0, s.size(), 0)
	for h.use.StepResults > h.maxBytes && len(h.order) > 1 {
		oldest := h.order[0]
		h.order[0] = ""
		h.order = h.order[1:]
		h.count(0, -h.results[oldest].size(), 0)
		delete(h.results, oldest)
	}
}

func (h *held) result(id string) (StepResult, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s, ok := h.results[id]; ok {
		return *s, true
	}
	return StepResult{}, false
}

// observe looks for loops in the calls of a step.
func (h *held) observe(step []repeat.Call) (repeat.Finding, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	was := h.calls.Bytes()
	found, loop := h.calls.Observe(step)
	h.count(0, 0, h.calls.Bytes()-was)
	return found, loop
}

// release lets go of everything; the peak stays.
func (h *held) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.messages, h.partial, h.results, h.order, h.calls = nil, "", nil, nil, nil
	h.streamed.Reset()
	h.use = MemoryUsage{}
}
