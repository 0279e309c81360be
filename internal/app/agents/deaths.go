package agents

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/atomicfile"
	"github.com/plimsoll/plimsoll/internal/filelock"
	"github.com/plimsoll/plimsoll/internal/statefile"
	"github.com/plimsoll/plimsoll/internal/window/breaker"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/process/admission"
)

// After a death for memory an agent works with half of its window, in each of its processes: the one that died has left a mark in the
// state directory, whose lock it held while it lived, and the next one finds it. A container that is restarted has the same process
// numbers again, so nothing else shows who lives.
const (
	// quietTime is the time without a death after which the whole window is used again.
	quietTime = 20 * time.Minute
	// deathsWithin is the longest time between two unclean deaths that halve the window even without evidence of memory.
	deathsWithin = 10 * time.Minute
	// fullShare is the use of memory, in percent of its limit, from which on a death counts as one for memory.
	fullShare = 75
	// maxMarks bounds the marks of one agent that are read, maxMark the size of one file, in bytes.
	maxMarks = 64
	maxMark  = 4 << 10
	// How often the use is sampled: it may double within the shorter time.
	calmSample  = time.Second
	closeSample = 100 * time.Millisecond
)

const (
	markEnd    = ".mark"
	halvedName = "halved.json"
)

// liveMark is the record that a process serving an agent keeps of itself while it lives.
type liveMark struct {
	Owner admission.Owner `json:"owner"`
	At    time.Time       `json:"at"`
	Used  limit.Bytes     `json:"used"`
	Limit limit.Bytes     `json:"limit"` // 0 where there is none
	// Kills is the number of processes killed for memory, as the kernel has counted them in Source.
	Kills  int64  `json:"oom_kills"`
	Source string `json:"source"`
}

// halved says until when the window of an agent is halved, and why.
type halved struct {
	Until  time.Time `json:"until"`
	Reason string    `json:"reason"`
	// Deaths are the times of unclean deaths in the last minutes.
	Deaths []time.Time `json:"deaths,omitempty"`
}

// deaths tracks how the processes of an agent ended.
type deaths struct {
	dir     string
	journal *journal.Journal
	sample  func() liveMark

	mu   sync.Mutex
	here halved // used instead of the file if that cannot be written
	file *os.File
	quit chan struct{}
	done sync.WaitGroup
}

// openDeaths reads the marks of an agent's earlier processes. died is the reason of a death that the caller knows of, "" for none. A
// failure is only a warning.
func openDeaths(app *core.Core, name string, j *journal.Journal, died string) *deaths {
	d := &deaths{journal: j, sample: sampleMemory}
	dir, err := agentDir(app, name, "life")
	if err == nil {
		d.dir = dir
		if died != "" {
			err = os.MkdirAll(dir, 0o700)
		}
		// A question that is to leave nothing behind finds no mark where no agent is served, and makes no directory for any.
		if _, missing := os.Stat(dir); err == nil && !errors.Is(missing, fs.ErrNotExist) {
			err = d.settle(time.Now(), died)
		}
	}
	if err != nil {
		app.Warn(fmt.Sprintf("how agent %s ended before is not known: %v", name, err))
		if died != "" {
			d.here = halved{Until: time.Now().Add(quietTime), Reason: died}
		}
	}
	return d
}

// settle removes the marks whose owners are dead. It halves the window if one of them died for memory, several died within deathsWithin, one died
// while it was halved, or died is not "".
func (d *deaths) settle(now time.Time, died string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	lock, err := filelock.Open(ctx, filepath.Join(d.dir, "lock"))
	if err != nil {
		return err
	}
	defer filelock.Release(lock)
	names, err := filepath.Glob(filepath.Join(d.dir, "*"+markEnd))
	if err != nil {
		return err
	}
	known := d.readHalved()
	before := known
	reason := died
	for _, path := range names[:min(len(names), maxMarks)] {
		m, dead := takeMark(path)
		if !dead || m.Owner.Boot != admission.Self().Boot {
			continue // it lives, or went down with the machine
		}
		known.Deaths = append(known.Deaths, now)
		if why := m.memoryEvidence(d.sample()); why != "" {
			reason = why
		}
	}
	recent := known.Deaths[:0:0]
	for _, at := range known.Deaths {
		if now.Sub(at) <= deathsWithin {
			recent = append(recent, at)
		}
	}
	known.Deaths = recent[max(0, len(recent)-maxMarks):]
	unclean := len(known.Deaths) > 0 && known.Deaths[len(known.Deaths)-1].Equal(now)
	switch {
	case reason != "":
	case unclean && len(known.Deaths) >= 2:
		reason = fmt.Sprintf("the agent was killed %d times in %v", len(known.Deaths), deathsWithin)
	case unclean && now.Before(known.Until): // these minutes were not quiet
		reason = known.Reason
	}
	if reason != "" && (died == "" || !now.Before(before.Until)) {
		known.Until, known.Reason = now.Add(quietTime), reason
		if d.journal != nil {
			d.journal.Append(journal.WindowBreaker{State: breaker.Tripped, Reason: reason})
		}
	}
	if known.Until.Equal(before.Until) && len(known.Deaths) == len(before.Deaths) {
		return nil
	}
	body, err := json.Marshal(known)
	if err != nil {
		return err
	}
	return atomicfile.Write(filepath.Join(d.dir, halvedName), append(body, '\n'), 0o600, atomicfile.Durable)
}

