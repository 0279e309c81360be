package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/app/stores"
	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/process/headroom"
	"github.com/plimsoll/plimsoll/internal/process/holder"
	"github.com/plimsoll/plimsoll/internal/process/runtimes"
	"github.com/plimsoll/plimsoll/internal/process/sizing"
	"github.com/plimsoll/plimsoll/internal/statefile"
	mcpclient "github.com/plimsoll/plimsoll/internal/tools/mcp/client"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/process/admission"
	"github.com/plimsoll/plimsoll/process/sandbox"
)

// launcher starts an MCP server in a sandbox of its own, with the server's limits; the sandbox is part of the run around the gateway if
// there is one. A claim in the ledger lets the next command clean up if the gateway itself was killed; it takes no slot and reserves
// nothing, because servers are small and many.
type launcher struct {
	app     *core.Core
	server  config.MCPServer
	process config.Settings // of the process plane
	journal *journal.Journal
	// ledger is nil if runs are not coordinated; ledgerErr says why.
	ledger    *admission.Ledger
	ledgerErr error
	// hidden are variables that servers do not get: the daemon's own secrets.
	hidden []string
	// bounded makes the warning that the server may use less than its table says come once.
	bounded sync.Once
}

// memoryLimit returns the memory limit of the server: the configured one, or less if a container around this process would be killed as a whole.
// It warns, once, if it is less; inside a run, which has said so of itself, it does not.
func (l *launcher) memoryLimit() limit.Bytes {
	var host sizing.Host
	host.Reading, host.Err = headroom.Read(headroom.Source{})
	most, why := host.KeepBelow(limit.Bytes(l.server.MCP.MemoryMax))
	if why != "" && core.InsideRun() == "" { // the run has said so of itself
		l.bounded.Do(func() {
			l.app.Warn(fmt.Sprintf("the MCP server %s may use %s of memory: %s", l.server.Name, most.Human(), why))
		})
	}
	return most
}

// environ returns the environment of the server: this process's without hidden variables, and the configured variables.
func (l *launcher) environ() []string {
	environ := slices.DeleteFunc(os.Environ(), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(l.hidden, name)
	})
	return append(environ, l.server.Env...)
}

// Launch implements mcpclient.StdioOptions.Launch.
func (l *launcher) Launch(ctx context.Context) (*mcpclient.Process, error) {
	environ := l.environ()
	path, err := lookPath(l.server.Command[0], l.server.Dir, config.Getenv(environ)("PATH"))
	if err != nil {
		return nil, err
	}
	memory := l.memoryLimit()
	if l.process.Enforcement != config.EnforcementOff {
		environ = runtimes.HandDown(environ, memory)
	}
	spec := sandbox.Spec{
		ID: admission.NewID(), Path: path, Args: l.server.Command, Env: environ, Dir: l.server.Dir,
		Limits:      sandbox.Limits{Memory: memory, Pids: l.server.MCP.PidsMax},
		Heap:        runtimes.Heap(environ, l.server.Command),
		Enforcement: sandbox.Enforcement(l.process.Enforcement),
		Nested:      os.Getenv(sandbox.CookieName) != "",
		OnExit:      sandbox.KillLeftovers,
		Grace:       l.process.Grace,
		Detach:      true,
		Launcher:    true, // npx and uvx are how most servers are started
		Subreaper:   true,
		Trials:      l.app.Trials(l.app.Warn),
	}
	for _, name := range l.process.Layers {
		layer, err := sandbox.ParseLayer(name)
		if err != nil {
			return nil, err
		}
		spec.Layers = append(spec.Layers, layer)
	}
	claim, err := l.claim(ctx, &spec)
	if err != nil {
		return nil, err
	}
	pipes, err := newPipes()
	if err != nil {
		return nil, errors.Join(err, release(claim))
	}
	spec.Files = pipes.child[:]
	run, err := sandbox.Start(context.WithoutCancel(ctx), spec)
	pipes.closeChild()
	if err != nil {
		pipes.closeOurs()
		return nil, errors.Join(err, release(claim))
	}
	return &mcpclient.Process{
		Stdin: pipes.stdin, Stdout: pipes.stdout, Stderr: pipes.stderr, PID: run.PID(),
		Wait: func() (mcpclient.Exit, error) {
			r, err := run.Wait()
			exit := mcpclient.Exit{Code: r.ExitCode, OutOfMemory: r.CommandOOM, Limit: int64(memory), Peak: int64(r.Peak.Bytes)}
			if r.Signal != 0 {
				exit.Code, exit.Signal = -1, strings.ToLower(sandbox.SignalName(r.Signal))
			}
			return exit, errors.Join(err, release(claim))
		},
		Terminate: func() { _ = run.Signal(syscall.SIGTERM) },
		Kill:      func() { _ = run.Kill() },
	}, nil
}

