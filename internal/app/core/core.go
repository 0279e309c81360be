// Package core holds what every family of commands shares: a checked configuration, the places where state lives, who gets warnings, what
// is closed at the end, and how a process of Plimsoll listens to signals and ends.
//
//	c, err := core.New(core.Options{})
//	settings, err := c.Config.For("")
//	ledger, err := c.OpenLedger(nil)
//
// The families (internal/app/run, internal/app/mcp and so on) import core, and core imports none of them. A [Core] is safe for concurrent
// use once made.
package core

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/plimsoll/plimsoll/internal/atomicfile"
	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/fleet"
	"github.com/plimsoll/plimsoll/internal/process/fence"
	"github.com/plimsoll/plimsoll/internal/process/holder"
	"github.com/plimsoll/plimsoll/internal/process/usage"
	"github.com/plimsoll/plimsoll/internal/statefile"
	"github.com/plimsoll/plimsoll/process/admission"
	"github.com/plimsoll/plimsoll/process/sandbox"
)

// Options configure a [Core]; the zero value means this process: its environment and working directory.
type Options struct {
	// Environ is the environment; nil means os.Environ().
	Environ []string
	// Dir is the working directory; "" means the process's own.
	Dir string
	// Flags are configuration values from the command line.
	Flags []config.Flag
	// Warn is called with each warning that stops nothing; nil drops it.
	Warn func(text string)
}

// Core is a checked configuration and the places where state lives.
type Core struct {
	Dirs   config.Dirs
	Config *config.Loaded
	warn   func(string)
	fleet  *atomic.Pointer[fleet.Fleet]
}

// New loads the configuration. Its error is a *config.Error when a file, a variable or a flag says something wrong; nothing is made on disk.
func New(o Options) (*Core, error) {
	environ := o.Environ
	if environ == nil {
		environ = os.Environ()
	}
	dirs := config.NewDirs(config.Getenv(environ))
	loaded, err := config.Load(config.Options{Environ: environ, Dir: o.Dir, Dirs: &dirs, Flags: o.Flags})
	if err != nil {
		return nil, err
	}
	return &Core{Dirs: dirs, Config: loaded, warn: o.Warn, fleet: &atomic.Pointer[fleet.Fleet]{}}, nil
}

// Warn passes on a warning that stops nothing.
func (c *Core) Warn(text string) {
	if c.warn != nil {
		c.warn(text)
	}
}

// Telling returns the same with somebody else to hear its warnings.
func (c *Core) Telling(warn func(text string)) *Core {
	own := *c
	own.warn = warn
	return &own
}

// OpenLedger opens the ledger of claims. warn is called with its warnings; nil drops them.
func (c *Core) OpenLedger(warn func(admission.Warning)) (*admission.Ledger, error) {
	dir, err := c.Dirs.EnsureRuntime()
	if err != nil {
		return nil, &admission.UnavailableError{Dir: admission.NoDir, Err: err}
	}
	return admission.Open(admission.Options{Dir: dir, Shared: c.SharedLedger(), Current: holder.Current, Swapped: holder.Swapped, Reap: holder.Reap, Warn: warn})
}

// SharedLedger returns the directory through which users see each other's claims, "" for none. A project file may not set it.
func (c *Core) SharedLedger() string {
	settings, err := c.Config.For("")
	if err != nil { // told by what needs the settings
		return ""
	}
	return settings.SharedLedger
}

// OpenHistory returns the history of peaks, and makes the state directory; the error says why there is none.
func (c *Core) OpenHistory(warn func(usage.Warning)) (*usage.History, error) {
	dir, err := c.Dirs.EnsureState()
	if err != nil {
		return nil, err
	}
	return usage.Open(dir, usage.Options{Warn: warn}), nil
}

// Fence finds out whether this process is inside a run. A process in a run can set the variables that name our directories, so it looks for
// runs in the default places too, and in the state directory in use.
func (c *Core) Fence() fence.Finding {
	var ledgers []string
	add := func(dir string, err error) {
		if err == nil {
			ledgers = append(ledgers, dir)
		}
	}
	add(c.Dirs.Runtime())
	add(config.NewDirs(withoutVariables).Runtime())
	if state, err := c.Dirs.State(); err == nil {
		ledgers = append(ledgers, filepath.Join(state, "run"))
	}
	return fence.Find(ledgers)
}

// withoutVariables returns an environment in which nobody has said where anything is.
func withoutVariables(name string) string {
	if name == "TMPDIR" { // an empty one is looked up once more
		return "/tmp"
	}
	return ""
}

// NotCoordinatedError is the error of what was not started since admission could not be asked.
type NotCoordinatedError struct{ Err error }

func (e *NotCoordinatedError) Error() string {
	return "not started, since runs cannot be coordinated: " + e.Err.Error()
}
func (e *NotCoordinatedError) Unwrap() error { return e.Err }

// MayBeUncoordinated returns nil when a run may start although err keeps it from the ledger: the ledger cannot be written at all and enforcement
// is not required. Else it returns a *[NotCoordinatedError] about err.
func MayBeUncoordinated(enforcement config.Enforcement, err error) error {
	off, ok := errors.AsType[*admission.UnavailableError](err)
	if enforcement != "required" && ok && off.Unwritable() {
		return nil
	}
	return &NotCoordinatedError{err}
}

// trialsKept is the time for which a trial counts where the system does not tell one boot from another.
const trialsKept = 24 * time.Hour

// trials are files in the runtime directory, one for each limit that was seen to hold.
type trials struct {
	dir  string
	warn func(text string)
}

// Trials remembers which limits were tried since the machine has started; nil where there is no place for that. warn is told when that could
// not be written down.
func (c *Core) Trials(warn func(text string)) sandbox.Trials {
	dir, err := c.Dirs.EnsureRuntime()
	if err != nil { // told by the ledger; each process tries for itself then
		return nil
	}
	return trials{dir, warn}
}

func (t trials) file(layer sandbox.Layer, what string) string {
	return filepath.Join(t.dir, "held-"+string(layer)+"-"+what)
}

// Seen implements [sandbox.Trials]: it reports whether this trial of a layer was recorded since the machine started, and less than trialsKept ago.
func (t trials) Seen(layer sandbox.Layer, what string) bool {
	text, err := statefile.Read(t.file(layer, what), 256)
	if err != nil {
		return false
	}
	boot, when, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	at, err := time.Parse(time.RFC3339, when)
	return err == nil && boot == admission.Boot() && time.Since(at) < trialsKept
}

// Saw implements [sandbox.Trials]. A pipe or a link in place of the file is replaced. What cannot be, such as a directory, would make every
// start slower and nobody would know why.
func (t trials) Saw(layer sandbox.Layer, what string) {
	text := admission.Boot() + " " + time.Now().UTC().Format(time.RFC3339) + "\n"
	err := atomicfile.Write(t.file(layer, what), []byte(text), 0o600, atomicfile.Volatile) // after a power cut it is tried again
	if err != nil {
		t.warn(fmt.Sprintf("every start tries again whether layer %s holds its limit (%s), because this cannot be written down: %v", layer, what, err))
	}
}
