// Package termination writes why a container is about to die of memory, while there is still somebody to write it.
//
//	path, err := termination.Path(os.Getenv) // "" outside of such a container
//	w, err := termination.Start(termination.Options{Path: path, Inner: "claude may use 496M (plimsoll run)"})
//	defer w.End("") // or w.End("claude was killed for memory: …")
//
// With memory.oom.group, which Kubernetes sets on cgroup v2, the kernel kills every process of a container at its limit. What is in its termination
// message (at most 4,096 bytes) is shown afterwards, so it is written before: from 75 % of the limit on, and again from 90 %, with the largest
// processes by the kernel's short names (command lines may hold secrets) and what to do; anew with every percent. A container that goes from below
// 75 % to its limit between two looks dies without a word. The file is a mount and is rewritten in place; a text that is not Plimsoll's stays.
//
// The container is the group with the smallest memory limit around us, looked for again every few seconds; without one nothing is watched. One
// goroutine runs from [Start] to [Watch.End]; a nil [Watch] does nothing.
package termination

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/limit"
)

// The lines, in percent of the container's limit.
const (
	Soft = 75
	Hard = 90
	// slack is the distance below a line at which the use counts as fallen again, in percent.
	slack = 5
)

// The rhythm of the looks.
const (
	calm = time.Second
	// rest is the least between two looks while the use stays what it was, and hasty while it moves.
	rest  = 25 * time.Millisecond
	hasty = 5 * time.Millisecond
	// fastest is the memory that processes are thought to be able to take in a second: zeroing pages on a fast core of 2026.
	fastest = 4 * limit.GiB
	// renewed is the time after which the container's limit is looked up again, rewritten the same of the file while a line is crossed.
	renewed   = 5 * time.Second
	rewritten = 5 * time.Second
	// reminded is the least between two events about the same line.
	reminded = time.Minute
)

// Event reports that the use has crossed a line upwards.
type Event struct {
	Line    int // Soft or Hard, in percent
	Used    limit.Bytes
	Limit   limit.Bytes
	Culprit string // the largest process in words, "" when none was seen
}

// String returns the event for a person.
func (e Event) String() string {
	most := ""
	if e.Culprit != "" {
		most = "; the largest is " + e.Culprit
	}
	return fmt.Sprintf("this container uses %s of the %s that it may, more than %d %%%s", e.Used.Human(), e.Limit.Human(), e.Line, most)
}

// Options configure a watch.
type Options struct {
	// Path is the file to write; "" watches nothing.
	Path string
	// Inner are the limits inside the container in words, as in "claude may use 480M (plimsoll run)"; "" for none.
	Inner string
	// Note is called with lines that are crossed, at most once a minute for each, from the watch's goroutine; nil is not.
	Note func(Event)
	// Warn is called once when the file cannot be written; nil is not.
	Warn func(text string)
}

// Watch is a watch under way. Nil is none.
type Watch struct {
	o       Options
	message message
	quit    chan struct{}
	done    sync.WaitGroup

	over   int   // the line that the use is over, 0 for none
	latest sight // what the file says of a use that is over a line
	high   sight // the highest of it
	fallen *sight
	said   map[int]time.Time
	warned bool
}

// Start opens the file, clears what an earlier Plimsoll wrote into it, and watches in the background until End. Without a path it returns
// nil, nil. The error says why the file cannot be written; nothing is watched then.
func Start(o Options) (*Watch, error) {
	if o.Path == "" {
		return nil, nil
	}
	f, err := openMessage(o.Path)
	if err != nil {
		return nil, err
	}
	w := &Watch{o: o, message: message{f}, quit: make(chan struct{}), said: map[int]time.Time{}}
	if err := w.message.clearOwn(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s cannot be written to: %w", o.Path, err), f.Close())
	}
	w.done.Go(w.watchUntilEnd)
	return w, nil
}

// End ends the watch and closes the file. A reason why the program ends is written before what was seen of memory; "" leaves the file as it
// is. A second call, and one on nil, does nothing.
func (w *Watch) End(reason string) {
	if w == nil {
		return
	}
	select {
	case <-w.quit:
		return // it has ended before
	default:
	}
	close(w.quit)
	w.done.Wait()
	if reason != "" {
		w.writeMessage(w.currentText(reason))
	}
	_ = w.message.file.Close()
}

