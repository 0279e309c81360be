package runs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/statefile"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

// The units of limits of what a run may spend, in [journal.Limit].
const (
	UnitTokens = "tokens"
	UnitMoney  = "micro-dollars"
)

// SpendLimits returns the limits of what a run may spend, and the budgets that it has come near, among its limits.
func SpendLimits(limits []journal.Limit) (spent []journal.Limit) {
	for _, l := range limits {
		if l.Unit == UnitTokens || l.Unit == UnitMoney {
			spent = append(spent, l)
		}
	}
	return spent
}

// FormatSpent returns what was used of a limit, for people: "$1.20 of $5.00", "1.2M of 2M tokens".
func FormatSpent(l journal.Limit) string {
	if l.Unit == UnitMoney {
		return limit.Dollars(float64(l.Used)/1e6) + " of " + limit.Dollars(float64(l.Hard)/1e6)
	}
	return fmt.Sprintf("%s of %s tokens", limit.Tokens(l.Used), limit.Tokens(l.Hard))
}

// usedKind is the kind of the events whose lines tell what was used of a limit.
var usedKind = journal.LimitUsed{}.Kind()

// parseSpendLimit returns the limit of what may be spent that a line with a [journal.LimitUsed] is about; ok is false for other lines and limits.
func parseSpendLimit(text []byte) (l journal.Limit, ok bool) {
	if !bytes.Contains(text, []byte(`"hard":`)) {
		return l, false
	}
	line, err := parse(text)
	if err != nil || line.record == nil {
		return l, false
	}
	e, ok := line.record.Event.(journal.LimitUsed)
	if !ok || e.Hard <= 0 {
		return l, false
	}
	l = journal.Limit{Name: e.Name, Used: e.Used, Hard: e.Hard, Unit: UnitMoney}
	if e.Name == "tokens_max" {
		l.Unit = UnitTokens
	}
	return l, true
}

// SpendLine counts how often a line of a limit of what may be spent, or of a budget, was reached.
type SpendLine struct {
	Limit string `json:"limit"`
	Line  string `json:"line"` // [journal.LineSoft] or [journal.LineHard]
	Times int64  `json:"times"`
}

// maxSpendLines bounds the lines that are counted apart; there are three limits and four budgets with two each.
const maxSpendLines = 16

// isSpendLimit reports whether a limit of this name is one of what may be spent, or a budget.
func isSpendLimit(name string) bool {
	return name == "tokens_max" || name == "cost_max" || name == "quota_max" || strings.HasPrefix(name, "budget.")
}

// addSpendLine adds a line that was reached to lines: one that is there already is counted again, a new one is dropped if there are
// maxSpendLines.
func addSpendLine(lines []SpendLine, l SpendLine) []SpendLine {
	at := slices.IndexFunc(lines, func(x SpendLine) bool { return x.Limit == l.Limit && x.Line == l.Line })
	switch {
	case at >= 0:
		lines[at].Times += l.Times
	case len(lines) < maxSpendLines:
		lines = append(lines, l)
	}
	return lines
}

// ModelCost has the cost of one model's tokens in US dollars, by the price at the time of each answer. With Plan nobody paid it: they were a
// subscription's.
type ModelCost struct {
	Model string  `json:"model"`
	Plan  bool    `json:"plan,omitempty"`
	Cost  float64 `json:"cost_usd"`
}

// maxModelName bounds the name of a model in sums, in bytes.
const maxModelName = 64

// addCost adds the cost of a model to that model's row. Of more than maxUsage models the rest share the row of OtherModels.
func addCost(costs []ModelCost, c ModelCost) []ModelCost {
	c.Model = limit.Short(c.Model, maxModelName)
	for range 2 {
		at := slices.IndexFunc(costs, func(x ModelCost) bool { return x.Model == c.Model && x.Plan == c.Plan })
		switch {
		case at >= 0:
			costs[at].Cost += c.Cost
			return costs
		case len(costs) < maxUsage || c.Model == OtherModels:
			return append(costs, c)
		}
		c.Model = OtherModels
	}
	return costs
}

// usageMark is in the lines of runs that asked a model.
var usageMark = []byte(`"usage":[`)

// AskedSince calls give with the runs that asked a model and ended since a time, the last one to end first, and returns the size of the
// index. If the size is still known, the result of an earlier call, nothing has ended since, and it calls give for none. It reads only as
// much of the end of the index as it needs, a line at a time.
func AskedSince(stateDir string, known int64, since time.Time, give func(*Entry)) (size int64, err error) {
	root, err := statefile.OpenRoot(storeDir(stateDir))
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer root.Close()
	f, err := statefile.OpenIn(root, indexName, os.O_RDONLY, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Size() == known {
		return known, err
	}
	end := min(info.Size(), maxIndex)
	buffer := make([]byte, min(end, 2*maxIndexLine))
	for at := end; at > 0; {
		text := buffer[:min(at, int64(len(buffer)))]
		start := at - int64(len(text))
		if _, err := f.ReadAt(text, start); err != nil {
			return 0, err
		}
		for len(text) > 0 {
			cut := bytes.LastIndexByte(text[:len(text)-1], '\n')
			if cut < 0 && start > 0 {
				break // the line begins further up
			}
			last := text[cut+1:]
			text = text[:cut+1]
			switch ended, ok := parseEnded(last); {
			case ok && ended.Before(since):
				return info.Size(), nil
			case ok && bytes.Contains(last, usageMark):
				var l indexLine
				if json.Unmarshal(last, &l) == nil {
					give(&l.Entry)
				}
			}
		}
		if next := start + int64(len(text)); next < at {
			at = next
		} else { // a line longer than any of ours
			at = start
		}
	}
	return info.Size(), nil
}

// parseEnded returns when the run of a line of the index ended, without decoding the line; false for an incomplete line, or one without that time.
func parseEnded(line []byte) (at time.Time, ok bool) {
	_, rest, ok := bytes.Cut(line, []byte(`,"ended":"`))
	text, _, closed := bytes.Cut(rest, []byte{'"'})
	if !ok || !closed || !bytes.HasSuffix(line, []byte{'\n'}) {
		return at, false
	}
	at, err := time.Parse(time.RFC3339Nano, string(text))
	return at, err == nil
}
