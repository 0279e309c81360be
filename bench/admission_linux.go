package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/plimsoll/plimsoll/internal/process/headroom"
	peaks "github.com/plimsoll/plimsoll/internal/process/usage"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/process/admission"
)

func init() {
	register("admission", "many starts at once: who ran together, in which order, and what admission costs", admissionBench)
}

// admissionSlots is the number of the started processes that may run at once.
const admissionSlots = 3

// admissionBench starts args[0] processes (1,000) that each admit one run. Whether too many ran at once is told by what the
// runs themselves wrote down, with the clock's time, and not by Plimsoll.
func admissionBench(ctx context.Context, o *Out, args []string) error {
	if len(args) > 1 && args[0] == "child" {
		return admitOne(ctx, args[1:])
	}
	starts := 1000
	if len(args) > 0 {
		n, err := strconv.Atoi(args[0])
		if err != nil || n < 1 {
			return fmt.Errorf("the number of starts is %q, want a positive number", args[0])
		}
		starts = n
	}
	dir, err := os.MkdirTemp("", "plimsoll-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	return errors.Join(
		admitAlone(ctx, o, filepath.Join(dir, "alone")),
		admitAtOnce(ctx, o, filepath.Join(dir, "once"), starts),
		admitInOrder(ctx, o, filepath.Join(dir, "order"), 50),
		admitBesideMany(ctx, o, filepath.Join(dir, "many"), 5000),
		endAtOnce(ctx, o, filepath.Join(dir, "ends"), 200),
	)
}

// admitted is the record that one process wrote about its run.
type admitted struct {
	number           int
	came, start, end time.Time
	cpu              time.Duration // of the whole process from before the ledger was opened until the claim was held
}

// admitOne runs as a process that admits one run: DIR NUMBER SLOTS REST, where REST is the duration of the run.
func admitOne(ctx context.Context, args []string) error {
	dir, number, slots, rest := args[0], args[1], args[2], args[3]
	most, err := strconv.Atoi(slots)
	if err != nil {
		return err
	}
	takes, err := time.ParseDuration(rest)
	if err != nil {
		return err
	}
	log, err := os.OpenFile(filepath.Join(dir, "log"), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	came, before := time.Now(), processorTime()
	ledger, err := admission.Open(admission.Options{Dir: dir})
	if err != nil {
		return err
	}
	claim, err := ledger.Acquire(ctx, admission.Request{
		Tool: "bench", Reservation: limit.MiB, SlotsPerTool: most, Wait: admission.Forever, MinFree: -1,
		Headroom: func() (headroom.Reading, error) { return headroom.Read(headroom.Source{}) },
	})
	if err != nil {
		return err
	}
	start, used := time.Now(), processorTime()-before
	time.Sleep(takes)
	end := time.Now()
	if err := peaks.Open(dir, peaks.Options{}).Append(peaks.Project{Key: "bench"}, "bench", peaks.Run{
		Time: end, Peak: limit.MiB, Outcome: journal.OutcomeOK, Duration: takes,
	}); err != nil {
		return err
	}
	// Written before the claim is freed: what is measured here lies within what may be.
	_, err = fmt.Fprintf(log, "%s %d %d %d %d\n", number, came.UnixNano(), start.UnixNano(), end.UnixNano(), used)
	return errors.Join(err, claim.Release())
}

// processorTime returns what this process has used so far.
func processorTime() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// admit starts count processes, pause apart, and returns what they wrote, by number.
func admit(ctx context.Context, dir string, count, slots int, pause, takes time.Duration) ([]admitted, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	var all sync.WaitGroup
	errs := make([]error, count)
	for i := range count {
		cmd := exec.CommandContext(ctx, self, "admission", "child", dir, strconv.Itoa(i), strconv.Itoa(slots), takes.String())
		cmd.Env = append(os.Environ(), "GOMAXPROCS=2")
		cmd.Stderr = os.Stderr
		if err := cmd.Start(); err != nil {
			return nil, errors.Join(err, errors.Join(errs...))
		}
		all.Go(func() { errs[i] = cmd.Wait() })
		time.Sleep(pause)
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return readAdmitted(filepath.Join(dir, "log"))
}

func readAdmitted(path string) (list []admitted, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var n [5]int64
		for i, field := range strings.Fields(lines.Text()) {
			if n[min(i, 4)], err = strconv.ParseInt(field, 10, 64); err != nil {
				return nil, err
			}
		}
		list = append(list, admitted{int(n[0]), time.Unix(0, n[1]), time.Unix(0, n[2]), time.Unix(0, n[3]), time.Duration(n[4])})
	}
	slices.SortFunc(list, func(a, b admitted) int { return cmp.Compare(a.number, b.number) })
	return list, lines.Err()
}

// atOnce returns how many ran at the same moment, at most.
func atOnce(list []admitted) int {
	type edge struct {
		at   time.Time
		step int
	}
	var edges []edge
	for _, a := range list {
		edges = append(edges, edge{a.start, 1}, edge{a.end, -1})
	}
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.step, b.step)) })
	now, most := 0, 0
	for _, e := range edges {
		now += e.step
		most = max(most, now)
	}
	return most
}

