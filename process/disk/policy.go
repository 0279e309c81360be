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
	// Share of a run's writes in the growth from which on the growth counts as its own: half.
	ownShare = 2
	// trifle is the size that a run may always write: nobody is ended for less.
	trifle = 64 * limit.MiB
	// recentLeast is the least size that a process must have written since the last look to be a writer.
	recentLeast = 256 * limit.KiB
	// ownFirst is the size that the agent itself may write before that is told, where a quarter of WriteMax is not less, and each time that
	// it is ownAgain times as much: the log of one grew to 219 GB.
	ownFirst = 2 * limit.GiB
	ownAgain = 4
)

// Lines are the hard lines; 0 is none.
type Lines struct {
	// WriteMax bounds the growth that a run makes, in bytes. Its soft line is four fifths.
	WriteMax limit.Bytes
	// FreeMin is the space that must stay free on each file system; [Auto] is 5 % of it, between 256 MiB
	// and 2 GiB. Its soft line is twice as much. Where less than twice of [Auto] was free at the
	// start the line is half of what was free then: a disk that is full already is no fault of
	// this run. A size that somebody asked for is held as it is.
	FreeMin limit.Bytes
}

// Auto in [Lines].FreeMin works it out for each file system.
const Auto limit.Bytes = -1

// freeLine returns the hard line of one file system that had so much free at first.
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
	// Agent is true when it is the run's command, or leads from that to the agent: it is ended last.
	Agent bool
	// Recent is the size that it has written itself since the last look, in bytes, and Collected that of children which it has waited
	// for since then.
	Recent, Collected limit.Bytes
	// Keeper is the nearest of its ancestors that has a file open, for writing, which it makes grow; 0 for none.
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
	// Own is the size that the agent itself has written since the run began, and OwnFile its file that has grown the most.
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

// Growth sums what the file systems have grown.
func (r Reading) Growth() limit.Bytes {
	sum := limit.Bytes(0)
	for _, s := range r.Spaces {
		sum += max(0, s.First-s.Free)
	}
	return max(sum, r.Files)
}

// Event is something to say, and with a Victim something to do.
type Event struct {
	Limit string // WriteMax or FreeMin
	Hard  bool
	Used  limit.Bytes // growth of the run, or what is free on Path
	Line  limit.Bytes
	Path  string // of FreeMin
	// Foreign is true when a hard line was crossed and the run did not make most of the growth.
	Foreign bool
	// Victim is ended, and with it Writer where that is another one: what it has started, and is writing.
	Victim, Writer *Process
	// Own is true when no limit is meant: the agent itself has written Used, most of it to Path.
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

// Near reports whether a soft line is reached: look closely.
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

// Room returns how much may be written before a line is reached.
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

// Look takes in one reading and returns what to say and do.
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

// judge adds what follows from one limit.
func (p *Policy) judge(events []Event, e Event, soft, hard bool, r Reading, growth limit.Bytes) []Event {
	key := e.Limit + e.Path
	if !hard {
		p.blame.calm(key)
		if soft && p.first("soft "+key) {
			events = append(events, e)
		}
		return events
	}
	e.Hard = true
	if r.Written < growth/ownShare {
		e.Foreign = true
		if p.first("foreign " + key) {
			events = append(events, e)
		}
		return events
	}
	p.blame.collect(key, r)
	if p.rests > 0 {
		return events
	}
	victim, writer := p.blame.choose(key, r)
	if victim == nil {
		if p.first("hard " + key) {
			events = append(events, e) // it has written, and nobody writes now
		}
		return events
	}
	e.Victim, e.Writer = victim, writer
	p.blame.ended(victim, r)
	p.rests = 10
	if e.Limit == WriteMax {
		p.extra = growth - p.Lines.WriteMax + max(trifle, p.Lines.WriteMax/16)
	}
	return append(events, e)
}

// maxSaid bounds what is remembered as said.
const maxSaid = 256

func (p *Policy) first(key string) bool {
	if p.reported == nil {
		p.reported = map[string]bool{}
	}
	if p.reported[key] || len(p.reported) >= maxSaid {
		return false
	}
	p.reported[key] = true
	return true
}