// takeMark reads a mark, and removes its file if the owner is dead, which shows in that nobody holds the file's lock. dead is false if the
// owner lives, or if the mark is invalid; an invalid one of a dead owner is removed too.
func takeMark(path string) (m liveMark, dead bool) {
	f, err := statefile.Open(path, os.O_RDWR, 0o600)
	if err != nil {
		return m, false
	}
	defer f.Close()
	if ok, err := filelock.Try(f, filelock.Exclusive); err != nil || !ok {
		return m, false
	}
	body := make([]byte, maxMark)
	n, _ := f.ReadAt(body, 0)
	dead = json.Unmarshal([]byte(strings.TrimRight(string(body[:n]), " \x00\n")), &m) == nil
	return m, os.Remove(path) == nil && dead
}

// memoryEvidence returns, in words, why the owner of a mark is taken to have died for lack of memory; "" if nothing speaks for it. now is the
// current mark.
func (m liveMark) memoryEvidence(now liveMark) string {
	switch {
	case m.Limit > 0 && m.Used >= m.Limit/100*fullShare:
		return fmt.Sprintf("the agent died using %s of %s", m.Used.Human(), m.Limit.Human())
	case m.Source != "" && m.Source == now.Source && now.Kills > m.Kills:
		return "the kernel has killed for memory since the agent was last seen"
	}
	return ""
}

// readHalved returns the content of the file that says until when the window is halved; the zero value if it is missing or invalid. A time
// too far ahead, as after a change of the clock, is cut to quietTime from now.
func (d *deaths) readHalved() (h halved) {
	body, err := os.ReadFile(filepath.Join(d.dir, halvedName))
	if err != nil || len(body) > maxMark || json.Unmarshal(body, &h) != nil {
		return halved{}
	}
	if most := time.Now().Add(quietTime); h.Until.After(most) { // a clock was set back
		h.Until = most
	}
	return h
}

// Until returns the time until which the window is halved, which may be past; the zero time if it never was.
func (d *deaths) Until() time.Time {
	if d == nil {
		return time.Time{}
	}
	if d.dir == "" {
		return d.here.Until
	}
	return d.readHalved().Until
}

// Halved reports whether the window is halved now.
func (d *deaths) Halved() bool { return time.Now().Before(d.Until()) }

// ratio returns the part of the window that is in use: breaker.Half or 1.
func (d *deaths) ratio() float64 {
	if d.Halved() {
		return breaker.Half
	}
	return 1
}

// startMark writes a mark of this process, locks it, and keeps it up to date in the background until Close. Without a directory it does nothing.
func (d *deaths) startMark() error {
	if d.dir == "" {
		return nil
	}
	if err := os.MkdirAll(d.dir, 0o700); err != nil {
		return fmt.Errorf("how this agent ends will not be known: %w", err)
	}
	// Until it is locked it looks like that of a dead one.
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	lock, err := filelock.Open(ctx, filepath.Join(d.dir, "lock"))
	if err != nil {
		return fmt.Errorf("how this agent ends will not be known: %w", err)
	}
	defer filelock.Release(lock)
	path := filepath.Join(d.dir, admission.NewID()+markEnd)
	f, err := statefile.Open(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("how this agent ends will not be known: %w", err)
	}
	if ok, err := filelock.Try(f, filelock.Exclusive); err != nil || !ok {
		return errors.Join(fmt.Errorf("how this agent ends will not be known: its mark cannot be locked"), err, f.Close(), os.Remove(path))
	}
	d.file, d.quit = f, make(chan struct{})
	last := d.sampleMark(liveMark{})
	d.done.Go(func() { d.refreshMark(last) })
	return nil
}

// refreshMark keeps the mark up to date until Close, more often while much of the memory is used, and writes an event when the whole window
// is in use again.
func (d *deaths) refreshMark(last liveMark) {
	halved := d.Halved()
	for {
		pause := calmSample
		if last.Limit > 0 && last.Used > last.Limit*2/5 {
			pause = closeSample
		}
		select {
		case <-d.quit:
			return
		case <-time.After(pause):
		}
		last = d.sampleMark(last)
		if now := halved && d.Halved(); halved && !now {
			halved = false
			if d.journal != nil {
				d.journal.Append(journal.WindowBreaker{State: breaker.Closed, Reason: fmt.Sprintf("quiet for %v", quietTime)})
			}
		}
	}
}

// sampleMark samples the use of memory and writes it into the mark's file, unless it differs from last by less than a percent of the limit, with
// the same limit and kills. It returns the mark that is in the file now.
func (d *deaths) sampleMark(last liveMark) liveMark {
	m := d.sample()
	if moved := m.Used - last.Used; !last.At.IsZero() && moved < m.Limit/100 && moved > -m.Limit/100 && m.Kills == last.Kills && m.Limit == last.Limit {
		return last
	}
	m.Owner, m.At = admission.Self(), time.Now()
	body, err := json.Marshal(m)
	if err != nil || len(body) >= maxMark {
		return last
	}
	// Always as long: a shorter one would leave the end of a longer one.
	_, _ = d.file.WriteAt(fmt.Appendf(nil, "%-*s\n", maxMark-1, body), 0)
	return m
}

// Close removes the mark, because this process ends cleanly.
func (d *deaths) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.file == nil {
		return nil
	}
	close(d.quit)
	d.done.Wait()
	err := os.Remove(d.file.Name())
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	err = errors.Join(err, d.file.Close())
	d.file = nil
	return err
}

// oomKills returns the number in the line oom_kill of a file of the kernel; false if there is none.
func oomKills(path string) (n int64, ok bool) {
	body, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(body)) {
		if rest, found := strings.CutPrefix(line, "oom_kill "); found {
			n, err := strconv.ParseInt(strings.TrimSpace(rest), 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}
