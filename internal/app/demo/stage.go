package demo

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/plimsoll/plimsoll/agent/standin"
	"github.com/plimsoll/plimsoll/internal/app/listen"
	"github.com/plimsoll/plimsoll/internal/app/mcp"
	"github.com/plimsoll/plimsoll/internal/printable"
	"github.com/plimsoll/plimsoll/internal/secrets"
	"github.com/plimsoll/plimsoll/journal"
)

// stage holds all that the demo has started: the stand-ins in this process, and the agent in a run of its own.
type stage struct {
	dir     string
	environ []string        // of what it starts
	sim     *mcp.Simulation // nil with a real Argo CD
	stand   *standin.Server
	sent    *atomic.Int64 // bytes that the simulated Argo CD has sent
	model   string
	what    string // what is real and what is not, of the agent
	agent   string // its name in the configuration
	window  int    // of the stand-in, in tokens
	run     *exec.Cmd
	ended   chan struct{} // closed when run is over
	runErr  error         // after ended
	events  io.Closer     // of the agent's journal
	report  string
	url     string // of the agent
	heard   *heard
	from    int // where the events of this scene begin
	said    *lastLines
	client  *client
	answers map[string]string // of earlier scenes
}

// Prefix begins the name of the directory of a demo, in TMPDIR.
const Prefix = "plimsoll-demo-"

// costMax bounds what the agent may spend, in US dollars at prices that are made up for the stand-in: the scenes before that of money cost
// three cents.
const costMax = 0.05

// runTool is the tool as which the run is counted.
const runTool = "demo-agent"

// maxStart bounds the start of the agent.
const maxStart = time.Minute

// openStage starts what a demo needs, with its files in a new temporary directory: a stand-in for the model unless o.Model names one, the
// simulated Argo CD if it is wanted, and the agent under `plimsoll run`. After an error nothing of it is left.
func openStage(ctx context.Context, o Options, view *view) (_ *stage, err error) {
	s := &stage{sent: &atomic.Int64{}, ended: make(chan struct{}), said: &lastLines{}, answers: map[string]string{}}
	s.heard = &heard{more: make(chan struct{}, 1), tell: view.event}
	defer func() {
		if err != nil {
			_, e := s.Close()
			err = errors.Join(err, e, s.clear())
		}
	}()
	if s.dir, err = os.MkdirTemp("", Prefix); err != nil {
		return nil, fmt.Errorf("a directory for the demo: %w; set TMPDIR to one that is yours to write to", err)
	}
	environ := withoutUserSettings(os.Environ())
	s.agent, s.window = "demo", windowTokens
	config := "[agents.demo]\n"
	if o.ArgoCD {
		s.agent, s.window = "argocd", argocdTokens
		config = "[agents.argocd]\nbuiltin = \"argocd\"\n"
	}
	config += "servers = [\"memory\"]\ntool_timeout = \"30s\"\n"
	if o.Model == "" {
		s.model = "a stand-in for a model: it goes by keywords"
		if s.stand, err = standin.Listen(ctx, standin.Options{Window: s.window, Delay: 5 * time.Millisecond, Loop: true}); err != nil {
			return nil, fmt.Errorf("the stand-in for a model: %w", err)
		}
		environ = append(environ, "OPENAI_BASE_URL="+s.stand.URL(), "OPENAI_API_KEY="+s.stand.Token())
		config += fmt.Sprintf("model = %q\nwindow = %d\nmax_output = 2000\n\n[window]\nmax_tokens = %d\n", standin.Model, s.window, s.window)
		config += fmt.Sprintf("\n[models.%q]\ninput_price = 0.5\noutput_price = 2.0\n", standin.Model)
	} else {
		s.model = o.Model
		environ = append(environ, realOnly(os.Environ(), "OPENAI_", "ANTHROPIC_")...)
	}
	switch {
	case !o.ArgoCD:
		s.what = "an agent with tools"
	case !o.RealArgoCD:
		s.what = "a simulated Argo CD"
		if s.sim, err = mcp.Simulate(ctx, mcp.SimulatorOptions{}); err != nil {
			return nil, err
		}
		counted := s.sim.Server.Handler
		s.sim.Server.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			counted.ServeHTTP(&countedWriter{ResponseWriter: w, n: s.sent}, r)
		})
		environ = append(environ, "ARGOCD_SERVER="+s.sim.URL, "ARGOCD_AUTH_TOKEN="+s.sim.Token)
	default:
		s.what = "Argo CD at " + printable.Name(os.Getenv("ARGOCD_SERVER")) + ", which is only read"
		environ = append(environ, realOnly(os.Environ(), "ARGOCD_")...)
	}
	file := filepath.Join(s.dir, "config.toml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		return nil, err
	}
	environ = append(environ, "PLIMSOLL_CONFIG="+file, "PLIMSOLL_STATE_DIR="+filepath.Join(s.dir, "state"), "PLIMSOLL_CACHE_DIR="+filepath.Join(s.dir, "cache"))
	s.environ = environ
	if err := s.start(ctx, o.Model, environ); err != nil {
		return nil, err
	}
	s.client, err = newClient(ctx, s.url+"/a2a/"+s.agent)
	return s, err
}

