package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/app/stores"
	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/printable"
	"github.com/plimsoll/plimsoll/internal/process/usage"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/process/admission"
	"github.com/plimsoll/plimsoll/process/sandbox"
)

// Decision is the output of a dry run: every term of the decision about a run. Sizes are in bytes.
type Decision struct {
	Tool             string               `json:"tool"`
	Variant          string               `json:"variant"`
	Project          string               `json:"project"`
	Command          []string             `json:"command"`
	Path             string               `json:"path"`
	Admitted         bool                 `json:"admitted"`
	Refusal          string               `json:"refusal,omitempty"`
	Estimate         journal.Estimate     `json:"estimate"`
	ReservationBytes limit.Bytes          `json:"reservation_bytes"`
	LimitBytes       limit.Bytes          `json:"limit_bytes"`
	SwapLimitBytes   limit.Bytes          `json:"swap_limit_bytes"`
	PidsLimit        int                  `json:"pids_limit"`
	Limits           []journal.Limit      `json:"limits"`
	MinFreeBytes     limit.Bytes          `json:"min_free_bytes"`
	AvailableBytes   limit.Bytes          `json:"available_bytes"`
	SwapBytes        limit.Bytes          `json:"available_swap_bytes"`
	ClaimedBytes     limit.Bytes          `json:"claimed_bytes"`
	BoundBy          string               `json:"bound_by"`
	Slots            Slots                `json:"slots"`
	Layers           []sandbox.Capability `json:"layers"`
	Chosen           sandbox.Layer        `json:"chosen"`
	Enforcement      sandbox.Strength     `json:"enforcement"`
	Window           WindowDecision       `json:"window"`
	MCP              MCPDecision          `json:"mcp"`
	// Spend has the use of models by earlier runs here; nil for none.
	Spend *usage.Spend `json:"spend,omitempty"`
	// Remembers says what the memory would do, what not, and why.
	Remembers string `json:"remembers"`
}

// WindowDecision says which proxy the run would get, or in NoProxy why none. Both are empty for a command that is not known to ask a model.
type WindowDecision struct {
	Proxy     bool     `json:"proxy"`
	NoProxy   string   `json:"no_proxy,omitempty"`
	Client    string   `json:"client,omitempty"` // the profile by which the tool is pointed at the proxy
	Mode      string   `json:"mode,omitempty"`
	Upstreams []string `json:"upstreams,omitempty"` // base URLs
}

// words tells what the proxy is for and where it sends to, or why there is none; "" if neither is known.
func (w WindowDecision) words() string {
	switch {
	case w.Proxy:
		return fmt.Sprintf("proxy for %s, mode %s, to %s", w.Client, w.Mode, strings.Join(w.Upstreams, ", "))
	case w.NoProxy != "":
		return "no proxy, because " + w.NoProxy
	}
	return ""
}

// Slots are the slots in use and how many there may be; 0 is no bound.
type Slots struct {
	Tool      int `json:"tool"`
	ToolMost  int `json:"tool_max"`
	Total     int `json:"total"`
	TotalMost int `json:"total_max"`
}

