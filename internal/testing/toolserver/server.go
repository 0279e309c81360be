// Package toolserver is a real MCP server to test and measure with. It speaks both protocols (2024-11-05 to 2025-11-25 with sessions,
// 2026-07-28 without) over standard streams and streamable HTTP, with JSON and SSE answers, and misbehaves when it is told to.
//
//	s := toolserver.New(toolserver.Options{})
//	ts := httptest.NewServer(s.Handler())                   // or: go s.ServeStdio(ctx, stdin, stdout)
//	go run ./internal/testing/toolserver/standalone         // the same on standard streams
//
// It is written by hand and shares no code with the official SDK or with the gateway, so that a test between them is a test of all three. The
// same arguments give the same bytes. The table of its tools is in tools.go.
//
// A Server serves any number of connections at once. Every result is written as it is made, through a buffer of 32 KiB, so that a gigabyte
// costs no memory.
package toolserver

import (
	"cmp"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
)

// The protocol versions.
const (
	Modern      = "2026-07-28"
	LatestOlder = "2025-11-25"
)

var olderVersions = []string{LatestOlder, "2025-06-18", "2025-03-26", "2024-11-05"}

// Versions selects the protocol versions that a server speaks.
type Versions uint8

// The protocol versions. The zero value is Both.
const (
	Both Versions = iota
	LegacyOnly
	ModernOnly
)

// Answer is the form in which results are sent over HTTP.
type Answer uint8

// The forms. Auto is JSON unless something comes before the response.
const (
	Auto Answer = iota
	JSON
	SSE
)

// Options of a Server; the zero value speaks both protocol versions.
type Options struct {
	Versions Versions
	Answer   Answer
	// PageSize is the number of tools on a page of tools/list; 0 means all.
	PageSize int
	// SilentProbe leaves what comes before initialize unanswered, as some servers of the version with sessions do.
	SilentProbe bool
	// EventIDs gives SSE events of the version with sessions ids, so that a stream can be resumed.
	EventIDs bool
	// Name is the server's name; "" means "toolserver".
	Name string
	// Tasks says that there are tasks, of 2025-11-25 and by the extension of 2026-07-28, for what must not pass that on.
	Tasks bool
}

// Faults that end a connection. ServeStdio returns them.
var (
	// ErrCut reports that the stream was ended in the middle of a message.
	ErrCut = errors.New("toolserver: cut in the middle of a result, as asked")
	// ErrDied reports that the server was asked to die.
	ErrDied = errors.New("toolserver: died as asked")
)

// Stats are the counts of a Server.
type Stats struct {
	Writes       int64 `json:"writes"`
	Reads        int64 `json:"reads"`
	Calls        int64 `json:"calls"`
	Cancelled    int64 `json:"cancelled"`
	Initialized  int64 `json:"initialized"`
	Discovered   int64 `json:"discovered"`
	Sessions     int64 `json:"sessions"`      // open now
	Listens      int64 `json:"listens"`       // open subscriptions/listen streams
	Subscribed   int64 `json:"subscribed"`    // resources/subscribe, less unsubscribe
	RootsChanged int64 `json:"roots_changed"` // notifications of it
	Open         int64 `json:"open"`          // requests under way
}

// Server is an MCP server.
type Server struct {
	o     Options
	key   []byte // seals requestState
	count struct {
		writes, reads, calls, cancelled, initialized, discovered, subscribed, roots, open, extra atomic.Int64
	}
	mu       sync.Mutex
	sessions map[string]*session // of HTTP, by session id
	standing map[*session]bool   // every session that can be told of changes
	listens  map[*listen]bool
}

// New returns a Server.
func New(o Options) *Server {
	o.Name = cmp.Or(o.Name, "toolserver")
	s := &Server{
		o: o, key: make([]byte, 32),
		sessions: make(map[string]*session), standing: make(map[*session]bool),
		listens: make(map[*listen]bool),
	}
	_, _ = rand.Read(s.key) // never fails
	return s
}

// Stats returns what was counted so far.
func (s *Server) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := &s.count
	return Stats{
		Writes: c.writes.Load(), Reads: c.reads.Load(), Calls: c.calls.Load(), Cancelled: c.cancelled.Load(),
		Initialized: c.initialized.Load(), Discovered: c.discovered.Load(), Sessions: int64(len(s.standing)),
		Listens: int64(len(s.listens)), Subscribed: c.subscribed.Load(), RootsChanged: c.roots.Load(), Open: c.open.Load(),
	}
}

// EndSessions forgets every HTTP session, as a server does that was restarted: its clients get 404.
func (s *Server) EndSessions() {
	s.mu.Lock()
	all := make([]*session, 0, len(s.sessions))
	for _, c := range s.sessions {
		all = append(all, c)
	}
	clear(s.sessions)
	s.mu.Unlock()
	for _, c := range all {
		c.end()
	}
}

func (s *Server) supported() []string {
	switch s.o.Versions {
	case ModernOnly:
		return []string{Modern}
	case LegacyOnly:
		return olderVersions
	}
	return append([]string{Modern}, olderVersions...)
}

func (s *Server) speaksModern() bool { return s.o.Versions != LegacyOnly }

func isOlder(version string) bool { return slices.Contains(olderVersions, version) }

func token() string {
	var b [18]byte
	_, _ = rand.Read(b[:])
	return base64.RawURLEncoding.EncodeToString(b[:])
}
