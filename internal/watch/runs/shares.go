package runs

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/limit"
)

const (
	// MaxShares bounds the points in a run's file at which its memory is told by process.
	MaxShares = 1024
	// sharesPerInterval is the number of points after which the time between two of them doubles, from firstInterval on: 1,024 last for
	// a month and more in which the memory never stands still.
	sharesPerInterval = 48
	// maxShareNames bounds the names of one point, and of [Run.ByProcess]; the processes with other names are counted together.
	maxShareNames = 6
	// maxShareName bounds a name, in bytes; Linux has none of more than 15.
	maxShareName = 20
	// maxShareLine is the room that is kept for one line: six names, each with 13 digits.
	maxShareLine = 320
	// maxFoldedNames bounds the names that are held of one run while it is read.
	maxFoldedNames = 24
	// leastShare is the change of memory that is worth a point, in bytes; of a large run it is a sixteenth.
	leastShare = 4 << 20
)

// Shares tells which processes held the memory of a run at one moment. Sizes are in bytes.
type Shares struct {
	// AtMS is the time since the run began, in milliseconds, by a clock that does not jump.
	AtMS int64 `json:"at_ms"`
	// Working is the memory of the whole run, see [Sample.Working]. What processes share, and what the kernel holds for them, is in this
	// sum and in no process.
	Working int64 `json:"working_bytes"`
	// Bytes has the private memory of the processes by their name, the largest six; Other is that of all others.
	Bytes map[string]int64 `json:"bytes"`
	Other int64            `json:"other_bytes,omitempty"`
}

// ByProcess is the memory of a run over time, by the names of its processes, as columns of the same length. It lacks what each process
// shares with others.
type ByProcess struct {
	AtMS    []int64 `json:"at_ms"`
	Working []int64 `json:"working_bytes"`
	// Names are the names with the most memory at any time, the highest first, and at last "" for all others, where there are any, to which
	// names belong that never held a hundredth of the most.
	Names []ProcessMemory `json:"names"`
}

// ProcessMemory is the memory of all processes with one name at each moment of a [ByProcess].
type ProcessMemory struct {
	Name  string  `json:"name"`
	Bytes []int64 `json:"bytes"`
}

// sharer decides at which moments the processes are asked one by one: a run that only waits is never asked.
type sharer struct {
	written, processes int
	last               Shares
	high               int64 // the most memory of any point
}

// isDue reports whether the memory has changed so much that the processes are to be asked. If it grows close to its highest value so far, that is at
// once, so that the moment before a kill is recorded; else at most once in an interval. After MaxShares points it is never due.
func (s *sharer) isDue(at, working int64, processes int) bool {
	switch {
	case s.written == 0:
		return true
	case s.written >= MaxShares:
		return false
	case working-s.last.Working > max(s.last.Working/8, leastShare) && working >= s.high/4*3:
		return true
	case at-s.last.AtMS < firstInterval.Milliseconds()<<(s.written/sharesPerInterval):
		return false
	}
	most, least := max(working, s.last.Working), min(working, s.last.Working)
	return most-least > max(most/16, leastShare) || processes != s.processes
}

// makePoint adds up the memory of the processes by their name and returns the point to write: the maxShareNames largest, and the rest as Other. It
// begins a new interval.
func (s *sharer) makePoint(at, working int64, processes int, each iter.Seq2[string, limit.Bytes]) Shares {
	sums := map[string]int64{}
	other := int64(0)
	for name, held := range each {
		name = limit.Short(strings.ToValidUTF8(name, "?"), maxShareName)
		if _, known := sums[name]; known || len(sums) < maxRecords && name != "" {
			sums[name] += int64(held)
		} else {
			other += int64(held)
		}
	}
	for i, name := range largestFirst(sums, func(held int64) int64 { return held }) {
		if i >= maxShareNames || sums[name] <= 0 {
			other += sums[name]
			delete(sums, name)
		}
	}
	s.written, s.processes, s.high = s.written+1, processes, max(s.high, working)
	s.last = Shares{AtMS: at, Working: working, Bytes: sums, Other: other}
	return s.last
}

// largestFirst returns the names of m by size, the largest first, and equal ones by name.
func largestFirst[V any](m map[string]V, size func(V) int64) []string {
	names := slices.Collect(maps.Keys(m))
	sorting.By(names, func(a, b string) int { return cmp.Or(cmp.Compare(size(m[b]), size(m[a])), strings.Compare(a, b)) })
	return names
}

// AddShares adds the memory of the run by process at this moment, of which working is the sum, if it differs enough from the point before. Only then
// each is run through; it gives the name and the private memory of each process.
func (w *Writer) AddShares(working limit.Bytes, processes int, each iter.Seq2[string, limit.Bytes]) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if at := w.sinceBegun(); !w.ended && w.shares.isDue(at, int64(working), processes) {
		w.enqueue(w.encode.encodeLine("shares", w.shares.makePoint(at, int64(working), processes, each)), steady)
	}
}

// sharesSeen holds the points of a run while it is read.
type sharesSeen struct {
	at, working []int64
	names       map[string][]int64 // shorter than at when later points lack the name
	other       []int64
}

// add adds a point to the columns, at most MaxShares. Names beyond maxFoldedNames are counted as other.
func (s *sharesSeen) add(p *Shares) {
	if len(s.at) >= MaxShares {
		return
	}
	n := len(s.at)
	s.at, s.working = append(s.at, p.AtMS), append(s.working, p.Working)
	other := p.Other
	for name, held := range p.Bytes {
		if _, known := s.names[name]; !known && len(s.names) >= maxFoldedNames {
			other += held
			continue
		}
		if s.names == nil {
			s.names = map[string][]int64{}
		}
		s.names[name] = append(padZeros(s.names[name], n), held)
	}
	s.other = append(s.other, other)
}

// padZeros returns a list with zeros appended until it has n numbers.
func padZeros(list []int64, n int) []int64 { return append(list, make([]int64, n-len(list))...) }

// columns returns the points as columns, one for each of the processes that held the most, and one without a name for all others; nil without any
// point.
func (s *sharesSeen) columns() *ByProcess {
	if len(s.at) == 0 {
		return nil
	}
	n := len(s.at)
	out := &ByProcess{AtMS: slices.Clone(s.at), Working: slices.Clone(s.working), Names: []ProcessMemory{}}
	other := slices.Clone(s.other)
	for i, name := range largestFirst(s.names, slices.Max[[]int64]) {
		column := padZeros(slices.Clone(s.names[name]), n)
		if i < maxShareNames && slices.Max(column) >= slices.Max(s.working)/100 {
			out.Names = append(out.Names, ProcessMemory{name, column})
			continue
		}
		for at, held := range column {
			other[at] += held
		}
	}
	if slices.Max(other) > 0 {
		out.Names = append(out.Names, ProcessMemory{"", other})
	}
	return out
}

// AtPeak returns the processes at the moment at which the run held the most, the largest first, without those that held nothing. The others together
// have the name "".
func (b *ByProcess) AtPeak() (list []Held) {
	at := 0
	for i, n := range b.Working {
		if n > b.Working[at] {
			at = i
		}
	}
	for _, p := range b.Names {
		if held := p.Bytes[at]; held > 0 {
			list = append(list, Held{p.Name, held})
		}
	}
	sorting.StableBy(list, func(x, y Held) int { return cmp.Compare(y.Bytes, x.Bytes) })
	return list
}

// Held tells how many bytes the processes with one name held at one moment; the name is "" for all others together.
type Held struct {
	Name  string
	Bytes int64
}