// dryRun prints the decision and returns status 0 when the run would start now, 125 when not or when it cannot be printed.
func (x *process) dryRun(ctx context.Context) Status {
	p := x.decision
	d := Decision{
		Tool: p.Tool, Variant: p.Variant, Project: p.Project.Name, Command: x.report.hidden.Argv(x.opts.Command), Path: p.Path, Admitted: true,
		Estimate:         journal.Estimate{Bytes: int64(p.Estimate.Bytes), Source: p.Estimate.Source, Samples: p.Estimate.Samples, Guessed: p.Estimate.Guessed},
		ReservationBytes: p.Reservation, LimitBytes: p.Limits.Memory, SwapLimitBytes: p.Limits.Swap,
		PidsLimit: p.Limits.Pids, MinFreeBytes: p.MinFree, Limits: p.limitRows(),
	}
	if p.ReadingErr == nil {
		room := p.Reading.Available(p.Settings.CountSwap)
		d.AvailableBytes, d.SwapBytes, d.BoundBy = room.Physical, room.Swap, room.BoundBy
	}
	if ledger, err := x.openLedger(); err == nil {
		terms, err := ledger.Preview(ctx, x.request())
		if refused, ok := errors.AsType[*admission.Refused](err); ok {
			d.Admitted, d.Refusal = false, refused.Error()
		}
		d.ClaimedBytes = terms.Claimed
		if d.Admitted {
			d.ReservationBytes = terms.Estimate
		}
		d.Slots = Slots{terms.Tool, terms.ToolSlots, terms.Total, terms.TotalSlots}
	} else {
		x.report.say.warn("runs are not coordinated: " + err.Error())
	}
	report := doctorOf(ctx, p.Settings.Layers)
	d.Layers, d.Chosen = report.Layers, report.Chosen
	for _, c := range d.Layers {
		if c.Name == d.Chosen {
			d.Enforcement = c.Strength
		}
	}
	if p.Settings.Enforcement == "required" && d.Enforcement.Memory != sandbox.ByKernel {
		d.Admitted = false
		refusal := demandedBy(p.Settings, errors.New("enforcement is required, but no layer here lets the kernel hold the memory limit"))
		d.Refusal = strings.TrimSpace(d.Refusal + "\n" + refusal.Error())
	}
	d.Window = x.decideWindow(ctx)
	d.MCP = x.decideServers()
	d.Spend = p.spentBefore(x.history)
	if err := x.checkUnmetered(chooseWindow(p), d.Window.NoProxy); err != nil && !d.Window.Proxy {
		d.Admitted = false
		d.Refusal = strings.TrimSpace(d.Refusal + "\n" + err.Error())
	}
	d.Remembers = x.reach(d.Window.NoProxy).Describe(p.Settings)
	var err error
	if x.opts.JSON {
		err = printable.WriteJSON(x.opts.Stdout, d, "  ")
	} else {
		_, err = fmt.Fprint(x.opts.Stdout, d.text(p))
	}
	if err != nil {
		x.report.say.fail(err)
	}
	if !d.Admitted || err != nil {
		return Status{Code: exitFailed}
	}
	return Status{}
}

// text returns the decision as --dry-run prints it, a row for each part of it.
func (d Decision) text(p *decision) string {
	var b strings.Builder
	row := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-12s %s\n", name, fmt.Sprintf(format, args...))
	}
	row("command", "%s", printable.Name(shorten(strings.Join(d.Command, " "), 200)))
	tool := config.NameTool(d.Tool, d.Variant)
	if len(p.Match.Via) > 0 {
		tool += " (started by " + strings.Join(p.Match.Via, ", ") + ")"
	}
	row("tool", "%s, project %s", tool, printable.Text(d.Project))
	row("estimate", "%s, %s", limit.Bytes(d.Estimate.Bytes).Human(), EstimateWords(d.Estimate))
	row("kept free", "%s on the host", d.MinFreeBytes.Human())
	row("available", "%s physical + %s swap, bound by %s", d.AvailableBytes.Human(), d.SwapBytes.Human(), d.BoundBy)
	row("claimed", "%s that other runs have reserved and do not use yet", d.ClaimedBytes.Human())
	row("running", "%s", d.Slots)
	row("limit", "memory %s, swap %s, processes %d", d.LimitBytes.Human(), d.SwapLimitBytes.Human(), d.PidsLimit)
	if p.Limits.CPUs > 0 {
		row("processor", "weight %d (100 is everybody's), at most %g processors, %s", p.Limits.CPUWeight, p.Limits.CPUs, mechanismWords(string(d.Enforcement.CPUs)))
	} else {
		row("processor", "weight %d (100 is everybody's), %s", p.Limits.CPUWeight, mechanismWords(string(d.Enforcement.CPU)))
	}
	if p.Limits.Time > 0 {
		row("time", "at most %s, then it is ended", p.Limits.Time)
	}
	if words := spendLimitWords(p.Settings); words != "" {
		row("may spend", "%s", words)
	}
	if d.Spend != nil {
		row("spends", "%s", SpendWords(d.Spend))
	}
	row("layer", "%s: memory %s", d.Chosen, mechanismWords(string(d.Enforcement.Memory)))
	for _, c := range d.Layers {
		if !c.Available {
			row("", "%s is not available: %s", c.Name, c.Why)
		}
	}
	if w := d.Window.words(); w != "" {
		row("window", "%s", printable.Name(w))
	}
	if m := d.MCP.words(); m != "" {
		row("tools", "%s", printable.Name(m))
	}
	row("remembers", "%s", printable.Name(d.Remembers))
	switch {
	case d.Admitted && d.ReservationBytes < p.Reservation:
		row("decision", "would start now, with the %s that there are for it", d.ReservationBytes.Human())
	case d.Admitted:
		row("decision", "would start now")
	default:
		row("decision", "would be refused")
		fmt.Fprintln(&b, d.Refusal)
	}
	return b.String()
}

