//go:build !windows

package run

// drawsEscapes reports whether a terminal understands escape sequences: TERM=dumb is asked elsewhere.
func drawsEscapes() bool { return true }
