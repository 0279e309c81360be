package agent

import (
	"reflect"
	"strings"
	"sync"

	"github.com/plimsoll/plimsoll/internal/window/loops"
	"github.com/plimsoll/plimsoll/limit"
)

// MemoryUsage is the memory that running queries hold, in bytes: texts, and the structures around them. Strings that the store of
// conversations holds too are counted once.
type MemoryUsage struct {
	Messages    int64 `json:"messages"`     // of the conversation, and of the answer as far as it came
	StepResults int64 `json:"step_results"` // see [StepResult]
	CallHistory int64 `json:"call_history"` // of the calls by which loops are recognised
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

// size returns the memory of a message, in bytes.
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

// queryState holds a query's messages, step results and call history, and keeps their total size up to date.
type queryState struct {
	mu       sync.Mutex
	messages []Message
	partial  string          // the parts of an answer that ended at the output limit
	streamed strings.Builder // the answer to the current request as far as it came
	results  map[string]*StepResult
	order    []string // of results
	calls    *loops.Detector
	use      MemoryUsage
	peak     MemoryUsage
	maxBytes int64 // of results
}

// newQueryState returns the state of a query that has no messages yet, with bounds from l.
func newQueryState(l Limits) *queryState {
	h := &queryState{
		results:  map[string]*StepResult{},
		calls:    loops.New(loops.Options{Window: l.CallHistory, Identical: l.Identical}),
		maxBytes: int64(maxResults),
	}
	h.count(0, 0, h.calls.Bytes())
	return h
}

// count adds bytes, which may be negative, to the totals and updates the peak. The caller holds the lock.
func (h *queryState) count(messages, results, calls int64) {
	h.use.add(MemoryUsage{messages, results, calls, messages + results + calls})
	if h.use.Total > h.peak.Total {
		h.peak = h.use
	}
}

// usage returns the sizes now, and at the moment when their total was largest.
func (h *queryState) usage() (now, peak MemoryUsage) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.use, h.peak
}

// list returns the messages. The result must not be changed.
func (h *queryState) list() []Message {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.messages[:len(h.messages):len(h.messages)]
}

func (h *queryState) append(ms ...Message) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.messages = append(h.messages, ms...)
	h.count(sizeOf(ms), 0, 0)
}

// replace puts a copy of ms in the place of all messages.
func (h *queryState) replace(ms []Message) {
	h.mu.Lock()
	defer h.mu.Unlock()
	was := sizeOf(h.messages)
	h.messages = append([]Message(nil), ms...)
	h.count(sizeOf(h.messages)-was, 0, 0)
}

// stream adds a piece to the answer, whose parts have at most maxBytes together. It returns what was added; full reports that the rest of
// the piece was dropped.
func (h *queryState) stream(piece string, maxBytes int) (taken string, full bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	room := maxBytes - len(h.partial) - h.streamed.Len()
	if len(piece) > room {
		piece, full = limit.Clip(piece, max(room, 0)), true
	}
	h.streamed.WriteString(piece)
	h.count(int64(len(piece)), 0, 0)
	return piece, full
}

// unstream returns the text that was streamed for the current request, and clears it.
func (h *queryState) unstream() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	text := h.streamed.String()
	h.streamed.Reset()
	h.count(-int64(len(text)), 0, 0)
	return text
}

// streamedText returns the answer so far: the parts before, and the text of the current request.
func (h *queryState) streamedText() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.partial + h.streamed.String()
}

// setPartial sets the text of the parts of the answer that came with earlier requests.
func (h *queryState) setPartial(text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.count(int64(len(text)-len(h.partial)), 0, 0)
	h.partial = text
}

// store keeps a step result, and drops the oldest ones beyond maxBytes. The newest always stays.
func (h *queryState) store(s *StepResult) {
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

// findResult returns a copy of the result that is kept for a call; false if it was dropped or never stored.
func (h *queryState) findResult(id string) (StepResult, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s, ok := h.results[id]; ok {
		return *s, true
	}
	return StepResult{}, false
}

// observeCalls adds the calls of a step to the history of calls. It returns the loop that they complete; false if there is none.
func (h *queryState) observeCalls(step []loops.Call) (loops.Finding, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	was := h.calls.Bytes()
	found, loop := h.calls.Observe(step)
	h.count(0, 0, h.calls.Bytes()-was)
	return found, loop
}

// release frees everything but the peak usage.
func (h *queryState) release() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.messages, h.partial, h.results, h.order, h.calls = nil, "", nil, nil, nil
	h.streamed.Reset()
	h.use = MemoryUsage{}
}
