package top

import (
	"context"
	"time"

	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/app/watch"
	"github.com/plimsoll/plimsoll/internal/watch/runs"
	"github.com/plimsoll/plimsoll/journal"
)

// Snapshot is the content of the screen at one moment, and of `top --once --json`.
type Snapshot struct {
	Host Host `json:"host"`
	// Runs are the live runs, then those that ended within [Keep]; never nil.
	Runs []Row `json:"runs"`
}

// Host is the machine that the runs share. Sizes are in bytes.
type Host struct {
	Time time.Time `json:"time"`
	// Replayed is true for a past state, from the store: the host's memory is not known then.
	Replayed bool `json:"replayed,omitempty"`
	// TotalBytes is the host's memory; AvailableBytes can be given out, free swap included with count_swap; BoundBy is "host" or a cgroup.
	TotalBytes     int64  `json:"total_bytes"`
	AvailableBytes int64  `json:"available_bytes"`
	MinFreeBytes   int64  `json:"min_free_bytes"`
	SwapFreeBytes  int64  `json:"swap_free_bytes"`
	BoundBy        string `json:"bound_by,omitempty"`
	// ReservedBytes is the memory that runs with a claim of their own have reserved.
	ReservedBytes int64 `json:"reserved_bytes"`
	// IdleBytes is the memory that idle runs hold.
	IdleBytes int64 `json:"idle_bytes"`
	// Pressure is nil where the kernel does not report it.
	Pressure *Pressure `json:"pressure"`
	Running  int       `json:"running"`
	// Waiting are the runs that wait for memory or a slot, in the order of the queue; never nil.
	Waiting []Waiter `json:"waiting"`
	// Fleet sums up the other hosts; nil where there is no fleet.
	Fleet *Fleet `json:"fleet,omitempty"`
	// Unread says what could not be read, "" when everything was.
	Unread string `json:"unread,omitempty"`
}

// Pressure is the percentage of the last ten seconds in which processes waited for memory or for a disk.
type Pressure struct {
	MemorySome float64 `json:"memory_some_avg10"`
	MemoryFull float64 `json:"memory_full_avg10"`
	IOSome     float64 `json:"io_some_avg10"`
}

// Waiter is a run in the queue.
type Waiter struct {
	ID       string `json:"id"`
	Tool     string `json:"tool"`
	Project  string `json:"project"`
	Position int    `json:"position"`
	// AsksBytes is the reservation that it asks for.
	AsksBytes int64     `json:"asks_bytes"`
	Since     time.Time `json:"since"`
}

// States of a row beside those of [runs.Entry.Outcome].
const (
	// Paused is the state of a run whose processes are all stopped.
	Paused = "paused"
	// Stale is the state of a run whose plimsoll is dead and whose remains are not cleaned up yet.
	Stale = "stale"
)

// Row is one run.
type Row struct {
	runs.View
	// Host is the name of another host on which it runs, whose name is in the ID too; "" is this one.
	Host string `json:"host,omitempty"`
	// User is the owner of a run that is seen through the shared directory, "" for one in this ledger.
	User string `json:"user,omitempty"`
	// PID is the process of the plimsoll that supervises it.
	PID int `json:"pid,omitempty"`
	// Engine names who placed it and Node the machine, "" for a run that nobody submitted.
	Engine string `json:"engine,omitempty"`
	Node   string `json:"node,omitempty"`
	// Since is the time of its admission, or at which it began to wait; Started for a run that has no claim.
	Since time.Time `json:"since"`
	// AgeMS is the time since it started.
	AgeMS int64 `json:"age_ms"`
	// Position is its place in the queue, from 1, while it waits.
	Position int `json:"position,omitempty"`
	// Forced is true for a run that --force has started against the sum or the slots.
	Forced bool `json:"forced,omitempty"`
	// Orphans counts its processes that have lost their parent, where processes were read.
	Orphans int   `json:"orphans"`
	Loops   int64 `json:"loops,omitempty"` // times that the agent repeated itself
	// DefinitionTokens are the tokens of MCP tools' definitions in each request, DeferredTools the tools that are found by search instead.
	DefinitionTokens int `json:"definition_tokens"`
	DeferredTools    int `json:"deferred_tools,omitempty"`
	// Editor describes the traffic between an editor and the agent of the run.
	Editor journal.Editor `json:"editor,omitzero"`
	// Tree are its processes, if they were asked for.
	Tree []Process `json:"tree,omitempty"`
}

// Live reports whether the run has not ended.
func (r *Row) Live() bool { return r.Ended == nil }

// Process is one process of a run, below its parent.
type Process struct {
	PID    int    `json:"pid"`
	Parent int    `json:"parent"`
	Depth  int    `json:"depth"`
	Name   string `json:"name"`
	// State is the kernel's letter, "" where it is not known.
	State string `json:"state"`
	Bytes int64  `json:"bytes"`
	CPUMS int64  `json:"cpu_ms"` // -1 where it is not known
	AgeMS int64  `json:"age_ms"`
	// Orphan is true when its parent has ended; Daemon when it was meant to outlive that.
	Orphan bool `json:"orphan,omitempty"`
	Daemon bool `json:"daemon,omitempty"`
}

// Want says what a look must read beside the rows.
type Want struct {
	// Trees are the IDs of the runs whose processes are wanted; AllTrees means every run.
	Trees    map[string]bool
	AllTrees bool
	// Orphans counts orphans in every run, which reads all processes.
	Orphans bool
	// Filter, Sort and Reverse choose among the runs of other hosts where there are many.
	Filter  string
	Sort    Sort
	Reverse bool
	// Wait waits for the other hosts, for maxLook.
	Wait bool
}

func (w Want) tree(id string) bool { return w.AllTrees || w.Trees[id] }

// Source reads snapshots.
type Source interface {
	Read(ctx context.Context, want Want) (Snapshot, error)
	// Run returns one run with all that is kept of it.
	Run(ctx context.Context, id string) (*runs.Run, error)
	Close() error
}

// Keep is the time for which a run stays on the screen after its end.
const Keep = 5 * time.Minute

// price returns the cost of a run; ok is false when no price is written for its models. It may be nil.
type price func(e *runs.Entry) (cost float64, ok bool)

func priceOf(c *core.Core) price { return watch.Cost(c.Config) }

// rowOf returns the row of a run in the store, by its entry.
func rowOf(e *runs.Entry, now time.Time, price price) Row {
	return Row{
		View: runs.NewView(e, price), PID: e.PID, Engine: e.Engine, Node: e.Node, Since: e.Started, AgeMS: max(0, now.Sub(e.Started).Milliseconds()),
		Loops: e.Window.Loops, Editor: e.Editor, DefinitionTokens: e.MCP.DefinitionTokens, DeferredTools: e.MCP.Deferred,
	}
}
