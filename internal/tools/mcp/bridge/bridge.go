// Package bridge lets a client of the older versions of MCP work with a server that speaks only the newest. It is a [transport.Peer] over a
// transport.Peer; the gateway puts it in where [Detect] finds that it is needed.
//
//	version, err := bridge.Detect(ctx, next, transport.Message{}, bridge.Options{})
//	p := bridge.Legacy(next, o) // a client of 2025-11-25 or older over a server of 2026-07-28
//
// A legacy server asks its client in the middle of a call and waits. A modern one answers input_required, and is sent the request again with the
// inputs: so the bridge asks its client and repeats the call with the answers; it holds nothing at the server. The table in docs/bridge.md lists how
// each feature crosses and what is refused: it is part of the contract, and each row has a test of its name.
//
// Messages are edited as bytes and keep their order, numbers and unknown members; a large response is edited at its beginning while it streams. HTTP
// headers of the client do not cross. A bridge serves one client, from many goroutines; a receiver may answer from within Receive.
package bridge

import (
	"crypto/rand"
	"encoding/base64"
	"slices"
	"time"
)

// ProtocolVersion says which family of protocol versions a server speaks: those with sessions, or those without.
type ProtocolVersion uint8

// The protocol versions.
const (
	Unknown ProtocolVersion = iota
	// WithSessions is MCP 2025-11-25 and older, with initialize, sessions and requests of the server.
	WithSessions
	// Sessionless is MCP 2026-07-28, with self-contained requests, input_required and subscriptions/listen.
	Sessionless
)

// String returns "legacy", "modern" or "unknown".
func (e ProtocolVersion) String() string {
	return [...]string{"unknown", "legacy", "modern"}[min(e, 2)]
}

// The newest version with sessions, and the first without.
const (
	ModernVersion = "2026-07-28"
	LegacyVersion = "2025-11-25"
)

var legacyVersions = []string{LegacyVersion, "2025-06-18", "2025-03-26", "2024-11-05"}

// The defaults of [Options].
const (
	DefaultHold      = 10 * time.Minute
	DefaultRounds    = 32
	DefaultHandshake = 60 * time.Second
	DefaultProbe     = 5 * time.Second
)

// Bounds that no option changes. Larger messages are refused or, if they need no edit, passed on.
const (
	maxControl  = 4 << 20 // bytes of an answer that is read here, of an input_required result
	maxURIs     = 1000    // resources subscribed to, per session
	maxInputs   = 32      // requests of a server for one call at a time
	maxErrorOut = 300     // bytes of a peer's text in an error made here
)

// Options of a bridge; the zero value means the defaults.
type Options struct {
	// Server is the name that the gateway has for the server, for events and errors.
	Server string
	// Hold bounds the time that a call waits for the client's input; 0 means DefaultHold.
	Hold time.Duration
	// Rounds bounds how many times one call may ask for input; 0 means DefaultRounds.
	Rounds int
	// Handshake bounds the wait for the answer to initialize or server/discover; 0 means DefaultHandshake.
	Handshake time.Duration
	// Probe bounds the wait of Detect for an answer to server/discover, before it also sends initialize; 0 means DefaultProbe.
	Probe time.Duration
}

// withDefaults returns the options with defaults for those that are zero or negative.
func (o Options) withDefaults() Options {
	set := func(d *time.Duration, to time.Duration) {
		if *d <= 0 {
			*d = to
		}
	}
	count := func(n *int, to int) {
		if *n <= 0 {
			*n = to
		}
	}
	set(&o.Hold, DefaultHold)
	set(&o.Handshake, DefaultHandshake)
	set(&o.Probe, DefaultProbe)
	count(&o.Rounds, DefaultRounds)
	if o.Server == "" {
		o.Server = "the server"
	}
	return o
}

// newToken returns an unguessable text of 256 random bits.
func newToken() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(b[:])
}

var levels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// levelOf returns the index of a log level, -1 if it is not a known one.
func levelOf(name string) int { return slices.Index(levels, name) }
