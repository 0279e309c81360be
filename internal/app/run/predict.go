package run

import (
	"errors"
	"fmt"

	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/process/sizing"
	"github.com/plimsoll/plimsoll/internal/process/usage"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

// Prediction is the expected need of a run of a tool in a project, as the tool predict_run answers it. Sizes are bytes.
type Prediction struct {
	Tool string `json:"tool"`
	// Variant names the use of a generic tool, "" when none was named.
	Variant       string `json:"variant"`
	Project       string `json:"project"`
	EstimateBytes int64  `json:"estimate_bytes"`
	Source        string `json:"source"`
	Samples       int    `json:"samples"`
	// Guessed is true when no run has shown a need yet, although there is a history.
	Guessed bool `json:"guessed,omitempty"`
	// LimitBytes is the memory limit that a run would get here.
	LimitBytes int64 `json:"limit_bytes"`
	// ReservationBytes is the memory that admission would set aside: the estimate, but not more than memory_max where that is set.
	ReservationBytes int64 `json:"reservation_bytes"`
	// Spend has the use of models by earlier runs here; nil for none.
	Spend *usage.Spend `json:"spend,omitempty"`

	chosen, stated bool  // the user has named the limit, or what is set aside
	initial        int64 // the initial estimate of the configuration, which light runs have not lowered
}

// Predict returns the expected need of the next run of a command in the project of the
// working directory, from the same sources and with the same limits as a run. The command may be the name of a tool alone.
func Predict(c *core.Core, command ...string) (Prediction, error) {
	p, _, err := predict(c, hostNow(), "", command)
	return p, err
}

// PredictJob returns the same with the settings in force, for a run here, or on another machine, of which nothing is known. tool names the tool;
// "" goes by the command.
func PredictJob(c *core.Core, here bool, tool string, command []string) (Prediction, config.Settings, error) {
	if here {
		return predict(c, hostNow(), tool, command)
	}
	return predict(c, sizing.Host{Err: errElsewhere}, tool, command)
}

var errElsewhere = errors.New("it runs on another machine")

// predict returns what a run of the command would be expected to need, and the settings for it. Nothing is started. tool replaces the tool
// that the command is recognised as, unless it is "".
func predict(c *core.Core, host sizing.Host, tool string, command []string) (Prediction, config.Settings, error) {
	a := &app{c}
	p := &decision{Project: config.ProjectOf("")}
	var err error
	if err = a.resolveTool(p, tool, command); err != nil {
		return Prediction{}, p.Settings, err
	}
	var history *usage.History
	if dir, err := a.Dirs.State(); err != nil {
		a.Warn("history is off: " + err.Error())
	} else {
		history = usage.Open(dir, usage.Options{Warn: func(w usage.Warning) { a.Warn(w.Text) }})
	}
	if err := a.setLimits(p, history, host, askWait); err != nil {
		return Prediction{}, p.Settings, err
	}
	for _, w := range p.Settings.Warnings {
		a.Warn(w.String())
	}
	if p.fleetNote != "" {
		a.Warn(p.fleetNote)
	}
	return Prediction{
		Tool: p.Tool, Variant: p.Variant, Project: p.Project.Name, EstimateBytes: int64(p.Estimate.Bytes), Source: p.Estimate.Source,
		Samples: p.Estimate.Samples, Guessed: p.Estimate.Guessed, LimitBytes: int64(p.Limits.Memory), ReservationBytes: int64(p.Reservation), Spend: p.spentBefore(history),
		chosen: p.Settings.MemoryMax != config.Auto, stated: p.Estimate.Stated, initial: int64(p.Settings.InitialEstimate),
	}, p.Settings, nil
}

// OneFigureBytes is for who takes one figure only, which is set aside and is the limit: what was learned of the tool, or was named. As long
// as nothing is known it is the limit, because a guess must end nobody; nor must one that a person stated and light runs have lowered.
func (p Prediction) OneFigureBytes() int64 {
	if !p.chosen && p.stated && p.Guessed {
		return max(p.ReservationBytes, p.initial)
	}
	if !p.chosen && (p.stated || p.Samples > 0 && !p.Guessed) {
		return p.ReservationBytes
	}
	return p.LimitBytes
}

// spentBefore returns what earlier runs of the tool in this project, here or else on other hosts, have spent on models; nil if nothing is known.
func (p *decision) spentBefore(history *usage.History) *usage.Spend {
	if history == nil {
		return nil
	}
	runs, err := history.Variants(p.Project.Key, p.learnsAs())
	if err != nil || len(runs[p.Variant]) == 0 {
		return usage.SummarizeSpend(p.seen.Project)
	}
	return usage.SummarizeSpend(runs[p.Variant])
}

// SpendWords returns what runs of a tool spend, for people.
func SpendWords(s *usage.Spend) string {
	money := ""
	if s.CostP95 > 0 {
		money = fmt.Sprintf("%s in the median and %s at most in 95 of 100, ", limit.Dollars(s.CostMedian), limit.Dollars(s.CostP95))
	}
	return money + fmt.Sprintf("%s and %s tokens (%d runs)", limit.Tokens(s.TokensMedian), limit.Tokens(s.TokensP95), s.Runs)
}

// Because returns the source of the estimate in words.
func (p Prediction) Because() string {
	return EstimateWords(journal.Estimate{Source: p.Source, Samples: p.Samples, Guessed: p.Guessed})
}

// MiB returns bytes in MiB, rounded up, the unit of the resource tables of Kubernetes, Nomad and Slurm.
func MiB(bytes int64) int64 {
	return (bytes + int64(limit.MiB) - 1) / int64(limit.MiB)
}
