// Package diskspace reports the size of a folder's file system, how much of it this user may still fill, and whether a write failed for it.
//
//	total, free, ok := diskspace.Of(dir) // in bytes; ok is false where nobody can tell
//	if diskspace.IsFull(err) { ... }      // a write failed because there is no room
//
// It asks the system (statfs, GetDiskFreeSpaceEx) and reads nothing else. On network file systems that hang, so does the question:
// a caller that must not wait asks elsewhere.
package diskspace
