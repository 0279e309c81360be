package submit

import (
	"fmt"
	"strings"

	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/jobs"
	"github.com/plimsoll/plimsoll/internal/jobs/slurm"
)

// Names of engines.
const (
	Local      = "local"
	Slurm      = "slurm"
	Kubernetes = "kubernetes"
)

// setting holds the options that an engine is opened with. Options is the zero value for who only asks about jobs.
type setting struct {
	core    *core.Core
	options Options
	// told is called with what the submitter should know.
	told func(text string)
}

// engines by their names, as --on takes them.
var engines = []struct {
	name string
	open func(setting) (jobs.Engine, error)
}{
	{Local, openLocal},
	{Slurm, func(s setting) (jobs.Engine, error) { return slurm.New(s.told), nil }},
	{Kubernetes, openKubernetes},
}

// Names returns the names of all engines.
func Names() []string {
	var list []string
	for _, e := range engines {
		list = append(list, e.name)
	}
	return list
}

func openEngine(name string, s setting) (jobs.Engine, error) {
	if flag := s.options.ofKubernetes(); flag != "" && name != Kubernetes {
		return nil, fmt.Errorf("%s is for jobs of Kubernetes; leave it out, or write --on kubernetes", flag)
	}
	for _, e := range engines {
		if e.name == name {
			return e.open(s)
		}
	}
	return nil, fmt.Errorf("--on %s: nothing places runs there; write one of: %s", name, strings.Join(Names(), ", "))
}
