// Package remember joins the memory with what fills it and what asks it: the proxy of a run and of the daemon, and Plimsoll's own
// agents.
//
//	m := remember.Open(app, settings, remember.Options{Journal: events, Project: project.Key, Warn: app.Warn})
//	defer m.Close()
//	plane, err := window.Open(app, settings, window.Options{Keeper: m.Keeper(), KeepTurns: m.Turns(), Recaller: m.Recaller(), …})
//
// Nothing is opened until there is something to keep: a run without a compaction does not touch the memory. What is kept is written by
// a queue, off the way of requests. Only where the memory is on is the index read, in the background at the start; until that is done, and
// where an answer would take too long, nothing is added to a prompt.
//
// What a client's messages are is told by its form (internal/window/client): a prompt that a person typed at a terminal has the origin user, what
// a model wrote agent, and all else tool. Inside another run nobody types: whatever stands there has the origin tool.
package remember

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/app/memories"
	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/memory"
	"github.com/plimsoll/plimsoll/internal/memory/capture"
	"github.com/plimsoll/plimsoll/internal/window/proxy"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

// UserNamespace is the namespace of what holds everywhere.
const UserNamespace = memories.UserNamespace

// ServeNamespace is the namespace of conversations that go through the daemon, which knows no project of theirs.
const ServeNamespace = "project/serve"

// ProjectNamespace returns the namespace of a project, by its [config.Project.Key].
func ProjectNamespace(key string) string { return "project/" + key }

// AgentNamespace returns the namespace of one of Plimsoll's own agents.
func AgentNamespace(name string) string { return "agent/" + config.SafeName(name) }

// Dir returns where the memory lies.
func Dir(app *core.Core) (string, error) {
	state, err := app.Dirs.State()
	if err != nil {
		return "", err
	}
	return filepath.Join(state, memories.Dir), nil
}

// OpenStore opens the memory of this user. It opens no index.
func OpenStore(app *core.Core, j *journal.Journal) (*memory.Store, error) {
	o, err := memories.StoreOptions(app, j)
	if err != nil {
		return nil, err
	}
	return memory.Open(o)
}

// Options are the settings of a [Plane].
type Options struct {
	Journal *journal.Journal
	// Namespace keeps what is said, and is searched beside the user's own.
	Namespace string
	// Client and Run are kept with each record; Client counts where a request does not say.
	Client, Run string
	// Inside is true when this process runs inside a run: what has the form of a person's words was written by an agent there.
	Inside bool
	// Own is true when everything in the namespace is this user's, by whatever credential it was said. A daemon with several clients
	// keeps them apart.
	Own bool
	// Turns keeps every turn, not only what is cut, also where nobody has switched the memory on.
	Turns bool
	// QueueBytes bounds what waits to be written; 0 means 8 MiB.
	QueueBytes int64
	Warn       func(string)
}

// Plane is the memory of one run, daemon or agent. Nil is a memory that is switched off.
type Plane struct {
	o        Options
	app      *core.Core
	on       bool // the user has switched it on: every turn is kept, and prompts are added to
	queue    *capture.Queue
	parts    atomic.Int64
	opened   func() (*memory.Store, error)
	ready    atomic.Bool // the index has answered once
	tried    atomic.Bool // the store was opened, or was to be
	unopened atomic.Bool // it could not be opened, and that was said
	pins     atomic.Pointer[[]memory.Record]
	warmed   sync.WaitGroup
	end      context.CancelFunc

	mu   sync.Mutex
	told map[string]int64 // losses, by why, at which it is said again
}

