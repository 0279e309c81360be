package main

import (
	_ "embed"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/memory"
	"github.com/plimsoll/plimsoll/internal/memory/embed"
	"github.com/plimsoll/plimsoll/internal/memory/index"
)

// promptSets is the folder of our own sets of prompts, from the module's root.
const promptSets = "internal/memory/recall/testdata"

// A searcher ranks the turns of a dialogue for a question: at most n of them, the best first.
type searcher func(question string, n int) []int

// An engine makes a searcher of a dialogue; close is called when nothing is asked any more.
type engine struct {
	name string
	open func(o *Out, d *dialogue) (s searcher, close func())
}

// benchMemory compares the recall of the memory's search with that of other engines, on a synthetic set and on those that args name, or
// with --precision what prompts are given.
func benchMemory(o *Out, args []string) {
	flags := flag.NewFlagSet("memory", flag.ContinueOnError)
	locomo := flags.String("locomo", "", "LoCoMo's locomo10.json")
	beam := flags.String("beam", "", "a folder with chats/100K and chats/500K of BEAM")
	sizes := flags.String("beam-sizes", "100K", "which of BEAM's sizes, with commas between")
	address := flags.String("embed", "", "the base URL of a service for embeddings (bench/memoryembed.py), to search by meaning too")
	model := flags.String("embed-model", "all-MiniLM-L6-v2", "its model")
	precision := flags.String("precision", "", "a checkout of PrecisionMemBench (tenurehq/precisionMemBench): what its prompts, and our own sets of them, are given")
	sets := flags.String("sets", promptSets, "with --precision: the folder with store.tsv, prompts.tsv and heldout.tsv")
	why := flags.Bool("why", false, "with --precision: what went wrong in the sets that the constants were fitted on, and why")
	first := flags.Bool("fitted", false, "only what the constants were fitted on")
	check(flags.Parse(args))
	if *precision != "" {
		comparePrompts(o, *sets, "prompts.tsv", *why)
		comparePrompts(o, *sets, "heldout.tsv", false)
		compareGiven(o, *precision, *why)
		return
	}
	engines := []engine{rawBM25, plimsollMemory, substring}
	if _, err := timed(exec.Command("python3", "-c", `import sqlite3; sqlite3.connect(":memory:").execute("create virtual table t using fts5(x)")`)); err != nil {
		o.Note("SQLite FTS5 is not compared: python3 with it is not here (%v).", err)
	} else {
		engines = append(engines, fts5("AND", ""), fts5("OR", ""), fts5("OR", "porter"), fts5("OR", "trigram"))
	}
	if *address != "" {
		client := must(embed.NewClient(embed.ClientOptions{URL: *address, Model: *model, Timeout: 5 * time.Minute}))
		defer client.Close()
		engines = append(engines, withEmbeddings(client))
	}
	o.Note("R@k: the share of the turns that answer a question among the first k that are found, neighbours counted as any other; mean over questions. plimsoll is the query that the product makes by itself, over all lanes. Turns have the dates of their sessions, and questions are asked a day after the last.")
	if !*first {
		o.Note("Paraphrases: questions that share next to no words with what answers them, written here, and nothing was fitted on them.")
		compareRecall(o, "paraphrases", paraphrases(), engines)
	}
	if *locomo == "" && *beam == "" {
		o.Note("A small synthetic set: figures to quote come from --locomo and --beam.")
		compareRecall(o, "synthetic", syntheticDialogues(), engines)
		return
	}
	if *locomo != "" {
		all, bad := readLoCoMo(*locomo)
		if len(all) < 10 {
			o.Fatalf("%s has %d conversations, not LoCoMo's ten", *locomo, len(all))
		}
		o.Note("LoCoMo: constants were fitted on conversations 1 to 5; 6 to 10 are the claim. %d references of the key name no turn and are left out; about 6.4 %% of the key are known to be wrong and stay in.", bad)
		compareRecall(o, "LoCoMo 1-5 (fitted on)", all[:5], engines)
		if *first {
			return
		}
		compareRecall(o, "LoCoMo 6-10", all[5:], engines)
	}
	if *beam == "" {
		return
	}
	o.Note("BEAM: nothing was fitted on it. A message of more than %d bytes is several passages; the best of a turn counts.", memory.MaxEpisode)
	for size := range strings.SplitSeq(*sizes, ",") {
		compareRecall(o, "BEAM "+size, readBEAM(*beam, size), engines)
	}
}

// recallSums adds up the questions of a category, by metric.
type recallSums struct {
	n    int
	sums map[string]float64
}

// recallMetrics are the shares that are counted, those of sessions for the whole set alone: of a question's evidence among the first turns,
// of its sessions among those of the first, and whether any of these is there.
var recallMetrics = []string{"R@5", "R@10", "session R@10", "session any@10"}

const wholeSet = "all"

func (r *recallSums) percent(metric string) float64 {
	return 100 * r.sums[metric] / float64(max(r.n, 1))
}

