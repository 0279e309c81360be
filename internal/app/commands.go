package app

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/plimsoll/plimsoll/internal/app/agents"
	"github.com/plimsoll/plimsoll/internal/app/container"
	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/app/daemon"
	"github.com/plimsoll/plimsoll/internal/app/demo"
	"github.com/plimsoll/plimsoll/internal/app/mcp"
	"github.com/plimsoll/plimsoll/internal/app/memories"
	"github.com/plimsoll/plimsoll/internal/app/remember"
	"github.com/plimsoll/plimsoll/internal/app/run"
	"github.com/plimsoll/plimsoll/internal/app/upgrade"
	"github.com/plimsoll/plimsoll/internal/app/watch"
	"github.com/plimsoll/plimsoll/internal/app/window"
	"github.com/plimsoll/plimsoll/internal/memory"
	"github.com/plimsoll/plimsoll/internal/printable"
	"github.com/plimsoll/plimsoll/internal/process/usage"
	"github.com/plimsoll/plimsoll/internal/systemd"
	"github.com/plimsoll/plimsoll/internal/watch/runs"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/window/models"
)

// SearchFirstName is the variable by which `run` tells Plimsoll's own agent in it that the last
// one died of memory: it searches before it lists then.
const SearchFirstName = agents.SearchFirstName

// StandinModel is the value of --model for the stand-in that is no model: it goes by keywords and needs no network and no key.
const StandinModel = agents.StandinModel

// The parts of a run's report and of a listing; each is described in [run].
var (
	MiB                = run.MiB
	EnterRun           = run.EnterRun
	DistrustedEstimate = run.DistrustedEstimate
	// MemoryWords says in one line what the memory does with these settings, what it does not, and why.
	MemoryWords = remember.Reach{}.Words
)

// ProxyName is the environment variable by which a run inside a run finds the proxy of the outer one.
const ProxyName = core.ProxyName

// What the commands take and give; each is described where its family of commands is.
type (
	RunOptions     = run.Options
	Status         = run.Status
	Decision       = run.Decision
	WindowDecision = run.WindowDecision
	MCPDecision    = run.MCPDecision
	Slots          = run.Slots
	Prediction     = run.Prediction
	Doctor         = run.Doctor

	MCPOptions       = mcp.MCPOptions
	MCPSize          = mcp.Size
	ArgoCDOptions    = mcp.ArgoCDOptions
	ArgoCDTool       = mcp.ArgoCDTool
	UpgradeOptions   = upgrade.Options
	UpgradeFound     = upgrade.Found
	SimulatorOptions = mcp.SimulatorOptions
	WrapOptions      = mcp.WrapOptions
	WrapResult       = mcp.WrapResult
	WrapServer       = mcp.WrapServer

	AgentOptions      = agents.AgentOptions
	AgentServeOptions = agents.ServeOptions
	AgentSession      = agents.Session
	AgentEvent        = agents.Event
	ListedAgent       = agents.Listed
	AskOptions        = agents.AskOptions
	AskReport         = agents.AskReport
	AskedAgent        = agents.AskedAgent
	AskedCall         = agents.AskedCall
	ChatOptions       = agents.ChatOptions
	TalkOptions       = agents.TalkOptions

	ServeOptions = daemon.Options

	HealthOptions = container.HealthOptions

	CutEntry  = window.Entry
	CutText   = window.Cut
	Model     = window.Model
	ModelList = window.ModelList

	RefreshedModels = models.Refreshed

	WatchOptions = watch.Options

	RunFilter  = watch.Filter
	RunEntry   = runs.Entry
	RunDetails = watch.Details
	RunRecord  = runs.Run

	Memory              = memories.Memory
	MemoryQuery         = memories.Query
	MemoryForgetting    = memories.Forgetting
	MemoryImportOptions = memories.ImportOptions
	MemoryImported      = memories.Imported
	MemoryPins          = memories.Pins
	MemoryWhy           = memories.Why
	MemoryUse           = memory.Use
	MemoryGiven         = memories.Given
	MemoryGivenTo       = memory.GivenTo
	MemoryWouldGive     = memories.WouldGive
	MemoryTakenBack     = memories.TakenBack
	MemoryStats         = memories.Stats
	MemoryRecord        = memory.Record
	MemoryItem          = memory.Item
	MemoryForgotten     = memory.Forgotten
	MemoryCollected     = memory.Collected
	MemoryWouldForget   = memories.WouldForget
	MemoryPlace         = memory.Place
	MemoryMCPOptions    = mcp.MemoryOptions
	MemoryLearnOptions  = agents.LearnOptions
	MemoryLearned       = agents.Learned

	DemoOptions = demo.Options
	DemoReport  = demo.Report
	DemoScene   = demo.Scene
)

