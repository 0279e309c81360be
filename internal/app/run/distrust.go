package run

import (
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

// demandedBy adds to err, when enforcement is required, where that is demanded: the flag that was given, or the project's own file, which who
// cloned the repository did not write and may overrule. Any other err is returned as it is.
func demandedBy(s config.Settings, err error) error {
	if err == nil || s.Enforcement != config.EnforcementRequired {
		return err
	}
	switch from := s.Source("enforcement"); from.Origin {
	case config.OriginProject:
		return &demanded{err, "It is the project that demands this, in " + from.String() + "."}
	case config.OriginFlag, config.OriginEnvironment:
		return &demanded{err, "It is " + from.String() + " that demands this."}
	case config.OriginUser:
		return &demanded{err, "It is your configuration that demands this, in " + from.String() + "."}
	}
	return err
}

// demanded is an error with a line about where it comes from.
type demanded struct {
	error
	from string
}

func (e *demanded) Error() string { return e.error.Error() + "\n" + e.from }

func (e *demanded) Unwrap() error { return e.error }
