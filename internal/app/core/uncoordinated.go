package core

import (
	"errors"

	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/process/admission"
)

// NotCoordinatedError is the error of what was not started since admission could not be asked.
type NotCoordinatedError struct{ Err error }

func (e *NotCoordinatedError) Error() string {
	return "not started, since runs cannot be coordinated: " + e.Err.Error()
}
func (e *NotCoordinatedError) Unwrap() error { return e.Err }

// MayBeUncoordinated returns nil when a run may start although err keeps it from the ledger.
func MayBeUncoordinated(enforcement config.Enforcement, err error) error {
	off, ok := errors.AsType[*admission.UnavailableError](err)
	if enforcement != "required" && ok && off.Unwritable() {
		return nil
	}
	return &NotCoordinatedError{err}
}
