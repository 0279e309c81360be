//go:build !linux

package sandbox

import (
	"github.com/plimsoll/plimsoll/internal/process/proctree"
	"github.com/plimsoll/plimsoll/limit"
)

// recordMoved does nothing: a job object or a tree of processes is not left.
func (w *watcher) recordMoved(member) {}

// movedAtEnd returns nothing, as recordMoved has recorded nothing.
func (w *watcher) movedAtEnd(*Result) (alive []Leftover) { return nil }

// readRunID returns "": no process is adopted here.
func readRunID(int) string { return "" }

// readSchedUse returns false: the system does not tell.
func readSchedUse(int) (schedUse, bool) { return schedUse{}, false }

// readArguments returns nil: the arguments of another process are not read here.
func readArguments(int) []string { return nil }

// reapOrphans does nothing: no process is adopted here.
func reapOrphans(bool) (release func()) { return func() {} }

// startedByGo returns false and false. It is asked only about adopted processes, and there are none here.
func startedByGo(int) (started, sure bool) { return false, false }

// privateMemory returns the physical footprint of a process on macOS, and its private commit charge on Windows.
func privateMemory(pid int) limit.Bytes { return proctree.Private(pid) }