// Open returns the plane of the memory by the settings; nil if the memory is off, or nothing of conversations may be kept. It opens no file
// unless something is to be added to prompts.
func Open(app *core.Core, s config.Settings, o Options) *Plane {
	// What must not be kept of compactions must not be kept of conversations either, and what is added has to be kept.
	if s.Memory.State == config.MemoryOff || s.Window.Store == "off" {
		return nil
	}
	if o.Warn == nil {
		o.Warn = func(string) {}
	}
	p := &Plane{o: o, app: app, on: s.Memory.State == config.MemoryOn, told: map[string]int64{}}
	p.opened = sync.OnceValues(func() (*memory.Store, error) {
		p.tried.Store(true)
		store, err := OpenStore(app, o.Journal)
		if err != nil {
			p.unopened.Store(true)
			o.Warn("nothing is kept in the memory: " + err.Error())
		}
		return store, err
	})
	p.queue = capture.NewQueue(capture.QueueOptions{MaxBytes: o.QueueBytes, Write: p.write, Told: p.reportLosses})
	ctx, end := context.WithCancel(context.Background())
	p.end = end
	if p.on {
		p.warmed.Go(func() { p.prepare(ctx) })
	}
	return p
}

// Keeper returns the receiver of parts of conversations; nil where the memory is off.
func (p *Plane) Keeper() proxy.Keeper {
	if p == nil {
		return nil
	}
	return keeper{p}
}

// Turns reports whether every turn is kept, not only what is cut.
func (p *Plane) Turns() bool { return p != nil && (p.on || p.o.Turns) }

// Recaller returns the source of what to add to a prompt; nil where nothing is added.
func (p *Plane) Recaller() proxy.Recaller {
	if p == nil || !p.on {
		return nil
	}
	return recaller{p}
}

// Namespace returns where its conversations are kept; "" for a nil Plane.
func (p *Plane) Namespace() string {
	if p == nil {
		return ""
	}
	return p.o.Namespace
}

// closing bounds the time that the end of a run waits for records that are still to be written.
const closing = 2 * time.Second

// Close writes what waits, for at most two seconds, and notes in the journal how much was kept and lost. A nil Plane does nothing.
func (p *Plane) Close() {
	if p == nil {
		return
	}
	p.end()
	ctx, cancel := context.WithTimeout(context.Background(), closing)
	defer cancel()
	_ = p.queue.Close(ctx) // what was lost is in its counters
	p.warmed.Wait()
	if s := p.queue.Stats(); p.parts.Load() > 0 {
		p.appendEvent(journal.MemoryCaptured{Parts: p.parts.Load(), Records: s.Written, Dropped: s.Dropped, DroppedBytes: s.DroppedBytes, Failed: s.Failed})
	}
	if !p.tried.Load() {
		return
	}
	if store, err := p.opened(); err == nil {
		if err := store.Close(); err != nil {
			p.o.Warn("the memory could not be closed: " + err.Error())
		}
	}
}

// Stats returns counts of what was kept since it was opened, and of what waits.
func (p *Plane) Stats() capture.QueueStats {
	if p == nil {
		return capture.QueueStats{}
	}
	return p.queue.Stats()
}

// Flush waits until what was handed over is written, for tests and for whoever asks the memory next. A nil Plane has nothing to write.
func (p *Plane) Flush(ctx context.Context) error {
	if p == nil {
		return nil
	}
	return p.queue.Flush(ctx)
}

// appendEvent writes an event to the journal, if there is one.
func (p *Plane) appendEvent(e journal.Event) {
	if p.o.Journal != nil {
		p.o.Journal.Append(e)
	}
}

// write adds records to the store, which it opens the first time, and, if the memory is on, learns the standing instructions in them.
func (p *Plane) write(ctx context.Context, records []memory.Record) error {
	store, err := p.opened()
	if err != nil {
		return err
	}
	added, err := store.Add(ctx, records...)
	if err != nil || !p.on {
		return err
	}
	return learnStanding(ctx, store, records, added.IDs)
}

// reportLosses writes losses to the journal when they begin, and again whenever there are ten times as many. Of writes that failed it warns the
// user once, if the memory could be opened.
func (p *Plane) reportLosses(s capture.QueueStats) {
	p.mu.Lock()
	defer p.mu.Unlock()
	say := func(e journal.MemoryDropped) (first bool) {
		if e.Dropped < max(p.told[e.Why], 1) {
			return false
		}
		first = p.told[e.Why] == 0
		p.told[e.Why] = 10 * e.Dropped
		p.appendEvent(e)
		return first
	}
	say(journal.MemoryDropped{Why: "queue", Dropped: s.Dropped, Bytes: s.DroppedBytes})
	if s.Err != nil && say(journal.MemoryDropped{Why: "write", Dropped: s.Failed, Error: limit.Clip(s.Err.Error(), 200)}) && !p.unopened.Load() {
		p.o.Warn("what was said is not kept in the memory: " + s.Err.Error())
	}
}

