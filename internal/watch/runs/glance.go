package runs

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/plimsoll/plimsoll/internal/filelock"
	"github.com/plimsoll/plimsoll/internal/statefile"
	"github.com/plimsoll/plimsoll/journal"
)

const (
	// glanceRequests is the number of the newest requests among which a [Glance] finds the fullest window: a client asks for a title or a
	// summary in between, in a window of its own that is nearly empty.
	glanceRequests = 8
	// glanceBuffer bounds a line that is read: the longest is that of an end.
	glanceBuffer = 2 * reservedEnd
	// glancePart is the number of bytes read of the beginning of a file, and of its end at first. The beginning holds how the run was
	// admitted and that it started.
	glancePart = 64 << 10
	// glanceIndex bounds the bytes read of the end of the index.
	glanceIndex = 256 << 10
	// glanceChunk is the number of bytes read of the index at once, and bounds a line of it that is read.
	glanceChunk = maxIndexLine
)

// Glance is the state of one run for a status line. It comes from the beginning and the end of the run's file, of which only a few lines
// are decoded: there is no list of runs to read.
type Glance struct {
	// Entry has the fields of a list, but while the run lives its own counts are of the lines that were read: those below are of all.
	Entry
	// Sample is the newest one, the zero value before there is one.
	Sample Sample
	// WindowTokens and WindowLimit are of the fullest of the newest requests since the last compaction; 0 before the first.
	WindowTokens, WindowLimit int64
	// Compactions counts compactions, Kills processes that were ended for memory or at another limit.
	Compactions, Kills int
	// Spent are the limits of what it may spend, with what it has used of them.
	Spent []journal.Limit
	// Damaged counts the lines that could not be read, among those that were looked at.
	Damaged int
}

// glanceKinds are the kinds of events that a glance reads; others are skipped.
var glanceKinds = map[string]bool{
	journal.Waiting{}.Kind(): true, journal.Admitted{}.Kind(): true, journal.Refused{}.Kind(): true, journal.RunStarted{}.Kind(): true,
	journal.ChildKilled{}.Kind(): true, journal.OOMKills{}.Kind(): true, journal.OOMDKills{}.Kind(): true, journal.LimitReached{}.Kind(): true,
	journal.Pressure{}.Kind(): true, journal.RunEnded{}.Kind(): true, journal.ToolServer{}.Kind(): true,
	journal.WindowRateWaited{}.Kind(): true,
}

// useKinds are those that say that a run is idle, or used again.
var useKinds = map[string]bool{journal.RunIdle{}.Kind(): true, journal.RunWoke{}.Kind(): true}

// turnKinds are the kinds of events that say whose turn it is. They are many, so only those since the last sample are decoded, which says
// it for all before.
var turnKinds = map[string]bool{
	journal.WindowRequest{}.Kind(): true, journal.WindowResponse{}.Kind(): true, journal.WindowRefused{}.Kind(): true,
	journal.AgentQueryStarted{}.Kind(): true, journal.AgentQueryEnded{}.Kind(): true,
}

// maxTurns bounds the lines of those kinds since the last sample that are kept: the newest.
const maxTurns = 256

// ReadGlance returns the state of the run with this full ID. The error is an *[UnknownError] when it has no file.
func ReadGlance(stateDir, id string) (Glance, error) {
	root, err := statefile.OpenRoot(storeDir(stateDir))
	if errors.Is(err, fs.ErrNotExist) {
		return Glance{}, &UnknownError{ID: id}
	}
	if err != nil {
		return Glance{}, err
	}
	defer root.Close()
	days, err := dayFolders(root)
	if err != nil {
		return Glance{}, err
	}
	for _, day := range slices.Backward(slices.Sorted(slices.Values(days))) { // most are of today
		t, err := openTail(root, day, id)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return Glance{}, fmt.Errorf("run %s: %w", id, err)
		}
		defer t.close()
		return t.glance()
	}
	return Glance{}, &UnknownError{ID: id}
}

// glance returns the present state of a run, for which it reads only the beginning and the end of a large file. If the run has no end and
// no writer holds the file any more, the run counts as died; nothing is written.
func (t *tail) glance() (Glance, error) {
	ended, err := filelock.Try(t.file, filelock.Shared|filelock.Readable)
	if ended {
		filelock.Unlock(t.file)
	}
	info, statErr := t.file.Stat()
	if err := errors.Join(err, statErr); err != nil {
		return Glance{}, err
	}
	g := glancer{run: t.run}
	if err := g.readEnds(t.file, min(info.Size(), maxRead)); err != nil {
		return Glance{}, err
	}
	if t.run.reporter == nil {
		return Glance{}, &UnknownError{ID: t.run.ID}
	}
	if ended && !t.run.ended {
		t.run.died, t.run.ended = true, true
		at := t.run.Seen
		t.run.Ended = &at
	}
	t.run.recompute()
	t.run.updateDuration()
	return g.finish(), nil
}

