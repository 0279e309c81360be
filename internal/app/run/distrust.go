package run

import (
	"fmt"

	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/process/headroom"
	"github.com/plimsoll/plimsoll/internal/process/sizing"
)

// DistrustedEstimate calls [sizing.DistrustedEstimate] for this host.
func DistrustedEstimate(s config.Settings) (wrong config.Problem, ok bool) {
	var host sizing.Host
	host.Reading, host.Err = headroom.Read(headroom.Source{})
	return sizing.DistrustedEstimate(s, host)
}

// demandedBy adds to err, when the project's own file demands enforcement, the name of that file: who cloned the repository did not write
// it, and may overrule it. Any other err is returned as it is.
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
