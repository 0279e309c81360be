package disk

import (
	"slices"

	"github.com/plimsoll/plimsoll/limit"
)

// Names of the limits: their configuration keys.
const (
	WriteMax = "write_max"
	FreeMin  = "free_min"
)

// Constants of the decision.
const (
	// ownShare: growth counts as the run's own when the run has written at least 1/ownShare of it, half.
	ownShare = 2
	// trifle is the growth below which no process is ended for free_min; a 16th of a smaller file system.
	trifle = 64 * limit.MiB
	// recentLeast is the least that a process must have written since the last look to count as a writer.
	recentLeast = 256 * limit.KiB
	// ownFirst is the number of bytes that the agent itself may write before an event says so, or a quarter of WriteMax where that is less; the next event
	// comes at ownAgain times as much: the log of one grew to 219 GB.
	ownFirst = 2 * limit.GiB
	ownAgain = 4
)

// Lines are the hard lines; 0 sets none.
type Lines struct {
	// WriteMax bounds the growth that a run makes, in bytes. Its soft line is four fifths.
	WriteMax limit.Bytes
	// FreeMin is the space that must stay free on each file system; [Auto] is 5 % of it, between 256 MiB and 2 GiB. The soft line is twice
	// as much. With [Auto], where less than twice that was free at the start, the line is half of what was free then: a disk that is full
	// already is no fault of this run. A size that somebody asked for is held as it is.
	FreeMin limit.Bytes
}

// Auto in [Lines].FreeMin works it out for each file system.
const Auto limit.Bytes = -1

// freeLine returns the hard line of a file system of this size that had first free bytes when it was first seen.
func (l Lines) freeLine(total, first limit.Bytes) limit.Bytes {
	if l.FreeMin == Auto {
		return min(max(total/20, 256*limit.MiB), 2*limit.GiB, first/2)
	}
	return l.FreeMin
}

// Process is one process of the run.
type Process struct {
	PID, Parent int
	Start       uint64
	Name        string
	// Agent is true for the run's command, and for what leads from it to the agent: those are ended last.
	Agent bool
	// Recent is the number of bytes that it has written itself since the last look, and Collected the number that children had written for
	// which it has waited since then.
	Recent, Collected limit.Bytes
	// Keeper is the pid of its nearest ancestor that has the file open for writing to which it writes; 0 for none.
	Keeper int
}

// Space is one file system.
type Space struct {
	Path               string
	Total, Free, First limit.Bytes // First is what was free when it was first seen
}

// Reading is one look.
type Reading struct {
	Spaces  []Space
	Files   limit.Bytes // growth of the files that the run has open for writing
	Written limit.Bytes // by the run's processes since it began
	Writers []Process
	// Processes are all of the run, Writers among them.
	Processes []Process
	// Own is the number of bytes that the agent itself has written since the run began, and OwnFile its file that has grown the most.
	Own     limit.Bytes
	OwnFile string
}

// find returns the process with this PID, nil without one.
func (r *Reading) find(pid int) *Process {
	i := slices.IndexFunc(r.Processes, func(p Process) bool { return p.PID == pid })
	if i < 0 {
		return nil
	}
	return &r.Processes[i]
}

// Growth returns how much the file systems have filled up, or how much the run's files have grown, whichever is more.
func (r Reading) Growth() limit.Bytes {
	sum := limit.Bytes(0)
	for _, s := range r.Spaces {
		sum += max(0, s.First-s.Free)
	}
	return max(sum, r.Files)
}

// Event is something to tell the user; when it has a Victim, that process must be ended.
type Event struct {
	Limit string // WriteMax or FreeMin
	Hard  bool
	Used  limit.Bytes // growth of the run, or what is free on Path
	Line  limit.Bytes
	Path  string // of FreeMin
	// Foreign is true when a hard line was crossed, but the run has not written most of the growth.
	Foreign bool
	// Victim is the process to end, and Writer the process that writes: Victim itself, one that it has started, which is ended with it, or
	// nil.
	Victim, Writer *Process
	// Own is true when the event is about no limit: the agent itself has written Used, most of it to Path.
	Own bool
}

// Policy decides, look by look. It is not safe for concurrent use.
type Policy struct {
	Lines    Lines
	reported map[string]bool
	extra    limit.Bytes // what is allowed above WriteMax since somebody was ended
	rests    int         // looks to wait for the last victim to go
	blame    blame
	own      limit.Bytes // what the agent may write itself before it is told again
}

