package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/footprint"
	"github.com/plimsoll/plimsoll/internal/process/headroom"
	"github.com/plimsoll/plimsoll/internal/process/pressure"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/process/admission"
	"github.com/plimsoll/plimsoll/process/sandbox"
)

// claimRecord is the content of a run's claim: what to clean up after it, the acts of its pressure
// watch, so that other supervisors can see and undo them, and what a run inside of it must know.
type claimRecord struct {
	sandbox.Remains
	Pressure watched `json:"pressure,omitzero"`
	Nesting  nesting `json:"nesting,omitzero"`
}

// watched is the part of a [pressure.State] that is not in the remains.
type watched struct {
	Mode         pressure.Mode `json:"mode,omitempty"`
	StoppedSince time.Time     `json:"stopped_since,omitzero"`
	Acted        time.Time     `json:"acted,omitzero"`
	Rests        time.Time     `json:"rests,omitzero"`
}

// pressureState returns the part of the record that the pressure package keeps; setState writes it.
func (r *claimRecord) pressureState() pressure.State {
	s := pressure.State{
		Mode: r.Pressure.Mode, Frozen: r.Frozen, StoppedSince: r.Pressure.StoppedSince,
		Acted: r.Pressure.Acted, Rests: r.Pressure.Rests,
	}
	for _, c := range r.Stopped {
		s.Stopped = append(s.Stopped, pressure.Child(c))
	}
	return s
}

func (r *claimRecord) setState(s pressure.State) {
	r.Frozen, r.Stopped = s.Frozen, nil
	for _, c := range s.Stopped {
		r.Stopped = append(r.Stopped, sandbox.Child(c))
	}
	r.Pressure = watched{Mode: s.Mode, StoppedSince: s.StoppedSince, Acted: s.Acted, Rests: s.Rests}
}

// notebook holds the claim's record, which the sandbox and the pressure watch both change. It is safe for concurrent use.
type notebook struct {
	mu     sync.Mutex
	record claimRecord
}

// write calls change with the record and stores it in the claim.
func (n *notebook) write(claim *admission.Claim, change func(*claimRecord)) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	change(&n.record)
	return claim.Record(n.record)
}

// watchedAs sets the run's pressure mode in the record, which is stored with the next write.
func (n *notebook) watchedAs(m pressure.Mode) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.record.Pressure.Mode = m
}

// remember stores what to clean up after this run, and leaves the rest of the record as it is.
func (n *notebook) remember(claim *admission.Claim, r sandbox.Remains) error {
	return n.write(claim, func(record *claimRecord) {
		r.Frozen, r.Stopped = record.Frozen, record.Stopped
		record.Remains = r
	})
}

// pressureMode returns what the pressure watch may do to the run. With on_pressure = "auto" it only warns at a terminal, because a frozen
// agent loses the stream of its provider and a person can decide better; without a terminal it freezes.
func pressureMode(o config.OnPressure, terminal bool) pressure.Mode {
	switch o {
	case config.OnPressureAuto:
		if terminal {
			return pressure.Warn
		}
		return pressure.Freeze
	case config.OnPressureFreeze:
		return pressure.Freeze
	case config.OnPressureKill:
		return pressure.Kill
	case config.OnPressureWarn:
		return pressure.Warn
	}
	return pressure.Off
}

// guardPressure watches the host's memory until stop is called, and acts on the run when memory is short. In a run inside another run it does
// nothing; the outer one's watch reaches its processes.
func (x *process) guardPressure(run *sandbox.Run, terminal bool) (stop func()) {
	mode := x.pressureMode(terminal)
	lines := pressure.LinesFor(x.decision.MinFree, x.decision.Reading.Capacity())
	reader := headroom.NewReader()
	end := x.watchPressure(run, pressure.Options{Mode: mode, Lines: lines, Read: readingFor(reader, lines, x.decision.Settings.CountSwap)})
	return func() {
		end()
		reader.Close()
	}
}

