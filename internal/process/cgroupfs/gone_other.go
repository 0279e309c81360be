//go:build !unix

package cgroupfs

func isGone(error) bool { return false }
