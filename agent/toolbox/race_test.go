//go:build race

package toolbox_test

// Under the race detector large results take too long.
const (
	raceDetector = true
	rounds       = 3
	flooded      = 4 // MiB
)
