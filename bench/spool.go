package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"

	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/tools/spool"
)

func init() {
	register("spool", "the spool of results: write, page and search against cat and grep; --size 256M", benchSpool)
}

// spoolCase is one kind of document.
type spoolCase struct {
	name    string
	open    string
	row     func(dst []byte, n int) []byte
	shut    string
	literal string // near the end
	expr    string // of which each match holds one of two texts
}

const spoolRounds = 3

var spoolCases = []spoolCase{
	{
		"log lines", "", func(dst []byte, n int) []byte {
			return fmt.Appendf(dst, "2026-11-20T18:15:%02d.%06dZ level=info component=reconciler app=guestbook-%d msg=\"sync finished\" took=%dms\n", n%60, n%1000000, n%819, n%977)
		}, "", "needle-at-the-end", `[0-9]eedle|n[e]{2}dl[e-f]-at`,
	},
	{
		"JSON items", `{"kind":"List","items":[`, func(dst []byte, n int) []byte {
			if n > 0 {
				dst = append(dst, ',')
			}
			return fmt.Appendf(dst, `{"metadata":{"name":"app-%d","namespace":"argocd","labels":{"team":"payments"}},"status":{"health":{"status":"Healthy"},"sync":"Synced","count":%d}}`, n, n*7919)
		}, `]}`, "needle-at-the-end", `[0-9]eedle|n[e]{2}dl[e-f]-at`,
	},
}