// start starts the agent under `plimsoll run`, and waits until it takes requests.
func (s *stage) start(ctx context.Context, model string, environ []string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	s.report = filepath.Join(s.dir, "report.json")
	ready := filepath.Join(s.dir, "ready")
	argv := []string{
		"run", "--quiet", "--report", s.report, "--tool", runTool, "--memory-max", memory.String(), "--proxy", "--on-exit", "kill", "--",
		self, "agent", "serve", s.agent, "--lab", "--quiet", "--events", "--listen", "127.0.0.1:0", "--ready-file", ready,
	}
	if model != "" {
		argv = append(argv, "--model", model)
	} else if s.sim == nil {
		argv = slices.Insert(argv, 1, "--cost-max", fmt.Sprint(costMax))
	}
	s.run = exec.Command(self, argv...)
	s.run.Env = environ
	s.run.Dir = s.dir // no project's file has a say
	s.run.Stderr = s.said
	events, err := s.run.StdoutPipe()
	if err != nil {
		return err
	}
	s.events = events
	if err := s.run.Start(); err != nil {
		return fmt.Errorf("start the agent: %w", err)
	}
	go func() {
		s.heard.read(events)
		s.runErr = s.run.Wait()
		close(s.ended)
	}()
	late := time.NewTimer(maxStart)
	defer late.Stop()
	look := time.NewTicker(20 * time.Millisecond)
	defer look.Stop()
	for {
		if url, err := os.ReadFile(ready); err == nil && len(url) > 0 {
			s.url = strings.TrimSpace(string(url))
			return nil
		}
		select {
		case <-s.ended:
			return fmt.Errorf("the agent did not start: %w\n%s", s.runErr, s.said)
		case <-late.C:
			return fmt.Errorf("the agent did not take requests within %s\n%s", maxStart, s.said)
		case <-ctx.Done():
			return ctx.Err()
		case <-look.C:
		}
	}
}

// Close ends the run and then the stand-ins, and returns the run's report. A run that does not end in time is killed, which is an error.
func (s *stage) Close() (report journal.Report, err error) {
	if s.client != nil {
		s.client.close()
	}
	if s.run != nil && s.run.Process != nil {
		if s.run.Process.Signal(syscall.SIGTERM) != nil {
			_ = s.run.Process.Kill() // Windows has no such signal
		}
		select {
		case <-s.ended:
		case <-time.After(3 * listen.Drain): // the agent may take two of them
			err = fmt.Errorf("the run did not end within %s and was killed\n%s", 3*listen.Drain, s.said)
			_ = s.run.Process.Kill()
			_ = s.events.Close() // a child of it may hold the other end
			<-s.ended
		}
		text, e := os.ReadFile(s.report)
		if e == nil {
			e = json.Unmarshal(text, &report)
		}
		if e != nil && err == nil {
			err = fmt.Errorf("the report of the run: %w\n%s", e, s.said)
		}
	}
	if s.stand != nil {
		err = errors.Join(err, s.stand.Close())
	}
	if s.sim != nil {
		err = errors.Join(err, s.sim.Close())
	}
	return report, err
}

// clear removes all that the demo has written.
func (s *stage) clear() error {
	if s.dir == "" {
		return nil
	}
	return os.RemoveAll(s.dir)
}

// withoutUserSettings returns environ without the variables that begin as those of Plimsoll, OpenAI, Anthropic and Argo CD do, those that name
// a model or its limits, and those that are called like a secret.
func withoutUserSettings(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(e string) bool {
		name, _, _ := strings.Cut(e, "=")
		for _, begin := range []string{"PLIMSOLL_", "OPENAI_", "ANTHROPIC_", "ARGOCD_", "LLM_PROVIDER", "MAX_", "MIN_MESSAGES"} {
			if strings.HasPrefix(name, begin) {
				return true
			}
		}
		return secrets.Named(name)
	})
}

