package models

import (
	"cmp"
	_ "embed"
	"strconv"
	"strings"
)

// PriceDate is the day of the built-in prices at their source, models.dev; those of the newest models of Anthropic and OpenAI are of 2026-11-29.
const PriceDate = "2026-07-02"

// prices has a line "provider/model input output read write" for each model, sorted, and behind it "above input output read write" for each
// tier of longer requests, the shortest first. All are US dollars for a million tokens; 0 is what the provider does not say.
//
//go:embed prices.txt
var prices string

// A Rate holds the prices of a million tokens in US dollars; 0 is unknown.
type Rate struct {
	Input, Output         float64
	CacheRead, CacheWrite float64
}

// A Price holds the prices of a model at a provider.
type Price struct {
	Rate
	Longer []LongRate // what longer requests cost, the shortest first
	Source string     // SourceConfig or SourceCatalogue
}

// A LongRate holds the prices of all tokens of a request that has more than Above tokens of input.
type LongRate struct {
	Above int
	Rate
}

// hourWrite is the price of writing to Anthropic's cache of one hour, as a multiple of that of input; for the cache of five minutes it is
// 1.25 (its pages on prompt caching, 2026-11).
const hourWrite = 2

// LookupPrice returns the built-in price of a model at a provider; false where none is known. Upstream is as for [Lookup]. A price is never
// taken from another provider or another model: an unknown price is unknown. Models on servers of one's own (Ollama, LM Studio, llama.cpp)
// cost nothing.
func LookupPrice(upstream, model string) (Price, bool) {
	server := serverOf(upstream)
	provider := server.provider
	if isLocal(provider) {
		// Ollama passes models of this ending on to a service of its own.
		return Price{Source: SourceCatalogue}, server.private && !strings.HasSuffix(model, "cloud")
	}
	if provider == "" {
		return Price{}, false
	}
	t := table{text: prices}
	for _, spelled := range parseName(model).spellings {
		key := provider + "/" + spelled
		line, _, _ := strings.Cut(t.from(key), "\n")
		if text, ok := strings.CutPrefix(line, key+" "); ok {
			return parsePrice(text), true
		}
	}
	return Price{}, false
}

// parsePrice returns the price in a line of the table, without the key. The line must be valid, which a test checks of all lines.
func parsePrice(text string) Price {
	p := Price{Source: SourceCatalogue}
	fields := strings.Fields(text)
	number := func(i int) float64 {
		n, _ := strconv.ParseFloat(fields[i], 64)
		return n
	}
	rate := func(i int) Rate { return Rate{number(i), number(i + 1), number(i + 2), number(i + 3)} }
	p.Rate = rate(0)
	for i := 4; i+4 < len(fields); i += 5 {
		p.Longer = append(p.Longer, LongRate{int(number(i)), rate(i + 1)})
	}
	return p
}

// Of returns the price of one request in US dollars. input is all its input tokens: read of them came from a cache, written went into one
// that lasts minutes, and hour into one that lasts an hour. If the provider names no price for those, they cost what other input does.
func (p Price) Of(input, read, written, hour, output int) float64 {
	r := p.Rate
	for _, l := range p.Longer {
		if input > l.Above {
			r = l.Rate
		}
	}
	return r.Of(input, read, written, hour, output)
}

// Of returns the price of tokens at this rate in US dollars; the parameters are those of [Price.Of].
func (r Rate) Of(input, read, written, hour, output int) float64 {
	readPrice, writePrice, hourPrice := r.CacheRead, r.CacheWrite, r.Input
	readPrice = cmp.Or(readPrice, r.Input)
	if writePrice == 0 {
		writePrice = r.Input
	} else {
		hourPrice = hourWrite * r.Input
	}
	fresh := max(input-read-written-hour, 0)
	return (float64(fresh)*r.Input + float64(read)*readPrice + float64(written)*writePrice + float64(hour)*hourPrice + float64(output)*r.Output) / 1e6
}