func costs(list []admitted) []time.Duration {
	var cpu []time.Duration
	for _, a := range list {
		cpu = append(cpu, a.cpu)
	}
	slices.Sort(cpu)
	return cpu
}

func admitAlone(ctx context.Context, o *Out, dir string) error {
	const runs = 20
	var list []admitted
	for range runs {
		one, err := admit(ctx, dir, 1, 1, 0, 0)
		if err != nil {
			return err
		}
		list = one
	}
	cpu := costs(list)
	o.Add(Row{Case: "one run alone", Metric: "CPU of admission, median", Value: ms(cpu[len(cpu)/2]), Unit: "ms", Baseline: "goal", BaselineValue: 10})
	return nil
}

func admitAtOnce(ctx context.Context, o *Out, dir string, starts int) error {
	began := time.Now()
	list, err := admit(ctx, dir, starts, admissionSlots, 0, 5*time.Millisecond)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("%d starts at once, %d slots", starts, admissionSlots)
	cpu := costs(list)
	o.Add(Row{Case: name, Metric: "ran at once, most", Value: float64(atOnce(list)), Unit: "runs", Baseline: "slots", BaselineValue: admissionSlots})
	o.Add(Row{Case: name, Metric: "ran in all", Value: float64(len(list)), Unit: "runs", Baseline: "started", BaselineValue: float64(starts)})
	o.Add(Row{Case: name, Metric: "CPU of admission, median", Value: ms(cpu[len(cpu)/2]), Unit: "ms", Baseline: "goal", BaselineValue: 10})
	o.Add(Row{Case: name, Metric: "CPU of admission, 95 in 100 at most", Value: ms(cpu[len(cpu)*95/100]), Unit: "ms", Baseline: "goal", BaselineValue: 10})
	o.Add(Row{Case: name, Metric: "CPU of admission, largest", Value: ms(cpu[len(cpu)-1]), Unit: "ms", Baseline: "goal", BaselineValue: 10})
	o.Add(Row{Case: name, Metric: "all done after", Value: time.Since(began).Seconds(), Unit: "s"})
	return nil
}

// admitInOrder starts processes 20 ms apart behind runs that hold every slot.
func admitInOrder(ctx context.Context, o *Out, dir string, starts int) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	ledger, err := admission.Open(admission.Options{Dir: dir})
	if err != nil {
		return err
	}
	var full []*admission.Claim
	for range admissionSlots {
		c, err := ledger.Acquire(ctx, admission.Request{Tool: "bench"})
		if err != nil {
			return err
		}
		full = append(full, c)
	}
	freed := make(chan error, 1)
	go func() {
		time.Sleep(time.Duration(starts)*20*time.Millisecond + 3*time.Second)
		var err error
		for _, c := range full {
			err = errors.Join(err, c.Release())
		}
		freed <- err
	}()
	list, err := admit(ctx, dir, starts, admissionSlots, 20*time.Millisecond, 50*time.Millisecond)
	if err := errors.Join(err, <-freed); err != nil {
		return err
	}
	// In the order in which they came to the ledger: a process may be slow to start. Runs that start together, one in each slot,
	// get the processor in any order, so only who was passed by a run of a later round counts.
	slices.SortFunc(list, func(a, b admitted) int { return a.came.Compare(b.came) })
	behind := 0
	for i, a := range list {
		for _, later := range list[min(i+admissionSlots, len(list)):] {
			if later.start.Before(a.start) {
				behind++
				break
			}
		}
	}
	o.Add(Row{Case: fmt.Sprintf("%d starts 20 ms apart behind a full queue", starts), Metric: "runs overtaken by one of a later round", Value: float64(behind), Unit: "runs"})
	return nil
}

