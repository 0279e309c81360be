package runs

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/filelock"
	"github.com/plimsoll/plimsoll/internal/secrets"
	"github.com/plimsoll/plimsoll/internal/statefile"
	"github.com/plimsoll/plimsoll/journal"
)

// Bounds of one run's file and of what waits to be written to it, in bytes.
const (
	// MaxFile bounds a run's file.
	MaxFile = 4 << 20
	// reserved is the part of it for kills, compactions and the end only.
	reserved = 512 << 10
	// reservedSamples is the part of the rest for samples only: a run of a week that asks its model ten thousand times must not look as if
	// it stood still. MaxSamples of 224 bytes each fit.
	reservedSamples = MaxSamples * 224
	// MaxEvents bounds all other events: 2.3 MiB.
	MaxEvents = MaxFile - reserved - reservedSamples - MaxShares*maxShareLine
	// reservedEnd is the part of reserved for the end.
	reservedEnd = 128 << 10
	// maxLine bounds one line other than the end.
	maxLine = 64 << 10
	// maxWaiting bounds the lines in memory that are not written yet; important lines may take a quarter more.
	maxWaiting = 256 << 10
)

const (
	// flushAfter is the time for which a line waits for others before all are written.
	flushAfter = 200 * time.Millisecond
	// urgentAfter is that time for an important line: when a run begins several come at once, and many a command is over by then.
	urgentAfter = 40 * time.Millisecond
	// lockWait bounds the wait for a lock that somebody who looks holds for a moment.
	lockWait = time.Second
	// dayForm names the folders.
	dayForm = "2006-01-02"
	fileEnd = ".jsonl"
)

// important are the kinds of events that still find room when others do not, and that are written within urgentAfter.
var important = map[string]bool{
	journal.LayerChosen{}.Kind(): true, journal.Waiting{}.Kind(): true, journal.Admitted{}.Kind(): true, journal.Refused{}.Kind(): true,
	journal.RunStarted{}.Kind(): true, journal.ChildKilled{}.Kind(): true, journal.OOMKills{}.Kind(): true, journal.OOMDKills{}.Kind(): true,
	journal.LimitReached{}.Kind(): true, journal.MemoryRaised{}.Kind(): true, journal.Pressure{}.Kind(): true, journal.RunEnded{}.Kind(): true,
	journal.WindowCompacted{}.Kind(): true, journal.WindowOverflow{}.Kind(): true, journal.WindowBreaker{}.Kind(): true,
	journal.ToolResultLarge{}.Kind(): true, journal.ToolsTallied{}.Kind(): true, journal.AgentQueryEnded{}.Kind(): true,
	journal.AgentRoom{}.Kind(): true,
}

// Options of a [Writer].
type Options struct {
	// Dir is the state directory; the store is its folder runs.
	Dir string
	// Environ is the environment whose secret values are masked; nil masks none by value.
	Environ []string
	// Keep bounds the store; the zero value means [DefaultKeep].
	Keep Keep

	now func() time.Time
}

// Writer writes the file of one run. It is a [journal.Observer]. It never makes its caller wait, except in End, and an error does the run
// no harm: [Writer.End] returns it.
type Writer struct {
	o      Options
	head   Header
	day    string
	began  time.Time // with the monotonic clock
	encode encoder

	mu       sync.Mutex // of what waits
	waiting  []byte
	lines    int64 // in waiting
	accepted int64 // bytes of all lines so far
	dropped  int64
	timer    *time.Timer // nil while nothing waits
	soon     bool        // it is set to urgentAfter
	samples  sampler
	shares   sharer
	made     int64 // how often room was made
	killed   int64
	observed Observed
	refusal  string
	ended    bool

	disk    sync.Mutex // of the file
	begun   bool       // the header is written, or was tried to be
	first   []byte     // the header's line
	root    *os.Root
	file    *os.File // nil before it is open, and when it could not be
	size    int64
	newDay  bool
	torn    bool // the last line has no end
	failure error
}

// Begin returns a Writer, which opens the store and writes the header in a goroutine: starting a run must not wait for either. An error is
// returned by End.
func Begin(o Options, h Header) *Writer {
	if o.now == nil {
		o.now = time.Now
	}
	w := &Writer{o: o, began: time.Now(), encode: encoder{values: secrets.Environ(o.Environ)}}
	h.Schema, h.PID, h.Started = Schema, os.Getpid(), o.now().UTC()
	w.head, w.day = h, h.Started.Format(dayForm)
	w.mu.Lock() // against the timer
	w.timer, w.soon = time.AfterFunc(0, w.flush), true
	w.mu.Unlock()
	return w
}

// ID returns the ID of the run.
func (w *Writer) ID() string { return w.head.ID }

