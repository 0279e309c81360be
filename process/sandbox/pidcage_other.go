//go:build !linux

package sandbox

import (
	"github.com/plimsoll/plimsoll/internal/process/proctree"
	"github.com/plimsoll/plimsoll/journal"
)

// pidCage is a watchedCage that remembers the command by pid and start time: without
// groups, and without a look into other processes' environments, they are all that
// [Remove] has to go by.
type pidCage struct {
	watchedCage
	spec  *Spec
	layer Layer
}

// newPidCage returns a cage that watches. It first records the layer in the run's remains.
func newPidCage(spec *Spec, l Limits, layer Layer) (*pidCage, error) {
	if err := spec.remember(Remains{Layer: layer}); err != nil {
		return nil, err
	}
	return &pidCage{newWatched(l), spec, layer}, nil
}

// newPidMonitor returns a cage that only watches, and remembers the command's pid.
func newPidMonitor(spec *Spec, l Limits) (cage, error) { return newPidCage(spec, l, Monitor) }

// launch starts the command and records its pid.
func (p *pidCage) launch(c *command) (int, error) { return p.recordPID(c.fork()) }

// recordPID records the pid of a launch for [Remove], and returns what it was given. A record that fails is a warning.
func (p *pidCage) recordPID(pid int, err error) (int, error) {
	if err != nil {
		return pid, err
	}
	if err := p.spec.remember(Remains{Layer: p.layer, PID: pid, Start: proctree.StartTime(pid)}); err != nil {
		p.spec.appendEvent(journal.Warned{About: "clean-up", Text: "nobody could end this run if its supervisor were killed: " + err.Error()})
	}
	return pid, nil
}
