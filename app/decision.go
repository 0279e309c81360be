package app

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/plimsoll/plimsoll/config"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/process/estimate"
	"github.com/plimsoll/plimsoll/process/guard"
	"github.com/plimsoll/plimsoll/process/headroom"
	"github.com/plimsoll/plimsoll/process/sandbox"
	"github.com/plimsoll/plimsoll/process/usage"
)

// decision is what is decided about a run before it starts: what it is, what it will need, and what it may use. [Decision]
// is how a dry run prints it.
type decision struct {
	Match config.Match
	Tool  string
	// Variant is which of a generic tool's uses it is; "" for other tools, and when the user names the tool.
	Variant  string
	Project  config.Project
	Path     string
	Settings config.Settings
	Estimate estimate.Estimate
	// Reservation is what admission sets aside, in bytes: the estimate, but not more than
	// a limit of the user's own (memory_max) allows the run to use.
	Reservation limit.Bytes
	// MinFree is what admission leaves free on the host.
	MinFree limit.Bytes
	Limits  sandbox.Limits
	// LimitNote says why the memory limit is not what was asked for, "" when it is.
	LimitNote string
	Reading   headroom.Reading
	// ReadingErr says why the host's memory could not be read.
	ReadingErr error
}

// leastAuto is the least memory limit that "auto" sets: a limit is there to stop a runaway,
// and every agent CLI works in much less.
const leastAuto = 4 * limit.GiB

// leastShare is what "auto" gives where min_free is nearly all that there is.
const leastShare = 256 * limit.MiB

// decide decides about a command. history may be nil; estimates then come from the configuration.
func (a *App) decide(o *RunOptions, history *usage.History) (*decision, error) {
	p := &decision{Project: config.ProjectOf("")}
	p.Match = a.Config.Tool(o.Command)
	p.Tool, p.Variant = p.Match.Tool, p.Match.Variant
	if o.Tool != "" {
		p.Tool, p.Variant = config.CanonicalTool(o.Tool), ""
		if config.SafeName(p.Tool) != p.Tool {
			return nil, fmt.Errorf("--tool %q: a tool's name has letters, digits, '.', '_' and '-' only; write %s", o.Tool, config.SafeName(p.Tool))
		}
	}
	var err error
	if p.Settings, err = a.Config.For(p.Tool); err != nil {
		return nil, err
	}
	if p.Path, err = findCommand(o.Command[0]); err != nil {
		return nil, err
	}
	if err := a.weigh(p, history); err != nil {
		return nil, err
	}
	return p, nil
}

// weigh reads the host and sets the estimate and the limits, for a run and for a prediction alike.
func (a *App) weigh(p *decision, history *usage.History) (err error) {
	p.Reading, p.ReadingErr = headroom.Read(headroom.Source{})
	if err := a.distrustEstimate(p); err != nil {
		return err
	}
	if p.Estimate, err = a.estimateFor(p, history); err != nil {
		return err
	}
	p.setLimits()
	return nil
}

// estimateFor asks what the user has set, then the history, then the configuration.
func (a *App) estimateFor(p *decision, history *usage.History) (estimate.Estimate, error) {
	if p.Settings.Reservation > 0 {
		return estimate.Estimate{Bytes: p.Settings.Reservation, Source: estimate.SourceReservation}, nil
	}
	in := guard.InputOf(history, p.Project.Key, p.Tool, p.Variant, func(err error) {
		a.Warn("nothing of the history is used: " + err.Error())
	})
	return initialOf(in, p.Settings).Estimate()
}