// admitBesideMany measures one Acquire and Release beside many claims, which this process holds.
func admitBesideMany(ctx context.Context, o *Out, dir string, claims int) error {
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: uint64(claims) + 512, Max: uint64(claims) + 512}); err != nil {
		o.Note("5,000 claims need as many open files, and %v", err)
		return nil
	}
	ledger, err := admission.Open(admission.Options{Dir: dir})
	if err != nil {
		return err
	}
	request := admission.Request{
		Tool: "bench", Reservation: limit.KiB, MinFree: -1,
		Headroom: func() (headroom.Reading, error) { return headroom.Read(headroom.Source{}) },
	}
	var held []*admission.Claim
	defer func() {
		for _, c := range held {
			_ = c.Release()
		}
	}()
	measure := func() (float64, error) {
		const turns = 20
		var all []time.Duration
		for range turns {
			before := processorTime()
			c, err := ledger.Acquire(ctx, request)
			used := processorTime() - before
			if err != nil {
				return 0, err
			}
			if err := c.Release(); err != nil {
				return 0, err
			}
			all = append(all, used)
		}
		return ms(median(all)), nil
	}
	alone, err := measure()
	if err != nil {
		return err
	}
	for range claims {
		c, err := ledger.Acquire(ctx, request)
		if err != nil {
			return err
		}
		held = append(held, c)
	}
	beside, err := measure()
	if err != nil {
		return err
	}
	// As plimsoll run does: a process that admits one run and has nothing in memory yet.
	var fresh []admitted
	for range 20 {
		if fresh, err = admit(ctx, dir, 1, 0, 0, 0); err != nil {
			return err
		}
	}
	cpu := costs(fresh)
	name := fmt.Sprintf("beside %d claims", claims)
	o.Add(Row{Case: name, Metric: "CPU of a new process, median", Value: ms(cpu[len(cpu)/2]), Unit: "ms", Baseline: "goal", BaselineValue: 10})
	o.Add(Row{Case: name, Metric: "CPU of a new process, largest", Value: ms(cpu[len(cpu)-1]), Unit: "ms", Baseline: "goal", BaselineValue: 10})
	o.Add(Row{Case: name, Metric: "CPU of Acquire, median", Value: beside, Unit: "ms", Baseline: "beside none", BaselineValue: alone})
	o.Add(Row{Case: name, Metric: "CPU of Acquire, median", Value: beside, Unit: "ms", Baseline: "goal", BaselineValue: 10})
	return nil
}

// endAtOnce has runs end at the same moment, which append to one history.
func endAtOnce(ctx context.Context, o *Out, dir string, runs int) error {
	if _, err := admit(ctx, dir, runs, 0, 0, 3*time.Second); err != nil {
		return err
	}
	recorded := 0
	summaries, err := peaks.Open(dir, peaks.Options{}).Project("bench")
	if err != nil {
		return err
	}
	for _, s := range summaries {
		recorded += int(s.Recorded)
	}
	ledger, err := admission.Open(admission.Options{Dir: dir})
	if err != nil {
		return err
	}
	left, err := ledger.Holders(ctx)
	if err != nil {
		return err
	}
	name := fmt.Sprintf("%d ends at once", runs)
	o.Add(Row{Case: name, Metric: "records in the history", Value: float64(recorded), Unit: "records", Baseline: "ended", BaselineValue: float64(runs)})
	o.Add(Row{Case: name, Metric: "claims left", Value: float64(len(left)), Unit: "claims"})
	return nil
}
