package mcp

import (
	"path/filepath"

	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/memory/index"
	"github.com/plimsoll/plimsoll/internal/tools/gateway"
	"github.com/plimsoll/plimsoll/internal/tools/sizes"
	"github.com/plimsoll/plimsoll/window/models"
	"github.com/plimsoll/plimsoll/window/tokens"
)

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
