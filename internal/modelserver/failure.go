package modelserver

import "github.com/plimsoll/plimsoll/window/wire"

// Fail writes a failure in the form of a dialect's provider.
func (s *Stream) Fail(d wire.Dialect, f wire.Failure) {
	s.send(f.Status, d.Rules().Error(f))
}
