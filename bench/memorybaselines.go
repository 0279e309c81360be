package main

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
)

// ftsScript answers questions from an index of SQLite FTS5; python3 brings SQLite, so that no binary of ours does.
//
//go:embed memoryfts.py
var ftsScript string

// fts5 returns SQLite's full-text search with its own ranking (bm25); all words of a question, or any of them. The tokenizer is "porter",
// "trigram", or SQLite's own (unicode61) for "".
func fts5(operator, tokenizer string) engine {
	return engine{strings.TrimSpace("SQLite FTS5, " + operator + " " + tokenizer), func(o *Out, d *dialogue) (searcher, func()) {
		c := start(exec.CommandContext(o.ctx, "python3", "-c", ftsScript, operator, tokenizer))
		texts, turnOf := d.passages()
		check(json.NewEncoder(c.in).Encode(texts))
		return func(question string, n int) (turns []int) {
			check(json.NewEncoder(c.in).Encode(map[string]any{"q": question, "n": n}))
			line, err := c.out.ReadBytes('\n')
			if err != nil {
				check(fmt.Errorf("%w: %s", err, c.log.Bytes()))
			}
			var docs []int
			check(json.Unmarshal(line, &docs))
			for _, doc := range docs {
				if turn := turnOf[doc]; !slices.Contains(turns, turn) { // the best passage of each, as elsewhere
					turns = append(turns, turn)
				}
			}
			return turns
		}, c.stop
	}}
}

// substring is the search of the official memory server (@modelcontextprotocol/server-memory 2026.8.31, searchNodes), made again here: an entity
// is found when the whole query stands in its name or in one of its observations, in lower case, and what is found comes in the order in which it was
// stored. Here each passage is the one observation of an entity.
var substring = engine{"server-memory's search", func(_ *Out, d *dialogue) (searcher, func()) {
	texts, turnOf := d.passages()
	for i := range texts {
		texts[i] = strings.ToLower(texts[i])
	}
	return func(question string, n int) (turns []int) {
		for i, text := range texts {
			if len(turns) < n && strings.Contains(text, strings.ToLower(question)) {
				turns = append(turns, turnOf[i])
			}
		}
		return turns
	}, func() {}
}}
