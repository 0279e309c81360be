//go:build !unix

package runs

import "io/fs"

// isOwn returns true: only this user can write to the state directory here.
func isOwn(fs.FileInfo) bool { return true }
