// Package cgroupfs finds the place of a process in the control group file systems.
//
// The kernel describes it in two files: /proc/PID/cgroup names the group of every
// hierarchy, /proc/PID/mountinfo lists the mount of each hierarchy and the part of
// it the mount shows (a container sees its own group as the root). [Own] joins the two
// into directories that can be opened.
//
//	own, err := cgroupfs.Own()
//	own.Unified          // /sys/fs/cgroup/user.slice/…, "" when no cgroup2 is mounted
//	own.V1["memory"]     // /sys/fs/cgroup/memory/…, absent on a pure v2 host
//
// [Parse] does the same from given texts, for the tests and the fuzzer.
// It never fails on a line it does not understand: it skips it, as the kernel may add
// new ones.
package cgroupfs
