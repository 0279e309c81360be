//go:build !linux

package sandbox

// Lingers returns true: no service manager here ends the runs of a user who logs out.
func Lingers() bool { return true }

// preferOOMD does nothing: systemd-oomd exists on Linux only.
func preferOOMD(cage, *Spec) {}

func oomdKills(cage) int { return 0 }
