package core

import (
	"os"
	"sync/atomic"

	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/fleet"
	"github.com/plimsoll/plimsoll/internal/process/holder"
	"github.com/plimsoll/plimsoll/internal/process/usage"
	"github.com/plimsoll/plimsoll/process/admission"
)

// Options configure a [Core]; the zero value means this process: its environment and
// working directory.
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

// New loads the configuration. Its error is a *config.Error when a file, a variable or a
// flag says something wrong; nothing is made on disk.
func New(o Options) (*Core, error) {
	environ := o.Environ
	if environ == nil {
		environ = os.Environ()
	}
	dirs := config.NewDirs(Getenv(environ))
	loaded, err := config.Load(config.Options{Environ: environ, Dir: o.Dir, Dirs: &dirs, Flags: o.Flags})
	if err != nil {
		return nil, err
	}
	return &Core{Dirs: dirs, Config: loaded, warn: o.Warn, fleet: &atomic.Pointer[fleet.Fleet]{}}, nil
}

// Getenv looks names up in an environment; the last entry counts, as for execve(2).
func Getenv(environ []string) func(name string) string {
	return func(name string) string {
		for i := len(environ) - 1; i >= 0; i-- {
			if e := environ[i]; len(e) > len(name) && e[len(name)] == '=' && e[:len(name)] == name {
				return e[len(name)+1:]
			}
		}
		return ""
	}
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

// SharedLedger returns the directory through which users see each other's claims, "" for none. A
// project file may not set it.
func (c *Core) SharedLedger() string {
	settings, err := c.Config.For("")
	if err != nil { // told by what needs the settings
		return ""
	}
	return settings.SharedLedger
}

// OpenHistory names the history of peaks; the error says why there is none.
func (c *Core) OpenHistory(warn func(usage.Warning)) (*usage.History, error) {
	dir, err := c.Dirs.EnsureState()
	if err != nil {
		return nil, err
	}
	return usage.Open(dir, usage.Options{Warn: warn}), nil
}
