package admission

import (
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/plimsoll/plimsoll/internal/process/headroom"
	"github.com/plimsoll/plimsoll/limit"
)

// Terms are the terms of the sum, in bytes, at one moment.
type Terms struct {
	// Estimate is the reservation asked for, Reserve what must stay free (min_free).
	Estimate, Reserve limit.Bytes
	// Physical and Swap are the available memory; Swap is 0 unless it is counted.
	Physical, Swap limit.Bytes
	// BoundBy is "host", or the cgroup that leaves the least.
	BoundBy string
	// Claimed is the part of reservations that is not used yet: Σ max(0, reservation − current). Of a run that is admitted beside
	// many others it may be an upper bound; in a refusal it is exact.
	Claimed limit.Bytes
	// Ceiling is the memory there would be if nothing else ran.
	Ceiling limit.Bytes
	// CountSwap reports whether swap was counted.
	CountSwap bool
	// Known is false when the memory could not be read: then only slots count.
	Known bool
	// Tool and Total are the slots in use, ToolSlots and TotalSlots how many there may be; 0 means no limit, below 0 that no run is
	// allowed.
	Tool, ToolSlots, Total, TotalSlots int
	// Holders are the runs that hold, oldest first, and then those of other users; nested ones are left out. Where Claimed is an upper
	// bound, they are empty or, in [Progress], the oldest one alone.
	Holders []Holder
}

// Needs returns Estimate + Reserve.
func (t Terms) Needs() limit.Bytes { return headroom.AddCapped(t.Estimate, t.Reserve) }

// Available returns Physical + Swap.
func (t Terms) Available() limit.Bytes { return headroom.AddCapped(t.Physical, t.Swap) }

// Missing returns how much memory is missing for Needs, 0 when there is enough.
func (t Terms) Missing() limit.Bytes {
	return max(0, t.Needs()-(t.Available()-t.Claimed))
}

// makeTerms returns the numbers on which a decision about e rests, for messages.
func (g *capacity) makeTerms(e *entry) Terms {
	room := g.available[swapIndex(e.CountSwap)]
	return Terms{
		Estimate: e.Reservation, Reserve: e.MinFree, Physical: room.Physical, Swap: room.Total - room.Physical,
		BoundBy: room.BoundBy, Claimed: g.claimed, Ceiling: g.ceiling[swapIndex(e.CountSwap)].Total,
		CountSwap: e.CountSwap, Known: g.known,
		Tool: g.tools[e.slot()], ToolSlots: e.SlotsPerTool, Total: g.total, TotalSlots: e.SlotsTotal,
		Holders: g.holders,
	}
}

// String returns the sum as two aligned lines without a line end:
//
//	needs      4 GiB + 2.5 GiB kept free          =  6.5 GiB
//	available  6 GiB + 2 GiB swap - 0 B claimed   =    8 GiB
func (t Terms) String() string {
	if !t.Known {
		return "needs      " + t.Estimate.Human() + " (the memory of this host could not be read)"
	}
	left := t.Estimate.Human() + " + " + t.Reserve.Human() + " kept free"
	right := t.Physical.Human()
	if t.CountSwap {
		right += " + " + t.Swap.Human() + " swap"
	}
	right += " - " + t.Claimed.Human() + " claimed"
	width := max(len(left), len(right))
	text := fmt.Sprintf("needs      %-*s  = %8s\navailable  %-*s  = %8s", width, left, t.Needs().Human(), width, right, (t.Available() - t.Claimed).Human())
	if t.BoundBy != "" && t.BoundBy != "host" {
		text += "  (bound by cgroup " + t.BoundBy + ")"
	}
	return text
}

// Refused is the error for a run that is not admitted. It carries every term of the sum.
type Refused struct {
	Tool, Project string
	// AskedBy is that of the [Request].
	AskedBy string
	// Reason says why it is not admitted.
	Reason Reason
	// Never is true when waiting would not help.
	Never bool
	// Waited is the time it was in the queue; 0 for a request that does not wait.
	Waited time.Duration
	// Ahead is the number of runs that wait before it.
	Ahead int
	Terms Terms
}

// refusalError returns the verdict as an error; waited is left out if the request was not to wait.
func (v verdict) refusalError(r Request, waited time.Duration) *Refused {
	if r.Wait == 0 {
		waited = 0
	}
	return &Refused{
		Tool: r.Tool, Project: r.Project, AskedBy: r.AskedBy, Reason: v.reason, Never: v.never,
		Waited: waited, Ahead: v.position - 1, Terms: v.terms,
	}
}

// shownHolders bounds the list in [Refused.Error].
const shownHolders = 8

// Error returns a few aligned lines for a person: what is missing, the sum, who holds it, and what to do next.
func (e *Refused) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s is not admitted: %s", e.Tool, e.reasonText())
	if e.Waited >= time.Millisecond {
		fmt.Fprintf(&b, " (waited %s)", e.Waited.Round(time.Millisecond))
	}
	if e.Reason == Memory || e.Reason == Turn {
		for line := range strings.Lines(e.Terms.String()) {
			b.WriteString("\n  " + strings.TrimSuffix(line, "\n"))
		}
	}
	if list := e.holderLines(); list != "" && !e.Never {
		b.WriteString("\n" + list)
	}
	b.WriteString("\n  next       " + strings.Join(e.nextSteps(), "\n             "))
	return b.String()
}

