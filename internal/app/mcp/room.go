package mcp

import (
	"fmt"
	"path/filepath"
	"sync"

	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/memory/index"
	"github.com/plimsoll/plimsoll/internal/printable"
	"github.com/plimsoll/plimsoll/internal/tools/gateway"
	"github.com/plimsoll/plimsoll/internal/tools/sizes"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/window/models"
	"github.com/plimsoll/plimsoll/window/tokens"
)

// maxLargeTold bounds the lines about large results, and the results that a report lists.
const maxLargeTold = 64

// LargeResult is a result that was larger than 100 KiB ("warning") or 200 KiB ("alert") as its server sent it.
type LargeResult struct {
	Server string `json:"server"`
	Tool   string `json:"tool"`
	Bytes  int64  `json:"bytes"`
	Level  string `json:"level"`
}

// LargeResults is an observer that reports large results where there is no dashboard: once for each tool and level, and at most 64 times.
type LargeResults struct {
	// Tell is called with each line, which is without the name of the program.
	Tell func(line string)
	// Window is the context window, of which definitions of tools that take more than a tenth are reported; with 0 tokens none are.
	Window models.Window

	mu   sync.Mutex
	told map[LargeResult]bool
	list []LargeResult
}

// Observe implements [journal.Observer].
func (l *LargeResults) Observe(r journal.Record) {
	if e, ok := r.Event.(journal.ToolNoise); ok && e.What == "list" {
		l.warnOnce(LargeResult{Server: e.Server}, fmt.Sprintf("the list of tools of %s is larger than %s: what is behind that is left out; ask its operator for a list in pages",
			printable.Text(e.Server), limit.Bytes(gateway.MaxListBytes).Human()))
	}
	if e, ok := r.Event.(journal.ToolsListed); ok && !e.Defers && l.Window.Context > 0 && e.Tokens > l.Window.Context/10 {
		of := fmt.Sprintf("of the window of %d", l.Window.Context)
		if l.Window.Guessed() {
			of = fmt.Sprintf("of a window of %d, which is assumed (the model is not known here; max_tokens of [window] says what it takes)", l.Window.Context)
		}
		l.warnOnce(LargeResult{Server: e.Server, Level: "definitions"}, fmt.Sprintf("warning: the definitions of the %d tools of %s take about %d tokens, more than a tenth %s; deny what is not used, or set tools_max",
			e.Tools, printable.Text(e.Server), e.Tokens, of))
	}
	e, ok := r.Event.(journal.ToolResultLarge)
	if !ok {
		return
	}
	l.mu.Lock()
	if len(l.list) < maxLargeTold {
		l.list = append(l.list, LargeResult{e.Server, e.Tool, e.Bytes, e.Level})
	}
	l.mu.Unlock()
	l.warnOnce(LargeResult{Server: e.Server, Tool: e.Tool, Level: e.Level}, fmt.Sprintf("%s: %s of %s answered with %s; a filter or a smaller page costs less (plimsoll stats --mcp)",
		e.Level, printable.Text(e.Tool), printable.Text(e.Server), limit.Bytes(e.Bytes).Human()))
}

// warnOnce tells a line the first time for a kind, and for at most maxLargeTold kinds.
func (l *LargeResults) warnOnce(kind LargeResult, line string) {
	l.mu.Lock()
	tell := l.Tell != nil && !l.told[kind] && len(l.told) < maxLargeTold
	if tell {
		if l.told == nil {
			l.told = map[LargeResult]bool{}
		}
		l.told[kind] = true
	}
	l.mu.Unlock()
	if tell {
		l.Tell(line)
	}
}

// List returns the large results in order, the first 64.
func (l *LargeResults) List() []LargeResult {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.list
}

// definitions returns the gateway's bound, in tokens, for what definitions of tools take of a client's window; most is tools_max.
func (p *Plane) definitions(most int) gateway.Definitions {
	return gateway.Definitions{Max: most, Count: tokens.O200K().Count, Index: newToolIndex, Used: p.eachUse}
}

// assumedWindow returns the window that the proxy assumes for an unknown model: a gateway does not know which model its client asks.
func assumedWindow(w config.WindowSettings) models.Window {
	return models.NewResolver(models.Options{Overrides: core.Overrides(w)}).Window("", "", nil)
}

// newToolIndex returns a search over the texts of tools: BM25, each text by itself. Its results are indexes of texts, the best first.
func newToolIndex(texts []string) func(query string, limit int) []int {
	params := index.Defaults()
	params.K1, params.B = 0.9, 0.4
	x := index.New(params)
	for _, text := range texts {
		x.Add(index.Doc{Text: text})
	}
	return func(query string, limit int) []int {
		hits, _ := x.Search(index.Query{Text: query, Limit: limit, Alone: true})
		out := make([]int, len(hits))
		for i, h := range hits {
			out[i] = h.Doc
		}
		return out
	}
}

// eachUse calls each with the number of calls of each tool on this machine, from the account of results.
func (p *Plane) eachUse(each func(server, tool string, calls int64)) {
	state, err := p.app.Dirs.State()
	if err != nil {
		return
	}
	rows, _ := sizes.Read(filepath.Join(state, sizesDir)) // what cannot be read is told by stats --mcp
	for _, r := range rows {
		each(r.Server, r.Tool, r.Calls)
	}
}