// What the commands of the memory take, and how they show it; each is described in [memories].
var (
	MemoryKinds         = memories.Kinds
	MemoryOrigins       = memories.Origins
	MemoryExportFormats = memories.ExportFormats
	MemoryImportFormats = memories.ImportFormats
	EditMemoryText      = memories.EditText
)

// Memory opens the memory of this user, for a command. Who opens it closes it.
func (a *App) Memory() (*Memory, error) {
	return memories.Open(a.Core, memories.Options{Vectors: memories.VectorsOnSearch})
}

// MemoryGivenTo returns what would be added to a prompt now.
func (a *App) MemoryGivenTo(ctx context.Context, prompt, namespace string) (MemoryWouldGive, error) {
	return memories.GivenTo(ctx, a.Core, prompt, namespace)
}

// Learn draws facts from what was said, with a language model.
func (a *App) Learn(ctx context.Context, o MemoryLearnOptions) (MemoryLearned, error) {
	return agents.Learn(ctx, a.Core, o)
}

// MemoryServer runs the MCP server of the memory, until the client closes its end, ctx ends or a signal asks for the end.
func (a *App) MemoryServer(ctx context.Context, o MemoryMCPOptions) error {
	return mcp.ServeMemory(ctx, a.Core, o)
}

// Run runs a command inside its limits and returns how this process should end.
func (a *App) Run(ctx context.Context, o RunOptions) Status { return run.Run(ctx, a.Core, o) }

// Health asks a daemon whether it takes requests.
func (a *App) Health(ctx context.Context, o HealthOptions) error {
	return container.Health(ctx, a.Core, o)
}

// HealthTimeout is the time in which a daemon has to answer by default.
const HealthTimeout = container.HealthTimeout

// CopyTo puts a copy of this program into a directory.
var CopyTo = container.CopyTo

// Predict returns the memory that the next run of a command will be expected to need in the project of the
// working directory, from the same sources and with the same limits as a run. The command may be the name of a tool alone.
func (a *App) Predict(_ context.Context, command ...string) (Prediction, error) {
	return run.Predict(a.Core, command...)
}

// Doctor probes every layer by doing the real thing, and asks the service for embeddings where one is named.
func (a *App) Doctor(ctx context.Context) (Doctor, error) {
	d, err := run.Examine(ctx, a.Core)
	if err != nil {
		return d, err
	}
	settings, err := a.Config.For("")
	if err != nil {
		return d, err
	}
	d.Notes = append(d.Notes, "memory: "+remember.Reach{}.Words(settings))
	if said := memories.AskService(ctx, settings.Memory); said != "" {
		d.Notes = append(d.Notes, said)
	}
	return d, nil
}

// MCP runs the gateway in front of one MCP server, until the client closes its end, ctx ends
// or a signal asks for the end.
func (a *App) MCP(ctx context.Context, o MCPOptions) error { return mcp.Serve(ctx, a.Core, o) }

// ArgoCD runs the MCP server of Argo CD, until the client closes its end, ctx ends or a signal
// asks for the end.
func (a *App) ArgoCD(ctx context.Context, o ArgoCDOptions) error {
	return mcp.ServeArgoCD(ctx, a.Core, o)
}

// ArgoCDTools lists the tools of the Argo CD server, by name.
func ArgoCDTools() ([]ArgoCDTool, error) { return mcp.ArgoCDTools() }

