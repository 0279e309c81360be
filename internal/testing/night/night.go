// Package night is for tests that say the same of many inputs, and burn a processor for it: of all of them in the nightly run of the gate
// (.ci/run --nightly), of some before each change and when somebody types `go test ./...`.
//
//	for seed := range night.Else(60, 24) {
//
// What is the promise itself, as a size that must pass, is the same by day.
package night

import "os"

// Else returns whole in the nightly run, else less.
func Else[T any](whole, less T) T {
	if os.Getenv("GATE_NIGHTLY") == "true" {
		return whole
	}
	return less
}
