package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/watch/runs"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/process/admission"
)

// Raised is the result of raising a limit of a run. Sizes are in bytes, of the limit of memory; Words say what another limit is now.
type Raised struct {
	ID        string      `json:"id"`
	Tool      string      `json:"tool"`
	Limit     string      `json:"limit"`
	FromBytes limit.Bytes `json:"from_bytes,omitempty"`
	ToBytes   limit.Bytes `json:"to_bytes,omitempty"`
	Words     string      `json:"words,omitempty"`
	Note      string      `json:"note,omitempty"`
}

// RaiseOptions name a limit that a run is to have: a memory limit, or another one by its name, By a number more or To one.
type RaiseOptions struct {
	Memory limit.Bytes
	Limit  string
	By, To float64
	Force  bool
}

// ErrRaiseInRun is wrapped where an agent would give itself more.
var ErrRaiseInRun = errors.New("this is inside a run, and what is in a run does not raise limits: do it in a shell of your own")

// Raise gives a living run of this user a higher limit. run is its id, the beginning of one, the name of a tool of which one run lives, or "last",
// the newest one that lives and is not inside another. Within a run the error is [ErrRaiseInRun]; a refusal by the run is an error too.
func Raise(ctx context.Context, c *core.Core, run string, o RaiseOptions) (Raised, error) {
	if f := c.Fence(); f.Inside() {
		return Raised{}, fmt.Errorf("%w (%s)", ErrRaiseInRun, f.Why)
	}
	ledger, err := c.OpenLedger(func(w admission.Warning) { c.Warn(w.Text) })
	if err != nil {
		return Raised{}, err
	}
	h, err := findLiving(ctx, ledger, run)
	if err != nil {
		return Raised{}, err
	}
	name := cmp.Or(o.Limit, "memory_max")
	answer, err := ledger.Ask(ctx, h.ID, admission.Wish{Memory: o.Memory, Limit: o.Limit, By: o.By, To: o.To, Force: o.Force})
	if err == nil && answer.Refused != "" {
		err = errors.New(answer.Refused)
	}
	if err != nil {
		return Raised{}, fmt.Errorf("%s (%s) keeps its %s: %w", h.ID, h.Tool, name, err)
	}
	return Raised{h.ID, h.Tool, name, answer.From, answer.To, answer.Words, answer.Note}, nil
}

// LivingRuns returns, for shell completion, the ids of this user's runs that hold a claim, each with a tab and its tool and project behind it; nil
// if the ledger cannot be used.
func LivingRuns(ctx context.Context, c *core.Core) (ids []string) {
	ledger, err := c.OpenLedger(func(w admission.Warning) { c.Warn(w.Text) })
	if err != nil {
		return nil
	}
	holders, _ := ledger.Holders(ctx)
	for _, h := range holders {
		if h.User == "" && h.State == admission.Holding {
			ids = append(ids, h.ID+"\t"+h.Tool+" in "+h.Project)
		}
	}
	return ids
}

// findLiving returns the living run that a word names: by its id, the beginning of one, its tool, or "last", for the newest that is not inside
// another. It is an error if that is none or several.
func findLiving(ctx context.Context, ledger *admission.Ledger, word string) (admission.Holder, error) {
	all, err := ledger.Holders(ctx)
	if err != nil {
		return admission.Holder{}, err
	}
	var found, live []admission.Holder
	for _, h := range all {
		if h.User != "" || h.State != admission.Holding {
			continue
		}
		if h.ID == word {
			return h, nil
		}
		live = append(live, h)
		if strings.HasPrefix(h.ID, word) || h.Tool == word {
			found = append(found, h)
		}
	}
	if word == runs.Last {
		for _, h := range live {
			if h.Parent == "" && (len(found) == 0 || h.Since.After(found[0].Since)) {
				found = []admission.Holder{h}
			}
		}
	}
	switch {
	case len(found) == 1 && word != "":
		return found[0], nil
	case len(live) == 0 && word == runs.Last:
		return admission.Holder{}, errors.New("no run lives: nothing runs under plimsoll now")
	case len(live) == 0:
		return admission.Holder{}, fmt.Errorf("there is no run %q: nothing runs under plimsoll", limit.Short(word, 64))
	case len(found) == 0:
		return admission.Holder{}, fmt.Errorf("no run that lives is called %q; these do: %s", limit.Short(word, 64), namesOfRuns(live))
	}
	return admission.Holder{}, fmt.Errorf("%q may be several runs: %s; name one", limit.Short(word, 64), namesOfRuns(found))
}

// namesOfRuns lists runs for an error, the first of them.
func namesOfRuns(list []admission.Holder) string {
	const most = 5
	var names []string
	for _, h := range list[:min(len(list), most)] {
		names = append(names, h.ID+" ("+h.Tool+")")
	}
	if more := len(list) - most; more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}
