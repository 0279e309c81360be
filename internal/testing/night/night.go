// Package night is for tests that say the same of many inputs, and burn a processor for it: of all of them by night (.ci/run --nightly), of some
// before each change and when somebody types `go test ./...`.
package night

import "os"

// Else returns whole in the nightly run, else less.
func Else[T any](whole, less T) T {
	if os.Getenv("GATE_NIGHTLY") == "true" {
		return whole
	}
	return less
}