// setLimits turns settings into numbers. "auto" memory is max(4 GiB, twice the
// reservation), never above the host's memory less what is kept free; any limit is kept
// strictly below the enclosing ones, because a container's own OOM kill may take all of it.
func (p *decision) setLimits() {
	s := p.Settings
	capacity := limit.Bytes(0)
	if p.ReadingErr == nil {
		capacity = p.Reading.Capacity()
	}
	p.MinFree = minFreeOf(s, capacity)
	memory := s.MemoryMax
	if memory == config.Auto {
		memory = max(leastAuto, 2*p.Estimate.Bytes)
		if most := capacity - p.MinFree; capacity > 0 && memory > most {
			memory = max(most, min(capacity/2, leastShare))
		}
	}
	if outer, path := p.enclosing(); outer > 0 {
		// 1/32 or 16 MiB below: what the supervisor and the shell around it need.
		if most := max(outer-max(outer/32, 16*limit.MiB), outer/2); memory > most {
			memory = most
			p.LimitNote = fmt.Sprintf("kept below the %s that %s allows", outer.Human(), path)
		}
	}
	memory = max(memory, limit.MiB) // the least that can be configured: never none at all
	// A run can't use more than the limit that the user gave it. What "auto" or an enclosing group makes of that limit
	// says nothing about what the run needs: an estimate above it must be refused at once, not wait for ever.
	p.Reservation = p.Estimate.Bytes
	if s.MemoryMax != config.Auto {
		p.Reservation = min(p.Reservation, max(s.MemoryMax, limit.MiB))
	}
	p.Limits = sandbox.Limits{Memory: memory, Swap: s.SwapMax, Pids: s.PidsMax, Time: s.TimeMax, CPUWeight: s.CPUWeight, CPUs: s.CPUs}
}

// report is what a report says before the run.
func (p *decision) report(command []string) journal.Report {
	return journal.Report{
		Tool: p.Tool, Variant: p.Variant, Project: p.Project.Name, Command: command,
		LimitBytes: int64(p.Limits.Memory), SwapLimitBytes: int64(p.Limits.Swap), PidsLimit: p.Limits.Pids,
		ReservationBytes: int64(p.Reservation), Limits: p.limitRows(),
		Estimate:    journal.Estimate{Bytes: int64(p.Estimate.Bytes), Source: p.Estimate.Source, Samples: p.Estimate.Samples},
		Enforcement: journal.Enforcement{Memory: string(sandbox.ByNobody), Swap: string(sandbox.ByNobody), Pids: string(sandbox.ByNobody), CPU: string(sandbox.ByNobody), CPUs: string(sandbox.ByNobody)},
	}
}

// enclosing is the tightest memory limit around us, 0 when there is none.
func (p *decision) enclosing() (limit.Bytes, string) {
	tightest, path := limit.Bytes(0), ""
	if p.ReadingErr != nil {
		return 0, ""
	}
	for _, g := range p.Reading.Cgroups {
		if g.Limit != headroom.Unlimited && g.Limit > 0 && (tightest == 0 || g.Limit < tightest) {
			tightest, path = g.Limit, g.Path
		}
	}
	return tightest, path
}

// findCommand finds the executable as a shell does. The error is a *sandbox.ExecError.
func findCommand(name string) (string, error) {
	if name == "" {
		return "", &sandbox.ExecError{Path: `""`, Status: 127, Err: fmt.Errorf("the command's name is empty")}
	}
	path, err := exec.LookPath(name)
	if err == nil || isRelativeDot(err) {
		if abs, absErr := filepath.Abs(path); absErr == nil {
			path = abs
		}
		return path, nil
	}
	status := 127
	if strings.ContainsRune(name, os.PathSeparator) {
		info, statErr := os.Stat(name)
		switch {
		case statErr == nil && info.IsDir():
			return "", &sandbox.ExecError{Path: name, Status: 126, Err: fmt.Errorf("it is a directory; name the command inside it")}
		case statErr == nil:
			return "", &sandbox.ExecError{Path: name, Status: 126, Err: fmt.Errorf("it is not executable; chmod +x it, or name its interpreter")}
		}
		return "", &sandbox.ExecError{Path: name, Status: status, Err: fmt.Errorf("there is no such file")}
	}
	return "", &sandbox.ExecError{Path: name, Status: status, Err: fmt.Errorf("not found in PATH; is it installed?")}
}
