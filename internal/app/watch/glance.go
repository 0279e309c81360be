package watch

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/printable"
	"github.com/plimsoll/plimsoll/internal/watch/runs"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/process/admission"
)

// NoRun is the [Glance].State when there is no run.
const NoRun = "none"

// Where the numbers of a window come from.
const (
	WindowOfRun    = "run"    // the requests that went through the run's proxy
	WindowOfClient = "client" // what the client has said on standard input
)

// Glance is the state of one run, as `plimsoll status --json` writes it. Sizes are in bytes.
type Glance struct {
	// Inside is true when this process is in the run.
	Inside bool `json:"inside"`
	// State is "running", "waits_for_you", "idle", "waiting", an outcome of a report, "died", or "none".
	State string `json:"state"`
	// StateSince has the time at which it began to wait for its user, or to be idle.
	StateSince time.Time `json:"state_since,omitzero"`
	ID         string    `json:"id,omitempty"`
	Tool       string    `json:"tool,omitempty"`
	Project    string    `json:"project"`
	Started    time.Time `json:"started,omitzero"`
	// Ended is nil while the run goes on.
	Ended      *time.Time `json:"ended,omitempty"`
	DurationMS int64      `json:"duration_ms"`
	// MemoryBytes is the present use of the run, 0 once it has ended; PeakBytes is known only then, LimitBytes is 0 without a limit.
	MemoryBytes int64 `json:"memory_bytes"`
	PeakBytes   int64 `json:"peak_bytes,omitempty"`
	LimitBytes  int64 `json:"limit_bytes"`
	// WindowTokens and WindowLimit are the fill and size of the context window; WindowSource is "run" or "client", "" when unknown.
	WindowTokens int64  `json:"window_tokens"`
	WindowLimit  int64  `json:"window_limit"`
	WindowSource string `json:"window_source,omitempty"`
	// Spent are the limits of what the run may spend, with what it has used of them.
	Spent       []journal.Limit `json:"spent,omitempty"`
	Compactions int             `json:"compactions"`
	Kills       int             `json:"kills"`
	// Reason says why it ended, or what it waits for.
	Reason string `json:"reason,omitempty"`
}

// GlanceOptions select the run of a [Glance]. The zero value means this process's run.
type GlanceOptions struct {
	// Run names the run, as for [runs.Store.Find]; "" means the one that this process is in.
	Run string
	// Client holds what a client has said on standard input; the zero value is nothing.
	Client Client
	// Getenv looks up the environment; nil means os.Getenv.
	Getenv func(string) string
}

// Look returns the state of the run o.Run, else of the run that this process is in, else of the newest run in the project of the working
// directory; State is [NoRun] when there is none. It reads no configuration and no list of runs, because it is called for every prompt. It
// is an error when o.Run is not found; anything else that cannot be read is left out.
func Look(o GlanceOptions) (Glance, error) {
	dirs := config.NewDirs(o.Getenv)
	state, err := dirs.State()
	if err != nil {
		return Glance{}, err
	}
	claims, _ := dirs.Runtime() // without one there are no claims
	s := Glance{State: NoRun}
	id := o.Run
	if id == "" {
		id = core.InsideRun()
		s.Inside = id != ""
	}
	if id == "" {
		s.Project = config.ProjectOf(o.Client.dir()).Name
		if id = newestClaim(claims, s.Project); id == "" {
			if e, ok := runs.LastEnded(state, s.Project); ok {
				id = e.ID
				s.ended(e)
			}
		}
	}
	if id != "" {
		g, err := lookNamed(state, id, o.Run != "")
		switch {
		case err == nil:
			s.setRun(g)
		case s.Inside: // runs are not kept, or its file is not there yet
			s.ID, s.State = id, runs.Running
			s.setFromClaim(claims)
		case o.Run != "":
			return Glance{}, err
		}
		if s.live() {
			s.MemoryBytes = cmp.Or(int64(admission.PeekUse(claims, s.ID)), s.MemoryBytes)
		}
	}
	if tokens, limit := o.Client.window(); s.WindowTokens == 0 && tokens > 0 && (s.Inside || s.State == NoRun) {
		s.WindowTokens, s.WindowLimit, s.WindowSource = tokens, limit, WindowOfClient
	}
	return s, nil
}

// lookNamed looks at the run with this ID. With named it may be any name of a run, for which the list is read.
func lookNamed(state, id string, named bool) (runs.Glance, error) {
	g, err := runs.ReadGlance(state, id)
	if _, unknown := errors.AsType[*runs.UnknownError](err); !unknown || !named {
		return g, err
	}
	store, err := runs.Open(state)
	if err != nil {
		return runs.Glance{}, err
	}
	defer store.Close()
	if err := store.Poll(); err != nil {
		return runs.Glance{}, err
	}
	e, err := store.Find(id)
	if err != nil {
		return runs.Glance{}, err
	}
	return runs.ReadGlance(state, e.ID)
}

func (s *Glance) live() bool { return s.State != NoRun && s.Ended == nil }

// newestClaim returns the ID of the newest run of a project that holds or waits for memory, "" for none. Runs inside others do not count.
func newestClaim(dir, project string) string {
	newest := admission.Holder{}
	for _, h := range admission.Peek(dir) {
		if h.Project == project && h.Parent == "" && (newest.ID == "" || h.Since.After(newest.Since)) {
			newest = h
		}
	}
	return newest.ID
}