// measureRecall asks an engine all questions and returns the sums by category.
func measureRecall(o *Out, all []dialogue, e engine) map[string]*recallSums {
	total := map[string]*recallSums{}
	for i := range all {
		d := &all[i]
		check(o.ctx.Err())
		search, done := e.open(o, d)
		place := map[string]int{}
		for i, t := range d.turns {
			place[t.id] = i
		}
		for _, q := range d.questions {
			found := search(q.text, memory.MaxLimit)
			share := func(k int) float64 {
				hit := 0
				for _, id := range q.evidence {
					if slices.Contains(found[:min(k, len(found))], place[id]) {
						hit++
					}
				}
				return float64(hit) / float64(len(q.evidence))
			}
			sessions := map[string]bool{}
			for _, n := range found {
				if len(sessions) < 10 {
					sessions[d.turns[n].session] = true
				}
			}
			wanted := map[string]bool{}
			for _, id := range q.evidence {
				wanted[d.turns[place[id]].session] = true
			}
			hit := 0
			for session := range wanted {
				if sessions[session] {
					hit++
				}
			}
			shares := []float64{share(5), share(10), float64(hit) / float64(len(wanted)), float64(min(hit, 1))}
			for _, c := range []string{wholeSet, q.category} {
				if total[c] == nil {
					total[c] = &recallSums{sums: map[string]float64{}}
				}
				total[c].n++
				for i, metric := range recallMetrics {
					total[c].sums[metric] += shares[i]
				}
			}
		}
		done()
	}
	return total
}

// compareRecall prints the recall of all engines beside that of the first.
func compareRecall(o *Out, name string, all []dialogue, engines []engine) {
	var base map[string]*recallSums
	for _, e := range engines {
		r := measureRecall(o, all, e)
		if base == nil {
			base = r
		}
		add := func(category, label string, metrics []string) {
			label = fmt.Sprintf("%s, %s%s (%d)", name, e.name, label, r[category].n)
			for _, m := range metrics {
				o.Add(Row{Case: label, Metric: m, Value: r[category].percent(m), Unit: "%", Baseline: engines[0].name, BaselineValue: base[category].percent(m)})
			}
		}
		add(wholeSet, "", recallMetrics)
		for _, c := range slices.Sorted(maps.Keys(r)) {
			if c != wholeSet {
				add(c, ": "+c, recallMetrics[:2])
			}
		}
	}
}

// rawBM25 is the baseline: an index alone, of words as they stand, each turn alone.
var rawBM25 = engine{"raw BM25", func(_ *Out, d *dialogue) (searcher, func()) {
	x := index.New(index.RawBM25())
	records, turnOf := d.records()
	sessions := map[string]uint64{}
	for _, r := range records {
		if sessions[r.Source.Conversation] == 0 {
			sessions[r.Source.Conversation] = uint64(len(sessions) + 1)
		}
		lane := index.User
		if r.Origin == memory.OriginAgent {
			lane = index.Agent
		}
		x.Add(index.Doc{Lane: lane, Text: r.Text, Conversation: sessions[r.Source.Conversation], Turn: r.Source.Turn, Speaker: r.Source.Speaker})
	}
	return func(question string, n int) (turns []int) {
		hits, _ := x.Search(index.Query{Text: question, Limit: n})
		for _, h := range hits {
			turns = append(turns, turnOf[h.Doc])
		}
		return turns
	}, func() {}
}}

// plimsollMemory is a store, with the query that the product makes when nothing else is said.
var plimsollMemory = engine{"plimsoll", func(o *Out, d *dialogue) (searcher, func()) {
	return openStored(o, d, nil)
}}

// withEmbeddings searches by words and by meaning.
func withEmbeddings(client *embed.Client) engine {
	return engine{"plimsoll and " + client.Model(), func(o *Out, d *dialogue) (searcher, func()) {
		return openStored(o, d, client)
	}}
}

// openStored returns a searcher over a dialogue in the memory's own store, with vectors if client is not nil; it returns indexes of turns.
// done removes the store.
func openStored(o *Out, d *dialogue, client *embed.Client) (search searcher, done func()) {
	records, turnOf := d.records()
	s, ids, done := openMemory(o, memory.Options{Embed: client, EmbedWait: time.Minute, Clock: d.timeOfQuestions}, records)
	if client != nil {
		if made := must(s.MakeVectors(o.ctx)); made.Missing+made.Refused > 0 {
			o.Fatalf("%s: %d records have no vector", d.name, made.Missing+made.Refused)
		}
	}
	turns := map[string]int{}
	for i, id := range ids {
		if _, taken := turns[id]; !taken { // a passage that came twice is one record
			turns[id] = turnOf[i]
		}
	}
	return func(question string, n int) (out []int) {
		found := must(s.Search(o.ctx, memory.Query{Text: question, Limit: n}))
		if found.WordsOnly != "" {
			o.Fatal(found.WordsOnly)
		}
		for _, it := range found.Items {
			out = append(out, turns[it.ID])
		}
		return out
	}, done
}

// openMemory returns a store with records, and their IDs. A benchmark opens many, and so closes each as soon as it can.
func openMemory(o *Out, options memory.Options, records []memory.Record) (s *memory.Store, ids []string, done func()) {
	options.Dir = o.TempDir()
	s = must(memory.Open(options))
	added := must(s.Add(o.ctx, records...))
	return s, added.IDs, func() {
		_ = s.Close()
		_ = os.RemoveAll(options.Dir)
	}
}

// ftsScript answers questions from an index of SQLite FTS5; python3 brings SQLite, so that no binary of ours does.
//
//go:embed memoryfts.py
var ftsScript string

// fts5 returns SQLite's full-text search with its own ranking (bm25); all words of a question, or any of them. The tokenizer is "porter",
// "trigram", or SQLite's own (unicode61) for "".
func fts5(operator, tokenizer string) engine {
	return engine{strings.TrimSpace("SQLite FTS5, " + operator + " " + tokenizer), func(o *Out, d *dialogue) (searcher, func()) {
		c := startChild(exec.CommandContext(o.ctx, "python3", "-c", ftsScript, operator, tokenizer))
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