// watchUntilEnd looks at the memory of the container until the watch ends. Now and then it looks for the container's group again.
func (w *Watch) watchUntilEnd() {
	g, ok := findContainer()
	defer func() { g.close() }()
	found, last := time.Now(), limit.Bytes(0)
	for {
		pause := calm
		if ok {
			used, read := g.readUsage()
			if read {
				pause = w.pause(g, used, last)
				w.look(g, used)
			}
			last = used
		}
		select {
		case <-w.quit:
			return
		case <-time.After(pause):
		}
		if time.Since(found) >= renewed {
			g.close()
			g, ok = findContainer()
			found = time.Now()
		}
	}
}

// pause returns the time until the next look: half of the least time that the group needs to reach the next line.
func (w *Watch) pause(g group, used, last limit.Bytes) time.Duration {
	least := rest
	if moved := used - last; moved > g.limit/200 || moved < -g.limit/200 {
		least = hasty
	}
	line := g.limit / 100 * Soft
	if used >= line {
		line = g.limit
	}
	return min(calm, max(least, time.Duration(float64(line-used)/float64(fastest)/2*float64(time.Second))))
}

// look compares the use with the lines, and writes the file when something has changed. Below the first line only the use is read.
func (w *Watch) look(g group, charged limit.Bytes) {
	s := sight{at: time.Now(), group: g, used: charged}
	if charged >= g.limit/100*(Soft-slack) {
		inactive, inMemory := g.readFileMemory()
		s.used, s.inMemory = max(0, charged-inactive), inMemory
	}
	before := w.over
	w.over = crossedLine(s.percent(), before)
	switch {
	case w.over == 0 && before == 0:
		return
	case w.over == 0:
		w.fallen = &s
		w.writeMessage(w.currentText(""))
		return
	case before == 0:
		w.high, w.fallen = sight{}, nil
	case w.over <= before && s.used < w.latest.used+g.limit/100 && s.at.Sub(w.latest.at) < rewritten:
		return
	}
	s.processes = g.listProcesses()
	if before > 0 {
		s.keepVictims(w.latest)
	}
	w.latest = s
	if s.used >= w.high.used {
		w.high = s
	}
	w.writeMessage(w.currentText(""))
	if w.over > before && w.o.Note != nil && s.at.Sub(w.said[w.over]) >= reminded {
		w.said[w.over] = s.at
		w.o.Note(Event{Line: w.over, Used: s.used, Limit: g.limit, Culprit: s.describeLargest()})
	}
}

// keepVictims names the processes of the sight before in s too when they hold little now although the use has not fallen: the kernel has killed one
// whose pages are still charged, and that is the one to name.
func (s *sight) keepVictims(last sight) {
	if s.used >= last.used && totalHeld(s.processes) < totalHeld(last.processes)/2 {
		s.processes = last.processes
	}
}

// crossedLine returns the line that a use of so many percent is over, 0 for none. before is the line that it was over at the last look: it stays over
// that one until it has fallen by slack.
func crossedLine(percent, before int) int {
	switch {
	case percent >= Hard, before == Hard && percent >= Hard-slack:
		return Hard
	case percent >= Soft, before > 0 && percent >= Soft-slack:
		return Soft
	}
	return 0
}

// currentText returns the text that the file is to have now. reason is why the program ends, "" while it does not.
func (w *Watch) currentText(reason string) string {
	if w.over > 0 {
		return formatMessage(w.latest, nil, w.o.Inner, reason)
	}
	return formatMessage(w.high, w.fallen, w.o.Inner, reason)
}

// writeMessage writes the file. If that fails, it warns, but only the first time.
func (w *Watch) writeMessage(text string) {
	err := w.message.replace(text)
	if err == nil || w.warned || w.o.Warn == nil {
		return
	}
	w.warned = true
	if errors.Is(err, errForeign) {
		w.o.Warn(w.o.Path + " is not written: " + err.Error())
		return
	}
	if e, ok := errors.AsType[*os.PathError](err); ok {
		err = e.Err
	}
	w.o.Warn(fmt.Sprintf("%s, which says why a container ended, cannot be written: %v", w.o.Path, err))
}