// setFromClaim fills in what the claim of the run with this ID tells: its tool, project and start. Without one it does nothing.
func (s *Glance) setFromClaim(dir string) {
	for _, h := range admission.Peek(dir) {
		if h.ID == s.ID {
			s.Tool, s.Project, s.Started = h.Tool, h.Project, h.Since
		}
	}
}

// ended fills in what the list has of a run, whose file may be gone.
func (s *Glance) ended(e runs.Entry) {
	s.ID, s.Tool, s.Project, s.State, s.StateSince, s.Reason = e.ID, e.Tool, e.Project, e.Condition(), e.StateSince, e.Reason
	s.Started, s.Ended, s.DurationMS = e.Started, e.Ended, e.DurationMS
	s.PeakBytes, s.LimitBytes = e.PeakBytes, e.LimitBytes
	s.Compactions, s.Kills = int(e.Rooms()), e.Killed()
}

// setRun fills in what the file of a run says, over what its entry does.
func (s *Glance) setRun(g runs.Glance) {
	s.ended(g.Entry)
	s.Compactions, s.Kills, s.Spent = g.Compactions, g.Kills, g.Spent
	if g.WindowTokens > 0 {
		s.WindowTokens, s.WindowLimit, s.WindowSource = g.WindowTokens, g.WindowLimit, WindowOfRun
	}
	if g.Live() {
		s.MemoryBytes, s.PeakBytes = g.Sample.Working, 0
	}
}

// dir returns the folder that a client works in, "" when it does not say.
func (c *Client) dir() string {
	for _, dir := range []string{c.Workspace.ProjectDir, c.Workspace.CurrentDir, c.Dir} {
		if filepath.IsAbs(dir) {
			return dir
		}
	}
	return ""
}

// Bounds of what a client says on standard input.
const (
	// MaxClient bounds the bytes that are read. Claude Code sends about 2 KB.
	MaxClient = 256 << 10
	// ClientWait bounds the wait for the input: a client that has left its pipe open and says nothing must not hold up a prompt.
	ClientWait = 100 * time.Millisecond
	// maxClientTokens is more than any window has.
	maxClientTokens = 1 << 40
)

// Client is the input that Claude Code gives its statusLine command on standard input, as far as it is used
// (https://code.claude.com/docs/en/statusline). Every part may be missing.
type Client struct {
	Dir       string `json:"cwd"`
	Workspace struct {
		CurrentDir string `json:"current_dir"`
		ProjectDir string `json:"project_dir"`
	} `json:"workspace"`
	Context struct {
		Size float64 `json:"context_window_size"`
		// Percent is null before the first answer.
		Percent float64 `json:"used_percentage"`
		// Usage has the tokens of the last answer.
		Usage struct {
			Input      float64 `json:"input_tokens"`
			CacheWrite float64 `json:"cache_creation_input_tokens"`
			CacheRead  float64 `json:"cache_read_input_tokens"`
		} `json:"current_usage"`
	} `json:"context_window"`
}

// ReadClient reads one JSON object from a client. It returns the zero Client when that is not valid or does not come within ClientWait. A
// reader that never ends keeps a goroutine until the program ends.
func ReadClient(from io.Reader) Client {
	said := make(chan Client, 1)
	go func() {
		var c Client
		if json.NewDecoder(io.LimitReader(from, MaxClient)).Decode(&c) != nil {
			c = Client{}
		}
		said <- c
	}()
	select {
	case c := <-said:
		return c
	case <-time.After(ClientWait):
		return Client{}
	}
}

// window returns the tokens in the client's window and its size; 0 and 0 when it does not give them, or gives impossible ones.
func (c *Client) window() (tokens, limit int64) {
	count := func(n float64) int64 {
		if n >= 0 && n <= maxClientTokens { // false for what is no number, too
			return int64(n)
		}
		return 0
	}
	u := c.Context.Usage
	tokens, limit = count(u.Input)+count(u.CacheWrite)+count(u.CacheRead), count(c.Context.Size)
	if tokens == 0 && c.Context.Percent > 0 && c.Context.Percent <= 100 {
		tokens = int64(c.Context.Percent / 100 * float64(limit))
	}
	if limit == 0 || tokens > maxClientTokens {
		return 0, 0
	}
	return tokens, limit
}

// SessionLines returns lines about the traffic between an editor and an agent, as known at a time: one in all, and one for each open session.
func SessionLines(e journal.Editor, at time.Time) []string {
	head := fmt.Sprintf("%d sessions open of %d, %s, longest line %s", e.Open, e.Opened, limit.Count(e.Requests, "request"), limit.Bytes(e.LongestLine).Human())
	if e.Servers > 0 {
		head += ", " + limit.Count(e.Servers, "MCP server") + " behind the gateway"
	}
	if e.Answered > 0 {
		head += ", " + limit.Count(e.Answered, "request") + " answered for the agent"
	}
	lines := []string{head}
	for _, s := range e.Sessions {
		idle := "?"
		if active, err := time.Parse(time.RFC3339, s.Active); err == nil {
			idle = printable.Duration(max(0, at.Sub(active)))
		}
		line := fmt.Sprintf("%s  idle %s", s.Folder, idle)
		if s.SizeTokens > 0 {
			line += fmt.Sprintf(", %s of %s tokens", limit.Tokens(s.UsedTokens), limit.Tokens(s.SizeTokens))
		}
		lines = append(lines, line+"  "+s.ID)
	}
	if more := e.Open - len(e.Sessions); more > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", more))
	}
	return lines
}
