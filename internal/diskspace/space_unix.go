//go:build linux || darwin || freebsd

package diskspace

import "golang.org/x/sys/unix"

// Of returns the size of a directory's file system, and what is free for this user, in bytes. ok is false if it cannot be told.
func Of(dir string) (total, free int64, ok bool) {
	var st unix.Statfs_t
	if unix.Statfs(dir, &st) != nil || st.Blocks == 0 {
		return 0, 0, false
	}
	return int64(st.Blocks) * int64(st.Bsize), int64(st.Bavail) * int64(st.Bsize), true
}
