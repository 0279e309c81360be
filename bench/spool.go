package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/tools/spool"
)

// spoolCase is one kind of document.
type spoolCase struct {
	name string
	open string
	row  func(dst []byte, n int) []byte
	shut string
}

const (
	spoolRounds = 3
	spoolNeedle = "needle-at-the-end" // in the last row
)

var spoolCases = []spoolCase{
	{
		"log lines", "", func(dst []byte, n int) []byte {
			return fmt.Appendf(dst, "2026-11-20T18:15:%02d.%06dZ level=info component=reconciler app=guestbook-%d msg=\"sync finished\" took=%dms\n", n%60, n%1000000, n%819, n%977)
		}, "",
	},
	{
		"JSON items", `{"kind":"List","items":[`, func(dst []byte, n int) []byte {
			if n > 0 {
				dst = append(dst, ',')
			}
			return fmt.Appendf(dst, `{"metadata":{"name":"app-%d","namespace":"argocd","labels":{"team":"payments"}},"status":{"health":{"status":"Healthy"},"sync":"Synced","count":%d}}`, n, n*7919)
		}, `]}`,
	},
}

// benchSpool measures reading and searching of large results in a spool, against cat and grep.
func benchSpool(o *Out, args []string) {
	size := 256 * limit.MiB
	flags := flag.NewFlagSet("spool", flag.ContinueOnError)
	flags.Func("size", "size of a document", size.Set)
	check(flags.Parse(args))
	dir := o.TempDir()
	s := must(spool.Open(spool.Options{Dir: filepath.Join(dir, "spool"), MaxBytes: 4 * size, MaxResult: 2 * size}))
	defer s.Close()
	for _, c := range spoolCases {
		c.run(o, s, dir, int64(size))
	}
	o.Note("Best of %d rounds, in turn with the baseline, on documents of %s that the page cache holds; MB are 10^6 bytes.", spoolRounds, size.Human())
	o.Note("cat copies from a pipe into a file, as the spool gets its text; grep runs with LC_ALL=C and counts matching lines of the same file.")
}

// text returns the document.
func (c *spoolCase) text(size int64) []byte {
	text := append(make([]byte, 0, size+64<<10), c.open...)
	for n, done := 0, false; !done; n++ {
		at := len(text)
		text = c.row(text, n)
		if done = int64(len(text)-len(c.open)) >= size; done { // the last one has the needle
			last := bytes.Replace(text[at:], []byte("guestbook-"), []byte(spoolNeedle+"-"), 1)
			text = append(text[:at], bytes.Replace(last, []byte("payments"), []byte(spoolNeedle), 1)...)
		}
	}
	return append(text, c.shut...)
}

// run measures writing, reading and searching a document of a kind in the spool, beside cat and grep.
func (c *spoolCase) run(o *Out, s *spool.Spool, dir string, size int64) {
	whole := c.text(size)
	file := filepath.Join(dir, "document")
	check(os.WriteFile(file, whole, 0o600))
	bytesIn := float64(len(whole))
	speed := func(times []time.Duration) float64 { return bytesIn / 1e6 / slices.Min(times).Seconds() }
	add := func(metric, baseline string, ours, theirs []time.Duration) {
		o.Add(Row{Case: c.name, Metric: metric, Value: speed(ours), Unit: "MB/s", Baseline: baseline, BaselineValue: speed(theirs)})
	}

	var handle string
	var write, cat []time.Duration
	var heap int64
	for range spoolRounds {
		took, h, peak := spoolWrite(s, whole)
		handle, write, heap = h, append(write, took), max(heap, peak)
		cat = append(cat, catWrite(o, whole, filepath.Join(dir, "copy")))
	}
	add("write", "cat", write, cat)
	o.Add(Row{Case: c.name, Metric: "heap while writing", Value: float64(heap) / 1024, Unit: "KiB"})
	whole = nil // or it would slow the collector down

	r := must(s.Read("bench", handle))
	defer r.Close()
	pages := int(r.Totals().Pages)
	start := time.Now()
	for n := range pages {
		must(r.Page(o.ctx, n+1, 0))
	}
	paged := time.Since(start)
	start = time.Now()
	check(exec.CommandContext(o.ctx, "cat", file).Run())
	add("all pages in turn", "cat", []time.Duration{paged}, []time.Duration{time.Since(start)})
	start = time.Now()
	const random = 2000
	for i := range random {
		must(r.Page(o.ctx, 1+i*7919%pages, 0))
	}
	o.Add(Row{Case: c.name, Metric: "any page", Value: us(time.Since(start)) / random, Unit: "µs"})

	for _, q := range []struct {
		name, expr string
		ignore     bool
	}{
		{"search, literal", spoolNeedle, false},
		{"search, literal in any case", spoolNeedle, true},
		{"search, alternatives", `[0-9]eedle|n[e]{2}dl[e-f]-at`, false}, // each match holds one of two texts
		{"search, no text to look for", `[m-o][d-f][d-f][c-e][k-m][d-f][+-]`, false},
	} {
		var ours, theirs []time.Duration
		for i := range spoolRounds {
			again := must(s.Read("bench", handle))
			start := time.Now()
			// Another pattern each time: the spool remembers what a search found.
			m, err := again.Search(o.ctx, spool.SearchRequest{Pattern: q.expr + []string{"", "()", "()()"}[i], IgnoreCase: q.ignore})
			if err != nil || m.Total != 1 {
				o.Fatalf("%s: %d matches, want 1: %w", c.name, m.Total, err)
			}
			ours = append(ours, time.Since(start))
			_ = again.Close()
			args := []string{"-c", "-E", q.expr, file}
			if q.ignore {
				args = append([]string{"-i"}, args...)
			}
			grep := exec.CommandContext(o.ctx, "grep", args...)
			grep.Env = append(os.Environ(), "LC_ALL=C")
			start = time.Now()
			if out, err := grep.Output(); err != nil || string(out) != "1\n" {
				o.Fatalf("grep: %q %w", out, err)
			}
			theirs = append(theirs, time.Since(start))
		}
		add(q.name, "grep", ours, theirs)
	}
}

// spoolWrite writes in pieces of 32 KiB and returns the greatest growth of the heap.
func spoolWrite(s *spool.Spool, text []byte) (took time.Duration, handle string, heap int64) {
	before := liveHeap()
	start := time.Now()
	w := must(s.Create(spool.Source{Principal: "bench"}))
	for piece := range slices.Chunk(text, 32<<10) {
		must(w.Write(piece))
	}
	took = time.Since(start)
	heap = liveHeap() - min(before, liveHeap())
	start = time.Now()
	check(w.Complete(spool.Final{}))
	took += time.Since(start)
	runtime.KeepAlive(w)
	return took, w.Handle(), heap
}

// catWrite gives the text to cat through a pipe and lets it write a file.
func catWrite(o *Out, text []byte, file string) time.Duration {
	out := must(os.Create(file))
	defer out.Close()
	cat := exec.CommandContext(o.ctx, "cat")
	cat.Stdin, cat.Stdout = bytes.NewReader(text), out
	start := time.Now()
	check(cat.Run())
	return time.Since(start)
}