// exists reports whether the memory has a directory, that is, whether anything was ever kept.
func (p *Plane) exists() bool {
	dir, err := Dir(p.app)
	if err != nil {
		return false
	}
	_, err = os.Stat(dir)
	return !errors.Is(err, os.ErrNotExist)
}

// WaitReady waits until prompts can be added to, or until it is known that there is nothing to add.
func (p *Plane) WaitReady(ctx context.Context) {
	if p == nil {
		return
	}
	done := make(chan struct{})
	go func() { p.warmed.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// AgentKeeper returns the receiver of messages of Plimsoll's own agents; nil where nothing is kept, or only what is cut: an agent keeps its
// conversations whole.
func (p *Plane) AgentKeeper() agent.Keeper {
	if !p.Turns() {
		return nil
	}
	return agentKeeper{p}
}

// AgentRecaller returns what adds to questions of agents what the user said before; nil unless the memory is switched on.
func (p *Plane) AgentRecaller() agent.Recaller {
	if p == nil || !p.on {
		return nil
	}
	return agentRecaller{p}
}

// agentRecaller implements [agent.Recaller].
type agentRecaller struct{ *Plane }

// indexWait bounds the wait of an agent's question for the index, which a command that asks once has only begun to read.
const indexWait = 2 * time.Second

// Recall implements [agent.Recaller].
func (k agentRecaller) Recall(ctx context.Context, session, question string, earlier []agent.Message) string {
	ctx, cancel := context.WithTimeout(ctx, indexWait)
	defer cancel()
	k.WaitReady(ctx)
	q := proxy.Prompt{Conversation: session, Text: question, First: true}
	for i := range earlier {
		if m := &earlier[i]; m.Role == agent.RoleUser {
			q.First = false
			q.Recalled = append(q.Recalled, capture.Unwrap(m.Text)...)
		}
	}
	return recaller(k).Recall(ctx, q)
}

// agentKeeper implements [agent.Keeper].
type agentKeeper struct{ *Plane }

// Keep implements [agent.Keeper]. It only queues the messages; they are turned into records and written in the background.
func (k agentKeeper) Keep(session string, place int, at time.Time, ms []agent.Message) {
	size := int64(0)
	for i := range ms {
		size += int64(len(ms[i].Text) + 64)
		for _, c := range ms[i].Calls {
			size += int64(len(c.Arguments))
		}
	}
	k.parts.Add(1)
	k.queue.Put(size, func() []memory.Record { return k.agentRecords(session, place, at, ms) })
}

// agentRecords returns the records of messages of an agent, the first of which has this place in the session, counted from 0. A question is the
// user's where a person types at a terminal.
func (p *Plane) agentRecords(session string, place int, at time.Time, ms []agent.Message) []memory.Record {
	of := capture.Conversation{Namespace: p.o.Namespace, Client: p.o.Client, Run: p.o.Run, Name: session}
	var said []capture.Said
	for i := range ms {
		m := &ms[i]
		s := capture.Said{Role: string(m.Role), Tool: m.Name, Text: m.Text, Turn: place + i + 1, At: at, Origin: memory.OriginTool}
		switch m.Role {
		case agent.RoleUser:
			if !p.o.Inside {
				s.Origin = memory.OriginUser
			}
		case agent.RoleAssistant:
			s.Origin = memory.OriginAgent
		case agent.RoleTool:
			s.Kind = capture.Result
		}
		said = append(said, s)
		for _, c := range m.Calls {
			said = append(said, capture.Said{Kind: capture.Call, Role: s.Role, Tool: c.Name, Text: c.Arguments, Turn: s.Turn, At: at, Origin: memory.OriginAgent})
		}
	}
	return capture.Episodes(of, said)
}