// pressureMode returns the run's mode; [pressure.Off] also where memory can't be read, and in a run inside a run.
func (x *process) pressureMode(terminal bool) pressure.Mode {
	nested := false
	if x.claim != nil {
		_, nested = x.claim.Parent()
	}
	if nested || x.decision.ReadingErr != nil {
		return pressure.Off
	}
	return pressureMode(x.decision.Settings.OnPressure, terminal)
}

// watchPressure starts the watch with the options in o, to which it adds the run and the ledger, and returns the function that ends it.
func (x *process) watchPressure(run *sandbox.Run, o pressure.Options) (stop func()) {
	o.Run, o.Note = watchedRun{run}, x.notePressure
	if x.claim != nil && x.ledger != nil {
		o.Self = x.claim.ID()
		o.Peers = &ledgerPeers{ledger: x.ledger, claim: x.claim, notes: &x.notes}
	}
	return pressure.Start(o)
}

// readingFor returns a function that reads the available memory, and near the lines also the stalls of memory and I/O.
func readingFor(reader *headroom.Reader, lines pressure.Lines, countSwap bool) func() (pressure.Reading, error) {
	return func() (pressure.Reading, error) {
		host, err := reader.Read()
		if err != nil {
			return pressure.Reading{}, err
		}
		room := host.Available(countSwap)
		r := pressure.Reading{Total: room.Total, Physical: room.Physical, BoundBy: room.BoundBy}
		if !lines.Near(r) {
			return r, nil
		}
		stalls := headroom.ReadPressure(headroom.Source{})
		if i := slices.IndexFunc(host.Cgroups, func(c headroom.Cgroup) bool { return c.Path == room.BoundBy && c.Version == 2 }); i >= 0 {
			inner := headroom.ReadCgroupPressure(headroom.Source{}, host.Cgroups[i].Dir)
			if inner.Memory != nil {
				stalls.Memory = inner.Memory
			}
			if inner.IO != nil {
				stalls.IO = inner.IO
			}
		}
		if stalls.Memory != nil {
			r.MemoryStall = stalls.Memory.Some.Avg10
		}
		if stalls.IO != nil {
			r.IOStall = stalls.IO.Some.Avg10
		}
		return r, nil
	}
}

// notePressure writes the event to the journal, and warns the user when e.Say is set.
func (x *process) notePressure(e pressure.Event) {
	noted := journal.Pressure{Action: string(e.Kind), PID: e.Child.PID, Name: e.Child.Name, Reason: e.Reason}
	if e.Err != nil {
		noted.Reason += "; it failed: " + e.Err.Error()
	}
	x.report.journal.Append(noted)
	if e.Say {
		x.report.warn("pressure", pressureWords(e))
	}
}

// pressureWords returns a sentence on an event: what is done and why, or the error if that failed.
func pressureWords(e pressure.Event) string {
	child := fmt.Sprintf("%s (pid %d, %s)", e.Child.Name, e.Child.PID, e.Child.Bytes.Human())
	hold := fmt.Sprintf("%.0f s", pressure.DefaultHold.Seconds())
	var what string
	switch e.Kind {
	case pressure.DoStop:
		what = child + " is stopped for at most " + hold + ", then the whole run if that does not help"
	case pressure.DoFreeze:
		what = "the run is frozen for at most " + hold
	case pressure.DoKill:
		what = child + " was ended"
	}
	switch {
	case e.Err != nil && what != "":
		return "memory is short (" + e.Reason + "): what could be done failed: " + e.Err.Error()
	case what == "":
		return "memory is short: " + e.Reason
	}
	return "memory is short: " + what + " (" + e.Reason + ")"
}

// watchedRun is a [sandbox.Run] as a [pressure.Run].
type watchedRun struct{ *sandbox.Run }

func (r watchedRun) LargestChild() (pressure.Child, bool) {
	c, ok := r.Run.LargestChild()
	return pressure.Child(c), ok
}
func (r watchedRun) StopChild(c pressure.Child) error { return r.Run.StopChild(sandbox.Child(c)) }
func (r watchedRun) ContinueChild(c pressure.Child) error {
	return r.Run.ContinueChild(sandbox.Child(c))
}
func (r watchedRun) KillChild(c pressure.Child) error { return r.Run.KillChild(sandbox.Child(c)) }

