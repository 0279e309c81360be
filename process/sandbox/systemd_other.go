//go:build !linux

package sandbox

// Lingers returns true: there are no scopes of a service manager here.
func Lingers() bool { return true }

// preferOOMD does nothing: systemd-oomd is on Linux only.
func preferOOMD(cage, *Spec) {}

// oomdKills returns 0, as there is no systemd-oomd.
func oomdKills(cage) int { return 0 }
