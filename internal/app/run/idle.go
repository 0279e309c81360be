package run

import (
	"fmt"
	"os"
	"time"

	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/process/idle"
	"github.com/plimsoll/plimsoll/internal/watch/runs"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/process/admission"
	"github.com/plimsoll/plimsoll/process/sandbox"
)

// limitIdle is the name of the limit of an idle time: the configuration key.
const limitIdle = "idle_max"

// notReclaimable is the reason why a run does not start whose memory is to be given back when it is idle, and cannot be.
type notReclaimable struct{ why, next string }

func (e *notReclaimable) Error() string {
	return fmt.Sprintf(`on_idle = "reclaim" moves the memory of an idle run to swap, and %s: nothing would be freed; %s, or on_idle = "end" (--on-idle end)`, e.why, e.next)
}

// idleMax returns the time for which nobody may use the run; 0 is no limit.
func (p *decision) idleMax() time.Duration {
	if p.Settings.Enforcement == config.EnforcementOff {
		return 0
	}
	return p.Settings.IdleMax
}

// reclaims reports whether the run gives its memory back when it is idle, in the place of being ended.
func (p *decision) reclaims() bool {
	return p.idleMax() > 0 && p.Settings.OnIdle == config.OnIdleReclaim
}

// checkReclaim returns an error if the run is to give its memory back while idle, but has no swap to give it to.
func (p *decision) checkReclaim() error {
	switch {
	case !p.reclaims():
	case p.Settings.SwapMax == 0:
		return &notReclaimable{"swap_max allows this run none", "allow it some: --swap-max " + ((p.Limits.Memory + limit.GiB - 1) / limit.GiB * limit.GiB).String()}
	case p.ReadingErr == nil && p.Reading.SwapTotal == 0:
		return &notReclaimable{"this machine has none", "add swap to it"}
	}
	return nil
}

// idleLines returns the lines of the limit of an idle time in milliseconds; ok is false where there is none.
func (p *decision) idleLines() (soft, hard int64, ok bool) {
	most := p.idleMax()
	if p.reclaims() {
		return most.Milliseconds(), 0, true
	}
	return (most / 10 * 9).Milliseconds(), most.Milliseconds(), most > 0
}

// heldWhereIdle returns who holds the limit of an idle time.
func heldWhereIdle(sandbox.Strength) sandbox.Mechanism {
	if idle.Supported {
		return sandbox.ByWatching
	}
	return sandbox.ByNobody
}

// watchUse returns a watch that finds out whether anybody uses the run. run is set when started is closed. It warns if idle_max cannot be
// held on this system.
func (x *process) watchUse(run **sandbox.Run, started <-chan struct{}) *idle.Watch {
	if x.decision.idleMax() > 0 && !idle.Supported {
		x.report.alert("idle", "idle_max is not held here: this system does not tell the processor time of other processes, so nobody knows whether a run is idle")
	}
	return idle.New(idle.Options{
		Max:      x.decision.idleMax(),
		Requests: x.report.requests.Count,
		Input:    idle.InputOf(os.Stdin),
		Stopped: func() bool {
			select {
			case <-started:
				return (*run).Stopped()
			default:
				return true
			}
		},
		Inner: x.innerWorks,
		Note: func(e idle.Event) {
			<-started
			x.noteUseOf(*run, e)
		},
	})
}

// innerWorks reports whether a run inside of this one is running and not idle or waiting.
func (x *process) innerWorks() bool {
	claims, err := x.app.Dirs.Runtime()
	state, stateErr := x.app.Dirs.State()
	if err != nil || stateErr != nil {
		return false
	}
	for _, h := range admission.Peek(claims) {
		if h.Parent != x.id() {
			continue
		}
		if g, err := runs.ReadGlance(state, h.ID); err == nil && g.State == runs.Running {
			return true
		}
	}
	return false
}

// noteUseOf writes what the watch tells to the journal, and acts on the run at the limit of an idle time.
func (x *process) noteUseOf(run *sandbox.Run, e idle.Event) {
	switch e.Kind {
	case idle.Quiet:
		x.report.journal.Append(journal.RunIdle{For: e.For})
	case idle.Used:
		x.report.journal.Append(journal.RunWoke{By: string(e.By)})
	case idle.Near:
		if !x.decision.reclaims() {
			x.report.journal.Append(journal.LimitReached{Name: limitIdle, Line: journal.LineSoft})
			x.report.warn("idle", fmt.Sprintf("nobody has used it for %s; after %s it is ended (--idle-max, idle_max)", roughly(e.For), roughly(x.decision.idleMax())))
		}
	case idle.Over:
		if x.decision.reclaims() {
			x.reclaim(run)
		} else if run.End(limitIdle) {
			x.report.journal.Append(journal.LimitReached{Name: limitIdle, Line: journal.LineHard, Did: "ended the run"})
			x.report.warn("idle", fmt.Sprintf("nobody has used it for %s and it is ended; for longer: --idle-max %s", roughly(e.For), 2*x.decision.idleMax()))
		}
	}
}

// reclaim gives the memory of the run back to the machine, or warns that it cannot; both are noted in the journal.
func (x *process) reclaim(run *sandbox.Run) {
	freed, err := run.Reclaim()
	if err != nil {
		x.report.journal.Append(journal.LimitReached{Name: limitIdle, Line: journal.LineSoft})
		x.report.warn("idle", "its memory could not be given back while it is idle: "+err.Error())
		return
	}
	x.report.journal.Append(journal.LimitReached{Name: limitIdle, Line: journal.LineSoft, Did: "gave back " + freed.Human()})
}

// warnOfIdleRuns warns, and journals, if idle runs hold more than a quarter of the machine's memory, unless the user was told of the same
// runs before. It does nothing in a run inside a run, or if that memory cannot be known.
func (x *process) warnOfIdleRuns() {
	p := x.decision
	total := int64(p.Reading.Capacity())
	if p.ReadingErr != nil || x.nested || p.Reading.MemAvailable > p.Reading.MemTotal/4*3 { // nobody holds a quarter
		return
	}
	claims, err := x.app.Dirs.Runtime()
	state, stateErr := x.app.Dirs.State()
	if err != nil || stateErr != nil {
		return
	}
	var list []runs.IdleRun
	for _, h := range admission.Peek(claims) {
		if h.Parent != "" || h.ID == x.id() || h.State != admission.Holding {
			continue
		}
		if g, err := runs.ReadGlance(state, h.ID); err == nil && g.State == runs.Idle {
			list = append(list, g.AsIdle(int64(admission.PeekUse(claims, h.ID))))
		}
	}
	f, much := runs.SumIdle(list, total)
	if !much || f.WasTold(state) {
		return
	}
	text := f.Sentence(time.Now())
	x.report.warn("forgotten", text)
	x.report.journal.Append(journal.Forgotten{Runs: f.IDs(), Bytes: f.Bytes, TotalBytes: f.Total, Text: text})
}