// glancer collects the lines that a glance needs.
type glancer struct {
	run      *Run
	sample   []byte
	requests [][]byte        // the newest, at most glanceRequests
	turns    [][]byte        // lines of turnKinds, RunIdle and RunWoke since the last sample, the newest maxTurns
	spent    []journal.Limit // by name, of which there are two
	all      counts
	since    counts // the newest sample
}

// counts are sums over the lines of a run.
type counts struct{ compactions, kills int64 }

// readEnds reads the beginning of a file of size bytes and as much of its end as a glance needs: all of it when no sample counts what is
// between.
func (g *glancer) readEnds(file io.ReaderAt, size int64) error {
	buffer := make([]byte, min(size, glancePart)) // one for both: a page of memory that is touched first costs more than what is read into it
	n, err := file.ReadAt(buffer, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	begin := int64(bytes.LastIndexByte(buffer[:n], '\n') + 1)
	if err := g.readLines(bytes.NewReader(buffer[:begin])); err != nil {
		return err
	}
	from := begin
	for part := int64(glancePart); g.run.started && size-part > begin; part *= 4 {
		if part > int64(len(buffer)) {
			buffer = make([]byte, part)
		}
		n, err := file.ReadAt(buffer[:part], size-part)
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if cut := bytes.IndexByte(buffer[:n], '\n') + 1; cut > 0 && isEnough(buffer[cut:n]) {
			from = size - part + int64(cut)
			break
		}
	}
	return g.readLines(io.NewSectionReader(file, from, size-from))
}

// isEnough reports whether text, the end of a file from the beginning of a line on, has everything that a glance needs besides the beginning
// of the file: a sample with the counts, and glanceRequests requests or a compaction, before which no request counts.
func isEnough(text []byte) bool {
	text = text[:bytes.LastIndexByte(text, '\n')+1] // the rest is a line that is being written
	requests, made, counted := 0, false, false
	for len(text) > 0 && !(counted && (made || requests >= glanceRequests)) { // from the last line upwards
		text = bytes.TrimSuffix(text, []byte{'\n'})
		at := bytes.LastIndexByte(text, '\n') + 1
		last := text[at:]
		text = text[:at]
		switch kind := recordKind(last); {
		case bytes.HasPrefix(last, sampleStart):
			if !counted {
				if _, counted = parseSample(last); !counted {
					return false
				}
			}
		case windowKinds[kind]:
			requests++
		case roomKinds[kind]:
			made = true
		}
	}
	return counted && (made || requests >= glanceRequests)
}

// readLines reads all lines. A line that is longer than any line of ours is counted as damaged and left out.
func (g *glancer) readLines(from io.Reader) error {
	in := bufio.NewReaderSize(from, glanceBuffer)
	for {
		text, err := in.ReadSlice('\n')
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			g.run.Damaged++
			for errors.Is(err, bufio.ErrBufferFull) {
				_, err = in.ReadSlice('\n')
			}
		case err == nil: // a part of a line at the end is one that is being written
			g.addLine(text[:len(text)-1])
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// The events whose lines say how full a window was, in keys that are the same, and those of room that was made.
var (
	windowKinds = map[string]bool{journal.WindowRequest{}.Kind(): true, journal.AgentRequest{}.Kind(): true}
	roomKinds   = map[string]bool{journal.WindowCompacted{}.Kind(): true, journal.AgentRoom{}.Kind(): true}
)

// addLine keeps from a line what a glance needs, undecoded if possible. A sample replaces what was counted before it.
func (g *glancer) addLine(text []byte) {
	kind := recordKind(text)
	if turnKinds[kind] || useKinds[kind] {
		if len(g.turns) == maxTurns {
			g.turns = append(g.turns[:0], g.turns[maxTurns/2:]...)
		}
		g.turns = append(g.turns, bytes.Clone(text))
	}
	switch {
	case bytes.HasPrefix(text, sampleStart):
		g.sample, g.since, g.turns = append(g.sample[:0], text...), counts{}, g.turns[:0]
	case bytes.HasPrefix(text, sharesStart):
	case kind == usedKind:
		if l, ok := parseSpendLimit(text); ok {
			g.setSpent(l)
		}
	case windowKinds[kind]:
		if len(g.requests) < glanceRequests {
			g.requests = append(g.requests, bytes.Clone(text))
			return
		}
		oldest := g.requests[0]
		copy(g.requests, g.requests[1:])
		g.requests[glanceRequests-1] = append(oldest[:0], text...)
	case roomKinds[kind]:
		g.all.compactions++
		g.since.compactions++
		g.requests = g.requests[:0]
	case kind == "" || glanceKinds[kind]:
		if len(bytes.TrimSpace(text)) == 0 {
			return
		}
		l, err := parse(text)
		if err != nil {
			g.run.Damaged++
			return
		}
		g.run.addLine(l)
		if l.record != nil {
			if _, ok := parseKill(l.record, ""); ok {
				g.all.kills++
				g.since.kills++
			}
		}
	}
}

// setSpent stores the newest use of a limit.
func (g *glancer) setSpent(l journal.Limit) {
	i := slices.IndexFunc(g.spent, func(before journal.Limit) bool { return before.Name == l.Name })
	if i < 0 {
		g.spent = append(g.spent, l)
		return
	}
	g.spent[i] = l
}

// recordKind returns the kind of a line with a record, without decoding it; "" for other lines, and for one that is not written as [journal.Record]
// writes it.
func recordKind(text []byte) string {
	const mark, within = `","kind":"`, 128
	if !bytes.HasPrefix(text, []byte(`{"seq":`)) {
		return ""
	}
	head := text[:min(len(text), within)]
	i := bytes.Index(head, []byte(mark))
	if i < 0 {
		return ""
	}
	head = head[i+len(mark):]
	before, _, ok := bytes.Cut(head, []byte{'"'})
	if !ok {
		return ""
	}
	return string(before)
}

// finish returns the glance from the lines that were kept.
func (g *glancer) finish() Glance {
	out := Glance{Entry: g.run.Entry, Damaged: g.run.Damaged, Spent: g.spent}
	out.KilledAt = time.Time{} // the newest kill may be in a part that was not read
	var seen use
	n := g.all
	if len(g.sample) > 0 {
		if l, err := parse(g.sample); err == nil && l.sample != nil {
			out.Sample = *l.sample
			n = counts{l.sample.Compactions + g.since.compactions, l.sample.Kills + g.since.kills}
			seen.readFrom(l.sample, g.run.Header.Started)
		} else {
			out.Damaged++
		}
	}
	out.Compactions, out.Kills = int(n.compactions), int(n.kills)
	for _, text := range g.turns {
		if l, err := parse(text); err == nil && l.record != nil {
			seen.observe(l.record)
		}
	}
	if out.Outcome == Running {
		out.State, out.StateSince = seen.currentState(hasUser(out.Kind))
	}
	var fullest Context
	for _, text := range g.requests {
		var rec struct {
			Event journal.WindowRequest `json:"event"`
		}
		if err := json.Unmarshal(text, &rec); err != nil {
			out.Damaged++
			continue
		}
		c := Context{Tokens: rec.Event.Tokens, Limit: rec.Event.LimitTokens}
		if fullest = fuller(c, fullest); fullest.Tokens == 0 {
			fullest = c
		}
	}
	out.WindowTokens, out.WindowLimit = fullest.Tokens, fullest.Limit
	return out
}

// LastEnded returns the newest run of a project in the last glanceIndex bytes of the index; ok is false when there is none, or the index cannot be
// read. Only runs, questions and conversations count, and none inside another run.
func LastEnded(stateDir, project string) (e Entry, ok bool) {
	root, err := statefile.OpenRoot(storeDir(stateDir))
	if err != nil {
		return Entry{}, false
	}
	defer root.Close()
	f, err := statefile.OpenIn(root, indexName, os.O_RDONLY, 0)
	if err != nil {
		return Entry{}, false
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !statefile.IsOwn(info) {
		return Entry{}, false
	}
	name, err := json.Marshal(project)
	if err != nil {
		return Entry{}, false
	}
	mark := append([]byte(`"project":`), name...) // as the index has it: most lines need not be decoded
	buffer := make([]byte, glanceChunk)           // one for all: a page of memory that is touched first costs more than what is read into it
	for end, begin := info.Size(), max(0, info.Size()-glanceIndex); end > begin; {
		text := buffer[:min(end-begin, glanceChunk)]
		start := end - int64(len(text))
		if _, err := f.ReadAt(text, start); err != nil {
			return Entry{}, false
		}
		for len(text) > 0 {
			at := bytes.LastIndexByte(text[:len(text)-1], '\n')
			if at < 0 && start > begin && int64(len(text)) < end-start {
				break // the line begins further up
			}
			last := text[at+1:]
			text = text[:at+1]
			if !bytes.HasSuffix(last, []byte{'\n'}) || !bytes.Contains(last, mark) {
				continue // the beginning of the part, or another project's
			}
			var l indexLine
			if json.Unmarshal(last, &l) != nil {
				continue
			}
			if l.Project == project && l.Parent == "" && (l.Kind == KindRun || l.Kind == KindAsk || l.Kind == KindChat) {
				return l.Entry, true
			}
		}
		end = start + int64(len(text))
	}
	return Entry{}, false
}
