package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/plimsoll/plimsoll/app/core"
	"github.com/plimsoll/plimsoll/app/remember"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/memory"
	"github.com/plimsoll/plimsoll/window/compact/checkpoint"
	"github.com/plimsoll/plimsoll/window/models"
	"github.com/plimsoll/plimsoll/window/proxy"
	"github.com/plimsoll/plimsoll/window/wire"
)

func init() {
	register("memory-path", "what the memory adds to a request's path: switched off, adding to each prompt, and without any, in turns; \"quick\" for a third of the rounds, \"long\" for three times as many", memoryPath)
}

// pathRecords is how many records of 163 bytes the memory has that is asked: a full namespace.
const pathRecords = 100_000

// The sides that are compared. Each is a child of its own, pinned as those of the benchmark proxy are.
const (
	pathNone   = "none"        // a proxy that knows no memory
	pathAgain  = "none, again" // a second one of these: what it adds is the noise of the machine
	pathOff    = "off"         // with the defaults: what is cut is kept, nothing is added
	pathRecall = "recall"      // each prompt is new, so that the memory is searched and adds to each
	pathReplay = "replay"      // the prompt is known, and what was added to it is added again, as between a tool's calls
)

// memoryPath sends conversations of about 100 KiB and 1 MiB in four dialects to five proxies in turns, a request to each, each time with
// another last prompt. CPU is user and system time of a child over a round, by getrusage: the children are processes of their own, so that
// what is asked between two looks at one of them is its own requests alone.
func memoryPath(ctx context.Context, o *Out, args []string) error {
	b := &proxyRun{ctx: ctx, o: o}
	rounds := 30
	if slices.Contains(args, "quick") {
		rounds = 10
	}
	if slices.Contains(args, "long") {
		rounds = 90
	}
	defer b.stop()
	var err error
	if b.provider, err = b.child("child-provider"); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "plimsoll-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := fillMemory(filepath.Join(dir, pathOff)); err != nil {
		return err
	}
	for _, name := range []string{pathRecall, pathReplay} {
		if err := os.CopyFS(filepath.Join(dir, name), os.DirFS(filepath.Join(dir, pathOff))); err != nil {
			return err
		}
	}
	sides := map[string]*benchChild{}
	for _, name := range pathSides {
		if sides[name], err = b.child("child-memory", b.provider.url, name, filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	texts, from, err := realTexts("", 4000, 163)
	if err != nil {
		return err
	}
	o.Note("The memory has %d records of 163 bytes, words of %s. Each request is the one before with another last prompt; the proxies are pinned to core %d and asked in turns, one request each.", pathRecords, from, proxyCore)
	o.Note("Added: over %d rounds the mean difference a request to the proxy without a memory in the same round, without the highest and the lowest fifth, and where it lies with 95 %% (Yuen 1974). A round has 25 requests for each proxy, 10 where the memory adds to prompts. Budgets: 50 µs switched off, 5 ms with recall; \"none, again\" has no memory either: what it adds is noise, and what processes differ in by chance. Proxies that hold a memory's index collect garbage more rarely, because they have more memory to begin with: what little is added in replay can be below zero.", rounds)
	for _, size := range []struct {
		name  string
		bytes int
	}{{"100 KiB", 100 << 10}, {"1 MiB", 1 << 20}} {
		all := map[string][]trimmed{} // of the dialects, by side
		for _, d := range []wire.Dialect{wire.Chat, wire.Responses, wire.Messages, wire.Gemini} {
			found, err := b.memoryCase(fmt.Sprintf("%s, %s", d, size.name), d, size.bytes, sides, rounds, texts)
			if err != nil {
				return err
			}
			for side, t := range found {
				all[side] = append(all[side], t)
			}
		}
		for _, side := range pathSides[1:] {
			b.addedRows("all dialects, "+size.name, side, "CPU", meanOf(all[side]))
		}
	}
	return nil
}

// pathSides are the proxies; the others are compared with the first one.
var pathSides = []string{pathNone, pathAgain, pathOff, pathRecall, pathReplay}

// A round is two stages. Each side has each place in the order of a stage as often as any other: a request that follows the making of a
// body finds less in the caches.
var pathStages = [...]struct {
	sides []string
	turns int // a multiple of how many sides there are
}{
	{pathSides, 10},
	{pathSides[:3], 15}, // next to nothing is added: it takes more requests to tell
}

// memoryCase measures one dialect and size. It returns the CPU that each side adds.
func (b *proxyRun) memoryCase(name string, d wire.Dialect, size int, sides map[string]*benchChild, rounds int, texts []string) (map[string]trimmed, error) {
	open, path := pathBody(d, size), pathOf(d)
	known := open("a prompt that is known")
	cpu, addedCPU, addedWall := map[string][]time.Duration{}, map[string][]time.Duration{}, map[string][]time.Duration{}
	next := 0
	for round := range rounds + 2 { // the first two warm up
		used, took, sent := map[string]time.Duration{}, map[string]time.Duration{}, map[string]time.Duration{}
		baseCPU, baseWall := map[string]time.Duration{}, map[string]time.Duration{} // of the first side, in the stages of another one
		for _, stage := range pathStages {
			stageCPU, stageWall := map[string]time.Duration{}, map[string]time.Duration{}
			for _, side := range stage.sides {
				c, err := sides[side].cost()
				if err != nil {
					return nil, err
				}
				stageCPU[side] = -c.CPU
			}
			for turn := range stage.turns {
				next++
				body := open(limit.Clip(texts[(next*31)%len(texts)], 60) + " " + strconv.Itoa(next))
				for i := range stage.sides {
					side := stage.sides[(i+turn)%len(stage.sides)]
					what := body
					if side == pathReplay {
						what = known
					}
					what = slices.Clone(what) // each side gets bytes that were just written
					began := time.Now()
					if err := b.postTo(sides[side], path, what); err != nil {
						return nil, fmt.Errorf("%s, %s: %w", name, side, err)
					}
					stageWall[side] += time.Since(began)
				}
			}
			for _, side := range stage.sides {
				c, err := sides[side].cost()
				if err != nil {
					return nil, err
				}
				stageCPU[side] += c.CPU
			}
			for _, side := range stage.sides {
				used[side] += stageCPU[side]
				took[side] += stageWall[side]
				baseCPU[side] += stageCPU[pathNone]
				baseWall[side] += stageWall[pathNone]
				sent[side] += time.Duration(stage.turns)
			}
		}
		if round < 2 {
			continue
		}
		for _, side := range pathSides {
			cpu[side] = append(cpu[side], used[side]/sent[side])
			addedCPU[side] = append(addedCPU[side], (used[side]-baseCPU[side])/sent[side])
			addedWall[side] = append(addedWall[side], (took[side]-baseWall[side])/sent[side])
		}
	}
	out := map[string]trimmed{}
	for _, side := range pathSides[1:] {
		b.o.Add(Row{Case: name, Metric: side + ": CPU per request", Value: us(median(cpu[side])), Unit: "µs", Baseline: "no memory", BaselineValue: us(median(cpu[pathNone]))})
		out[side] = trimmedMean(addedCPU[side])
		b.addedRows(name, side, "CPU", out[side])
		b.addedRows(name, side, "time", trimmedMean(addedWall[side]))
	}
	return out, nil
}

// addedRows reports what a side adds, and how surely.
func (b *proxyRun) addedRows(name, side, what string, t trimmed) {
	budget := 5000.0
	if side == pathOff || side == pathAgain {
		budget = 50
	}
	for _, row := range []Row{
		{Metric: side + ": added " + what, Value: t.mean, Baseline: "budget", BaselineValue: budget},
		{Metric: side + ": added " + what + ", at least", Value: t.mean - t.within()},
		{Metric: side + ": added " + what + ", at most", Value: t.mean + t.within(), Baseline: "budget", BaselineValue: budget},
	} {
		row.Case, row.Unit = name, "µs"
		b.o.Add(row)
	}
}

// trimmed is a mean without the highest and the lowest fifth, in microseconds, with its standard error and degrees of freedom.
type trimmed struct{ mean, err, freedom float64 }

// trimmedMean is that of some differences. Its error is that of Yuen (1974), from the deviation of what the ends are cut down to.
func trimmedMean(all []time.Duration) trimmed {
	x := make([]float64, len(all))
	for i, d := range all {
		x[i] = us(d)
	}
	slices.Sort(x)
	cut := len(x) / 5
	kept := x[cut : len(x)-cut]
	t := trimmed{freedom: float64(len(kept) - 1)}
	for _, v := range kept {
		t.mean += v / float64(len(kept))
	}
	sum, square := 0.0, 0.0
	for i := range x {
		v := x[min(max(i, cut), len(x)-cut-1)]
		sum += v
		square += v * v
	}
	n := float64(len(x))
	deviation := math.Sqrt(max(0, square-sum*sum/n) / (n - 1))
	t.err = deviation / (float64(len(kept)) / n * math.Sqrt(n))
	return t
}

// within is how far the true mean is from the one that was found, at most, in 95 of 100 measurements: by Student's t, after Cornish and
// Fisher's expansion.
func (t trimmed) within() float64 {
	const z = 1.959964
	f := max(t.freedom, 1)
	return t.err * (z + (z*z*z+z)/(4*f) + (5*z*z*z*z*z+16*z*z*z+3*z)/(96*f*f))
}

// meanOf is the mean of what was measured apart.
func meanOf(all []trimmed) (t trimmed) {
	n := float64(len(all))
	for _, one := range all {
		t.mean += one.mean / n
		t.err += one.err * one.err / (n * n)
		t.freedom += one.freedom
	}
	t.err = math.Sqrt(t.err)
	return t
}

func (b *proxyRun) postTo(c *benchChild, path string, body []byte) error {
	req, err := http.NewRequestWithContext(b.ctx, http.MethodPost, c.url+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer bench")
	res, err := c.client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answered %s", c.url+path, res.Status)
	}
	return nil
}

// pathOf is where a dialect's requests go below the address of a proxy.
func pathOf(d wire.Dialect) string {
	switch d {
	case wire.Chat:
		return "/openai/v1/chat/completions"
	case wire.Responses:
		return "/openai/v1/responses"
	case wire.Gemini:
		return "/gemini/v1beta/models/gemini-planted:generateContent"
	}
	return "/anthropic/v1/messages"
}

// pathBody is a conversation of about size bytes, ten calls of tools a prompt; what it returns puts a last prompt behind it.
func pathBody(d wire.Dialect, size int) func(prompt string) []byte {
	b := &body{d: d}
	b.user("Please fix what the tests say.")
	held := 0
	for i := 0; held < size-3000; i++ {
		text := benchText(benchCode, 7, i, 1500)
		if i%2 == 1 {
			text = benchText(benchJSON, 7, i, 1500)
		}
		b.call(fmt.Sprintf("Step %d: I read on.", i), "read", fields{"path": fmt.Sprintf("src/%d.go", i)}, text, false)
		held += len(text) + 400
		if i%10 == 9 {
			b.answered("That part is done.")
			b.user(fmt.Sprintf("Go on with part %d, and look at what it says of the harbour.", i))
		}
	}
	b.answered("All of it was read.")
	return func(prompt string) []byte {
		last := *b
		last.messages = slices.Clip(b.messages)
		last.user(prompt)
		return last.bytes()
	}
}

// answered is an answer of the model without a call.
func (b *body) answered(words string) {
	switch b.d {
	case wire.Gemini:
		b.messages = append(b.messages, fields{"role": "model", "parts": []any{fields{"text": words}}})
	case wire.Responses:
		b.says(words)
	default:
		b.messages = append(b.messages, fields{"role": "assistant", "content": words})
	}
}

// memoryChild serves a proxy with a memory, or without.
func memoryChild(provider, side, dir string) (string, error) {
	j := journal.New(journal.Options{})
	store, err := checkpoint.Open(checkpoint.Options{Dir: filepath.Join(dir, "conversations"), Journal: j})
	if err != nil {
		return "", err
	}
	o := proxy.Options{
		Journal: j, Store: store, Resolver: models.NewResolver(models.Options{Overrides: models.Overrides{Max: 8 << 20}}),
		Upstreams: []proxy.Upstream{{Name: "openai", URL: provider + "/v1"}, {Name: "anthropic", URL: provider}, {Name: "gemini", URL: provider}},
	}
	if side != pathNone && side != pathAgain {
		inject := side
		if side == pathReplay {
			inject = pathRecall
		}
		if err := os.WriteFile(filepath.Join(dir, "config.toml"), fmt.Appendf(nil, "[memory]\ninject = %q\n", inject), 0o600); err != nil {
			return "", err
		}
		app, err := memoryApp(dir)
		if err != nil {
			return "", err
		}
		settings, err := app.Config.For("")
		if err != nil {
			return "", err
		}
		m := remember.Open(app, settings, remember.Options{Journal: j, Namespace: "project/bench", Own: true, Warn: func(text string) { fmt.Fprintln(os.Stderr, text) }})
		ready, end := context.WithTimeout(context.Background(), time.Minute)
		m.WaitReady(ready)
		late := ready.Err()
		end()
		if late != nil {
			return "", errors.New("the memory was not ready within a minute")
		}
		o.Keeper, o.KeepTurns, o.Recaller, o.RecallFor = m.Keeper(), m.Turns(), m.Recaller(), m.Namespace()
		benchCleanup = m.Close
	}
	p, err := proxy.New(o)
	if err != nil {
		return "", err
	}
	s, err := p.Listen(proxy.ListenOptions{})
	if err != nil {
		return "", err
	}
	return s.URL(), nil
}

func memoryApp(dir string) (*core.Core, error) {
	return core.New(core.Options{Dir: dir, Environ: []string{
		"HOME=" + dir, "PLIMSOLL_STATE_DIR=" + filepath.Join(dir, "state"), "PLIMSOLL_CONFIG=" + filepath.Join(dir, "config.toml"),
	}})
}

// fillMemory adds what a user and agents have said.
func fillMemory(dir string) error {
	app, err := memoryApp(dir)
	if err != nil {
		return err
	}
	texts, _, err := realTexts("", pathRecords, 163)
	if err != nil {
		return err
	}
	store, err := remember.OpenStore(app, nil)
	if err != nil {
		return err
	}
	defer store.Close()
	for i := 0; i < len(texts); i += 1000 {
		var batch []memory.Record
		for j, text := range texts[i:min(i+1000, len(texts))] {
			n := i + j
			batch = append(batch, memory.Record{Namespace: "project/bench", Origin: []memory.Origin{memory.OriginUser, memory.OriginAgent}[n%2], Text: text, Source: memory.Source{
				Client: "claude", Conversation: fmt.Sprintf("%032x", n/200), Turn: n%200 + 1,
			}})
		}
		if _, err := store.Add(context.Background(), batch...); err != nil {
			return err
		}
	}
	return nil
}
