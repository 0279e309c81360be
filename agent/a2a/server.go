package a2a

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2asrv"

	"github.com/plimsoll/plimsoll/internal/agent/a2a/a2a03"
	"github.com/plimsoll/plimsoll/internal/agent/a2a/tasklog"
	"github.com/plimsoll/plimsoll/limit"
)

// Server serves one agent over A2A. It is an http.Handler.
type Server struct {
	o     Options
	log   *slog.Logger
	begun time.Time

	store     *tasklog.Store
	logs      *tasklog.Logs
	pusher    *pusher
	pushGuard *pushGuard
	guard     *http.CrossOriginProtection

	rpc10, rest10, rpc03 http.Handler

	counts  counters
	streams atomic.Int64

	mu       sync.Mutex
	tasks    map[sdk.TaskID]*task // tasks in use
	releases uint64               // of tasks, since the beginning
	runs     map[*run]struct{}
	closed   bool
	messages map[string]sdk.TaskID // the latest messages and their tasks
	said     []string              // the ids of these messages, a ring
	saidAt   int
}

// New returns a server. Tasks that were running when the process before it ended are set to failed.
func New(o Options) (*Server, error) {
	switch {
	case o.Name == "":
		return nil, errors.New("a2a: Options.Name is missing: what the agent is called")
	case o.Executor == nil:
		return nil, errors.New("a2a: Options.Executor is missing: who does the work")
	}
	if o.URL != "" {
		if u, err := url.Parse(o.URL); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return nil, fmt.Errorf("a2a: %s: Options.URL %q is no address of HTTP", o.Name, o.URL)
		}
	}
	o.Path = "/" + strings.Trim(o.Path, "/")
	o.Limits.setDefaults()
	o.Card.setDefaults()
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	l := o.Limits
	store, err := tasklog.OpenStore(tasklog.StoreOptions{
		Name: o.Name, Dir: o.Dir, MaxTasks: l.MaxTasks, MaxBytes: l.MaxStore,
		// What ends a task is let in above its bound.
		MaxTask: l.MaxTask + 2*l.MaxEvent, Journal: o.Journal, Logger: o.Log,
	})
	if err != nil {
		return nil, fmt.Errorf("a2a: %s: %w", o.Name, err)
	}
	s := &Server{
		o: o, log: o.Log, begun: time.Now(), store: store,
		logs: tasklog.New(tasklog.Options{
			Name: o.Name, MaxBytes: l.MaxLog, MaxReaders: l.MaxSubscribers, MaxLogs: l.MaxTasks,
			MaxTotal: l.MaxLogs, Keep: l.KeepLog, Journal: o.Journal, Logger: o.Log,
		}),
		pushGuard: newPushGuard(o.PushAllow, o.PushHosts),
		guard:     http.NewCrossOriginProtection(),
		tasks:     map[sdk.TaskID]*task{}, runs: map[*run]struct{}{},
		messages: map[string]sdk.TaskID{}, said: make([]string, l.MaxTasks),
	}
	s.counts.ends = map[sdk.TaskState]int64{}
	s.pusher = newPusher(s.pushGuard.client(l.PushTimeout), &s.o.Limits, &s.counts, s.log, o.Name)
	panicked := func(caught any) error {
		s.counts.panics.Add(1)
		s.log.Error("a2a: a request panicked", "agent", o.Name, "panic", caught)
		return sdk.NewError(sdk.ErrInternalError, "the server broke down on this request; its log says where")
	}
	options := []a2asrv.TransportOption{a2asrv.WithTransportKeepAlive(l.KeepAlive), a2asrv.WithTransportPanicHandler(panicked)}
	h := handler{s}
	s.rpc10, s.rest10 = a2asrv.NewJSONRPCHandler(h, options...), a2asrv.NewRESTHandler(h, options...)
	s.rpc03 = a2a03.RPC(a2a03.Options{Handler: h, KeepAlive: l.KeepAlive, Panicked: panicked})
	if err := s.recoverTasks(); err != nil {
		return nil, errors.Join(fmt.Errorf("a2a: %s: %w", o.Name, err), s.Close(context.Background()))
	}
	return s, nil
}

func (c *Card) setDefaults() {
	c.Version = cmp.Or(c.Version, "0")
	if c.InputModes == nil {
		c.InputModes = []string{"text/plain", "text/markdown", "text/*", "application/json"}
	}
	if c.OutputModes == nil {
		c.OutputModes = []string{"text/markdown", "text/plain"}
	}
	if c.Skills == nil {
		c.Skills = []sdk.AgentSkill{}
	}
}

// recoverTasks fails the tasks that were running when the last process ended. Those that wait for their client stay.
func (s *Server) recoverTasks() error {
	ctx := context.Background()
	var ran []sdk.TaskID
	query := tasklog.Query{Running: true, Limit: maxPageSize, MaxBytes: limit.MiB}
	for {
		page, err := s.store.List(ctx, query)
		if err != nil {
			return err
		}
		for _, kept := range page.Tasks {
			if !interrupted(sdk.TaskState(kept.State)) {
				ran = append(ran, sdk.TaskID(kept.ID))
			}
		}
		if page.Next == "" {
			break
		}
		query.Token = page.Next
	}
	for _, id := range ran {
		t, err := s.acquire(ctx, id)
		if err != nil {
			s.log.Error("a2a: a task of before the restart can't be ended", "agent", s.o.Name, "task", id, "error", err)
			continue
		}
		if t.end(sdk.TaskStateFailed, "the agent was restarted before it could answer; ask again",
			map[string]any{metadataOutcome: outcomeRestart}) {
			s.counts.recovered.Add(1)
		}
		s.release(t)
	}
	return nil
}

