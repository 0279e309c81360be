package tasklog

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"sync"
	"time"
)

// Log holds the events of one task. The package comment explains its states.
type Log struct {
	set  *Logs
	task string

	// order is held while an event is applied and appended, and while a snapshot is made. It
	// is taken before mu.
	order sync.Mutex

	mu      sync.Mutex
	ring    ring
	last    uint64 // the number given out last
	readers int
	heard   bool // there was a reader
	ended   bool
	endedAt time.Time
	removed bool
	wake    chan struct{} // closed when there is news; nil while nobody waits
	episode episode
	notices notices
	stats   LogStats
}

// Task returns the task's id.
func (l *Log) Task() string { return l.task }

// Append adds an event and returns its number; 0 when the task has ended or the log was removed. The caller must not change payload
// afterwards. It waits for no reader.
func (l *Log) Append(payload []byte, terminal bool) uint64 {
	return l.Publish(func(uint64) ([]byte, bool) { return payload, terminal })
}

// Publish adds the event that apply returns and returns its number, which apply gets. No snapshot is made between the begin of apply and
// the moment when readers can have the event, so what apply changes in the task belongs to this number. apply must be quick and must not
// call the log. When the task has ended, or the log was removed, it is not called and the number is 0.
func (l *Log) Publish(apply func(seq uint64) (payload []byte, terminal bool)) uint64 {
	seq := l.publish(apply)
	l.journalNotices()
	l.set.reclaim(l)
	return seq
}

// publish calls apply with the number of the next event and appends the payload that it returns, with true for the last event of the task.
// It returns the number, 0 if the log has ended or was removed.
func (l *Log) publish(apply func(seq uint64) ([]byte, bool)) uint64 {
	l.order.Lock()
	defer l.order.Unlock()

	l.mu.Lock()
	if l.removed || l.ended {
		l.countLate()
		l.mu.Unlock()
		return 0
	}
	seq := l.last + 1 // nobody else gives out numbers while order is held
	l.mu.Unlock()

	payload, terminal := apply(seq)

	l.mu.Lock()
	defer l.mu.Unlock()
	if l.removed {
		l.countLate()
		return 0
	}
	l.addRecord(Record{Seq: seq, Time: time.Now(), Payload: payload, Terminal: terminal})
	return seq
}

// countLate counts an event that came after the end of the task. The caller holds mu.
func (l *Log) countLate() {
	l.stats.Late++
	l.set.counts.late.Add(1)
	if !l.removed {
		l.countMissed(Ended, 0, true)
	}
}

// addRecord appends a record, and drops the oldest ones to make room for it. A record that is too large is only counted, unless it is the
// last one of the task. The caller holds mu.
func (l *Log) addRecord(rec Record) {
	l.last = rec.Seq
	l.stats.Appended++
	l.set.counts.appended.Add(1)
	o := &l.set.options
	if l.heard && l.readers == 0 {
		rec.missed = true
		l.countMissed(Unread, rec.Seq, false)
	}
	if rec.Terminal {
		l.ended, l.endedAt = true, rec.Time
		l.set.ended.Add(1)
	}
	if rec.size() > int64(o.MaxBytes) && !rec.Terminal {
		l.stats.TooLarge++
		l.set.counts.tooLarge.Add(1)
		l.dropMissed(&rec)
	} else {
		before := l.ring.bytes
		for l.ring.n > 0 && (l.ring.n >= o.MaxEvents || l.ring.bytes+rec.size() > int64(o.MaxBytes)) {
			l.evictOldest()
		}
		l.ring.push(rec, o.MaxEvents)
		l.set.total.Add(l.ring.bytes - before)
	}
	l.wakeReaders()
}

// evictOldest removes the oldest record. The caller holds mu and corrects the total of all logs.
func (l *Log) evictOldest() {
	rec := l.ring.pop()
	l.stats.Evicted++
	l.set.counts.evicted.Add(1)
	l.dropMissed(&rec)
}

// wakeReaders wakes all readers that wait.
func (l *Log) wakeReaders() {
	if l.wake != nil {
		close(l.wake)
		l.wake = nil
	}
}

// Last returns the number of the newest event, 0 before the first.
func (l *Log) Last() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

// State reports whether events reach anybody.
func (l *Log) State() State {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.state()
}

// state returns [Ended] after the last event, [Unread] if there were readers and none is left, else [Open]. The caller holds mu.
func (l *Log) state() State {
	switch {
	case l.ended:
		return Ended
	case l.heard && l.readers == 0:
		return Unread
	}
	return Open
}

// Stats returns the counts of this log.
func (l *Log) Stats() LogStats {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.stats
	s.State, s.Last, s.Readers, s.Events, s.Bytes = l.state(), l.last, l.readers, l.ring.n, l.ring.bytes
	if l.ring.n > 0 {
		s.First = l.ring.at(0).Seq
	}
	return s
}

