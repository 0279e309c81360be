package toolbox

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/internal/tools/gateway"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/tools/mcp/builtin"
	"github.com/plimsoll/plimsoll/tools/spool"
)

const (
	// DefaultStart is the time for servers to start and to list their tools.
	DefaultStart = 30 * time.Second
	// MaxServers bounds the servers of a toolbox.
	MaxServers = 64
	// ownSpool bounds the toolbox's own spool on the disk.
	ownSpool = limit.GiB
	// maxFunctionCalls bounds the calls of functions at one time.
	maxFunctionCalls = 1024
	// closeWait bounds the wait of Close for functions to return.
	closeWait = 5 * time.Second
)

// functionsName is the server name of the functions, in events and kept results.
const functionsName = "functions"

// Options configure a [Toolbox]; the zero value is one without tools.
type Options struct {
	// Servers are MCP servers, at most [MaxServers], with different names. The tools of a single
	// server keep their names; with several servers they are called NAME__TOOL.
	Servers []Server
	// Functions are tools of this process. They keep their names.
	Functions []builtin.Tool
	// Spool keeps results that are too large; nil means a new one in a directory of its own that Close
	// removes, of at most 1 GiB. With a [Server].Gateway it must be the gateway's.
	Spool *spool.Spool
	// Principal owns the kept results: whoever continues a conversation can read its
	// results with the same principal. "" means a random one.
	Principal string
	// Query starts the child that runs jq programs over kept results: a program and its
	// arguments (see package query). Without it models have no tool for that.
	Query []string
	// MaxResult is the largest text of a result that a model gets whole, in bytes; of a larger one it gets
	// a page. 0 means result.DefaultMaxText, 10 KB. It does not apply to a [Server].Gateway, nor to
	// a [Server] whose Settings have a Cap.
	MaxResult limit.Bytes
	// ByWindow bounds results by [agent.ResultRoom] instead of MaxResult, for every server whose Settings have
	// no Cap, and for a [Server].Gateway too.
	ByWindow bool
	// Start bounds the wait of New for the servers (DefaultStart).
	Start time.Duration
	// Journal gets the events of gateways and spool made here; it may be nil.
	Journal *journal.Journal
}

// Toolbox is the tools of an agent: those of MCP servers, and Go functions. It implements [agent.Tools]. Its methods may be called from any
// goroutine.
type Toolbox struct {
	o         Options
	principal string
	spool     *spool.Spool
	sessions  []*serverSession // functions first, then servers
	cleanup   []func() error
	reading   chan struct{} // places for reads of kept results

	catalogue atomic.Pointer[catalogue]
	building  sync.Mutex // held while a catalogue is made

	count counters

	ctx  context.Context // ends with Close
	end  context.CancelCauseFunc
	once sync.Once
	shut error
}

var _ agent.Tools = (*Toolbox)(nil)

// ErrClosed means that the toolbox was closed.
var ErrClosed = errors.New("the toolbox is closed")

