//go:build !unix

package notify

import "os/exec"

// ownGroup leaves a command as it is: it alone is killed when its context ends.
func ownGroup(*exec.Cmd) (killWhole func()) { return func() {} }
