// Package clients asks a running plimsoll as real programs do: with the official Go clients of OpenAI, Anthropic and A2A, 1.0
// and 0.3.
//
// It is a module of its own, so that these clients are compiled for its tests alone: they are generated, and together were half
// of all there is to compile, and more than half of the binary, when plimsoll was built with them.
//
//	go test ./...     in this folder; the gate's step e2e does it
package clients