// CheckUpgrade finds out whether a newer release is there. It needs no configuration.
func CheckUpgrade(ctx context.Context, o UpgradeOptions) (UpgradeFound, error) {
	return upgrade.Check(ctx, o)
}

// Wrap rewrites a client's configuration so that its MCP servers stand behind the gateway.
func (a *App) Wrap(o WrapOptions) (WrapResult, error) { return mcp.Wrap(o) }

// MCPStats lists how large the results of MCP tools were, the largest sum first; server
// keeps to one server, "" means all. A file that cannot be read is told as a warning.
func (a *App) MCPStats(server string) ([]MCPSize, error) { return mcp.Stats(a.Core, server) }

// Ask asks an agent one question. The error is of what kept it from being asked; how the
// question ended is in the report.
func (a *App) Ask(ctx context.Context, o AskOptions) (AskReport, error) {
	return agents.Ask(ctx, a.Core, o)
}

// Talk holds a conversation with a person, until there are no more questions. status is the program's exit status.
func (a *App) Talk(ctx context.Context, o TalkOptions) (status int, err error) {
	return agents.Talk(ctx, a.Core, o)
}

// ServeAgents serves agents over A2A and nothing else, until ctx ends or a signal asks for the
// end (SIGINT, SIGTERM; a second one ends at once).
func (a *App) ServeAgents(ctx context.Context, o AgentServeOptions) error {
	return agents.Serve(ctx, a.Core, o)
}

// ModelServices returns the beginnings of what --model takes, "openai/", of the services whose address and key are known.
func ModelServices() []string { return agents.Services() }

// AgentList lists the agents, by name.
func (a *App) AgentList() ([]ListedAgent, error) { return agents.List(a.Core) }

// AgentSessions lists the conversations of an agent, the last one used first. name is as in
// [AgentOptions].
func (a *App) AgentSessions(name string) ([]AgentSession, error) {
	return agents.Sessions(a.Core, name)
}

// RemoveAgentSession removes a conversation of an agent.
func (a *App) RemoveAgentSession(ctx context.Context, name, session string) error {
	return agents.RemoveSession(ctx, a.Core, name, session)
}

// TakeService takes what the service manager gave this process, nil when none started it. A command that serves calls it before
// anything else: it removes the variables that no child may have, and sets those that credentials take the place of.
func TakeService() (*systemd.Service, error) { return systemd.Take() }

// Serve runs the daemon: the model gateway, the MCP gateway and the agents over A2A, with metrics and
// health, until ctx ends or a signal asks for the end (SIGINT, SIGTERM; a second one ends at once).
func (a *App) Serve(ctx context.Context, o ServeOptions) error {
	o.Ledger = a.ledger
	return daemon.Run(ctx, a.Core, o)
}

// Watch shows the dashboard, alone, until ctx ends or a signal asks for the end.
func (a *App) Watch(ctx context.Context, o WatchOptions) error {
	o.Ledger = a.ledger
	return watch.Serve(ctx, a.Core, o)
}

// WatchURL returns the address of the dashboard that is there, with its token.
func (a *App) WatchURL() (string, error) { return watch.URL(a.Core) }

// WriteMetrics writes the metrics of every run of this user as Prometheus reads them.
func (a *App) WriteMetrics(to io.Writer) error { return watch.WriteMetrics(a.Core, to) }

// WriteMetricsFile writes them into a file that others may read: whole, or not at all.
func (a *App) WriteMetricsFile(file string) error { return watch.WriteMetricsFile(a.Core, file) }

func (a *App) ledger(ctx context.Context) (any, error) { return a.Slots(ctx, true) }

// Cuts lists what was cut from conversations, the newest first: all, those whose entry or conversation has an ID that begins with of, or
// where there are none, those of the run that [App.RunDetails] finds by it. It is an error when there is nothing by that name.
func (a *App) Cuts(of string) ([]CutEntry, error) {
	found, err := window.Cuts(a.Core, of)
	if err != nil || of == "" || len(found) > 0 {
		return found, err
	}
	d, err := a.RunDetails(of)
	if d.Run == nil {
		return nil, fmt.Errorf("no cut, conversation or run has the ID %q; plimsoll runs --cuts lists what was cut", printable.Name(of))
	}
	if err != nil {
		return nil, err
	}
	all, err := window.Cuts(a.Core, "")
	return slices.DeleteFunc(all, func(e CutEntry) bool {
		return !slices.ContainsFunc(d.Run.Compactions, func(c runs.Compaction) bool { return c.Checkpoint == e.ID })
	}), err
}