// realOnly returns the variables of environ that begin with one of begins.
func realOnly(environ []string, begins ...string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(e string) bool {
		return !slices.ContainsFunc(begins, func(b string) bool { return strings.HasPrefix(e, b) })
	})
}

// countedWriter counts what an answer has.
type countedWriter struct {
	http.ResponseWriter
	n *atomic.Int64
}

func (w *countedWriter) Write(p []byte) (int, error) {
	n, err := w.ResponseWriter.Write(p)
	w.n.Add(int64(n))
	return n, err
}

// Unwrap lets http.ResponseController find what is below.
func (w *countedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// lastLines keeps the end of what a process says.
type lastLines struct {
	mu   sync.Mutex
	text []byte
}

const maxLastLines = 8 << 10

// Write implements [io.Writer]. It keeps only the last maxLastLines bytes.
func (l *lastLines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, p...)
	if over := len(l.text) - maxLastLines; over > 0 {
		l.text = l.text[over:]
	}
	return len(p), nil
}

func (l *lastLines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.TrimSpace(string(l.text))
}

// heardEvent is an event of the agent's journal.
type heardEvent struct {
	Kind  string `json:"kind"`
	Event struct {
		Tool      string        `json:"tool"`
		Why       string        `json:"why"`
		Outcome   string        `json:"outcome"`
		Rule      string        `json:"rule"`
		Where     string        `json:"where"`
		Failed    bool          `json:"failed"`
		Ended     bool          `json:"ended"`
		Spilled   bool          `json:"spilled"`
		Bytes     int64         `json:"bytes"`
		Upstream  int64         `json:"upstream_bytes"`
		Delivered int64         `json:"delivered_bytes"`
		Tokens    int64         `json:"tokens"`
		Limit     int64         `json:"limit_tokens"`
		Peak      int64         `json:"peak_bytes"`
		Missed    uint64        `json:"missed"`
		Dropped   uint64        `json:"dropped"`
		Duration  time.Duration `json:"duration_ns"`
	} `json:"event"`
}

// maxHeard bounds the events that are remembered: the demo makes some hundreds.
const maxHeard = 16 << 10

// heard holds the events of the agent's journal.
type heard struct {
	mu   sync.Mutex
	list []heardEvent
	more chan struct{}
	tell func(heardEvent)
}

// read reads the agent's events from r, one in JSON a line, until r ends. It keeps the first maxHeard and passes each to h.tell.
func (h *heard) read(r io.Reader) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e heardEvent
		if json.Unmarshal(lines.Bytes(), &e) != nil || e.Kind == "" {
			continue
		}
		h.mu.Lock()
		if len(h.list) < maxHeard {
			h.list = append(h.list, e)
		}
		h.mu.Unlock()
		h.tell(e)
		select {
		case h.more <- struct{}{}:
		default:
		}
	}
	_, _ = io.Copy(io.Discard, r)
}

func (h *heard) len() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.list)
}

// since returns a copy of the events from the number n on; none if there are not so many.
func (h *heard) since(n int) []heardEvent {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.list[min(n, len(h.list)):])
}

// waitForCall waits for the end of a call of a tool, at most [journalWait]. A call that was given up is an error.
func (s *stage) waitForCall(ctx context.Context, tool string) (heardEvent, error) {
	e, ok := s.waitForEvent(ctx, journalWait, func(e heardEvent) bool {
		return e.Kind == "agent.called" && strings.Contains(e.Event.Tool, tool)
	})
	switch {
	case !ok:
		return e, fmt.Errorf("the tool %s was not called", tool)
	case e.Event.Why != "":
		return e, fmt.Errorf("the call of %s was given up after %s (%s)", tool, printable.Duration(e.Event.Duration), e.Event.Why)
	}
	return e, nil
}

// waitForEvent waits for an event of this scene for which is returns true, at most d: events come by another way than the agent's answer. It
// returns false if there is none.
func (s *stage) waitForEvent(ctx context.Context, d time.Duration, is func(heardEvent) bool) (heardEvent, bool) {
	late := time.NewTimer(d)
	defer late.Stop()
	for {
		if i := slices.IndexFunc(s.heard.since(s.from), is); i >= 0 {
			return s.heard.since(s.from)[i], true
		}
		select {
		case <-s.heard.more:
		case <-late.C:
			return heardEvent{}, false
		case <-s.ended:
			return heardEvent{}, false
		case <-ctx.Done():
			return heardEvent{}, false
		}
	}
}