// reasonText returns the reason as the end of a sentence: "2 GiB of memory are missing".
func (e *Refused) reasonText() string {
	t := e.Terms
	switch {
	case e.Reason == Memory && e.Never:
		return fmt.Sprintf("it needs %s and there will never be more than %s here", t.Needs().Human(), t.Ceiling.Human())
	case e.Reason == Memory:
		return t.Missing().Human() + " of memory are missing"
	case e.Reason == ToolSlots && e.Never:
		return "no run of it is allowed here (max_concurrent)"
	case e.Reason == TotalSlots && e.Never:
		return "no run is allowed here (max_concurrent_total)"
	case e.Reason == ToolSlots:
		return fmt.Sprintf("%d of at most %d runs of %s are there", t.Tool, t.ToolSlots, e.Tool)
	case e.Reason == TotalSlots:
		return fmt.Sprintf("%d of at most %d runs are there", t.Total, t.TotalSlots)
	case e.Reason == QueueFull:
		return fmt.Sprintf("%d runs wait already", MaxWaiters)
	case e.Reason == LedgerFull:
		return fmt.Sprintf("%d runs are there already", MaxClaims)
	}
	return fmt.Sprintf("%d runs have waited longer", e.Ahead)
}

// holderLines returns a list of the runs that hold what is missing, only those of the same tool when its slots are used up; "" for none.
func (e *Refused) holderLines() string {
	var list []Holder
	for _, h := range e.Terms.Holders {
		if h.User != "" && e.Reason != Memory && e.Reason != Turn {
			continue // slots are each user's own
		}
		if e.Reason != ToolSlots || h.Tool == e.Tool && h.StaleWhy == "" {
			list = append(list, h)
		}
	}
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for i, h := range list {
		if i == shownHolders {
			break
		}
		label := ""
		if i == 0 {
			label = "held by"
		}
		state := "since " + h.Since.Local().Format("15:04")
		if h.State == Stale {
			state = "owner is gone"
		}
		whose, pid := h.Project, fmt.Sprintf("pid %d", h.Owner.PID)
		if h.User != "" {
			whose, pid = "user "+h.User, ""
		}
		fmt.Fprintf(w, "  %-9s\t%s\t%s\t%s\t%s reserved\t%s used\t%s\n", label, h.Tool, whose, pid, h.Reservation.Human(), h.Current.Human(), state)
	}
	w.Flush()
	if more := len(list) - shownHolders; more > 0 {
		fmt.Fprintf(&b, "             and %d more (plimsoll top lists them)\n", more)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// nextSteps lists in words the steps that would help, the gentlest first; waiting is among them unless the run can never be admitted.
func (e *Refused) nextSteps() []string {
	var steps []string
	if e.Never {
		switch e.Reason {
		case Memory:
			lower := "say what " + e.Tool + " needs (--reserve 2G), or lower min_free"
			if e.AskedBy != "" {
				lower = "lower " + e.AskedBy + ", which asks for " + e.Terms.Estimate.Human() + ", or min_free"
			}
			steps = append(steps, lower)
			if !e.Terms.CountSwap {
				steps = append(steps, "count swap (count_swap = true)")
			}
			if e.Terms.BoundBy != "host" && e.Terms.BoundBy != "" {
				steps = append(steps, "raise the limit of cgroup "+e.Terms.BoundBy)
			}
		case TotalSlots:
			steps = append(steps, raiseTotal)
		default:
			steps = append(steps, e.raiseSlotsHint())
		}
		return append(steps, "start it anyway: --force")
	}
	steps = append(steps, "queue for it: --wait, or --wait=10m")
	if h, ok := e.largestHolder(); ok && h.User != "" {
		steps = append(steps, fmt.Sprintf("ask user %s to end %s, which holds %s", h.User, h.Tool, h.Reservation.Human()))
	} else if ok && (e.Reason == ToolSlots || e.Reason == TotalSlots) {
		steps = append(steps, fmt.Sprintf("end one of them, such as %s (pid %d)", h.Tool, h.Owner.PID))
	} else if ok {
		steps = append(steps, fmt.Sprintf("end %s (pid %d), which holds %s", h.Tool, h.Owner.PID, h.Reservation.Human()))
	}
	switch e.Reason {
	case Memory:
		if !e.Terms.CountSwap {
			steps = append(steps, "count swap (count_swap = true)")
		}
	case ToolSlots:
		steps = append(steps, e.raiseSlotsHint())
	case TotalSlots:
		steps = append(steps, raiseTotal)
	}
	for _, h := range e.Terms.Holders {
		if h.State == Stale && h.StaleWhy == "" {
			steps = append(steps, "clean up after runs whose owner is gone: plimsoll gc")
			break
		}
	}
	return append(steps, "start it anyway: --force")
}

const raiseTotal = "raise max_concurrent_total in [resources] of your config.toml"

// raiseSlotsHint names the key that bounds how many runs of the tool there may be.
func (e *Refused) raiseSlotsHint() string {
	return "raise max_concurrent in " + ToolTable(e.Tool) + " of your config.toml"
}

// ToolTable returns the header of a tool's table in a configuration: [tools.claude], [tools."build.py"].
func ToolTable(tool string) string {
	if strings.ContainsFunc(tool, func(c rune) bool {
		return c != '-' && c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z')
	}) {
		tool = strconv.Quote(tool)
	}
	return "[tools." + tool + "]"
}

// largestHolder returns the run with the largest reservation among those that could make room if they ended; ok is false if there is none.
func (e *Refused) largestHolder() (largest Holder, ok bool) {
	for _, h := range e.Terms.Holders {
		if h.State == Stale || e.Reason == ToolSlots && h.Tool != e.Tool || h.User != "" && e.Reason != Memory && e.Reason != Turn {
			continue
		}
		if !ok || h.Reservation > largest.Reservation {
			largest, ok = h, true
		}
	}
	return largest, ok
}
