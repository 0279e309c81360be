package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/memory"
	"github.com/plimsoll/plimsoll/internal/memory/embed"
	"github.com/plimsoll/plimsoll/internal/memory/index"
)

func init() {
	register("memory", "search in memory: recall of the turns that answer a question; --locomo FILE, --beam DIR (data of others, read from there)",
		benchMemory)
}

// promptSets is the folder of our own sets of prompts, from the module's root.
const promptSets = "internal/memory/recall/testdata"

// A searcher ranks the turns of a dialogue for a question: at most n of them, the best first.
type searcher interface {
	search(question string, n int) ([]int, error)
	close()
}

// An engine makes a searcher of a dialogue.
type engine struct {
	name string
	open func(ctx context.Context, d *dialogue) (searcher, error)
}

func benchMemory(ctx context.Context, o *Out, args []string) error {
	flags := flag.NewFlagSet("memory", flag.ContinueOnError)
	locomo := flags.String("locomo", "", "LoCoMo's locomo10.json")
	beam := flags.String("beam", "", "a folder with chats/100K and chats/500K of BEAM")
	sizes := flags.String("beam-sizes", "100K", "which of BEAM's sizes, with commas between")
	address := flags.String("embed", "", "the base URL of a service for embeddings (bench/memoryembed.py), to search by meaning too")
	model := flags.String("embed-model", "all-MiniLM-L6-v2", "its model")
	precision := flags.String("precision", "", "a checkout of PrecisionMemBench (tenurehq/precisionMemBench): what its prompts, and our own sets of them, are given")
	sets := flags.String("sets", promptSets, "with --precision: the folder with store.tsv, prompts.tsv and heldout.tsv")
	why := flags.Bool("why", false, "with --precision: what went wrong in the sets that the constants were fitted on, and why")
	unscoped := flags.Bool("unscoped", false, "with --precision: search all scopes, and leave out those of other scopes afterwards")
	first := flags.Bool("fitted", false, "only what the constants were fitted on")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *precision != "" {
		if err := comparePrompts(ctx, o, *sets, "prompts.tsv", *why); err != nil {
			return err
		}
		if err := comparePrompts(ctx, o, *sets, "heldout.tsv", false); err != nil {
			return err
		}
		return compareGiven(ctx, o, *precision, *why, !*unscoped)
	}
	engines := []engine{rawBM25, plimsollMemory, substring}
	if err := hasFTS5(ctx); err != nil {
		o.Note("SQLite FTS5 is not compared: python3 with it is not here (%v).", err)
	} else {
		engines = append(engines, fts5("AND"), fts5("OR"))
	}
	if *address != "" {
		client, err := embed.NewClient(embed.ClientOptions{URL: *address, Model: *model, Timeout: 5 * time.Minute})
		if err != nil {
			return err
		}
		defer client.Close()
		engines = append(engines, withEmbeddings(client))
	}
	o.Note("R@k: the share of the turns that answer a question among the first k that are found, neighbours counted as any other; mean over questions. plimsoll is the query that the product makes by itself, over all lanes. Turns have the dates of their sessions, and questions are asked a day after the last.")
	if *locomo == "" && *beam == "" {
		o.Note("A small synthetic set: figures to quote come from --locomo and --beam.")
		return compareRecall(ctx, o, "synthetic", syntheticDialogues(), engines)
	}
	if *locomo != "" {
		all, bad, err := readLoCoMo(*locomo)
		if err != nil {
			return err
		}
		if len(all) < 10 {
			return fmt.Errorf("%s has %d conversations, not LoCoMo's ten", *locomo, len(all))
		}
		o.Note("LoCoMo: constants were fitted on conversations 1 to 5; 6 to 10 are the claim. %d references of the key name no turn and are left out; about 6.4 %% of the key are known to be wrong and stay in.", bad)
		for _, set := range []struct {
			name string
			of   []dialogue
		}{{"LoCoMo 1-5 (fitted on)", all[:5]}, {"LoCoMo 6-10", all[5:]}} {
			if err := compareRecall(ctx, o, set.name, set.of, engines); err != nil || *first {
				return err
			}
		}
	}
	if *beam == "" {
		return nil
	}
	o.Note("BEAM: nothing was fitted on it. A message of more than %d bytes is several passages; the best of a turn counts.", memory.MaxEpisode)
	for size := range strings.SplitSeq(*sizes, ",") {
		all, err := readBEAM(*beam, size)
		if err != nil {
			return err
		}
		if err := compareRecall(ctx, o, "BEAM "+size, all, engines); err != nil {
			return err
		}
	}
	return nil
}

// recallScore is the mean share of a question's evidence among the first turns, by category.
type recallScore struct {
	n                       map[string]int
	at5, at10, session, any map[string]float64
}

func newRecallScore() *recallScore {
	return &recallScore{map[string]int{}, map[string]float64{}, map[string]float64{}, map[string]float64{}, map[string]float64{}}
}

const wholeSet = "all"

func (r *recallScore) add(category string, at5, at10, session, any float64) {
	for _, c := range []string{wholeSet, category} {
		r.n[c]++
		r.at5[c] += at5
		r.at10[c] += at10
		r.session[c] += session
		r.any[c] += any
	}
}

func percent(m map[string]float64, r *recallScore, category string) float64 {
	return 100 * m[category] / float64(max(r.n[category], 1))
}

