//go:build !linux

package sandbox

// preferOOMD does nothing: systemd-oomd exists on Linux only.
func preferOOMD(cage, *Spec) {}

func oomdKills(cage) int { return 0 }
