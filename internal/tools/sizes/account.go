// Package sizes remembers how large the results of MCP tools are: how often each tool of each server was called, what the server sent and what the
// client got, the average, the 95th percentile and the largest. `plimsoll stats` shows them.
//
//	account, err := sizes.Open(dir, sizes.Options{}) // observes the journal
//	err = account.Close()                            // writes what is not written yet
//	rows, err := sizes.Read(dir)
//
// Counts are added up in memory and written every minute at most, to one file per server under a lock, so that any number of gateways share a
// directory; a process that is killed loses the last minute. Sums and the maximum are exact; the percentile is at most 4.5 % too high and never too
// low. At most 256 servers and 512 tools each have names, the others count as "(others)". A damaged file is set aside and begun anew. All methods
// are safe for concurrent use.
package sizes

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/atomicfile"
	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/internal/store"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

// Bounds of what is kept. A file of a full server has about 1 MiB.
const (
	maxServers = 256
	maxTools   = 512
	maxName    = 128 // bytes of a name
	maxFile    = 16 << 20
)

// pauseAfterError is the shortest time after which a write that failed is tried again: a full disk stays full for a while.
const pauseAfterError = 2 * time.Second

// others is the row of all tools beyond the bound of rows.
const others = "(others)"

// Options of an Account; the zero value is fine.
type Options struct {
	// Every is the shortest time between writes; 0 means a minute. A call after a longer pause is written at once.
	Every time.Duration
	// Lists keeps what the definitions of tools take, too, in a row of the tool [Listed].
	Lists bool
	// Warn receives what could not be written; nil drops it. It is tried again.
	Warn func(error)
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Account adds up tool calls. It is a [journal.Observer].
type Account struct {
	dir   string
	o     Options
	added chan struct{} // holds one when there is something to write
	stop  chan struct{}
	done  chan struct{}

	writing sync.Mutex // held by who writes; taken before mu

	mu      sync.Mutex
	pending map[string]map[string]*tally // by server and tool, since the last write
	closed  bool
}

// Open makes an Account that writes into dir, which is made when it is first needed.
func Open(dir string, o Options) (*Account, error) {
	if dir == "" {
		return nil, errors.New("sizes: no directory is named")
	}
	if o.Every <= 0 {
		o.Every = time.Minute
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Warn == nil {
		o.Warn = func(error) {}
	}
	a := &Account{dir: dir, o: o, added: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}), pending: map[string]map[string]*tally{}}
	go a.writeLoop()
	return a, nil
}

// Observe implements [journal.Observer]: it counts calls of tools and, with [Options.Lists], stores the size of lists of tools. Nothing is
// written yet.
func (a *Account) Observe(r journal.Record) {
	switch e := r.Event.(type) {
	case journal.ToolCalled:
		a.count(e.Server, cmp.Or(e.Tool, e.Method), func(t *tally) { t.add(e, r.Time) })
	case journal.ToolsListed:
		if a.o.Lists && e.Tokens > 0 {
			a.count(e.Server, Listed, func(t *tally) { t.Definitions, t.Deferred, t.Last = e.Tokens, e.Deferred, r.Time })
		}
	}
}

// Listed is the tool of a row that is of the list of tools; it has no calls.
const Listed = "tools/list"

// count calls update with the tally of a tool, and wakes the writer. After Close it does nothing. Servers beyond maxServers share one name.
func (a *Account) count(server, tool string, update func(*tally)) {
	server, tool = clip(server), clip(tool)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return
	}
	tools := a.pending[server]
	if tools == nil {
		if len(a.pending) >= maxServers {
			server = others
		}
		if tools = a.pending[server]; tools == nil {
			tools = map[string]*tally{}
			a.pending[server] = tools
		}
	}
	update(tallyOf(tools, tool))
	a.signal()
}

// tallyOf returns the tally of a tool and makes it if there is none; with maxTools of them, that of the others.
func tallyOf(tools map[string]*tally, tool string) *tally {
	t := tools[tool]
	if t == nil && len(tools) >= maxTools {
		tool = others
		t = tools[tool]
	}
	if t == nil {
		t = &tally{}
		tools[tool] = t
	}
	return t
}

func clip(name string) string { return limit.Clip(name, maxName) }

// writeLoop runs until Close. It writes what was added, at most once in [Options.Every], and later if that failed.
func (a *Account) writeLoop() {
	defer close(a.done)
	for {
		pause := a.o.Every
		select {
		case <-a.added:
			if err := a.Flush(); err != nil {
				a.o.Warn(err)
				a.signal() // it was kept
				pause = max(pause, pauseAfterError)
			}
		case <-a.stop:
			return
		}
		select {
		case <-time.After(pause):
		case <-a.stop:
			return
		}
	}
}

// signal wakes the writer.
func (a *Account) signal() {
	select {
	case a.added <- struct{}{}:
	default:
	}
}

// Flush writes what was added since the last time. The next one writes what could not be written.
func (a *Account) Flush() error {
	a.writing.Lock()
	defer a.writing.Unlock()
	a.mu.Lock()
	pending := a.pending
	a.pending = map[string]map[string]*tally{}
	a.mu.Unlock()
	var failed error
	for server, tools := range pending {
		if err := add(a.dir, server, tools); err != nil {
			failed = fmt.Errorf("sizes of results of %s: %w", server, err)
			a.giveBack(server, tools)
		}
	}
	return failed
}

