package statefile

// Neither adds anything: on Windows pipes have names of their own, outside of directories, and
// who may make a link is an administrator or in developer mode.
const (
	careful   = 0
	unwaiting = 0
)