// measureRecall asks an engine all questions.
func measureRecall(ctx context.Context, all []dialogue, e engine) (*recallScore, error) {
	r := newRecallScore()
	for i := range all {
		d := &all[i]
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		s, err := e.open(ctx, d)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", e.name, d.name, err)
		}
		place := map[string]int{}
		for i, t := range d.turns {
			place[t.id] = i
		}
		for _, q := range d.questions {
			found, err := s.search(q.text, memory.MaxLimit)
			if err != nil {
				s.close()
				return nil, fmt.Errorf("%s: %s: %w", e.name, d.name, err)
			}
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
			hit, any := 0, 0.0
			for session := range wanted {
				if sessions[session] {
					hit++
					any = 1
				}
			}
			r.add(q.category, share(5), share(10), float64(hit)/float64(len(wanted)), any)
		}
		s.close()
	}
	return r, nil
}

// compareRecall prints the recall of all engines beside that of the first.
func compareRecall(ctx context.Context, o *Out, name string, all []dialogue, engines []engine) error {
	var base *recallScore
	for i, e := range engines {
		r, err := measureRecall(ctx, all, e)
		if err != nil {
			return err
		}
		if i == 0 {
			base = r
		}
		for _, c := range slices.SortedFunc(maps.Keys(r.n), func(a, b string) int {
			return cmp.Or(cmp.Compare(btoi(b == wholeSet), btoi(a == wholeSet)), cmp.Compare(a, b))
		}) {
			if i == 0 && c != wholeSet {
				continue
			}
			label := fmt.Sprintf("%s, %s", name, e.name)
			if c != wholeSet {
				label += ": " + c
			}
			label += fmt.Sprintf(" (%d)", r.n[c])
			o.Add(Row{Case: label, Metric: "R@5", Value: percent(r.at5, r, c), Unit: "%", Baseline: engines[0].name, BaselineValue: percent(base.at5, base, c)})
			o.Add(Row{Case: label, Metric: "R@10", Value: percent(r.at10, r, c), Unit: "%", Baseline: engines[0].name, BaselineValue: percent(base.at10, base, c)})
			if c == wholeSet {
				o.Add(Row{Case: label, Metric: "session R@10", Value: percent(r.session, r, c), Unit: "%", Baseline: engines[0].name, BaselineValue: percent(base.session, base, c)})
				o.Add(Row{Case: label, Metric: "session any@10", Value: percent(r.any, r, c), Unit: "%", Baseline: engines[0].name, BaselineValue: percent(base.any, base, c)})
			}
		}
	}
	return nil
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// indexed is a searcher on an index alone.
type indexed struct {
	x      *index.Index
	turnOf []int
}

func openIndex(d *dialogue, p index.Params) *indexed {
	x := index.New(p)
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
	return &indexed{x, turnOf}
}

func (s *indexed) search(question string, n int) ([]int, error) {
	hits, _ := s.x.Search(index.Query{Text: question, Limit: n})
	var out []int
	for _, h := range hits {
		out = append(out, s.turnOf[h.Doc])
	}
	return out, nil
}

func (s *indexed) close() {}

// rawBM25 is the baseline: words as they stand, each turn alone.
var rawBM25 = engine{"raw BM25", func(_ context.Context, d *dialogue) (searcher, error) {
	return openIndex(d, index.RawBM25()), nil
}}

// stored is a searcher on a store, with the query that the product makes when nothing else is said.
type stored struct {
	dir    string
	s      *memory.Store
	turnOf map[string]int
}

var plimsollMemory = engine{"plimsoll", func(ctx context.Context, d *dialogue) (searcher, error) {
	return openStored(ctx, d, nil)
}}

// withEmbeddings searches by words and by meaning.
func withEmbeddings(client *embed.Client) engine {
	return engine{"plimsoll and " + client.Model(), func(ctx context.Context, d *dialogue) (searcher, error) {
		s, err := openStored(ctx, d, client)
		if err != nil {
			return nil, err
		}
		if made, err := s.s.MakeVectors(ctx); err != nil || made.Missing+made.Refused > 0 {
			s.close()
			return nil, errors.Join(err, fmt.Errorf("%d records have no vector", made.Missing+made.Refused))
		}
		return s, nil
	}}
}

func openStored(ctx context.Context, d *dialogue, client *embed.Client) (*stored, error) {
	dir, err := os.MkdirTemp("", "bench-memory-")
	if err != nil {
		return nil, err
	}
	out := &stored{dir: dir, turnOf: map[string]int{}}
	if out.s, err = memory.Open(memory.Options{Dir: dir, Embed: client, EmbedWait: time.Minute, Clock: d.asked}); err != nil {
		_ = os.RemoveAll(dir)
		return nil, err
	}
	records, turnOf := d.records()
	added, err := out.s.Add(ctx, records...)
	if err != nil {
		out.close()
		return nil, err
	}
	for i, id := range added.IDs {
		if _, taken := out.turnOf[id]; !taken { // a passage that came twice is one record
			out.turnOf[id] = turnOf[i]
		}
	}
	return out, nil
}

func (s *stored) search(question string, n int) ([]int, error) {
	found, err := s.s.Search(context.Background(), memory.Query{Text: question, Limit: n})
	if err == nil && found.WordsOnly != "" {
		err = errors.New(found.WordsOnly)
	}
	if err != nil {
		return nil, err
	}
	var out []int
	for _, it := range found.Items {
		out = append(out, s.turnOf[it.ID])
	}
	return out, nil
}

func (s *stored) close() {
	_ = s.s.Close()
	_ = os.RemoveAll(s.dir)
}
