//go:build !linux

package sandbox

// systemd-oomd exists on Linux only.
func preferOOMD(cage, *Spec) {}

func oomdKills(cage) int { return 0 }
