//go:build !linux

package sandbox

// Lingers returns true where no service manager ends the runs of a user who logs out.
func Lingers() bool { return true }
