package dashboard

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/printable"
	"github.com/plimsoll/plimsoll/internal/watch/runs"
)

const (
	// MaxViewers bounds the streams that are open at once; a browser with eight tabs has eight.
	MaxViewers = 64
	// lookEvery is the time between two readings of the store while somebody looks.
	lookEvery = 500 * time.Millisecond
	// adoptEvery is the time between two passes that give an end to runs whose plimsoll was killed.
	adoptEvery = time.Minute
	// writeTime bounds one write to a client; the stream of a slower one is ended.
	writeTime = 15 * time.Second
	// pingEvery is the time after which a comment is sent on a silent stream, so that nobody takes it for dead.
	pingEvery = 20 * time.Second
)

// snapshot holds what the dashboard shows at one moment. It is not changed once made.
type snapshot struct {
	version uint64
	rows    []rowText // the order in which they are shown
	rest    []byte    // host and alerts, as members of an object
}

// rowText is a row as JSON.
type rowText struct {
	id   string
	text []byte
}

// encode returns the snapshot as one JSON object.
func (s *snapshot) encode() json.RawMessage {
	var b bytes.Buffer
	b.WriteString(`{"rows":[`)
	for i, r := range s.rows {
		if i > 0 {
			b.WriteByte(',')
		}
		b.Write(r.text)
	}
	b.WriteString(`],`)
	b.Write(s.rest)
	b.WriteByte('}')
	return b.Bytes()
}

// takeChanges returns what has changed since a client's last state, as a JSON object: the rows that are new or different, and the order of the rows
// and the rest if they differ. It updates seen, rest and order, the client's state. changed is false if there is nothing to send.
func (s *snapshot) takeChanges(seen map[string]string, rest *string, order *string) (text []byte, changed bool) {
	var b, ids bytes.Buffer
	b.WriteString(`{"rows":[`)
	here := make(map[string]bool, len(s.rows))
	n := 0
	for i, r := range s.rows {
		here[r.id] = true
		if i > 0 {
			ids.WriteByte(',')
		}
		fmt.Fprintf(&ids, "%q", r.id)
		if seen[r.id] == string(r.text) {
			continue
		}
		seen[r.id] = string(r.text)
		if n > 0 {
			b.WriteByte(',')
		}
		b.Write(r.text)
		n++
	}
	for id := range seen {
		if !here[id] {
			delete(seen, id)
		}
	}
	b.WriteString(`]`)
	if ids.String() != *order {
		*order = ids.String()
		fmt.Fprintf(&b, `,"order":[%s]`, ids.Bytes())
		changed = true
	}
	if string(s.rest) != *rest {
		*rest = string(s.rest)
		b.WriteByte(',')
		b.Write(s.rest)
		changed = true
	}
	b.WriteByte('}')
	return b.Bytes(), changed || n > 0
}

// hub reads the store for all viewers, as long as there are any.
type hub struct {
	dir      string
	host     func() (Host, bool)
	more     func(time.Time) []Alert // nil has none
	past     past
	spending spending // for look alone

	mu      sync.Mutex
	viewers int
	looking bool
	closed  bool
	done    chan struct{} // closed by close; nil before anybody looked
	now     *snapshot
	next    chan struct{} // closed when now is another
	Dropped uint64        // streams that were let go because they took too long
}

var errBusy = errors.New("too many look at once; close a tab")

// join counts a viewer, and starts the making of snapshots for the first one. It returns an error if there are too many, or the hub is
// closed.
func (h *hub) join() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.closed:
		return http.ErrServerClosed
	case h.viewers >= MaxViewers:
		return errBusy
	}
	h.viewers++
	if h.done == nil {
		h.done, h.next = make(chan struct{}), make(chan struct{})
	}
	if !h.looking {
		h.looking = true
		go h.makeSnapshots()
	}
	return nil
}

// leave counts a viewer less.
func (h *hub) leave() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.viewers--
}

// close ends the streams of all viewers. Later ones are refused.
func (h *hub) close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.closed {
		h.closed = true
		if h.done != nil {
			close(h.done)
		}
	}
	return nil
}

// makeSnapshots makes a snapshot every lookEvery, until nobody views the dashboard any more. It also ends runs whose plimsoll was killed.
func (h *hub) makeSnapshots() {
	store, err := runs.Open(h.dir)
	defer func() { _ = store.Close() }() // with an error too: the next Poll opens it
	var adopted time.Time
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for version := uint64(1); ; version++ {
		if time.Since(adopted) > adoptEvery {
			adopted = time.Now()
			_ = runs.Adopt(h.dir, adopted) // what could not be ended shows as died nevertheless
		}
		var s *snapshot
		if err == nil {
			s, err = makeSnapshot(store, h.host, h.more, &h.past, &h.spending)
		}
		if err != nil {
			s, err = &snapshot{rest: encodeRest(nil, nil, nil, err.Error())}, nil
		}
		s.version = version
		h.mu.Lock()
		h.now = s
		close(h.next)
		h.next = make(chan struct{})
		if h.viewers == 0 || h.closed {
			h.looking, h.now = false, nil
			h.mu.Unlock()
			return
		}
		h.mu.Unlock()
		select {
		case <-tick.C:
		case <-h.done:
		}
	}
}

// current returns the newest snapshot, nil before the first, and a channel that is closed when there is a newer one.
func (h *hub) current() (*snapshot, <-chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now, h.next
}

