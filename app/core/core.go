package app

import (
	"os"

	"github.com/plimsoll/plimsoll/config"
	"github.com/plimsoll/plimsoll/process/admission"
	"github.com/plimsoll/plimsoll/process/guard"
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

// OpenLedger opens the ledger of claims. warn hears its warnings; nil drops them.
func (a *App) OpenLedger(warn func(admission.Warning)) (*admission.Ledger, error) {
	dir, err := a.Dirs.EnsureRuntime()
	if err != nil {
		return nil, &admission.UnavailableError{Dir: admission.NoDir, Err: err}
	}
	return admission.Open(admission.Options{Dir: dir, Shared: a.sharedLedger(), Current: guard.Current, Reap: guard.Reap, Warn: warn})
}

// OpenHistory names the history of peaks; the error says why there is none.
func (a *App) OpenHistory(keep int, warn func(usage.Warning)) (*usage.History, error) {
	dir, err := a.Dirs.EnsureState()
	if err != nil {
		return nil, err
	}
	return usage.Open(dir, usage.Options{Keep: keep, Warn: warn}), nil
}