// shorten cuts text to most runes, and adds how many characters were cut.
func shorten(text string, most int) string {
	head := limit.ClipRunes(text, most)
	if head == text {
		return text
	}
	return fmt.Sprintf("%s… and %d characters more", head, utf8.RuneCountInString(text[len(head):]))
}

// String returns the runs in words, such as "1 of at most 5 of this tool, 2 of all".
func (s Slots) String() string {
	of := func(n, most int) string {
		if most == 0 {
			return strconv.Itoa(n)
		}
		return fmt.Sprintf("%d of at most %d", n, most)
	}
	return of(s.Tool, s.ToolMost) + " of this tool, " + of(s.Total, s.TotalMost) + " of all"
}

// Doctor lists the limits that this host can enforce.
type Doctor struct {
	Layers []sandbox.Capability `json:"layers"`
	// Chosen is the layer that a run would get, "" when there is none.
	Chosen sandbox.Layer `json:"chosen"`
	// Fleet is nil where [fleet] names no server.
	Fleet *FleetState `json:"fleet,omitempty"`
	// Stores lists what is kept on disk, without the stores of which there is nothing.
	Stores []stores.Size `json:"stores,omitempty"`
	// Notes are remarks beside the layers, whole sentences.
	Notes []string `json:"notes,omitempty"`
}

// Examine probes every layer of this host by doing the real thing, asks the fleet if there is one, and adds notes about shared claims,
// certificates and the fleet.
func Examine(ctx context.Context, c *core.Core) (Doctor, error) {
	settings, err := c.Config.For("")
	if err != nil {
		return Doctor{}, err
	}
	d := doctorOf(ctx, settings.Layers)
	d.Notes = append(d.Notes, sharedNotes(settings.SharedLedger)...)
	d.Notes = append(d.Notes, authorityNotes()...)
	if d.Fleet = fleetState(ctx, c, settings); d.Fleet != nil {
		d.Notes = append(d.Notes, d.Fleet.words())
	}
	return d, nil
}

// doctorOf probes every layer. Chosen is the first of layers that works here, "" for none.
func doctorOf(ctx context.Context, layers []string) Doctor {
	d := Doctor{Layers: sandbox.Probe(ctx, os.Getenv(sandbox.CookieName) != "")}
	for _, name := range layers {
		for _, c := range d.Layers {
			if string(c.Name) == name && c.Available && d.Chosen == "" {
				d.Chosen = c.Name
			}
		}
	}
	return d
}

// sharedNotes returns sentences for doctor about the directory that shares claims between users, and what is seen there.
func sharedNotes(dir string) []string {
	if dir == "" {
		if runtime.GOOS == "windows" { // where nothing could be set
			return nil
		}
		return []string{"Runs of other users are not seen: no shared_ledger is set."}
	}
	others, warnings, err := admission.Others(dir)
	if err != nil {
		return []string{"Runs of other users are not seen: " + err.Error() + "."}
	}
	runs := "runs"
	if len(others) == 1 {
		runs = "run"
	}
	notes := []string{fmt.Sprintf("Claims are shared with other users through %s: %d %s of theirs seen now.", dir, len(others), runs)}
	for _, w := range warnings {
		notes = append(notes, w.Text)
	}
	return notes
}
