package main

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
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

// sizeMemory measures what full namespaces take and how long a search in one is.
func sizeMemory(o *Out, args []string) {
	flags := flag.NewFlagSet("memory-size", flag.ContinueOnError)
	beam := flags.String("beam", "", "a folder with chats of BEAM")
	check(flags.Parse(args))
	for _, size := range memorySizes {
		texts, from := realTexts(*beam, size.records, size.bytes)
		name := fmt.Sprintf("%d records of %d bytes", len(texts), size.bytes)
		o.Note("%s: words of %s.", name, from)
		sizeOne(o, name, texts, size.heap, size.search)
	}
}

// sizeOne stores texts in a new memory of one namespace, and reports its size on disk, its live heap, and the times of the first and of
// later searches, against budgets: heap and search.
func sizeOne(o *Out, name string, texts []string, heap limit.Bytes, search time.Duration) {
	options := memory.Options{Dir: o.TempDir(), MaxNamespace: limit.GiB, MaxBytes: limit.GiB, MaxRecords: 1 << 20} // nothing is to be evicted
	s := must(memory.Open(options))
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
		must(s.Add(o.ctx, batch...))
	}
	check(s.Close())
	_, disk := folderSize(options.Dir)
	o.Add(Row{Case: name, Metric: "disk beyond the text, a record", Value: float64(disk-int64(total)) / float64(len(texts)), Unit: "bytes", Baseline: "budget", BaselineValue: 150})

	var queries []string
	for i := range 400 {
		queries = append(queries, strings.Clone(limit.Clip(texts[i*len(texts)/400], 60)))
	}
	texts = nil
	before := liveHeap()
	s = must(memory.Open(options))
	defer s.Close()
	start, startCPU := time.Now(), selfCPU()
	must(s.Search(o.ctx, memory.Query{Text: queries[0], Namespaces: []string{"project/p"}}))
	wall, cpu := time.Since(start), selfCPU()-startCPU
	o.Add(Row{Case: name, Metric: "cold open and first search", Value: wall.Seconds(), Unit: "s", Baseline: "budget", BaselineValue: 1.5})
	o.Add(Row{Case: name, Metric: "the same, CPU", Value: cpu.Seconds(), Unit: "s"})
	var times []time.Duration
	for _, q := range queries {
		startCPU := selfCPU()
		must(s.Search(o.ctx, memory.Query{Text: q, Namespaces: []string{"project/p"}}))
		times = append(times, selfCPU()-startCPU)
	}
	o.Add(Row{Case: name, Metric: "search p95, CPU", Value: ms(quantile(times, 0.95)), Unit: "ms", Baseline: "budget", BaselineValue: ms(search)})
	o.Add(Row{Case: name, Metric: "search p50, CPU", Value: ms(median(times)), Unit: "ms"})
	live := liveHeap() - before
	o.Add(Row{Case: name, Metric: "live heap", Value: mib(live), Unit: "MiB", Baseline: "budget", BaselineValue: mib(int64(heap))})
	runtime.KeepAlive(s)
}

// realTexts cuts real texts into pieces: the chats of BEAM where they are given, else the sources of Go.
func realTexts(beam string, records, bytes int) (texts []string, from string) {
	from, pattern, root := "the chats of BEAM", "chat.json", beam
	if beam == "" {
		from, pattern, root = "the sources of Go", ".go", goSources()
	}
	var all strings.Builder
	check(filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasSuffix(path, pattern) {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil || !utf8.Valid(text) {
			return err
		}
		if all.Write(text); all.Len() > 2*records*bytes {
			return filepath.SkipAll
		}
		return nil
	}))
	rest := strings.ReplaceAll(all.String(), `\n`, "\n")
	for len(texts) < records && len(rest) > bytes {
		piece := limit.Clip(rest, bytes)
		rest = rest[len(piece):]
		if strings.TrimSpace(piece) != "" {
			texts = append(texts, piece)
		}
	}
	return texts, from
}
