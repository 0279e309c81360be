package tasklog

import (
	"cmp"
	"context"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"sort"
	"time"

	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/limit"
)

// Bounds of a [Page].
const (
	DefaultPage      = 50
	MaxPage          = 1000
	DefaultPageBytes = 8 * limit.MiB
)

// Query selects tasks for [Store.List]. All its conditions must hold.
type Query struct {
	// Context, Owner and State must be equal, where they are not empty.
	Context, Owner, State string
	// Running leaves out tasks that have ended.
	Running bool
	// After, unless zero, leaves out tasks whose Time is before it. A task of exactly that time stays,
	// as A2A 1.0 has it (ListTasksRequest.status_timestamp_after).
	After time.Time
	// Limit bounds the tasks of a page (DefaultPage, at most MaxPage), MaxBytes their files
	// together (DefaultPageBytes); a page has at least one task even if it is larger.
	Limit    int
	MaxBytes limit.Bytes
	// Token is the Next of the page before.
	Token string
}

// Page is a part of a list, the task that changed last first. A task that changes while its
// list is read moves to the front of the list: it is not given twice, and may be missed.
type Page struct {
	Tasks []Task
	Total int    // tasks that match the query, on all pages
	Next  string // "" on the last page
}

func (q *Query) matches(t *Task) bool {
	return (q.Context == "" || q.Context == t.Context) && (q.Owner == "" || q.Owner == t.Owner) &&
		(q.State == "" || q.State == t.State) && !(q.Running && t.Ended) &&
		!t.Time.Before(q.After)
}

// listPosition is the position of a task in a list.
type listPosition struct {
	changed int64
	key     string
}

// compare orders positions: the task that changed last comes first.
func (p listPosition) compare(o listPosition) int {
	return cmp.Or(cmp.Compare(o.changed, p.changed), cmp.Compare(o.key, p.key))
}

// token returns the position as a page token: a version byte, the time and the key.
func (p listPosition) token() string {
	raw := binary.BigEndian.AppendUint64([]byte{1}, uint64(p.changed))
	key, _ := hex.DecodeString(p.key) // made by keyOf
	return base64.RawURLEncoding.EncodeToString(append(raw, key...))
}

const tokenBytes = 1 + 8 + 16

// parseToken decodes the token of a page. The error is [ErrToken].
func parseToken(text string) (listPosition, error) {
	if len(text) > base64.RawURLEncoding.EncodedLen(tokenBytes) {
		return listPosition{}, ErrToken
	}
	raw, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(raw) != tokenBytes || raw[0] != 1 {
		return listPosition{}, ErrToken
	}
	return listPosition{int64(binary.BigEndian.Uint64(raw[1:])), hex.EncodeToString(raw[9:])}, nil
}

// List returns a page of the tasks that match. An invalid q.Token is an [ErrToken].
func (s *Store) List(ctx context.Context, q Query) (Page, error) {
	if q.Limit <= 0 {
		q.Limit = DefaultPage
	}
	q.Limit = min(q.Limit, MaxPage)
	if q.MaxBytes <= 0 {
		q.MaxBytes = DefaultPageBytes
	}
	var from listPosition
	if q.Token != "" {
		var err error
		if from, err = parseToken(q.Token); err != nil {
			return Page{}, err
		}
	}
	list, total, err := s.matching(&q, from)
	if err != nil {
		return Page{}, err
	}
	page := Page{Total: total}
	var bytes int64
	for i, c := range list {
		if len(page.Tasks) == q.Limit || len(page.Tasks) > 0 && bytes+c.size > int64(q.MaxBytes) {
			page.Next = list[i-1].token()
			break
		}
		t, err := s.Get(ctx, c.id)
		switch {
		case err == nil && q.matches(&t):
			page.Tasks = append(page.Tasks, t)
			bytes += c.size
		case err != nil && !errors.Is(err, ErrNotFound):
			return Page{}, err
		}
	}
	return page, nil
}

type candidate struct {
	listPosition
	id   string
	size int64
}

// matching returns the tasks that match q after a position, the one that changed last first, and the number of all that match. Expired
// tasks are removed first.
func (s *Store) matching(q *Query, from listPosition) (list []candidate, total int, err error) {
	var out evictions
	defer s.journalEvictions(&out)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.shut {
		return nil, 0, ErrClosed
	}
	s.sweep(&out)
	for _, e := range s.tasks {
		if e.task.Version == 0 || !q.matches(&e.task) {
			continue
		}
		total++
		p := listPosition{e.task.Changed.UnixNano(), e.key}
		if q.Token == "" || from.compare(p) < 0 {
			list = append(list, candidate{p, e.task.ID, e.size})
		}
	}
	sorting.By(list, func(a, b candidate) int { return a.compare(b.listPosition) })
	return list, total, nil
}

// Record is one event of a task.
type Record struct {
	// Seq is the event's number, from 1 on.
	Seq uint64
	// Time is the time when it was appended.
	Time time.Time
	// Payload is shared by all readers: nobody may change it.
	Payload []byte
	// Terminal reports whether the event is the task's last.
	Terminal bool

	missed bool // the log had no reader when it came
}

func (r *Record) size() int64 { return int64(len(r.Payload)) + recordBytes }

// Gap is a range of numbers whose events are gone, both ends included.
type Gap struct{ From, To uint64 }

// Count returns the number of events that are gone; 0 means no gap.
func (g Gap) Count() uint64 {
	if g.To == 0 {
		return 0
	}
	return g.To - g.From + 1
}

// ring holds records in the order of their numbers, which may have holes.
type ring struct {
	records []Record // oldest at head
	head, n int
	bytes   int64
}

func (r *ring) at(i int) *Record { return &r.records[(r.head+i)%len(r.records)] }

// push appends a record. It drops none: the caller makes room first. When the ring is full, its capacity doubles, up to maxCapacity or the
// one record that is needed.
func (r *ring) push(rec Record, maxCapacity int) {
	if r.n == len(r.records) { // grows by doubling, so that a short task stays small
		r.setCapacity(min(max(2*len(r.records), minRing), max(maxCapacity, r.n+1)))
	}
	r.n++
	*r.at(r.n - 1) = rec
	r.bytes += rec.size()
}

// pop removes the oldest record and returns it. A ring that is mostly empty shrinks. It must not be empty.
func (r *ring) pop() Record {
	first := r.at(0)
	rec := *first
	*first = Record{} // let the payload go
	r.head = (r.head + 1) % len(r.records)
	r.n--
	r.bytes -= rec.size()
	if len(r.records) > minRing && r.n <= len(r.records)/4 {
		r.setCapacity(len(r.records) / 2)
	}
	return rec
}

// minRing is the first size of a ring, in records.
const minRing = 8

func (r *ring) setCapacity(size int) {
	records := make([]Record, size)
	for i := range r.n {
		records[i] = *r.at(i)
	}
	r.records, r.head = records, 0
}

// findAfter returns the oldest record with a number above seq, nil if there is none.
func (r *ring) findAfter(seq uint64) *Record {
	i := sort.Search(r.n, func(i int) bool { return r.at(i).Seq > seq })
	if i == r.n {
		return nil
	}
	return r.at(i)
}
