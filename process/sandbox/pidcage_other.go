//go:build !linux

package sandbox

import "github.com/plimsoll/plimsoll/journal"

// pidCage is a watchedCage that remembers the command by pid and start time: without
// groups, and without a look into other processes' environments, they are all that
// [Remove] has to go by.
type pidCage struct {
	watchedCage
	spec  *Spec
	layer Layer
}

func newPidCage(spec *Spec, l Limits, layer Layer) (*pidCage, error) {
	if err := spec.remember(Remains{Layer: layer}); err != nil {
		return nil, err
	}
	return &pidCage{newWatched(l), spec, layer}, nil
}

func newPidMonitor(spec *Spec, l Limits) (cage, error) { return newPidCage(spec, l, Monitor) }

func (p *pidCage) launch(c *command) (int, error) { return p.remember(c.fork()) }

// remember records the pid of a launch for [Remove], and returns what it was given. A record that fails is a warning.
func (p *pidCage) remember(pid int, err error) (int, error) {
	if err != nil {
		return pid, err
	}
	if err := p.spec.remember(Remains{Layer: p.layer, PID: pid, Start: startTime(pid)}); err != nil {
		p.spec.note(journal.Warned{About: "clean-up", Text: "nobody could end this run if its supervisor were killed: " + err.Error()})
	}
	return pid, nil
}