// New starts the servers and returns the toolbox when all have listed their tools, Start is over or ctx ends; ctx is not kept. A server
// that does not answer costs only its own tools: it is tried again with growing pauses, and [Toolbox.Stats] has the reason. It returns an
// error if none of them answers and there are no functions, if ctx has ended, or if the options are invalid.
func New(ctx context.Context, o Options) (*Toolbox, error) {
	b := &Toolbox{o: o, principal: o.Principal, spool: o.Spool, reading: make(chan struct{}, gateway.MaxReading)}
	if b.o.Start <= 0 {
		b.o.Start = DefaultStart
	}
	if b.principal == "" {
		var random [16]byte
		_, _ = rand.Read(random[:]) // never fails
		b.principal = hex.EncodeToString(random[:])
	}
	b.ctx, b.end = context.WithCancelCause(context.Background())
	err := b.prepare()
	if err == nil {
		err = b.connect(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

// prepare checks the options, and makes the spool and the sessions. It connects to no server.
func (b *Toolbox) prepare() error {
	o := &b.o
	if len(o.Servers) > MaxServers {
		return fmt.Errorf("toolbox: there are %d servers, at most %d are taken", len(o.Servers), MaxServers)
	}
	names := map[string]bool{functionsName: len(o.Functions) > 0}
	for i := range o.Servers {
		if err := o.Servers[i].check(o.Spool != nil); err != nil {
			return fmt.Errorf("toolbox: server %d (%q): %w", i+1, clip(o.Servers[i].displayName(), 64), err)
		}
		name := o.Servers[i].displayName()
		if names[name] {
			return fmt.Errorf("toolbox: two servers are called %q; give one another Name", clip(name, 64))
		}
		names[name] = true
	}
	if b.spool == nil && len(o.Servers)+len(o.Functions) > 0 {
		if err := b.makeSpool(); err != nil {
			return err
		}
	}
	if len(o.Functions) > 0 {
		if err := b.addFunctions(); err != nil {
			return err
		}
	}
	for i := range o.Servers {
		l, err := b.newSession(&o.Servers[i])
		if err != nil {
			return fmt.Errorf("toolbox: server %q: %w", clip(o.Servers[i].displayName(), 64), err)
		}
		if len(o.Servers) > 1 {
			l.prefix = l.name
		}
		b.sessions = append(b.sessions, l)
		for _, other := range b.sessions[:len(b.sessions)-1] {
			if l.gateway.Name() == other.gateway.Name() { // kept results tell by it whose they are
				return fmt.Errorf("toolbox: the gateways of %q and %q have the same name; give one another", clip(l.name, 64), clip(other.name, 64))
			}
		}
	}
	return nil
}

// makeSpool makes a spool in a temporary directory. [Toolbox.Close] closes the spool and removes the directory.
func (b *Toolbox) makeSpool() error {
	dir, err := os.MkdirTemp("", "plimsoll-results-")
	if err != nil {
		return fmt.Errorf("toolbox: large results need a directory: %w; set TMPDIR to one that is yours to write to, or give Options.Spool", err)
	}
	b.cleanup = append(b.cleanup, func() error { return os.RemoveAll(dir) })
	b.spool, err = spool.Open(spool.Options{Dir: dir, MaxBytes: ownSpool, Journal: b.o.Journal})
	if err != nil {
		return fmt.Errorf("toolbox: keep results: %w", err)
	}
	b.cleanup = append(b.cleanup, b.spool.Close)
	return nil
}

// connect waits for the first lists of all servers. It returns an error if ctx ends or no server has connected.
func (b *Toolbox) connect(ctx context.Context) error {
	var wg sync.WaitGroup
	for _, l := range b.sessions {
		wg.Go(func() { _ = l.refresh(ctx, true) }) // kept in the link; an attempt ends by itself
	}
	wg.Wait()
	if ctx.Err() != nil {
		return fmt.Errorf("toolbox: %w", context.Cause(ctx))
	}
	var failed []error
	for _, l := range b.sessions {
		if err := l.failure(); err != nil {
			failed = append(failed, err)
		}
	}
	if len(failed) > 0 && len(failed) == len(b.sessions) {
		return fmt.Errorf("toolbox: %w", errors.Join(failed...))
	}
	b.buildCatalogue()
	return nil
}

// Close ends the calls, the servers that were started here and the spool that was made here. It waits up to 5 seconds for functions to
// return. A second call returns the error of the first.
func (b *Toolbox) Close() error {
	b.once.Do(func() {
		b.end(ErrClosed)
		all := make([]error, len(b.sessions))
		var wg sync.WaitGroup
		for i, l := range b.sessions {
			wg.Go(func() { all[i] = l.close() }) // each may take seconds
		}
		wg.Wait()
		for i := len(b.cleanup) - 1; i >= 0; i-- {
			all = append(all, b.cleanup[i]())
		}
		b.shut = errors.Join(all...)
	})
	return b.shut
}

type counters struct {
	calls, failed, cancelled, dropped, refused, unanswered, badSchemas atomic.Int64
}

// Stats are the counts of a toolbox since New.
type Stats struct {
	Servers []ServerStats // functions first, if there are any
	Tools   int           // tools that List returns
	Left    int           // tools left out for lack of room or of a usable name
	Calls   int64
	Failed  int64 // calls whose output is marked as failed
	// Cancelled counts calls whose context ended first.
	Cancelled int64
	// Dropped counts progress messages that were not taken in time.
	Dropped int64
	// Refused counts requests of servers (for input, a model, files), which are all refused;
	// Unanswered those that came too fast for an answer.
	Refused, Unanswered int64
	// BadSchemas counts tools listed with a schema that is invalid or too large: their
	// arguments are not checked.
	BadSchemas int64
}

// ServerStats are the counts of one server.
type ServerStats struct {
	Name  string
	Tools int // without those that read kept results
	Calls int64
	// Err is the reason why its tools could not be listed last; nil if they could.
	Err error
}

// Stats returns the counts.
func (b *Toolbox) Stats() Stats {
	c := &b.count
	s := Stats{
		Calls: c.calls.Load(), Failed: c.failed.Load(), Cancelled: c.cancelled.Load(), Dropped: c.dropped.Load(),
		Refused: c.refused.Load(), Unanswered: c.unanswered.Load(), BadSchemas: c.badSchemas.Load(),
	}
	if k := b.catalogue.Load(); k != nil {
		s.Tools, s.Left = len(k.specs), k.omitted
	}
	for _, l := range b.sessions {
		l.mu.Lock()
		one := ServerStats{Name: l.name, Calls: l.calls.Load(), Err: l.err}
		for _, t := range l.tools {
			if t.role == noRole {
				one.Tools++
			}
		}
		s.Left += l.hidden
		l.mu.Unlock()
		s.Servers = append(s.Servers, one)
	}
	return s
}
