//go:build !linux

package sandbox

// OwnGroup finds the run whose control group this process is in: there are none here.
func OwnGroup() (run, group string) { return "", "" }
