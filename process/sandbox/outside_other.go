//go:build !linux

package sandbox

import "time"

// freezeGroups returns false: there are no control groups here.
func freezeGroups(Remains) (held bool, err error) { return false, nil }

// Paused returns false: it is not known here.
func Paused(Remains, int) bool { return false }

// CPUTime returns false: no group counts it here. The run's own samples have it.
func CPUTime(Remains) (used time.Duration, ok bool) { return 0, false }

// IsCommand reports whether pid is the command of a run.
func (r Remains) IsCommand(pid, _ int) bool { return r.PID > 0 && r.PID == pid }

// OwnGroup returns "" and "": there are no control groups here.
func OwnGroup() (run, group string) { return "", "" }