func benchSpool(ctx context.Context, o *Out, args []string) error {
	size := 256 * limit.MiB
	flags := flag.NewFlagSet("spool", flag.ContinueOnError)
	flags.Var(sizeFlag{&size}, "size", "size of a document")
	if err := flags.Parse(args); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "bench-spool-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	s, err := spool.Open(spool.Options{Dir: filepath.Join(dir, "spool"), MaxBytes: 4 * size, MaxResult: 2 * size})
	if err != nil {
		return err
	}
	defer s.Close()
	for _, c := range spoolCases {
		if err := c.run(ctx, o, s, dir, int64(size)); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	o.Note("Best of %d rounds, in turn with the baseline, on documents of %s that the page cache holds; MB are 10^6 bytes.", spoolRounds, size.Human())
	o.Note("cat copies from a pipe into a file, as the spool gets its text; grep runs with LC_ALL=C and counts matching lines of the same file.")
	return nil
}

// sizeFlag reads limit.Bytes with the flag package.
type sizeFlag struct{ *limit.Bytes }

func (f sizeFlag) String() string {
	if f.Bytes == nil {
		return ""
	}
	return f.Bytes.String()
}

// text calls write with pieces of the document.
func (c *spoolCase) text(size int64, write func([]byte) error) error {
	buf := append(make([]byte, 0, 64<<10), c.open...)
	row := make([]byte, 0, 1024)
	done := int64(0)
	for n := 0; done < size; n++ {
		row = c.row(row[:0], n)
		if done+int64(len(row)) >= size { // the last one has the needle
			row = bytes.Replace(row, []byte("guestbook-"), []byte("needle-at-the-end-"), 1)
			row = bytes.Replace(row, []byte("payments"), []byte("needle-at-the-end"), 1)
		}
		done += int64(len(row))
		if buf = append(buf, row...); len(buf) > 60<<10 {
			if err := write(buf); err != nil {
				return err
			}
			buf = buf[:0]
		}
	}
	return write(append(buf, c.shut...))
}

func (c *spoolCase) run(ctx context.Context, o *Out, s *spool.Spool, dir string, size int64) error {
	var whole bytes.Buffer
	whole.Grow(int(size) + 64<<10)
	if err := c.text(size, func(b []byte) error { whole.Write(b); return nil }); err != nil {
		return err
	}
	file := filepath.Join(dir, "document")
	if err := os.WriteFile(file, whole.Bytes(), 0o600); err != nil {
		return err
	}
	bytesIn := float64(whole.Len())
	speed := func(d time.Duration) float64 { return bytesIn / 1e6 / d.Seconds() }
	add := func(metric, baseline string, ours, theirs float64) {
		o.Add(Row{Case: c.name, Metric: metric, Value: ours, Unit: "MB/s", Baseline: baseline, BaselineValue: theirs})
	}

	var handle string
	var write, cat time.Duration
	var heap uint64
	for range spoolRounds {
		d, h, peak, err := spoolWrite(s, whole.Bytes())
		if err != nil {
			return err
		}
		handle, write, heap = h, fastest(write, d), max(heap, peak)
		if d, err = catWrite(ctx, whole.Bytes(), filepath.Join(dir, "copy")); err != nil {
			return err
		}
		cat = fastest(cat, d)
	}
	add("write", "cat", speed(write), speed(cat))
	o.Add(Row{Case: c.name, Metric: "heap while writing", Value: float64(heap) / 1024, Unit: "KiB"})
	whole = bytes.Buffer{} // or it would slow the collector down

	r, err := s.Read("bench", handle)
	if err != nil {
		return err
	}
	defer r.Close()
	totals := r.Totals()
	paged, err := pageAll(ctx, r, totals)
	if err != nil {
		return err
	}
	start := time.Now()
	if err := exec.CommandContext(ctx, "cat", file).Run(); err != nil {
		return err
	}
	add("all pages in turn", "cat", speed(paged), speed(time.Since(start)))
	start = time.Now()
	const random = 2000
	for i := range random {
		if _, err := r.Page(ctx, 1+int(int64(i)*7919%totals.Pages), 0); err != nil {
			return err
		}
	}
	o.Add(Row{Case: c.name, Metric: "any page", Value: float64(time.Since(start).Microseconds()) / random, Unit: "µs"})

	for _, q := range []struct {
		name, expr string
		ignore     bool
	}{{"search, literal", c.literal, false}, {"search, literal in any case", c.literal, true}, {"search, alternatives", c.expr, false}, {"search, no text to look for", `[m-o][d-f][d-f][c-e][k-m][d-f][+-]`, false}} {
		var ours, theirs time.Duration
		for i := range spoolRounds {
			again, err := s.Read("bench", handle)
			if err != nil {
				return err
			}
			start := time.Now()
			// Another pattern each time: the spool remembers what a search found.
			m, err := again.Search(ctx, spool.SearchRequest{Pattern: q.expr + []string{"", "()", "()()"}[i], IgnoreCase: q.ignore})
			if err != nil || m.Total != 1 {
				return fmt.Errorf("%d matches, want 1: %w", m.Total, err)
			}
			ours = fastest(ours, time.Since(start))
			_ = again.Close()
			args := []string{"-c", "-E", q.expr, file}
			if q.ignore {
				args = append([]string{"-i"}, args...)
			}
			grep := exec.CommandContext(ctx, "grep", args...)
			grep.Env = append(os.Environ(), "LC_ALL=C")
			start = time.Now()
			if out, err := grep.Output(); err != nil || string(out) != "1\n" {
				return fmt.Errorf("grep: %q %w", out, err)
			}
			theirs = fastest(theirs, time.Since(start))
		}
		add(q.name, "grep", speed(ours), speed(theirs))
	}
	return nil
}

func fastest(a, b time.Duration) time.Duration {
	if a == 0 {
		return b
	}
	return min(a, b)
}

// spoolWrite writes in pieces of 32 KiB and returns the greatest growth of the heap.
func spoolWrite(s *spool.Spool, text []byte) (took time.Duration, handle string, heap uint64, err error) {
	before := liveHeap()
	start := time.Now()
	w, err := s.Create(spool.Source{Principal: "bench"})
	if err != nil {
		return 0, "", 0, err
	}
	for rest := text; len(rest) > 0; {
		n := min(len(rest), 32<<10)
		if _, err := w.Write(rest[:n]); err != nil {
			return 0, "", 0, err
		}
		rest = rest[n:]
	}
	took = time.Since(start)
	heap = liveHeap() - min(before, liveHeap())
	start = time.Now()
	err = w.Complete(spool.Final{})
	runtime.KeepAlive(w)
	return took + time.Since(start), w.Handle(), heap, err
}

// catWrite gives the text to cat through a pipe and lets it write a file.
func catWrite(ctx context.Context, text []byte, file string) (time.Duration, error) {
	out, err := os.Create(file)
	if err != nil {
		return 0, err
	}
	defer out.Close()
	cat := exec.CommandContext(ctx, "cat")
	cat.Stdin, cat.Stdout = bytes.NewReader(text), out
	start := time.Now()
	if err := cat.Run(); err != nil {
		return 0, err
	}
	return time.Since(start), nil
}

// pageAll reads every page in order.
func pageAll(ctx context.Context, r *spool.Result, t spool.Totals) (time.Duration, error) {
	start := time.Now()
	for n := range t.Pages {
		if _, err := r.Page(ctx, int(n)+1, 0); err != nil {
			return 0, err
		}
	}
	return time.Since(start), nil
}