// giveBack puts counts that could not be written back among those that wait.
func (a *Account) giveBack(server string, tools map[string]*tally) {
	a.mu.Lock()
	defer a.mu.Unlock()
	kept := a.pending[server]
	if kept == nil {
		a.pending[server] = tools
		return
	}
	for tool, t := range tools {
		tallyOf(kept, tool).merge(t)
	}
}

// Close ends the writing in the background and writes what is left. A second call does nothing.
func (a *Account) Close() error {
	a.mu.Lock()
	closed := a.closed
	a.closed = true
	a.mu.Unlock()
	if closed {
		return nil
	}
	close(a.stop)
	<-a.done
	return a.Flush()
}

// book is the file of one server.
type book struct {
	Schema int               `json:"schema"`
	Server string            `json:"server"`
	Tools  map[string]*tally `json:"tools"`
}

// fileOf returns the name of a server's file: at most 40 characters of the server's name, the others replaced by "-", and a digest, so that
// two servers never share a file.
func fileOf(server string) string {
	sum := sha256.Sum256([]byte(server))
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '-'
	}, strings.ToLower(server))
	return name[:min(len(name), 40)] + "-" + hex.EncodeToString(sum[:6]) + ".json"
}

// lockWait bounds the wait for another writer, who holds the lock for milliseconds.
const lockWait = 5 * time.Second

var errLockWait = fmt.Errorf("another process did not release it within %v", lockWait)

// document returns access to the book at a path.
func document(path string) store.Document[book] {
	return store.Document[book]{
		File:   store.File{Path: path, Lock: filepath.Join(filepath.Dir(path), ".lock"), Max: maxFile, Kept: atomicfile.Durable},
		Schema: 1, Check: (*book).check, Aside: func(string, error) {},
	}
}

// errFull means that no server more has a file.
var errFull = errors.New("there are too many servers")

// add adds the counts of a server to its file. If there are too many files, they are added to a common one.
func add(dir, server string, tools map[string]*tally) error {
	ctx, cancel := context.WithTimeoutCause(context.Background(), lockWait, errLockWait)
	defer cancel()
	err := document(filepath.Join(dir, fileOf(server))).ChangeAnew(ctx, func(b *book) error {
		if b.Server == "" && server != others && isFull(dir) {
			return errFull
		}
		b.Server = server
		b.add(tools)
		return nil
	})
	switch {
	case errors.Is(err, errFull):
		sum := &tally{}
		for _, t := range tools {
			sum.merge(t)
		}
		return add(dir, others, map[string]*tally{others: sum})
	case errors.Is(err, errLockWait):
		return fmt.Errorf("%s is locked: %w", filepath.Join(dir, ".lock"), err)
	}
	return err
}

func isFull(dir string) bool {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	return err == nil && len(files) >= maxServers
}

// add merges the figures of each tool into the book.
func (b *book) add(tools map[string]*tally) {
	b.Schema = 1
	if b.Tools == nil {
		b.Tools = map[string]*tally{}
	}
	for tool, t := range tools {
		tallyOf(b.Tools, tool).merge(t)
	}
}

// check returns an error if the file is not of this version, or its numbers are impossible.
func (b *book) check() error {
	if b.Schema != 1 || b.Server == "" || len(b.Tools) > maxTools+1 {
		return errors.New("not sizes of this version")
	}
	for tool, t := range b.Tools {
		if t == nil || !t.isPlausible() {
			return fmt.Errorf("the numbers of %q are none", clip(tool))
		}
	}
	return nil
}

// Row holds the counts of one tool. Sizes are bytes of whole messages.
type Row struct {
	Server         string    `json:"server"`
	Tool           string    `json:"tool"`
	Calls          int64     `json:"calls"`
	Spilled        int64     `json:"spilled"`
	Failed         int64     `json:"failed"`
	UpstreamBytes  int64     `json:"upstream_bytes"`
	DeliveredBytes int64     `json:"delivered_bytes"`
	AverageBytes   int64     `json:"average_bytes"` // of what servers sent
	P95Bytes       int64     `json:"p95_bytes"`
	MaxBytes       int64     `json:"max_bytes"`
	First          time.Time `json:"first"`
	Last           time.Time `json:"last"`
	// DefinitionTokens and Deferred are of the server's last list of tools, in the row of [Listed], which no listing has.
	DefinitionTokens int `json:"-"`
	Deferred         int `json:"-"`
}

// Read returns the rows of all files in dir, the largest sum of bytes first; none if there is no such directory. The error tells of files
// that could not be read; the rows of the others are returned nevertheless.
func Read(dir string) ([]Row, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	rows := []Row{}
	var failed []error
	for _, file := range files {
		b, err := document(file).Read()
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w; remove it to begin anew", file, store.Fault(err)))
			continue
		}
		for tool, t := range b.Tools {
			rows = append(rows, t.row(b.Server, tool))
		}
	}
	sorting.By(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(b.UpstreamBytes, a.UpstreamBytes), cmp.Compare(a.Server, b.Server), cmp.Compare(a.Tool, b.Tool))
	})
	return rows, errors.Join(failed...)
}

// row returns the counts of a tool as a row.
func (t *tally) row(server, tool string) Row {
	r := Row{
		Server: server, Tool: tool, Calls: t.Calls, Spilled: t.Spilled, Failed: t.Failed,
		UpstreamBytes: t.Upstream, DeliveredBytes: t.Delivered, P95Bytes: t.percentile(0.95), MaxBytes: t.Max, First: t.First, Last: t.Last,
		DefinitionTokens: t.Definitions, Deferred: t.Deferred,
	}
	if t.Calls > 0 {
		r.AverageBytes = t.Upstream / t.Calls
	}
	return r
}