// Near reports whether the next look should come soon: growth is half of WriteMax or more, or less than three times the hard line is free.
func (p *Policy) Near(r Reading) bool {
	if p.Lines.WriteMax > 0 && r.Growth() >= p.Lines.WriteMax/2 {
		return true
	}
	for _, s := range r.Spaces {
		if line := p.Lines.freeLine(s.Total, s.First); line > 0 && s.Free < 3*line {
			return true
		}
	}
	return false
}

// Room returns how many bytes may be written before a hard line is reached: 0 if it is reached, 2^60 if there are no lines.
func (p *Policy) Room(r Reading) limit.Bytes {
	room := limit.Bytes(1 << 60)
	if p.Lines.WriteMax > 0 {
		room = min(room, p.Lines.WriteMax+p.extra-r.Growth())
	}
	for _, s := range r.Spaces {
		room = min(room, s.Free-p.Lines.freeLine(s.Total, s.First))
	}
	return max(0, room)
}

// isEnding reports whether a victim of one of the last looks may not be gone yet.
func (p *Policy) isEnding() bool { return p.rests > 0 }

// Look takes in one reading and returns the events that follow from it. It changes the policy: a line that is reported, and a process that
// is to be ended, is recorded so that the next looks do not repeat it.
func (p *Policy) Look(r Reading) []Event {
	var events []Event
	if p.rests > 0 {
		p.rests--
	}
	growth := r.Growth()
	if p.own == 0 {
		p.own = ownFirst
		if p.Lines.WriteMax > 0 {
			p.own = min(p.own, max(trifle, p.Lines.WriteMax/4))
		}
	}
	if r.Own >= p.own {
		events = append(events, Event{Own: true, Used: r.Own, Path: r.OwnFile})
		for p.own <= r.Own {
			p.own *= ownAgain
		}
	}
	if largest := p.Lines.WriteMax; largest > 0 {
		e := Event{Limit: WriteMax, Used: growth, Line: largest}
		events = p.judge(events, e, growth >= largest/5*4, growth >= largest+p.extra, r, growth)
	}
	for _, s := range r.Spaces {
		line := p.Lines.freeLine(s.Total, s.First)
		if line <= 0 {
			continue
		}
		grown := max(0, s.First-s.Free)
		e := Event{Limit: FreeMin, Used: s.Free, Line: line, Path: s.Path}
		soft := s.Free < min(2*line, s.First) && r.Written >= trifle/4
		hard := s.Free < line && grown >= min(trifle, s.Total/16) && r.Written >= min(trifle, s.Total/16)
		events = p.judge(events, e, soft, hard, r, grown)
	}
	return events
}

// judge appends the event e to events if one limit calls for it: its soft line is reached for the first time, or its hard line. At the hard line it
// chooses a Victim and records it as ended, unless other programs have taken the space (Foreign) or the effect of the last one is still waited for.
func (p *Policy) judge(events []Event, e Event, soft, hard bool, r Reading, growth limit.Bytes) []Event {
	key := e.Limit + e.Path
	if !hard {
		p.blame.dropCounts(key)
		if soft && p.firstTime("soft "+key) {
			events = append(events, e)
		}
		return events
	}
	e.Hard = true
	if r.Written < growth/ownShare {
		e.Foreign = true
		if p.firstTime("foreign " + key) {
			events = append(events, e)
		}
		return events
	}
	p.blame.countWaits(key, r)
	if p.rests > 0 {
		return events
	}
	victim, writer := p.blame.choose(key, r)
	if victim == nil {
		if p.firstTime("hard " + key) {
			events = append(events, e) // it has written, and nobody writes now
		}
		return events
	}
	e.Victim, e.Writer = victim, writer
	p.blame.recordEnded(victim, r)
	p.rests = 10
	if e.Limit == WriteMax {
		p.extra = growth - p.Lines.WriteMax + max(trifle, p.Lines.WriteMax/16)
	}
	return append(events, e)
}

// maxSaid bounds what is remembered as said.
const maxSaid = 256

// firstTime returns true the first time that it is called with a key, and records it. After maxSaid keys it always returns false.
func (p *Policy) firstTime(key string) bool {
	if p.reported == nil {
		p.reported = map[string]bool{}
	}
	if p.reported[key] || len(p.reported) >= maxSaid {
		return false
	}
	p.reported[key] = true
	return true
}
