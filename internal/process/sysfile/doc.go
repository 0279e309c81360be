// Package sysfile reads the small files of /proc and /sys, which a supervisor looks at all day.
//
//	text, err := sysfile.Read("/proc/meminfo", 64<<10)
//
// os.ReadFile asks the kernel nine times for one of them: what kind of file it is, how large, and whether the network
// poller can wait for it. Three are enough: open, read, close. For a file that is looked at every second one is: see [Keep].
package sysfile

// Small is more than any file holds that tells of one process or one control group, in bytes: cgroup.procs and the mount
// table, which grow with the host, are not among them.
const Small = 64 << 10