// claim enters the server into the ledger. It returns nil without an error if there is no ledger and the server may start all the same.
func (l *launcher) claim(ctx context.Context, spec *sandbox.Spec) (*admission.Claim, error) {
	if l.ledger == nil {
		return nil, core.MayBeUncoordinated(l.process.Enforcement, l.ledgerErr)
	}
	claim, err := l.ledger.Acquire(ctx, admission.Request{
		ID: spec.ID, Tool: "mcp-" + l.server.Name, Project: config.ProjectOf(l.server.Dir).Name,
		Parent: os.Getenv(sandbox.CookieName), NoSlot: true, Force: true, MinFree: -1,
	})
	if _, off := errors.AsType[*admission.UnavailableError](err); off {
		if err := core.MayBeUncoordinated(l.process.Enforcement, err); err != nil {
			return nil, err
		}
		l.app.Warn("what MCP servers leave behind when Plimsoll is killed stays: " + err.Error())
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	_, spec.Nested = claim.Parent()
	spec.Remember = func(r sandbox.Remains) error { return claim.Record(r) }
	spec.Observe = func(s sandbox.Sample) { _ = claim.Observe(s.Working) }
	return claim, nil
}

// sweepTime bounds the clean-up after killed gateways.
const sweepTime = 10 * time.Second

// sweep ends the servers of gateways that were killed, in the background; Close waits for it. The start of a server does that too, but that
// may come late, or never for a remote one.
func (p *Plane) sweep(ctx context.Context) {
	if p.ledger == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sweepTime)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = p.ledger.Sweep(ctx, holder.Reap) // what stays is told by gc
	}()
	p.closer.Do(func() { <-done; cancel() })
}

func release(c *admission.Claim) error {
	if c == nil {
		return nil
	}
	return c.Release()
}

// lookPath returns the path of a program, with the PATH and the directory that the server is started with.
func lookPath(name, dir, path string) (string, error) {
	next := "write the whole path, or install it"
	if strings.ContainsAny(name, "/"+string(filepath.Separator)) { // Windows knows both
		if !filepath.IsAbs(name) && dir != "" {
			name = filepath.Join(dir, name)
		}
		found, err := exec.LookPath(name)
		if err != nil {
			return "", fmt.Errorf("start the MCP server: %w; %s", err, next)
		}
		return found, nil
	}
	for _, d := range filepath.SplitList(path) {
		d = cmp.Or(d, ".")
		if found, err := exec.LookPath(filepath.Join(d, name)); err == nil {
			return filepath.Abs(found)
		}
	}
	return "", fmt.Errorf("start the MCP server: %q is not in PATH; %s", name, next)
}

// pipes are the three standard streams of a child.
type pipes struct {
	child                 [3]*os.File
	stdin, stdout, stderr *os.File
}

// newPipes makes the pipes for a server's three standard streams. The caller closes both ends.
func newPipes() (*pipes, error) {
	p := &pipes{}
	var err error
	if p.child[0], p.stdin, err = os.Pipe(); err != nil {
		return nil, err
	}
	if p.stdout, p.child[1], err = os.Pipe(); err == nil {
		p.stderr, p.child[2], err = os.Pipe()
	}
	if err != nil {
		p.closeChild()
		p.closeOurs()
		return nil, err
	}
	return p, nil
}

func (p *pipes) closeChild() {
	for _, f := range p.child {
		if f != nil {
			_ = f.Close()
		}
	}
}

func (p *pipes) closeOurs() {
	for _, f := range []*os.File{p.stdin, p.stdout, p.stderr} {
		if f != nil {
			_ = f.Close()
		}
	}
}

// maxServerLog bounds the log of a server, in bytes; the file before it is kept too.
const maxServerLog = 1 << 20

// serverLog writes the standard error of an MCP server into a file, because no client keeps a log of it. What cannot be written is dropped:
// a server must not stop for its log.
type serverLog struct {
	path string

	mu   sync.Mutex
	file *os.File
	size int64
}

// ServerLog returns the log of a server in the state directory, readable by this user alone; nil if there is no such directory. The file is
// made with the first Write.
func ServerLog(app *core.Core, name string) *serverLog {
	state, err := app.Dirs.EnsureState()
	if err != nil {
		return nil
	}
	return &serverLog{path: filepath.Join(state, stores.ServersDir, config.SafeName(name)+".log")}
}

// Write implements [io.Writer]. It appends to the log file, and begins a new one if that would become too large; the old one stays under the
// name with ".1". It never fails: what cannot be written is dropped.
func (l *serverLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file != nil && l.size+int64(len(p)) > maxServerLog {
		_ = l.file.Close()
		l.file = nil
		_ = os.Rename(l.path, l.path+".1")
	}
	if l.file == nil {
		if err := os.MkdirAll(filepath.Dir(l.path), 0o700); err != nil {
			return len(p), nil
		}
		if old, err := os.Stat(l.path); err == nil && old.Size()+int64(len(p)) > maxServerLog {
			_ = os.Rename(l.path, l.path+".1")
		}
		f, err := statefile.Open(l.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			return len(p), nil
		}
		l.file, l.size = f, 0
		if at, err := f.Stat(); err == nil {
			l.size = at.Size()
		}
	}
	n, _ := l.file.Write(p)
	l.size += int64(n)
	return len(p), nil
}

// Close closes the file.
func (l *serverLog) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.file == nil {
		return nil
	}
	err := l.file.Close()
	l.file = nil
	return err
}
