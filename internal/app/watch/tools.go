package watch

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/app/run"
	"github.com/plimsoll/plimsoll/internal/config"
	mcpserver "github.com/plimsoll/plimsoll/internal/tools/mcp/server"
	"github.com/plimsoll/plimsoll/internal/watch/runs"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/tools/mcp/builtin"
)

// ToolsOptions configure [ServeTools].
type ToolsOptions struct {
	Stdin  io.Reader
	Stdout io.Writer
	// Version is the version of this program, which clients are told.
	Version string
}

// Bounds of the tools' answers.
const (
	// defaultListed is the number of runs that list_runs returns when no number is asked for, maxListed the largest number.
	defaultListed = 10
	maxListed     = 50
	// maxReason bounds a run's reason in a list, in bytes.
	maxReason = 300
	// maxKills bounds the killed processes that show_run names.
	maxKills = 20
)

const toolsInstructions = `What this machine gives the agent's runs under Plimsoll, and what became of earlier ones. Ask run_status before you start a large build or test, or several at once: memory_bytes beside limit_bytes is what is left. When a command of yours died with status 137, show_run says which process was killed, at which limit, and what to do. All of them only read.`

// ServeTools runs the MCP server by which an agent learns its own limits and reads about earlier runs, until the client closes its end, ctx
// ends or a signal asks for the end. It only reads.
func ServeTools(ctx context.Context, c *core.Core, o ToolsOptions) (err error) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	server, err := builtin.New(builtin.Options{
		Name: "plimsoll-runs", Title: "Plimsoll", Version: o.Version, Instructions: toolsInstructions, Tools: tools(c),
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	err = mcpserver.Stdio(ctx, o.Stdin, o.Stdout, server.Dial(), mcpserver.StdioOptions{Name: "runs"})
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return nil // asked to end
	}
	return err
}

type listArguments struct {
	Tool    string `json:"tool,omitempty" jsonschema:"Only runs of this tool, as claude or npm"`
	Outcome string `json:"outcome,omitempty" jsonschema:"Only runs that came to this: ok, failed, oom, limit, refused, signalled, running, waits_for_you, idle, waiting, died"`
	All     bool   `json:"all_projects,omitempty" jsonschema:"Runs of all projects, not only of this one"`
	Count   int    `json:"count,omitempty" jsonschema:"How many, the newest first: 10 unless given, 50 at most"`
}

type listed struct {
	Runs []listedRun `json:"runs"`
	// Total is the number of all, of which Runs are the newest.
	Total int `json:"total"`
}

type listedRun struct {
	ID             string `json:"id"`
	Tool           string `json:"tool"`
	Project        string `json:"project"`
	Started        string `json:"started"`
	Outcome        string `json:"outcome"`
	State          string `json:"state,omitempty"`
	DurationMS     int64  `json:"duration_ms"`
	PeakBytes      int64  `json:"peak_bytes"`
	LimitBytes     int64  `json:"limit_bytes"`
	KilledChildren int    `json:"killed_children"`
	Reason         string `json:"reason,omitempty"`
}

type shown struct {
	runs.Entry
	Kills []runs.Kill `json:"kills"` // the first of them
	Next  []string    `json:"next"`
}

// tools returns the tools of the server.
func tools(c *core.Core) []builtin.Tool {
	reads := builtin.Hints{ReadOnly: true, Idempotent: true}
	return []builtin.Tool{
		builtin.Typed(builtin.Tool{
			Name: "run_status", Title: "This run", Hints: reads,
			Description: "What the run that you are in uses now: memory and its limit in bytes, how full the context window is, compactions, processes that were killed for memory, and what it has spent of its limits, in tokens or in millionths of a dollar. state is \"none\" where there is no run: then nothing limits you.",
		}, func(_ context.Context, _ *builtin.Call, _ struct{}) (*builtin.Result, error) {
			g, err := Look(GlanceOptions{})
			if err != nil {
				return nil, err
			}
			return builtin.JSON(g)
		}),
		builtin.Typed(builtin.Tool{
			Name: "list_runs", Title: "Earlier runs", Hints: reads,
			Description: "The newest runs of this project: what ran, what came of it, the peak of its memory, and why it ended as it did. state is of those that live: running, waits_for_you, idle (used by nobody), or waiting in the queue.",
		}, func(_ context.Context, _ *builtin.Call, in listArguments) (*builtin.Result, error) {
			if in.Count < 0 || in.Count > maxListed {
				return nil, errors.New("count is 1 to 50")
			}
			f := Filter{Tool: in.Tool, Outcome: in.Outcome}
			if !in.All {
				f.Project = config.ProjectOf("").Name
			}
			entries, err := List(c, f)
			if err != nil {
				return nil, err
			}
			answer := listed{Runs: []listedRun{}, Total: len(entries)}
			for i := range entries[:min(len(entries), cmp.Or(in.Count, defaultListed))] {
				e := &entries[i]
				answer.Runs = append(answer.Runs, listedRun{
					ID: e.ID, Tool: e.Tool, Project: e.Project, Started: e.Started.Format("2006-01-02T15:04:05Z07:00"), Outcome: e.Outcome, State: e.State, DurationMS: e.DurationMS,
					PeakBytes: e.PeakBytes, LimitBytes: e.LimitBytes, KilledChildren: e.KilledChildren, Reason: limit.Clip(e.Reason, maxReason),
				})
			}
			return builtin.JSON(answer)
		}),
		builtin.Typed(builtin.Tool{
			Name: "show_run", Title: "One run", Hints: reads,
			Description: "One run: its figures, why it ended as it did, and what could be done next.",
		}, func(_ context.Context, _ *builtin.Call, in struct {
			ID string `json:"id,omitempty" jsonschema:"The run's id or the beginning of it; the last one unless given"`
		},
		) (*builtin.Result, error) {
			d, err := Show(c, cmp.Or(strings.TrimSpace(in.ID), "last"))
			if d.Run == nil {
				return nil, err
			}
			return builtin.JSON(shown{d.Entry, d.Kills[:min(len(d.Kills), maxKills)], d.Next})
		}),
		builtin.Typed(builtin.Tool{
			Name: "predict_run", Title: "What a command will need", Hints: reads,
			Description: "How much memory the next run of a command is expected to need in this project, by its earlier runs, and the limit that it would get.",
		}, func(_ context.Context, _ *builtin.Call, in struct {
			Command []string `json:"command" jsonschema:"The command as a list of words, as npm, test"`
		},
		) (*builtin.Result, error) {
			if len(in.Command) == 0 {
				return nil, errors.New("command is empty: name it as a list of words")
			}
			p, err := run.Predict(c, in.Command...)
			if err != nil {
				return nil, err
			}
			return builtin.JSON(p)
		}),
	}
}
