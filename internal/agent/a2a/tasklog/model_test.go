package tasklog

import (
	"errors"
	"io"
	"testing"

	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

// reference is a log that forgets nothing and counts afterwards.
type reference struct {
	events, bytes int // the bounds

	all     []remembered // all[i] has the number i+1
	places  []uint64     // of the open readers
	heard   bool
	ended   bool
	spells  []spell
	inSpell bool
	late    uint64
	large   uint64
}

type remembered struct {
	size     int
	terminal bool
	gone     bool
	spell    int // the episode in which nobody heard it, -1 for none
	settled  bool
}

// spell is an episode.
type spell struct {
	why             State
	missed, dropped uint64
	told            bool
}

func (m *reference) miss(why State) int {
	if !m.inSpell {
		m.inSpell = true
		m.spells = append(m.spells, spell{why: why})
	}
	m.spells[len(m.spells)-1].missed++
	return len(m.spells) - 1
}

func (m *reference) append(size int, terminal bool) uint64 {
	if m.ended {
		m.late++
		m.spells[m.miss(Ended)].dropped++
		return 0
	}
	e := remembered{size: size + recordBytes, terminal: terminal, spell: -1}
	if m.heard && len(m.places) == 0 {
		e.spell = m.miss(Unread)
	}
	if e.size > m.bytes && !terminal {
		e.gone = true
		m.large++
	}
	m.all = append(m.all, e)
	m.ended = terminal
	if e.gone {
		return uint64(len(m.all))
	}
	n, bytes := 0, 0
	for i := len(m.all) - 1; i >= 0; i-- { // the newest that fit stay
		one := &m.all[i]
		if one.gone {
			continue
		}
		n++
		bytes += one.size
		if n > 1 && (n > m.events || bytes > m.bytes) {
			one.gone = true
			n, bytes = m.events, m.bytes+1 // and nothing older does
		}
	}
	return uint64(len(m.all))
}

func (m *reference) settle() {
	s := &m.spells[len(m.spells)-1]
	s.told, m.inSpell = true, false
	s.dropped += m.gone(len(m.spells) - 1)
	for i := range m.all {
		m.all[i].settled = true
	}
}

// gone counts what an episode that is open has lost.
func (m *reference) gone(of int) (n uint64) {
	for _, e := range m.all {
		if e.spell == of && e.gone && !e.settled {
			n++
		}
	}
	return n
}

func (m *reference) enter(at uint64) {
	m.places = append(m.places, at)
	m.heard = true
	if m.inSpell && m.spells[len(m.spells)-1].why == Unread {
		m.settle()
	}
}

// next is what a reader at a place gets: a gap, a number, the end, or nothing (it waits).
func (m *reference) next(pos uint64) (Gap, uint64, bool) {
	last := uint64(len(m.all))
	found := uint64(0)
	for seq := pos + 1; seq <= last && found == 0; seq++ {
		if !m.all[seq-1].gone {
			found = seq
		}
	}
	switch {
	case found > pos+1:
		return Gap{pos + 1, found - 1}, 0, false
	case found != 0:
		return Gap{}, found, false
	case last > pos:
		return Gap{pos + 1, last}, 0, false
	}
	return Gap{}, 0, m.ended
}

// FuzzLog plays a log and the reference side by side: each two bytes are an act and how much.
func FuzzLog(f *testing.F) {
	f.Add([]byte("\x00\x01\x03\x00\x05\x00\x00\x09\x04\x00\x05\x00"))
	f.Add([]byte("\x03\x00\x06\x00\x00\x10\x00\x20\x00\x30\x00\x40\x03\x02\x05\x00\x05\x00"))
	f.Add([]byte("\x07\x00\x00\x01\x00\x01\x03\x00\x05\x00\x08\x00\x05\x00\x05\x00\x01\x00\x00\x01\x05\x00"))
	f.Add([]byte("\x00\xff\x02\x00\x03\x01\x06\x00\x02\xff\x00\x01\x01\xff\x00\x00\x00\x00\x03\x00\x05\x00\x05\x00\x05\x00"))
	f.Add([]byte("\x03\x00\x07\x00\x00\x01\x06\x00\x01\x01\x00\x01\x08\x00\x03\x00\x05\x00\x05\x00"))
	f.Fuzz(func(t *testing.T, script []byte) {
		script = script[:min(len(script), 600)]
		const events, bytes = 6, 1000
		var told []spell
		j := journal.New(journal.Options{MaxRecords: 4096, MaxBytes: 1 << 20})
		logs := New(Options{MaxEvents: events, MaxBytes: limit.Bytes(bytes), MaxReaders: 4, Journal: j})
		l, err := logs.Open("t", 0)
		if err != nil {
			t.Fatal(err)
		}
		m := &reference{events: events, bytes: bytes}
		var readers []*Reader
		for i := 0; i+1 < len(script); i += 2 {
			act, much := script[i]%10, int(script[i+1])
			switch act {
			case 0, 1, 2: // 1 ends the task, 2 may be too large
				size := much
				if act == 2 {
					size *= 8
				}
				if got, want := l.Append(make([]byte, size), act == 1), m.append(size, act == 1); got != want {
					t.Fatalf("act %d: the event has the number %d, want %d", i/2, got, want)
				}
			case 3:
				r, err := l.Read(uint64(much))
				switch {
				case much > len(m.all):
					if !errors.Is(err, ErrAhead) {
						t.Fatalf("act %d: ahead of all: %v", i/2, err)
					}
				case len(m.places) == 4:
					if !errors.Is(err, ErrReaders) {
						t.Fatalf("act %d: a fifth reader: %v", i/2, err)
					}
				case err != nil:
					t.Fatal(err)
				default:
					readers = append(readers, r)
					m.enter(uint64(much))
				}
			case 4:
				if len(m.places) == 4 {
					continue
				}
				r, err := l.Subscribe(func(last uint64) {
					if last != uint64(len(m.all)) {
						t.Fatalf("act %d: a snapshot of %d, want %d", i/2, last, len(m.all))
					}
				})
				if err != nil {
					t.Fatal(err)
				}
				readers = append(readers, r)
				m.enter(uint64(len(m.all)))
			case 5, 9:
				if len(readers) == 0 {
					continue
				}
				at := much % len(readers)
				rec, gap, wait, err := readers[at].tryNext()
				wantGap, want, end := m.next(m.places[at])
				if gap != wantGap || rec.Seq != want || (err == io.EOF) != end || (wait != nil) != (want == 0 && wantGap.To == 0 && !end) {
					t.Fatalf("act %d: behind %d there is %+v %d %v, want %+v %d %v", i/2, m.places[at], gap, rec.Seq, err, wantGap, want, end)
				}
				if want != 0 && (len(rec.Payload)+recordBytes != m.all[want-1].size || rec.Terminal != m.all[want-1].terminal) {
					t.Fatalf("act %d: the event %d is another", i/2, want)
				}
				m.places[at] = max(m.places[at], want, wantGap.To)
			case 6:
				if len(readers) == 0 {
					continue
				}
				at := much % len(readers)
				readers[at].Close()
				readers = append(readers[:at], readers[at+1:]...)
				m.places = append(m.places[:at], m.places[at+1:]...)
			}
		}
		logs.Close()
		for rec := range j.Since(0) {
			switch e := rec.Event.(type) {
			case journal.AgentQueueClosed:
				told = append(told, spell{why: State(e.Why)})
			case journal.AgentQueueReopened:
				s := &told[len(told)-1]
				s.missed, s.dropped, s.told = e.Missed, e.Dropped, true
			case journal.AgentQueueRemoved:
				s := &told[len(told)-1]
				s.missed, s.dropped = e.Missed, e.Dropped
			}
		}
		s := l.Stats()
		var missed, dropped uint64
		for i := range m.spells {
			want := &m.spells[i]
			if m.inSpell && i == len(m.spells)-1 { // removed: nobody will get what was kept
				for k := range m.all {
					m.all[k].gone = m.all[k].gone || m.all[k].spell == i
				}
				want.dropped += m.gone(i)
			}
			if i >= len(told) || told[i] != *want {
				t.Fatalf("episode %d: told %+v, want %+v", i, told, *want)
			}
			missed += want.missed
			dropped += want.dropped
		}
		if len(told) != len(m.spells) || s.Missed != missed || s.Dropped != dropped || s.Late != m.late || s.TooLarge != m.large || s.Episodes != uint64(len(told)) {
			t.Fatalf("counts %+v, want %d missed, %d dropped, %d late, %d too large in %d episodes", s, missed, dropped, m.late, m.large, len(m.spells))
		}
		if all := logs.Stats(); all.Bytes != 0 || all.Missed != missed || all.Dropped != dropped {
			t.Fatalf("in all %+v", all)
		}
	})
}
