package runs

import (
	"cmp"
	"maps"

	"github.com/plimsoll/plimsoll/journal"
)

// maxTotals bounds the tools that have sums of their own; later ones count as [OtherTools].
const (
	maxTotals = 200
	// OtherTools is the name under which the tools beyond maxTotals are counted together.
	OtherTools = "other"
)

// Totals are sums over runs by tool, of all runs that were ever kept: the sums of removed runs are in the index. They only grow.
type Totals map[string]*Sums

// Sums are the sums over the runs of one tool. Sizes are in bytes.
type Sums struct {
	// Outcomes counts the runs that have ended, by outcome.
	Outcomes map[string]int64 `json:"outcomes"`
	// OOMKills counts the commands that died of memory, ChildKills the other processes that were killed for it.
	OOMKills   int64 `json:"oom_kills"`
	ChildKills int64 `json:"child_kills"`
	Waited     int64 `json:"waited"`
	WaitedMS   int64 `json:"waited_ms"`

	Requests      int64 `json:"requests"`
	TokensIn      int64 `json:"tokens_in"`
	TokensOut     int64 `json:"tokens_out"`
	Compactions   int64 `json:"compactions"`
	CompactedFrom int64 `json:"compacted_from_tokens"`
	CompactedTo   int64 `json:"compacted_to_tokens"`
	CutBytes      int64 `json:"cut_bytes"`
	Repairs       int64 `json:"repairs"`
	Recoveries    int64 `json:"overflow_recoveries"`
	OverWindow    int64 `json:"over_window"` // runs with a request that was larger than its window
	BreakerTrips  int64 `json:"breaker_trips"`
	Loops         int64 `json:"loops"` // times that an agent repeated itself

	// Costs are by model; those of a run inside another are the outer one's.
	Costs      []ModelCost `json:"costs,omitempty"`
	SpendLines []SpendLine `json:"spend_lines,omitempty"`

	Calls          int64 `json:"calls"`
	UpstreamBytes  int64 `json:"upstream_bytes"`
	DeliveredBytes int64 `json:"delivered_bytes"`
	Spilled        int64 `json:"spilled"`
	LargeResults   int64 `json:"large_results"`

	// Dropped counts lines of runs' files that found no room.
	Dropped int64 `json:"dropped_lines"`
}

// toolSums returns the sums of a tool, which it adds if there are none. If there are too many tools, it returns those of [OtherTools].
func (t Totals) toolSums(tool string) *Sums {
	s := t[tool]
	if s != nil {
		return s
	}
	if len(t) >= maxTotals && tool != OtherTools {
		return t.toolSums(OtherTools)
	}
	s = &Sums{Outcomes: map[string]int64{}}
	t[tool] = s
	return s
}

// add adds a run to the sums of a tool.
func (t Totals) add(e *Entry, tool string) {
	s := t.toolSums(tool)
	s.Dropped += e.Dropped
	s.LargeResults += e.LargeResults
	if e.Kind != KindRun { // a run's own numbers are the sums of its gateways'
		s.Calls += e.MCP.Calls
		s.UpstreamBytes += e.MCP.UpstreamBytes
		s.DeliveredBytes += e.MCP.DeliveredBytes
		s.Spilled += e.MCP.Spilled
	}
	w := &e.Window
	s.Requests += w.Requests
	s.TokensIn += w.TokensIn
	s.TokensOut += w.TokensOut
	s.Compactions += e.Rooms()
	s.CompactedFrom += e.CompactedFrom
	s.CompactedTo += e.CompactedTo
	s.CutBytes += w.CutBytes
	s.Repairs += w.Repairs
	s.Recoveries += w.OverflowRecoveries
	s.BreakerTrips += e.BreakerTrips
	s.Loops += w.Loops
	for _, u := range e.Usage {
		if u.Cost > 0 && !u.Through {
			s.Costs = addCost(s.Costs, ModelCost{u.Model, u.Plan, u.Cost})
		}
	}
	for _, l := range e.SpendLines {
		s.SpendLines = addSpendLine(s.SpendLines, l)
	}
	if w.LimitTokens > 0 && w.PeakTokens > w.LimitTokens {
		s.OverWindow++
	}
	s.Waited += e.Waited
	s.WaitedMS += e.WaitedMS
	died := int64(0)
	if e.Outcome == string(journal.OutcomeOOM) {
		died = 1
	}
	s.OOMKills += died
	s.ChildKills += max(int64(e.KilledChildren), int64(e.OOMKills)-died)
	if !e.Live() && !e.IsService() {
		s.Outcomes[e.Outcome]++
	}
}

// add adds the numbers of o.
func (s *Sums) add(o *Sums) {
	for outcome, n := range o.Outcomes {
		s.Outcomes[outcome] += n
	}
	s.OOMKills += o.OOMKills
	s.ChildKills += o.ChildKills
	s.Waited += o.Waited
	s.WaitedMS += o.WaitedMS
	s.Requests += o.Requests
	s.TokensIn += o.TokensIn
	s.TokensOut += o.TokensOut
	s.Compactions += o.Compactions
	s.CompactedFrom += o.CompactedFrom
	s.CompactedTo += o.CompactedTo
	s.CutBytes += o.CutBytes
	s.Repairs += o.Repairs
	s.Recoveries += o.Recoveries
	s.OverWindow += o.OverWindow
	s.BreakerTrips += o.BreakerTrips
	s.Loops += o.Loops
	for _, c := range o.Costs {
		s.Costs = addCost(s.Costs, c)
	}
	for _, l := range o.SpendLines {
		s.SpendLines = addSpendLine(s.SpendLines, l)
	}
	s.Calls += o.Calls
	s.UpstreamBytes += o.UpstreamBytes
	s.DeliveredBytes += o.DeliveredBytes
	s.Spilled += o.Spilled
	s.LargeResults += o.LargeResults
	s.Dropped += o.Dropped
}

// IsService reports whether the run was not started for itself: it is a day of the daemon, or a gateway inside a run.
func (e *Entry) IsService() bool {
	return e.Kind == KindServe || e.Kind == KindGateway && e.Parent != ""
}

// toolOf returns the tool under which a run is counted: a gateway inside a run is counted with that run. tool returns the tool of a run by
// its ID, "" when unknown.
func (e *Entry) toolOf(tool func(id string) string) string {
	if e.Kind == KindGateway && e.Parent != "" {
		return cmp.Or(tool(e.Parent), e.Tool)
	}
	return e.Tool
}

// ToolOf returns the tool under which a run is counted in [Totals]: that of the run around a gateway, if it is known, else its own.
func (s *Store) ToolOf(e *Entry) string {
	return e.toolOf(func(id string) string {
		switch {
		case s.index[id] != nil:
			return s.index[id].Tool
		case s.live[id] != nil:
			return s.live[id].run.Tool
		}
		return ""
	})
}

// Totals returns the sums over all runs, also those that live and those that were removed.
func (s *Store) Totals() Totals {
	all := Totals{}
	for tool, sums := range s.gone {
		all.toolSums(tool).add(sums)
	}
	for _, e := range s.index {
		all.add(e, s.ToolOf(e))
	}
	for id, t := range s.live {
		if s.index[id] == nil && t.run.reporter != nil {
			all.add(&t.run.Entry, s.ToolOf(&t.run.Entry))
		}
	}
	return all
}

// Kept returns the number of ended runs in the index, and the size of their files in bytes.
func (s *Store) Kept() (runs int, bytes int64) {
	for e := range maps.Values(s.index) {
		bytes += e.Bytes
	}
	return len(s.index), bytes
}