// waitForSnapshot returns the newest snapshot, for a viewer that does not stay. It waits for the first one, or for the end of ctx.
func (h *hub) waitForSnapshot(ctx context.Context) (*snapshot, error) {
	if err := h.join(); err != nil {
		return nil, err
	}
	defer h.leave()
	for {
		s, next := h.current()
		if s != nil {
			return s, nil
		}
		select {
		case <-next:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// serve streams the changes to a viewer as server-sent events, until one of the two ends.
func (h *hub) serve(w http.ResponseWriter, r *http.Request) {
	if err := h.join(); err != nil {
		w.Header().Set("Retry-After", "10")
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	defer h.leave()
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Time{})
	w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	w.Header().Set("X-Accel-Buffering", "no")
	seen, restSeen, order := map[string]string{}, "", ""
	send := func(text []byte) bool {
		_ = control.SetWriteDeadline(time.Now().Add(writeTime))
		_, err := w.Write(text)
		if err == nil {
			err = control.Flush()
		}
		if err != nil && r.Context().Err() == nil {
			h.mu.Lock()
			h.Dropped++
			h.mu.Unlock()
		}
		return err == nil
	}
	if !send([]byte("retry: 2000\n\n")) {
		return
	}
	ping := time.NewTimer(pingEvery)
	defer ping.Stop()
	for {
		s, next := h.current()
		if s != nil {
			if text, changed := s.takeChanges(seen, &restSeen, &order); changed {
				if !send(append(append([]byte("data: "), printable.SafeJSON(text)...), "\n\n"...)) {
					return
				}
				ping.Reset(pingEvery)
			}
		}
		select {
		case <-next:
		case <-ping.C:
			if !send([]byte(": still here\n\n")) {
				return
			}
			ping.Reset(pingEvery)
		case <-r.Context().Done():
			return
		case <-h.done:
			return
		}
	}
}

const (
	// maxRows bounds the ended runs shown at once; `plimsoll runs` lists all.
	maxRows = 200
	// maxAlerts bounds the alerts that are shown.
	maxAlerts = 50
)

// row is one run in the list.
type row struct {
	runs.View
	Requests int64     `json:"requests"`
	Model    string    `json:"model,omitempty"`
	Spent    []used    `json:"spent,omitempty"`    // while it lives
	KilledAt time.Time `json:"killed_at,omitzero"` // that of [runs.Observed]
}

// makeSnapshot polls the store and returns a snapshot of it.
func makeSnapshot(store *runs.Store, host func() (Host, bool), more func(time.Time) []Alert, before *past, money *spending) (*snapshot, error) {
	if err := store.Poll(); err != nil {
		return nil, err
	}
	s := &snapshot{}
	live := store.Live()
	known := make(map[string]bool, len(live))
	add := func(r row) {
		if text, err := json.Marshal(r); err == nil {
			s.rows = append(s.rows, rowText{r.ID, text})
		}
	}
	var h *Host
	waiting, reserved, total := 0, int64(0), int64(0)
	for i := len(live) - 1; i >= 0; i-- { // the newest first
		r := money.makeRow(&live[i].Entry)
		r.SetNow(live[i], time.Now())
		if seen := live[i].Samples; len(seen) > 0 { // the meter is drawn of the limit, which the file cache counts against
			r.MemoryBytes = max(r.MemoryBytes, seen[len(seen)-1].Charged)
		}
		r.Model, r.Spent = live[i].Model, spendLimits(live[i].Report.Limits)
		known[r.ID] = true
		if r.State == runs.Waiting {
			waiting++
		} else if r.Parent == "" {
			reserved += r.ReservationBytes
		}
		add(r)
	}
	entries := store.Entries()
	ended := 0
	for i := range entries {
		e := &entries[i]
		if known[e.ID] || e.Live() || e.Kind == runs.KindGateway && e.Parent != "" {
			continue
		}
		if ended++; ended > maxRows {
			break
		}
		add(money.makeRow(e))
	}
	if host != nil {
		if now, ok := host(); ok {
			now.Waiting, now.ReservedBytes = waiting, reserved
			h, total = &now, now.TotalBytes
			before.addReading(now, time.Now())
		}
	}
	now := time.Now()
	spent := money.today(entries, now)
	alerts := collectAlerts(entries, live, now, total, func(e *runs.Entry, what string) string { return before.commandFor(store, e, what) })
	first := budgetAlerts(spent, now)
	if more != nil {
		first = append(more(now), first...)
	}
	s.rest = encodeRest(h, append(first, alerts...), spent, "")
	return s, nil
}

// encodeRest returns the members of the snapshot besides the rows, as JSON without the braces.
func encodeRest(h *Host, alerts []Alert, spent *Spending, problem string) []byte {
	if alerts == nil {
		alerts = []Alert{}
	}
	text, err := json.Marshal(struct {
		Host   *Host     `json:"host"`
		Alerts []Alert   `json:"alerts"`
		Spent  *Spending `json:"spent"`
		Error  string    `json:"error"`
	}{h, alerts, spent, problem})
	if err != nil {
		return []byte(`"host":null,"alerts":[],"spent":null,"error":"this cannot be shown"`)
	}
	return bytes.TrimSuffix(bytes.TrimPrefix(text, []byte("{")), []byte("}"))
}
