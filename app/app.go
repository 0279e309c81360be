package app

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/plimsoll/plimsoll/config"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/process/admission"
	"github.com/plimsoll/plimsoll/process/sandbox"
	"github.com/plimsoll/plimsoll/process/usage"
)

// Options configure an [App]; the zero value means this process: its environment and
// working directory.
type Options struct {
	// Environ is the environment; nil means os.Environ().
	Environ []string
	// Dir is the working directory; "" means the process's own.
	Dir string
	// Flags are configuration values from the command line.
	Flags []config.Flag
	// Warn hears what the user should know and what stops nothing; nil drops it.
	Warn func(text string)
}

// App is a checked configuration and the places where state lives.
type App struct {
	Dirs   config.Dirs
	Config *config.Loaded
	warn   func(string)
}

// New loads the configuration. Its error is a *config.Error when a file, a variable or a
// flag says something wrong; nothing is made on disk.
func New(o Options) (*App, error) {
	environ := o.Environ
	if environ == nil {
		environ = os.Environ()
	}
	dirs := config.NewDirs(getenv(environ))
	loaded, err := config.Load(config.Options{Environ: environ, Dir: o.Dir, Dirs: &dirs, Flags: o.Flags})
	if err != nil {
		return nil, err
	}
	a := &App{Dirs: dirs, Config: loaded, warn: o.Warn}
	if a.warn == nil {
		a.warn = func(string) {}
	}
	return a, nil
}

// getenv looks a name up in an environment; the last entry counts, as for execve(2).
func getenv(environ []string) func(string) string {
	return func(name string) string {
		for i := len(environ) - 1; i >= 0; i-- {
			if e := environ[i]; len(e) > len(name) && e[len(name)] == '=' && e[:len(name)] == name {
				return e[len(name)+1:]
			}
		}
		return ""
	}
}

// reapGrace is what orphans of a dead supervisor get between SIGTERM and SIGKILL.
const reapGrace = 2 * time.Second

// OpenLedger opens the ledger of claims. warn hears its warnings; nil drops them.
func (a *App) OpenLedger(warn func(admission.Warning)) (*admission.Ledger, error) {
	dir, err := a.Dirs.EnsureRuntime()
	if err != nil {
		return nil, err
	}
	return admission.Open(admission.Options{Dir: dir, Current: currentOf, Reap: reap, Warn: warn})
}

// OpenHistory names the history of peaks; the error says why there is none.
func (a *App) OpenHistory(keep int, warn func(usage.Warning)) (*usage.History, error) {
	dir, err := a.Dirs.EnsureState()
	if err != nil {
		return nil, err
	}
	return usage.Open(dir, usage.Options{Keep: keep, Warn: warn}), nil
}

// currentOf asks a holder's cgroup what it uses now.
func currentOf(h admission.Holder) limit.Bytes {
	remains, ok := remainsOf(h)
	if !ok {
		return 0
	}
	used, _ := sandbox.Current(remains)
	return used
}

// reap removes what a dead supervisor left.
func reap(h admission.Holder) error {
	if len(h.Remains) == 0 {
		return nil
	}
	remains, ok := remainsOf(h)
	if !ok {
		return fmt.Errorf("what the claim %s says about its run is unreadable", h.ID)
	}
	return sandbox.Remove(remains, reapGrace)
}

func remainsOf(h admission.Holder) (sandbox.Remains, bool) {
	var r sandbox.Remains
	if len(h.Remains) == 0 || json.Unmarshal(h.Remains, &r) != nil {
		return r, false
	}
	return r, true
}
