package statefile

import "io/fs"

// Neither adds anything: on Windows pipes have names of their own, outside of directories, and
// who may make a link is an administrator or in developer mode.
const (
	careful   = 0
	unwaiting = 0
)

// IsOwn returns true: files have no owner by number here.
func IsOwn(fs.FileInfo) bool { return true }
