package core

import (
	"path/filepath"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/atomicfile"
	"github.com/plimsoll/plimsoll/internal/statefile"
	"github.com/plimsoll/plimsoll/process/admission"
	"github.com/plimsoll/plimsoll/process/sandbox"
)

// trialsKept is the time for which a trial counts where the system does not tell one boot from another.
const trialsKept = 24 * time.Hour

// trials are files in the runtime directory, one for each limit that was seen to hold.
type trials struct{ dir string }

// Trials remembers which limits were tried since the machine has started; nil where there is no place for that.
func (c *Core) Trials() sandbox.Trials {
	dir, err := c.Dirs.EnsureRuntime()
	if err != nil { // told by the ledger; each process tries for itself then
		return nil
	}
	return trials{dir}
}

func (t trials) file(layer sandbox.Layer, what string) string {
	return filepath.Join(t.dir, "held-"+string(layer)+"-"+what)
}

// Seen implements [sandbox.Trials].
func (t trials) Seen(layer sandbox.Layer, what string) bool {
	text, err := statefile.Read(t.file(layer, what), 256)
	if err != nil {
		return false
	}
	boot, when, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	at, err := time.Parse(time.RFC3339, when)
	return err == nil && boot == admission.Boot() && time.Since(at) < trialsKept
}

// Saw implements [sandbox.Trials].
func (t trials) Saw(layer sandbox.Layer, what string) {
	text := admission.Boot() + " " + time.Now().UTC().Format(time.RFC3339) + "\n"
	_ = atomicfile.Write(t.file(layer, what), []byte(text), 0o600, atomicfile.Volatile) // it is tried again
}
