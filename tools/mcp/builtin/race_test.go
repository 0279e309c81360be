//go:build race

package builtin_test

// The race detector takes memory of its own.
const raceDetector = true
