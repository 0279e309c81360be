package app

import (
	"fmt"

	"github.com/plimsoll/plimsoll/config"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/process/headroom"
)

// DistrustedEstimate tells what is wrong with an initial estimate that a project's file gives and
// that this host could never set aside, min_free left alone; ok when there is nothing. Believing it
// would let a cloned repository keep every run from starting.
func DistrustedEstimate(s config.Settings) (wrong config.Problem, ok bool) {
	r, err := headroom.Read(headroom.Source{})
	if err != nil {
		return config.Problem{}, true
	}
	return distrusted(s, r)
}

func distrusted(s config.Settings, r headroom.Reading) (wrong config.Problem, ok bool) {
	from := s.Source("initial_estimate")
	room := r.Ceiling(s.CountSwap)
	most := room.Physical + room.Swap - minFreeOf(s, r.Capacity())
	if from.Origin != config.OriginProject || s.InitialEstimate <= most {
		return config.Problem{}, true
	}
	return config.Problem{
		Where: from, Key: "initial_estimate",
		What: fmt.Sprintf("%s is more than this host can ever set aside (%s) and is not used", s.InitialEstimate.Human(), max(0, most).Human()),
		Fix:  "correct it, or set it in your own configuration",
	}, false
}

// distrustEstimate puts the user's own initial estimate in place of a distrusted one.
func (a *App) distrustEstimate(p *decision) error {
	if p.ReadingErr != nil {
		return nil
	}
	wrong, ok := distrusted(p.Settings, p.Reading)
	if ok {
		return nil
	}
	own, err := a.Config.WithoutProject().For(p.Tool)
	if err != nil {
		return err
	}
	p.Settings.Warnings = append(p.Settings.Warnings, wrong)
	p.Settings.InitialEstimate = own.InitialEstimate
	return nil
}

// minFreeOf is what admission leaves free on a host of this capacity.
func minFreeOf(s config.Settings, capacity limit.Bytes) limit.Bytes {
	if s.MinFree == config.Auto {
		return headroom.MinFree(capacity)
	}
	return s.MinFree
}

// demandedBy adds to a refusal which project's file it was that demanded the kernel's enforcement: who
// cloned the repository did not write it, and may overrule it.
func demandedBy(s config.Settings, err error) error {
	if from := s.Source("enforcement"); err != nil && s.Enforcement == config.EnforcementRequired && from.Origin == config.OriginProject {
		return &demandedByProject{err, from}
	}
	return err
}

type demandedByProject struct {
	error
	from config.Source
}

func (e *demandedByProject) Error() string {
	return fmt.Sprintf("%v\nIt is the project that demands this, in %s.", e.error, e.from)
}

func (e *demandedByProject) Unwrap() error { return e.error }
