//go:build race

package gateway_test

// The race detector takes memory of its own.
const raceDetector = true