// ModelProviders returns the providers of the catalogue of models.
func ModelProviders() []string { return window.ModelProviders() }

// Models lists what is known of the window of a model, of all models of a provider, or ("" and "") what was set and learned.
func (a *App) Models(name, provider string) (ModelList, error) {
	return window.Models(a.Core, name, provider)
}

// RefreshModels puts a public catalogue of models, from a file or an address, in front of the built-in one.
func (a *App) RefreshModels(ctx context.Context, from string) (RefreshedModels, error) {
	return window.Refresh(ctx, a.Core, from)
}

// ResetModels takes out what [App.RefreshModels] has put there; had reports whether there was something.
func (a *App) ResetModels() (had bool, err error) { return window.Reset(a.Core) }

// Cut returns one entry of [App.Cuts] with the text that was cut.
func (a *App) Cut(id string) (CutText, error) { return window.ReadCut(a.Core, id) }

// Demo plays the main job on stand-ins: a simulated Argo CD, a model that is none, and the
// Argo CD agent under a real run. The error is of what kept it from being played.
func (a *App) Demo(ctx context.Context, o DemoOptions) (DemoReport, error) {
	return demo.Play(ctx, o, run.Show)
}

// DemoOffers returns the real things in the environment that the demo could use, as the flags that
// would make it.
func DemoOffers(getenv func(string) string) (model, argocd string) { return demo.Offers(getenv) }

// SignalOf returns the signal that ended a command, 0 when none did.
func SignalOf(err error) int { return demo.SignalOf(err) }

// Runs lists the runs of this user on this host, the newest first.
func (a *App) Runs(f RunFilter) ([]RunEntry, error) { return watch.List(a.Core, f) }

// RunsEverywhere returns these and those that live on other hosts of the fleet.
func (a *App) RunsEverywhere(ctx context.Context, f RunFilter) ([]RunEntry, error) {
	return watch.ListEverywhere(ctx, a.Core, f)
}

// RunDetails returns one run with all that is kept of it. id is its ID, the beginning of it, or "last". Of a run whose file is gone there is
// what the list has, with an error.
func (a *App) RunDetails(id string) (RunDetails, error) { return watch.Show(a.Core, id) }

// ExportRuns gives every run that is meant, whole, the oldest first.
func (a *App) ExportRuns(f RunFilter, give func(RunDetails) error) error {
	return watch.Export(a.Core, f, give)
}

// FollowRun gives what happens in a run until it has ended, or ctx has.
func (a *App) FollowRun(ctx context.Context, id string, give func(journal.Record) error) (RunDetails, error) {
	return watch.Follow(ctx, a.Core, id, give)
}

// RunOutcomes returns what a run can come to, and be in.
func RunOutcomes() []string { return watch.Outcomes() }

// Sparkline draws values, one letter each, against most; 0 means against the largest of them.
func Sparkline(values []int64, most int64) string { return runs.Sparkline(values, most) }

// SpendWords returns what runs of a tool spend, for people.
func SpendWords(s *usage.Spend) string { return run.SpendWords(s) }

// EstimateWords names the source of an estimate.
func EstimateWords(e journal.Estimate) string { return run.EstimateWords(e) }

// RunEventBytes bounds the events in the file of a run; the rest of the file is for samples, kills, compactions and the end.
const RunEventBytes = limit.Bytes(runs.MaxEvents)

// Took writes a duration for a person: 0.4 s, 12 s, 3m 20s, 1h 5m.
func Took(d time.Duration) string { return printable.Duration(d) }

// SessionLines returns lines about the sessions of an editor with the agent of a run, as they were known at a time.
func SessionLines(e journal.Editor, at time.Time) []string { return watch.SessionLines(e, at) }