// ledgerPeers shows the ledger to the pressure watch. It is used by one goroutine.
type ledgerPeers struct {
	ledger *admission.Ledger
	claim  *admission.Claim
	notes  *notebook
	last   map[string]sandbox.Remains // of the runs of the last list
	glance admission.Glance           // at the ledger before the last list
	alone  []pressure.Holder          // the last list, where nobody but this run was in the ledger
}

// Holders returns the runs of this user that hold a claim; waiting runs use no memory yet. While this run is alone and nothing was written
// to the ledger, it returns the last list without reading.
func (p *ledgerPeers) Holders(ctx context.Context) ([]pressure.Holder, error) {
	now := p.ledger.Glance()
	if p.alone != nil && p.glance.Unchanged(now) { // who else is there is known without reading, but not what this run uses by now
		id := p.claim.ID()
		used, ok := sandbox.Current(p.last[id])
		if !ok || used == 0 {
			used = p.ledger.Observed(id)
		}
		p.alone[0].Current = used
		return p.alone, nil
	}
	p.glance, p.alone = now, nil
	all, err := p.ledger.Holders(ctx)
	if err != nil {
		return nil, err
	}
	p.last = make(map[string]sandbox.Remains, len(all))
	list := make([]pressure.Holder, 0, len(all))
	for _, h := range all {
		if h.State == admission.Waiting || h.User != "" { // another user's run is watched by its own supervisor
			continue
		}
		var record claimRecord
		if len(h.Remains) > 0 && json.Unmarshal(h.Remains, &record) != nil {
			record = claimRecord{} // its owner may be another version: it counts, and is left alone
		}
		p.last[h.ID] = record.Remains
		list = append(list, pressure.Holder{
			ID: h.ID, Since: h.Since, Reservation: h.Reservation, Current: h.Current,
			Nested: h.Parent != "", Dead: h.State == admission.Stale, State: record.pressureState(),
		})
	}
	if len(all) == 1 && len(list) == 1 && list[0].ID == p.claim.ID() {
		p.alone = list
	}
	return list, nil
}

// Publish stores the state of this run's watch in its claim.
func (p *ledgerPeers) Publish(s pressure.State) error {
	p.alone = nil
	return p.notes.write(p.claim, func(r *claimRecord) { r.setState(s) })
}

// Thaw lets a run of another supervisor go on, by what the last Holders read of its claim.
func (p *ledgerPeers) Thaw(h pressure.Holder) error {
	remains, ok := p.last[h.ID]
	if !ok || remains.ID == "" {
		return errors.New("its claim does not say where it is")
	}
	return sandbox.Thaw(remains)
}

// A supervisor waits for hours beside other people's agents.
const (
	// settleAfter is the age at which a run gives back the memory that starting it took.
	settleAfter = 5 * time.Second
	// settleAgain is the time between two returns of the memory that looking after the run took.
	settleAgain = time.Minute
)

// releaseMemory makes this process give memory back once the run has lasted for settleAfter, and every minute from then on, until stop is
// called. With a proxy in the process it leaves the pace of the garbage collector as it is.
func releaseMemory(proxy bool) (stop func()) {
	var mu sync.Mutex
	var timer *time.Timer      // nil once stopped
	var small *footprint.Small // nil before the first time, and with a proxy
	release := func() {
		mu.Lock()
		defer mu.Unlock()
		if timer == nil {
			return
		}
		switch {
		case proxy:
			footprint.Release()
		case small == nil:
			small = footprint.Shrink()
		default:
			small.Again()
		}
		timer.Reset(settleAgain)
	}
	mu.Lock()
	timer = time.AfterFunc(settleAfter, release)
	mu.Unlock()
	return func() {
		mu.Lock()
		defer mu.Unlock()
		timer.Stop()
		timer = nil
		if small != nil {
			small.Restore()
		}
	}
}
