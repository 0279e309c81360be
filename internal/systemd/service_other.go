//go:build !linux

package systemd

import (
	"context"
	"net"
)

// Service holds what a service manager passed to this process: nothing, on this system.
type Service struct{}

// Take returns nil on this system.
func Take() (*Service, error) { return nil, nil }

// Listener returns nil: no socket was passed.
func (s *Service) Listener() (net.Listener, error) { return nil, nil }

// Ready does nothing.
func (s *Service) Ready(string) error { return nil }

// Stopping does nothing.
func (s *Service) Stopping(string) error { return nil }

// Watch returns at once: there is no watchdog.
func (s *Service) Watch(context.Context, func(context.Context) error, func(string)) {}
