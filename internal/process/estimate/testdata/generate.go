//go:build ignore

// Command generate writes generated.tsv, a Nextflow trace of a workflow that never ran. Its eight
// processes are the shapes that real traces have: steady, spread, with two modes, growing, tiny,
// with a rare outlier, and started all at once.
//
//	go run generate.go > generated.tsv
package main

import (
	"bufio"
	"fmt"
	"math"
	"math/rand/v2"
	"os"

	"github.com/plimsoll/plimsoll/internal/sorting"
)

const (
	seed  = 20261120
	start = 1767225600000 // 2026-01-01 in milliseconds
	mib   = 1 << 20
)

type task struct {
	process      string
	begin, ms    int64
	peak, memory float64
}

func main() {
	r := rand.New(rand.NewPCG(seed, seed))
	spread := func(median, sigma float64) float64 { return median * math.Exp(sigma*r.NormFloat64()) }
	var tasks []task
	add := func(process string, n int, gap int64, memory float64, peak func(i int) float64) {
		for i := range n {
			begin := start + int64(i)*gap + r.Int64N(max(gap, 1))
			tasks = append(tasks, task{process, begin, int64(spread(60e3, 0.5)), peak(i), memory})
		}
	}
	add("MADE:STEADY", 120, 30e3, 2048*mib, func(int) float64 { return spread(900*mib, 0.01) })
	add("MADE:SPREAD", 120, 30e3, 4096*mib, func(int) float64 { return spread(600*mib, 0.4) })
	add("MADE:TWO_MODES", 100, 36e3, 8192*mib, func(int) float64 {
		if r.Float64() < 0.3 {
			return spread(4000*mib, 0.03)
		}
		return spread(1000*mib, 0.05)
	})
	add("MADE:GROWING", 100, 36e3, 4096*mib, func(i int) float64 { return spread(400*mib*(1+float64(i)/50), 0.05) })
	add("MADE:TINY", 100, 36e3, 512*mib, func(int) float64 { return spread(4*mib, 0.3) })
	add("MADE:OUTLIER", 100, 36e3, 4096*mib, func(int) float64 {
		if r.Float64() < 0.02 {
			return spread(2500*mib, 0.1)
		}
		return spread(500*mib, 0.05)
	})
	add("MADE:AT_ONCE", 60, 0, 2048*mib, func(int) float64 { return spread(700*mib, 0.2) })
	add("MADE:RARE", 4, 900e3, 16384*mib, func(int) float64 { return spread(6000*mib, 0.3) })
	sorting.By(tasks, func(a, b task) int { return int(a.begin - b.begin) })

	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	fmt.Fprintln(out, "task_id\tprocess\tname\tstatus\texit\tmemory\tattempt\tsubmit\tstart\tcomplete\trealtime\tpeak_rss")
	for i, t := range tasks {
		status, exit, peak := "COMPLETED", "0", fmt.Sprint(int64(t.peak))
		if i%97 == 96 {
			status, exit, peak = "FAILED", "1", "-"
		}
		fmt.Fprintf(out, "%d\t%s\t%s (%d)\t%s\t%s\t%.0f\t1\t%d\t%d\t%d\t%d\t%s\n", i+1, t.process, t.process, i+1, status, exit, t.memory, t.begin-2000, t.begin, t.begin+t.ms, t.ms, peak)
	}
}