// rememberMessage notes the task that a message began or continued, for clients that send the message again. The oldest noted message is
// forgotten.
func (s *Server) rememberMessage(message string, id sdk.TaskID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if old := s.said[s.saidAt]; old != "" {
		delete(s.messages, old)
	}
	s.said[s.saidAt] = message
	s.saidAt = (s.saidAt + 1) % len(s.said)
	s.messages[message] = id
}

// taskOfMessage returns the task that a message began or continued; false if that is not remembered.
func (s *Server) taskOfMessage(message string) (sdk.TaskID, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id, ok := s.messages[message]
	return id, ok
}

// Close ends all tasks. Executors have until ctx ends to return; the tasks of those that do not are set to failed. Waiting notifications are sent if
// there is time. Afterwards the server answers with errors. A second Close does nothing.
func (s *Server) Close(ctx context.Context) error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	runs := make([]*run, 0, len(s.runs))
	for r := range s.runs {
		runs = append(runs, r)
	}
	s.mu.Unlock()
	for _, r := range runs {
		r.cancel(errShutdown)
	}
	for _, r := range runs {
		select {
		case <-r.done:
			continue
		case <-ctx.Done():
		}
		s.abandon(r)
	}
	s.endStreams()
	s.pusher.close(ctx)
	return s.store.Close()
}

// endStreams ends the streams of tasks that wait for their client, by removing their logs. Streams of ended tasks end by themselves.
// Without any open stream it closes all logs.
func (s *Server) endStreams() {
	s.mu.Lock()
	held := make([]*task, 0, len(s.tasks))
	for _, t := range s.tasks {
		held = append(held, t)
	}
	s.mu.Unlock()
	for _, t := range held {
		if !t.state().Terminal() {
			s.logs.Remove(string(t.id))
		}
	}
	if s.streams.Load() == 0 {
		s.logs.Close()
	}
}

// abandon sets the task of an executor that does not return to failed.
func (s *Server) abandon(r *run) {
	_ = r.decide() // its client gets the error
	r.mu.Lock()
	t := r.task
	r.mu.Unlock()
	if t != nil {
		t.end(sdk.TaskStateFailed, "the agent was stopped before it could answer; ask again",
			map[string]any{metadataOutcome: outcomeShutdown})
	}
	r.taskEnded()
	s.counts.leaked.Add(1)
	s.log.Warn("a2a: an executor goes on although the server closes", "agent", s.o.Name, "task", r.x.TaskID)
}

// Stats counts since New.
type Stats struct {
	// Running is the number of running executors, Held that of tasks in memory, Streams that of open streams.
	Running int   `json:"running"`
	Held    int   `json:"held"`
	Streams int64 `json:"streams"`

	Requests int64 `json:"requests"` // that reached the protocol
	Refused  int64 `json:"refused"`  // too large, no JSON, too many at once
	Tasks    int64 `json:"tasks"`    // made
	// Ended counts tasks by the state that they ended in.
	Ended  map[sdk.TaskState]int64 `json:"ended"`
	Events int64                   `json:"events"`
	Late   int64                   `json:"late"`   // events after the end of their task
	Panics int64                   `json:"panics"` // of executors and of requests
	// Leaked counts executors that went on when their task was ended for them.
	Leaked int64 `json:"leaked"`
	// Unkept counts failed writes of tasks to the store.
	Unkept    int64 `json:"unkept"`
	Recovered int64 `json:"recovered"` // tasks that a restart had cut off
	// Slow counts events that could not be written to a client in time.
	Slow int64 `json:"slow"`
	// Resumed counts clients that came back with Last-Event-ID, Snapshots those that were
	// shown the task because events were gone.
	Resumed   int64 `json:"resumed"`
	Snapshots int64 `json:"snapshots"`

	PushSent    int64 `json:"push_sent"`
	PushFailed  int64 `json:"push_failed"`
	PushRetried int64 `json:"push_retried"`
	PushDropped int64 `json:"push_dropped"`
	PushRefused int64 `json:"push_refused"` // configurations with a bad address or a bad secret

	Logs tasklog.Stats `json:"logs"`
}

type counters struct {
	requests, refused, tasks, events, late, panics, leaked, unkept, recovered atomic.Int64
	slow, resumed, snapshots                                                  atomic.Int64
	pushSent, pushFailed, pushRetried, pushDropped, pushRefused               atomic.Int64

	mu   sync.Mutex
	ends map[sdk.TaskState]int64
}

func (s *Server) countEnded(state sdk.TaskState) {
	s.counts.mu.Lock()
	defer s.counts.mu.Unlock()
	s.counts.ends[state]++
}

// Stats returns the counts since New.
func (s *Server) Stats() Stats {
	c := &s.counts
	s.mu.Lock()
	running, held := len(s.runs), len(s.tasks)
	s.mu.Unlock()
	c.mu.Lock()
	ends := maps.Clone(c.ends)
	c.mu.Unlock()
	return Stats{
		Running: running, Held: held, Streams: s.streams.Load(),
		Requests: c.requests.Load(), Refused: c.refused.Load(), Tasks: c.tasks.Load(), Ended: ends,
		Events: c.events.Load(), Late: c.late.Load(), Panics: c.panics.Load(), Leaked: c.leaked.Load(),
		Unkept: c.unkept.Load(), Recovered: c.recovered.Load(), Slow: c.slow.Load(),
		Resumed: c.resumed.Load(), Snapshots: c.snapshots.Load(),
		PushSent: c.pushSent.Load(), PushFailed: c.pushFailed.Load(), PushRetried: c.pushRetried.Load(),
		PushDropped: c.pushDropped.Load(), PushRefused: c.pushRefused.Load(),
		Logs: s.logs.Stats(),
	}
}
