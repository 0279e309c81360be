//go:build !linux

package sandbox

// Lingers reports whether the service manager that runs our scopes outlives the user's last session. It is true for root, whose scopes belong to
// the manager of the system.
func Lingers() bool { return true }

// preferOOMD asks systemd-oomd to kill other groups before the command's, and never the supervisor's: that would free nothing and lose the
// report. It does nothing outside of cgroup v2 or for OOMDDefault. Errors are ignored.
func preferOOMD(cage, *Spec) {}

func oomdKills(cage) int { return 0 }