// shrink removes all records but the newest, to free memory. If the newest is the only one, it is removed too unless it is terminal. It
// reports whether any was removed.
func (l *Log) shrink() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	before := l.ring.bytes
	for l.ring.n > 1 {
		l.evictOldest()
	}
	if l.ring.bytes == before && l.ring.n == 1 && !l.ring.at(0).Terminal {
		l.evictOldest()
		l.wakeReaders() // who waits for it hears of the gap
	}
	l.set.total.Add(l.ring.bytes - before)
	return l.ring.bytes != before
}

// remove empties the log for good: its readers get [ErrRemoved], and its memory no longer counts. The caller has taken it out of the set.
func (l *Log) remove() {
	l.mu.Lock()
	if !l.removed {
		l.removed = true
		if l.ended {
			l.set.ended.Add(-1)
		}
		l.endRemoved()
		l.set.total.Add(-l.ring.bytes)
		l.ring = ring{}
		l.wakeReaders()
	}
	l.mu.Unlock()
	l.journalNotices()
}

// A task's file is a line that names the format, the CRC-32C of the rest in hexadecimal and
// the length of the rest in bytes, so that a file that was cut or went on too long is told
// from a whole one; then a line of JSON with what the store knows; then the body.
//
//	plimsoll-task 1 1a2b3c4d 00000000000000000123\n
//	{"id":…}\n
//	{…
const (
	firstLine   = "plimsoll-task 1 %08x %020d\n"
	firstLength = len("plimsoll-task 1 ") + 8 + 1 + 20 + 1
	// fileBytes bounds a file beside its body: four names, each byte of which JSON
	// may write as six, and numbers.
	fileBytes = 4*6*MaxName + 1024
)

// errDamaged is wrapped by the errors of decode.
var errDamaged = errors.New("damaged")

// taskHeader is the second line of a file.
type taskHeader struct {
	ID      string    `json:"id"`
	Context string    `json:"context,omitempty"`
	Owner   string    `json:"owner,omitempty"`
	State   string    `json:"state,omitempty"`
	Ended   bool      `json:"ended,omitempty"`
	Time    time.Time `json:"time,omitzero"`
	Seq     uint64    `json:"seq,omitempty"`
	Version int64     `json:"version"`
	Changed int64     `json:"changed_ns"`
}

func checksum(b []byte) uint32 { return crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)) }

// keyOf returns the name of a task's file without its extension: a digest of the id, which comes from outside and may be any text.
func keyOf(id string) string {
	sum := sha256.Sum256([]byte(id))
	return hex.EncodeToString(sum[:16])
}

// encode returns the content of a task's file: a line with a checksum, the header as a line of JSON, and the body. It is an error if a time
// cannot be written as JSON.
func encode(t *Task) ([]byte, error) {
	line, err := json.Marshal(taskHeader{
		ID: t.ID, Context: t.Context, Owner: t.Owner, State: t.State, Ended: t.Ended,
		Time: t.Time, Seq: t.Seq, Version: t.Version, Changed: t.Changed.UnixNano(),
	})
	if err != nil {
		return nil, fmt.Errorf("task %q: %w", clipName(t.ID), err) // a year beyond 9999
	}
	raw := make([]byte, firstLength, firstLength+len(line)+1+len(t.Body))
	raw = append(append(append(raw, line...), '\n'), t.Body...)
	return writeChecksum(raw), nil
}

// writeChecksum fills in the first line of a file, for which there is room at the beginning of raw, and returns raw.
func writeChecksum(raw []byte) []byte {
	rest := raw[firstLength:]
	copy(raw, fmt.Sprintf(firstLine, checksum(rest), len(rest)))
	return raw
}

// decode parses the file of a task. Its Body shares the memory of raw. Errors wrap errDamaged.
func decode(raw []byte) (Task, error) {
	fail := func(what string) (Task, error) { return Task{}, fmt.Errorf("%w: %s", errDamaged, what) }
	if len(raw) < firstLength {
		return fail("the file is cut in its first line")
	}
	rest := raw[firstLength:]
	if string(raw[:firstLength]) != fmt.Sprintf(firstLine, checksum(rest), len(rest)) {
		return fail("the first line does not fit the rest")
	}
	line, body, found := bytes.Cut(rest, []byte("\n"))
	var a taskHeader
	if err := json.Unmarshal(line, &a); err != nil || !found {
		return fail("the second line is not what a task has")
	}
	t := Task{
		ID: a.ID, Context: a.Context, Owner: a.Owner, State: a.State, Ended: a.Ended,
		Time: a.Time, Seq: a.Seq, Body: body, Version: a.Version, Changed: time.Unix(0, a.Changed),
	}
	if err := t.check(); err != nil || a.Version < 1 {
		return fail("the second line is not what a task has")
	}
	return t, nil
}
