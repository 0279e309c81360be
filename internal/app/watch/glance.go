package watch

import (
	"cmp"
	"errors"
	"path/filepath"
	"time"

	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/watch/runs"
	"github.com/plimsoll/plimsoll/journal"
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
			s.take(g)
		case s.Inside: // runs are not kept, or its file is not there yet
			s.ID, s.State = id, runs.Running
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
	g, err := runs.Look(state, id)
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
	return runs.Look(state, e.ID)
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

// ended fills in what the list has of a run, whose file may be gone.
func (s *Glance) ended(e runs.Entry) {
	s.ID, s.Tool, s.Project, s.State, s.StateSince, s.Reason = e.ID, e.Tool, e.Project, e.Condition(), e.StateSince, e.Reason
	s.Started, s.Ended, s.DurationMS = e.Started, e.Ended, e.DurationMS
	s.PeakBytes, s.LimitBytes = e.PeakBytes, e.LimitBytes
	s.Compactions, s.Kills = int(e.Rooms()), e.Killed()
}

func (s *Glance) take(g runs.Glance) {
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
