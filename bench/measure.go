package main

import (
	"bytes"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
func us(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }
func mib(bytes int64) float64    { return float64(bytes) / (1 << 20) }

// quantiles are those that are reported where a median says too little.
var quantiles = []struct {
	name string
	part float64
}{{"p50", 0.50}, {"p99", 0.99}}

func quantile[T cmp.Ordered](values []T, part float64) (v T) {
	if len(values) == 0 {
		return v
	}
	s := slices.Sorted(slices.Values(values))
	return s[min(int(part*float64(len(s))), len(s)-1)]
}

func median[T cmp.Ordered](values []T) T { return quantile(values, 0.5) }

// timed runs a command that must succeed.
func timed(c *exec.Cmd) (time.Duration, error) {
	began := time.Now()
	if out, err := c.CombinedOutput(); err != nil {
		return 0, fmt.Errorf("%v: %w: %s", c.Args, err, out)
	}
	return time.Since(began), nil
}

// A way is one of several to do the same.
type way struct {
	name string
	run  func() error
}

// warmUps is the number of turns that do not count.
const warmUps = 3

// inTurn runs all ways in turn, so that a slow moment of the machine hits all of them, and returns the times of each by name. The first
// warmUps turns are not counted.
func (o *Out) inTurn(turns int, ways ...way) map[string][]time.Duration {
	times := map[string][]time.Duration{}
	for turn := range turns + warmUps {
		check(o.ctx.Err())
		for _, w := range ways {
			began := time.Now()
			if err := w.run(); err != nil {
				check(fmt.Errorf("%s: %w", w.name, err))
			}
			if turn >= warmUps {
				times[w.name] = append(times[w.name], time.Since(began))
			}
		}
	}
	return times
}

// command is the way that runs a command.
func (o *Out) command(name, program string, args ...string) way {
	return way{name, func() error {
		_, err := timed(exec.CommandContext(o.ctx, program, args...))
		return err
	}}
}

func liveHeap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// twoAtOnce calls f with the numbers below n, on two processors. The end of the context stops the benchmark.
func (o *Out) twoAtOnce(n int, f func(i int)) {
	var all sync.WaitGroup
	var next atomic.Int64
	for range 2 {
		all.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && o.ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				f(i)
			}
		})
	}
	all.Wait()
	check(o.ctx.Err())
}

// statusOf reads a size of /proc/PID/status in bytes, 0 when it is not there.
func statusOf(pid int, key string) int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, key+":"); ok {
			kib, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			return kib << 10
		}
	}
	return 0
}

func anonOf(pid int) int64 { return statusOf(pid, "RssAnon") }

// clockTick is USER_HZ, in which /proc counts processor time; 100 on every Linux that Go runs on.
const clockTick = 10 * time.Millisecond

// cpuOf returns the processor time of a process so far, without that of its children.
func cpuOf(pid int) time.Duration {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) < 13 {
		return 0
	}
	user, _ := strconv.ParseInt(fields[11], 10, 64)
	system, _ := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * clockTick
}

// watchPeaks looks at the memory of a process until it is told to stop; it returns the highest RssAnon that was seen, and VmHWM.
func watchPeaks(pid int) (stop func() (anon, rss int64)) {
	var anon, rss int64
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			anon, rss = max(anon, anonOf(pid)), max(rss, statusOf(pid, "VmHWM"))
			select {
			case <-end:
				return
			case <-time.After(2 * time.Millisecond):
			}
		}
	}()
	return func() (int64, int64) {
		close(end)
		<-ended
		return anon, rss
	}
}

// folderSize returns how many files a folder has, with all below it, and their bytes.
func folderSize(dir string) (files, size int64) {
	_ = filepath.WalkDir(dir, func(_ string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return nil // it may go meanwhile
		}
		files++
		if info, err := e.Info(); err == nil {
			size += info.Size()
		}
		return nil
	})
	return files, size
}

// goSources returns the folder of Go's own sources, as texts to measure with.
func goSources() string {
	return filepath.Join(strings.TrimSpace(string(must(exec.Command("go", "env", "GOROOT").Output()))), "src")
}