// Observe implements [journal.Observer]. It only queues the line; if there is no room, the line is counted as dropped.
func (w *Writer) Observe(r journal.Record) {
	text := w.encode.encodeRecord(r)
	room := ordinary
	if important[r.Event.Kind()] {
		room = urgent
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	switch e := r.Event.(type) {
	case journal.WindowRequest:
		w.samples.addRequest(e.Tokens, e.LimitTokens)
	case journal.AgentRequest:
		w.samples.addRequest(e.Tokens, e.LimitTokens)
	case journal.LimitUsed:
		w.samples.setDisk(e)
	case journal.Refused:
		w.refusal = e.Reason
	}
	w.observed.observe(&r)
	if isCompaction(&r) {
		w.made++
	}
	if _, ok := parseKill(&r, ""); ok {
		w.killed++
	}
	w.enqueue(text, room)
}

// Sample adds the present use of the run. The samples of an interval become one line, with the highest values.
func (w *Writer) Sample(s Sample) {
	w.mu.Lock()
	defer w.mu.Unlock()
	s.AtMS = w.sinceBegun()
	if out, ok := w.samples.add(s); ok {
		w.putSample(out)
	}
}

// sinceBegun returns the time since the run began, in milliseconds, by a clock that does not jump.
func (w *Writer) sinceBegun() int64 { return time.Since(w.began).Milliseconds() }

// putSample puts a sample, with the counts of compactions and kills so far and the state of the run. The caller holds mu.
func (w *Writer) putSample(s Sample) {
	s.Compactions, s.Kills = w.made, w.killed
	w.observed.inUse.writeTo(&s, w.head.Started)
	w.enqueue(w.encode.encodeLine("sample", s), steady)
}

// rank says how much room a line may take.
type rank uint8

const (
	ordinary rank = iota
	steady        // samples and shares, which come as long as the run lasts
	urgent        // written at once
)

// bounds returns the size up to which a file may grow with a line of this rank, and the bytes that may wait in memory with it.
func (r rank) bounds() (file int64, memory int) {
	switch r {
	case urgent:
		return MaxFile - reservedEnd, maxWaiting + maxWaiting/4
	case steady:
		return MaxFile - reserved, maxWaiting
	}
	return MaxEvents, maxWaiting
}

// enqueue adds a line to those that wait, or counts it as dropped when there is no room. The caller holds mu.
func (w *Writer) enqueue(text []byte, r rank) {
	if w.ended {
		return
	}
	file, memory := r.bounds()
	if len(text) == 0 || len(text) > maxLine || w.accepted+int64(len(text)) > file || len(w.waiting)+len(text) > memory {
		w.dropped++
		return
	}
	w.waiting = append(w.waiting, text...)
	w.lines++
	w.accepted += int64(len(text))
	switch {
	case w.timer == nil && r == urgent:
		w.timer, w.soon = time.AfterFunc(urgentAfter, w.flush), true
	case w.timer == nil:
		w.timer = time.AfterFunc(flushAfter, w.flush)
	case r == urgent && !w.soon:
		w.timer.Reset(urgentAfter)
		w.soon = true
	}
}

// flush writes the lines that wait.
func (w *Writer) flush() {
	w.disk.Lock()
	defer w.disk.Unlock()
	w.flushLocked()
}

// flushLocked writes the lines that wait, and counts them as dropped if that fails. The caller holds disk.
func (w *Writer) flushLocked() {
	if text, lines := w.takeWaiting(); len(text) > 0 && w.write(text) != nil {
		w.countDropped(lines)
	}
}

// takeWaiting removes and returns the lines that wait, with the header first if it was not written yet. The caller holds disk and writes
// them.
func (w *Writer) takeWaiting() (text []byte, lines int64) {
	header := w.takeHeader()
	w.mu.Lock()
	defer w.mu.Unlock()
	text, lines = append(header, w.waiting...), w.lines
	w.waiting, w.lines, w.timer, w.soon = nil, 0, nil, false
	return text, lines
}

// countDropped counts lines that are not written.
func (w *Writer) countDropped(lines int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.dropped += lines
}

// takeHeader returns the header's line the first time, then nil. The caller holds disk.
func (w *Writer) takeHeader() []byte {
	if w.begun {
		return nil
	}
	w.begun = true
	w.head.Report = w.encode.maskReport(w.head.Report)
	text := w.encode.encodeLine("header", w.head)
	w.first = bytes.Clone(text)
	w.mu.Lock()
	w.accepted += int64(len(text))
	w.mu.Unlock()
	return text
}

// write appends text to the file. When the disk is full, the lines that fit whole stay. The caller holds disk.
func (w *Writer) write(text []byte) error {
	if w.file == nil && w.failure == nil {
		w.failure = w.createFile()
	}
	if w.file == nil {
		return w.failure
	}
	if w.torn {
		text = append([]byte{'\n'}, text...)
	}
	n, err := w.file.Write(text)
	if err != nil {
		w.failure = err
		if n > 0 { // a disk that is full took a part: its whole lines stay
			whole := int64(bytes.LastIndexByte(text[:n], '\n') + 1)
			w.torn = w.file.Truncate(w.size+whole) != nil
			w.size += whole
			if w.torn {
				w.size += int64(n) - whole
			}
		}
		return err
	}
	w.size, w.torn = w.size+int64(n), false
	return nil
}

// createFile makes the file and locks it. The caller holds disk.
func (w *Writer) createFile() (err error) {
	dir := filepath.Join(w.o.Dir, Dir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if w.root, err = statefile.OpenRoot(dir); err != nil {
		return err
	}
	name := w.day + "/" + w.head.ID + fileEnd
	for range 3 { // a clean-up may remove the folder while it is empty
		err = w.root.Mkdir(w.day, 0o700)
		w.newDay = w.newDay || err == nil
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if w.file, err = statefile.OpenIn(w.root, name, os.O_RDWR|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600); !errors.Is(err, fs.ErrNotExist) {
			break
		}
	}
	if err != nil {
		w.file = nil
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), lockWait)
	defer cancel()
	if err = filelock.Lock(ctx, w.file, filelock.Exclusive|filelock.Readable); err != nil {
		w.file = nil // it is closed
		return fmt.Errorf("lock %s: %w", name, err)
	}
	return nil
}

// End writes the report as the last line and the run's line in the index, and closes the file. On a new day, or if the store exceeds its
// bounds, it then removes old runs. The error says what is missing in the file; the run itself is not affected. Later events are dropped,
// and a second call does nothing.
func (w *Writer) End(report journal.Report) error {
	w.mu.Lock()
	if w.ended {
		w.mu.Unlock()
		return nil
	}
	if w.timer != nil {
		w.timer.Stop()
	}
	if last, some := w.samples.finishLast(); some {
		w.putSample(last)
	}
	w.ended = true
	w.mu.Unlock()

	w.disk.Lock()
	defer w.disk.Unlock()
	now := w.o.now().UTC()
	text, lines := w.takeWaiting()
	report = w.encode.maskReport(report)
	report.Command = w.commandOnDisk(report.Command)
	if w.write(append(text, w.endLine(now, report)...)) != nil { // the end tells of what found no room
		w.countDropped(lines)
		_ = w.write(w.endLine(now, report)) // its error is the failure
	}
	defer w.close()
	if w.file == nil {
		return fmt.Errorf("what happened is not kept: %w", w.failure)
	}
	entry := newEntry(&w.head, &report, w.day)
	entry.Ended, entry.Reason, entry.Bytes, entry.Dropped = &now, endReason(&report, w.refusal), w.size, w.dropped
	w.mu.Lock()
	w.observed.endWait(now)
	entry.Observed = w.observed
	w.mu.Unlock()
	sum, indexErr := appendIndex(w.root, entry)
	if indexErr == nil {
		if keep := w.o.Keep.orDefault(); w.newDay || keep.needsPruning(sum) {
			_, indexErr = prune(w.root, keep, now, false)
		}
	}
	if err := cmp.Or(w.failure, indexErr); err != nil {
		return fmt.Errorf("not all of what happened is kept (%d lines are missing): %w", w.dropped, err)
	}
	return nil
}

// endLine returns the last line. Long lists are left out of the report when it would not fit.
func (w *Writer) endLine(now time.Time, report journal.Report) []byte {
	w.mu.Lock()
	end := End{Time: now, Dropped: w.dropped, Report: report}
	w.mu.Unlock()
	text := w.encode.encodeLine("end", end)
	if len(text) > reservedEnd {
		end.Report.Warnings = nil
		text = w.encode.encodeLine("end", end)
	}
	if len(text) > reservedEnd {
		end.Report.KilledChildren, end.Report.Leftovers, end.Report.Orphans, end.Report.Command = nil, nil, nil, nil
		text = w.encode.encodeLine("end", end)
	}
	return text
}

// close closes the file, which releases its lock, and the store. Later writes fail. The caller holds disk.
func (w *Writer) close() {
	if w.file != nil {
		_ = filelock.Release(w.file)
		w.file = nil
	}
	if w.root != nil {
		_ = w.root.Close()
	}
	if w.failure == nil {
		w.failure = errors.New("the run has ended")
	}
}

// Dropped returns the number of lines that are not in the file: they found no room, or could not be written.
func (w *Writer) Dropped() int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.dropped
}

// toolName returns the name of a tool with that of its server: "server/tool", or the one of both that is not "".
func toolName(server, tool string) string {
	if tool == "" {
		return server
	}
	if server == "" {
		return tool
	}
	return server + "/" + tool
}
