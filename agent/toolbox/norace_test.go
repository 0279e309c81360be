//go:build !race

package toolbox_test

const (
	raceDetector = false
	rounds       = 20
	flooded      = 64 // MiB
)
