package run

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/config/profile"
	fleethistory "github.com/plimsoll/plimsoll/internal/fleet/history"
	"github.com/plimsoll/plimsoll/internal/process/estimate"
	"github.com/plimsoll/plimsoll/internal/process/headroom"
	"github.com/plimsoll/plimsoll/internal/process/sizing"
	"github.com/plimsoll/plimsoll/internal/process/usage"
	"github.com/plimsoll/plimsoll/internal/watch/runs"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/process/sandbox"
)

// decision is the plan of a run before it starts: its tool and project, its expected need, and its limits. [Decision] is its form in a dry run.
type decision struct {
	Match config.Match
	Tool  string
	// Variant names the use of a generic tool; "" for other tools, and when the user names the tool.
	Variant  string
	Project  config.Project
	Path     string
	Settings config.Settings
	// Numbers are the estimate, what is set aside for it, and the memory limit.
	sizing.Numbers
	Limits  sandbox.Limits
	Reading headroom.Reading
	// ReadingErr is the reason why the host's memory could not be read.
	ReadingErr error
	// seen has what the fleet has seen of it, where it was asked, and fleetNote what went wrong then.
	seen      fleethistory.Observed
	fleetNote string
}

// decide returns the decision about a command. history may be nil; the estimate then comes from the configuration.
func (a *app) decide(o *Options, history *usage.History) (*decision, error) {
	p := &decision{Project: config.ProjectOf("")}
	var err error
	if err = a.resolveTool(p, o.Tool, o.Command); err != nil {
		return nil, err
	}
	if p.Path, err = findCommand(o.Command[0]); err != nil {
		return nil, err
	}
	if err := a.setLimits(p, history, hostNow(), startWait); err != nil {
		return nil, err
	}
	return p, p.checkReclaim()
}

// hostNow reads the memory that a run here has.
func hostNow() (h sizing.Host) {
	h.Reading, h.Err = headroom.Read(headroom.Source{})
	h.Given, h.GivenBy = slurmMemory(os.Getenv), "Slurm"
	return h
}

// resolveTool sets the tool, the variant and their settings in p: by tool, or by the command if tool is "".
func (a *app) resolveTool(p *decision, tool string, command []string) (err error) {
	p.Match = a.Config.Tool(command)
	p.Tool, p.Variant = p.Match.Tool, p.Match.Variant
	if tool != "" {
		p.Tool, p.Variant = config.CanonicalTool(tool), ""
		if config.SafeName(p.Tool) != p.Tool {
			return fmt.Errorf("--tool %q: a tool's name has letters, digits, '.', '_' and '-' only; write %s", tool, config.SafeName(p.Tool))
		}
	}
	p.Settings, err = a.Config.For(p.Tool)
	return err
}

// learnsAs returns the tool name under which the history keeps the run: behind an adapter that of the agent.
func (p *decision) learnsAs() string {
	if a, ok := profile.Find(p.Tool); ok && a.Adapter != nil {
		return a.Adapter.Agent
	}
	return p.Tool
}

// setLimits sets the estimate, the reservation and the limits in p by the memory of the host, for a run and for a prediction alike. Only if
// this host does not know enough, it asks the fleet and waits for it at most wait.
func (a *app) setLimits(p *decision, history *usage.History, host sizing.Host, wait time.Duration) (err error) {
	p.Reading, p.ReadingErr = host.Reading, host.Err
	if wrong, ok := sizing.DistrustedEstimate(p.Settings, host); !ok { // the user's own takes its place
		own, err := a.Config.WithoutProject().For(p.Tool)
		if err != nil {
			return err
		}
		p.Settings.Warnings = append(p.Settings.Warnings, wrong)
		p.Settings.InitialEstimate = own.InitialEstimate
	}
	var known estimate.Input
	if p.Settings.Reservation == 0 {
		known = sizing.InputOf(history, p.Project.Key, p.learnsAs(), p.Variant, func(err error) {
			a.Warn("nothing of the history is used: " + err.Error())
		})
		known.Elsewhere = a.otherHistories(p, wait)
	}
	if p.Numbers, err = sizing.Decide(p.Settings, known, host); err != nil {
		return err
	}
	s := p.Settings
	p.Limits = sandbox.Limits{Memory: p.Memory, Swap: s.SwapMax, Pids: s.PidsMax, Time: s.TimeMax, CPUWeight: s.CPUWeight, CPUs: s.CPUs}
	return nil
}

// report returns the part of the report known before the run.
func (p *decision) report(command []string) journal.Report {
	resume := ""
	if a, ok := profile.Find(p.Tool); ok {
		resume = a.Resume
	}
	return journal.Report{
		Tool: p.Tool, Resume: resume, Variant: p.Variant, Project: p.Project.Name, Command: command,
		LimitBytes: int64(p.Limits.Memory), SwapLimitBytes: int64(p.Limits.Swap), PidsLimit: p.Limits.Pids,
		ReservationBytes: int64(p.Reservation), Limits: p.limitRows(),
		Estimate:    journal.Estimate{Bytes: int64(p.Estimate.Bytes), Source: p.Estimate.Source, Samples: p.Estimate.Samples, Guessed: p.Estimate.Guessed},
		Enforcement: journal.Enforcement{Memory: string(sandbox.ByNobody), Swap: string(sandbox.ByNobody), Pids: string(sandbox.ByNobody), CPU: string(sandbox.ByNobody), CPUs: string(sandbox.ByNobody)},
	}
}

// basis returns the figures on which the decision rests, for the record of the run and for advice.
func (p *decision) basis() runs.Decision {
	d := runs.Decision{MinFreeBytes: int64(p.MinFree), LimitNote: p.LimitNote, CeilingBytes: int64(p.Ceiling), CeilingOf: p.CeilingOf}
	if p.ReadingErr == nil {
		room := p.Reading.Available(p.Settings.CountSwap)
		d.AvailableBytes, d.BoundBy = int64(room.Physical+room.Swap), room.BoundBy
	}
	return d
}

// findCommand returns the absolute path of the executable that a shell would find. The error is a [*sandbox.ExecError].
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
	if strings.ContainsAny(name, "/"+string(os.PathSeparator)) {
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

// DistrustedEstimate calls [sizing.DistrustedEstimate] for this host.
func DistrustedEstimate(s config.Settings) (wrong config.Problem, ok bool) {
	var host sizing.Host
	host.Reading, host.Err = headroom.Read(headroom.Source{})
	return sizing.DistrustedEstimate(s, host)
}

// demandedBy adds to err, if enforcement is required, which flag, variable or file requires it: a project's own file may come with the
// repository, and the user may overrule it. Any other err is returned as it is.
func demandedBy(s config.Settings, err error) error {
	if err == nil || s.Enforcement != config.EnforcementRequired {
		return err
	}
	switch from := s.Source("enforcement"); from.Origin {
	case config.OriginProject:
		return &demanded{err, "It is the project that demands this, in " + from.String() + "."}
	case config.OriginFlag, config.OriginEnvironment:
		return &demanded{err, "It is " + from.String() + " that demands this."}
	case config.OriginUser:
		return &demanded{err, "It is your configuration that demands this, in " + from.String() + "."}
	}
	return err
}

// demanded is an error with a line about where it comes from.
type demanded struct {
	error
	from string
}

func (e *demanded) Error() string { return e.error.Error() + "\n" + e.from }

func (e *demanded) Unwrap() error { return e.error }

// isRelativeDot reports whether err only says that PATH found the program in the working directory, which is accepted as the user's wish.
func isRelativeDot(err error) bool { return errors.Is(err, exec.ErrDot) }
