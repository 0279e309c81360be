package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/plimsoll/plimsoll/internal/memory"
	"github.com/plimsoll/plimsoll/limit"
)

// memorySizes are the two sizes of a full namespace: very many short turns, and as many bytes as are kept.
var memorySizes = []struct {
	records, bytes int
	heap           limit.Bytes
	search         time.Duration
}{
	{100_000, 163, 25 * limit.MiB, 3 * time.Millisecond},
	{int(64 * limit.MiB / 650), 650, 40 * limit.MiB, 5 * time.Millisecond},
}

func init() {
	register("memory-size", "full namespaces of memory: disk, heap, cold open, search; --beam DIR takes words from there, else from the sources of Go", sizeMemory)
}

// sizeMemory measures what full namespaces take and how long a search in one is.
func sizeMemory(ctx context.Context, o *Out, args []string) error {
	flags := flag.NewFlagSet("memory-size", flag.ContinueOnError)
	beam := flags.String("beam", "", "a folder with chats of BEAM")
	if err := flags.Parse(args); err != nil {
		return err
	}
	for _, size := range memorySizes {
		texts, from, err := realTexts(*beam, size.records, size.bytes)
		if err != nil {
			return err
		}
		name := fmt.Sprintf("%d records of %d bytes", len(texts), size.bytes)
		o.Note("%s: words of %s.", name, from)
		if err := sizeOne(ctx, o, name, texts, size.heap, size.search); err != nil {
			return err
		}
	}
	return nil
}

func sizeOne(ctx context.Context, o *Out, name string, texts []string, heap limit.Bytes, search time.Duration) error {
	dir, err := os.MkdirTemp("", "bench-memory-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	options := memory.Options{Dir: dir, MaxNamespace: limit.GiB, MaxBytes: limit.GiB, MaxRecords: 1 << 20} // nothing is to be evicted
	s, err := memory.Open(options)
	if err != nil {
		return err
	}
	total := 0
	for i := 0; i < len(texts); i += 1000 {
		var batch []memory.Record
		for j, text := range texts[i:min(i+1000, len(texts))] {
			total += len(text)
			n := i + j
			origin := memory.OriginUser
			if n%2 == 1 {
				origin = memory.OriginAgent
			}
			batch = append(batch, memory.Record{Namespace: "project/p", Origin: origin, Text: text, Source: memory.Source{
				Client: "claude", Run: fmt.Sprintf("run-%08x", n/2000), Conversation: fmt.Sprintf("%032x", n/200), Turn: n%200 + 1, Role: string(origin),
			}})
		}
		if _, err := s.Add(ctx, batch...); err != nil {
			return err
		}
	}
	if err := s.Close(); err != nil {
		return err
	}
	var disk int64
	if err := filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			info, bad := e.Info()
			if bad == nil {
				disk += info.Size()
			}
		}
		return err
	}); err != nil {
		return err
	}
	o.Add(Row{Case: name, Metric: "disk beyond the text, a record", Value: float64(disk-int64(total)) / float64(len(texts)), Unit: "bytes", Baseline: "budget", BaselineValue: 150})

	var queries []string
	for i := range 400 {
		queries = append(queries, strings.Clone(limit.Clip(texts[i*len(texts)/400], 60)))
	}
	texts = nil
	before := int64(liveHeap())
	if s, err = memory.Open(options); err != nil {
		return err
	}
	defer s.Close()
	start, startCPU := time.Now(), selfCPU()
	if _, err := s.Search(ctx, memory.Query{Text: queries[0], Namespaces: []string{"project/p"}}); err != nil {
		return err
	}
	wall, cpu := time.Since(start), selfCPU()-startCPU
	o.Add(Row{Case: name, Metric: "cold open and first search", Value: wall.Seconds(), Unit: "s", Baseline: "budget", BaselineValue: 1.5})
	o.Add(Row{Case: name, Metric: "the same, CPU", Value: cpu.Seconds(), Unit: "s"})
	var times []time.Duration
	for _, q := range queries {
		startCPU := selfCPU()
		if _, err := s.Search(ctx, memory.Query{Text: q, Namespaces: []string{"project/p"}}); err != nil {
			return err
		}
		times = append(times, selfCPU()-startCPU)
	}
	slices.Sort(times)
	o.Add(Row{Case: name, Metric: "search p95, CPU", Value: float64(times[len(times)*95/100].Microseconds()) / 1000, Unit: "ms", Baseline: "budget", BaselineValue: float64(search.Microseconds()) / 1000})
	o.Add(Row{Case: name, Metric: "search p50, CPU", Value: float64(times[len(times)/2].Microseconds()) / 1000, Unit: "ms"})
	live := int64(liveHeap()) - before
	o.Add(Row{Case: name, Metric: "live heap", Value: float64(live) / (1 << 20), Unit: "MiB", Baseline: "budget", BaselineValue: float64(heap) / (1 << 20)})
	runtime.KeepAlive(s)
	return nil
}

// selfCPU returns what this process has used of the processors, all its threads together.
func selfCPU() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// realTexts cuts real texts into pieces: the chats of BEAM where they are given, else the sources of Go.
func realTexts(beam string, records, bytes int) (texts []string, from string, err error) {
	from, pattern, root := "the chats of BEAM", "chat.json", beam
	if beam == "" {
		out, err := exec.Command("go", "env", "GOROOT").Output()
		if err != nil {
			return nil, "", fmt.Errorf("go env GOROOT: %w", err)
		}
		from, pattern, root = "the sources of Go", ".go", filepath.Join(strings.TrimSpace(string(out)), "src")
	}
	var all strings.Builder
	stop := errors.New("enough")
	err = filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, pattern) {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil || !utf8.Valid(text) {
			return err
		}
		if all.Write(text); all.Len() > 2*records*bytes {
			return stop
		}
		return nil
	})
	if err != nil && !errors.Is(err, stop) {
		return nil, "", err
	}
	rest := strings.ReplaceAll(all.String(), `\n`, "\n")
	for len(texts) < records && len(rest) > bytes {
		piece := limit.Clip(rest, bytes)
		rest = rest[len(piece):]
		if strings.TrimSpace(piece) != "" {
			texts = append(texts, piece)
		}
	}
	return texts, from, nil
}
