package main

import (
	"flag"
	"fmt"
	"slices"

	"github.com/plimsoll/plimsoll/internal/process/estimate"
	"github.com/plimsoll/plimsoll/limit"
)

// fleetBench plays agents with the needs and times of Nextflow tasks on hosts, with each way to size requests. Every workflow is played
// alone, then all together, each with every seed. Nothing here is fitted to what comes out: a claim that does not hold is printed as that.
func fleetBench(o *Out, args []string) {
	f := cluster{hostMemory: 64 * limit.GiB}
	flags := flag.NewFlagSet("fleet", flag.ContinueOnError)
	dir := flags.String("traces", "", tracesUsage)
	flags.IntVar(&f.hosts, "hosts", 1000, "hosts of 64 GiB")
	flags.IntVar(&f.agents, "agents", 100_000, "agents")
	seeds := flags.Int("seeds", 3, "seeds")
	firstSeed := flags.Uint64("first-seed", 101, "the first of them; those below 101 are for trying things out")
	check(flags.Parse(args))
	if f.hosts < 1 || f.agents < 1 || *seeds < 1 {
		o.Fatalf("%d hosts, %d agents and %d seeds: one of each is the least", f.hosts, f.agents, *seeds)
	}
	workflows := readWorkflows(o, *dir)
	if *dir == "" {
		workflows[0].Name = "synthetic"
	} else {
		o.Note("the constants of the estimator were chosen with these workflows in sight, if they are those of docs/estimates.md, which says what that is worth")
	}
	var playable []estimate.Workflow
	var games []fleetGame
	for _, w := range workflows {
		kept := f.playable(w)
		if left := len(w.Tasks) - len(kept.Tasks); left > 0 {
			o.Note("%s: left out %d tasks of %d, without a request of their own or larger than a host", w.Name, left, len(w.Tasks))
		}
		if len(kept.Tasks) > 0 {
			playable = append(playable, kept)
			games = append(games, fleetGames(w.Name, []estimate.Workflow{kept}, *firstSeed, *seeds)...)
		}
	}
	switch len(playable) {
	case 0:
		o.Fatalf("no task of %d traces has a request of its own: the traces need the column memory", len(workflows))
	case 1: // is all that there is
	default:
		games = append(games, fleetGames("all", playable, *firstSeed, *seeds)...)
	}
	o.twoAtOnce(len(games), func(i int) {
		for _, s := range fleetSizings {
			games[i].results[s.name] = f.simulate(o.ctx, games[i].workflows, s.make(f), games[i].seed)
		}
	})
	o.fleetRows(games, *seeds)
	o.Note("an agent takes its peak from its first moment, dies at the end of its time when that is above its limit, and is tried again with twice the request; memory alone counts, not processors")
	o.Note("a team runs a random half of one workflow's tasks in the order of the trace and learns from its own runs only; a process that it has not run yet gets the trace's request, with VPA too")
	o.Note("\"held\" is for an engine that enforces the request itself, as Slurm may; else a run has its own limit, above it; where one task takes longer than all others, the makespan says how it fared")
	o.Note("a trace holds the attempt that completed: of a later one the first request is known, and what died of it; a task that never completed is not played, so own requests look better than they were")
}

// fleetGame is a set of workflows with one seed, and its results by the name of a sizing.
type fleetGame struct {
	set       string
	workflows []estimate.Workflow
	seed      uint64
	results   map[string]fleetResult
}

func fleetGames(set string, workflows []estimate.Workflow, firstSeed uint64, seeds int) []fleetGame {
	games := make([]fleetGame, seeds)
	for i := range games {
		games[i] = fleetGame{set, workflows, firstSeed + uint64(i), map[string]fleetResult{}}
	}
	return games
}

// fleetClaims list what learned requests are said to be worth: a figure of theirs is no more, or less, than that of another sizing.
var fleetClaims = []struct {
	text, than string
	figure     func(fleetResult) float64
	less       bool
	bound      bool // by the time that one agent takes
}{
	{"no more killed than with the traces' requests", "requested", killedOf, false, false},
	{"a shorter makespan than with the traces' requests", "requested", makespanOf, true, true},
	{"fewer killed than with VPA", "VPA", killedOf, true, false},
	{"no longer makespan than with VPA", "VPA", makespanOf, false, false},
}

func killedOf(r fleetResult) float64   { return float64(r.killed) }
func makespanOf(r fleetResult) float64 { return r.makespan.Hours() }

// fleetRows adds the figures of each set and sizing, the mean of the seeds. Of each claim it adds the figures over all games, by which it holds or
// does not, and in how many games it holds by itself.
func (o *Out) fleetRows(games []fleetGame, seeds int) {
	for set := range slices.Chunk(games, seeds) {
		base, n := sumOf(set, "requested"), float64(seeds)
		for _, s := range fleetSizings {
			r := sumOf(set, s.name)
			for _, row := range []Row{
				{Metric: "agents killed", Value: float64(r.killed) / n, BaselineValue: float64(base.killed) / n},
				{Metric: "makespan", Unit: "h", Value: r.makespan.Hours() / n, BaselineValue: base.makespan.Hours() / n},
				{Metric: "until 99 % ended", Unit: "h", Value: r.most.Hours() / n, BaselineValue: base.most.Hours() / n},
				{Metric: "reserved / used", Value: r.reserved / r.used, BaselineValue: base.reserved / base.used},
			} {
				row.Case, row.Baseline = set[0].set+" "+s.name, "requested"
				o.Add(row)
			}
		}
	}
	for _, c := range fleetClaims {
		holds := func(ours, theirs fleetResult) bool {
			return c.figure(ours) < c.figure(theirs) || !c.less && c.figure(ours) == c.figure(theirs)
		}
		held, open, missed := 0, 0, ""
		for _, g := range games {
			ours, theirs := g.results["learned"], g.results[c.than]
			switch {
			case c.bound && theirs.makespan == theirs.longest:
				continue // nothing makes that shorter
			case holds(ours, theirs):
				held++
			default:
				missed += fmt.Sprintf(", %s (seed %d)", g.set, g.seed)
			}
			open++
		}
		ours, theirs := sumOf(games, "learned"), sumOf(games, c.than)
		o.Add(Row{Case: "claim", Metric: c.text + ", in all", Value: c.figure(ours), Baseline: c.than, BaselineValue: c.figure(theirs)})
		o.Add(Row{Case: "claim", Metric: c.text, Value: float64(held), Unit: "games", Baseline: "played", BaselineValue: float64(open)})
		if !holds(ours, theirs) {
			o.Note("the claim does not hold: %s", c.text)
		}
		if missed != "" {
			o.Note("%s: not in %s", c.text, missed[2:])
		}
		if left := len(games) - open; left > 0 {
			o.Note("%s: %d games are left out, in which one agent alone takes that long", c.text, left)
		}
	}
}

func sumOf(games []fleetGame, sizing string) (sum fleetResult) {
	for _, g := range games {
		r := g.results[sizing]
		sum.killed += r.killed
		sum.makespan += r.makespan
		sum.most += r.most
		sum.reserved += r.reserved
		sum.used += r.used
	}
	return sum
}
