//go:build !linux && !darwin && !windows

package proctree

import (
	"errors"
	"fmt"
	"runtime"
	"syscall"

	"github.com/plimsoll/plimsoll/limit"
)

const (
	canStop         = false
	orphansGoToInit = false
	sigStop         = syscall.Signal(0)
	sigCont         = syscall.Signal(0)
)

var errSystem = fmt.Errorf("watching processes on %s: %w", runtime.GOOS, errors.ErrUnsupported)

func listProcesses() ([]Process, error) { return nil, errSystem }

func readMemory(Process) (private, resident limit.Bytes, err error) { return 0, 0, errSystem }

// Lookup returns an error: the system is not supported.
func Lookup(int) (Process, error) { return Process{}, errSystem }

// Signal returns an error: the system is not supported.
func Signal(Process, syscall.Signal) error { return errSystem }
