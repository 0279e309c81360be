package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
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
	register("memory-path", "what the memory adds to a request's path: switched off, adding to each prompt, and without any, in turns; \"quick\" for a third of the rounds", memoryPath)
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

// memoryPath sends conversations of about 100 KiB and 1 MiB in four dialects to three proxies in turns, each time with one message
// more. CPU is user and system time of the child over a round, by getrusage.
func memoryPath(ctx context.Context, o *Out, args []string) error {
	b := &proxyRun{ctx: ctx, o: o}
	rounds := 30
	if slices.Contains(args, "quick") {
		rounds = 10
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
	if err := os.CopyFS(filepath.Join(dir, pathRecall), os.DirFS(filepath.Join(dir, pathOff))); err != nil {
		return err
	}
	sides := map[string]*benchChild{}
	for _, name := range []string{pathNone, pathAgain, pathOff, pathRecall} {
		if sides[name], err = b.child("child-memory", b.provider.url, name, filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	sides[pathReplay] = sides[pathRecall]
	texts, from, err := realTexts("", 4000, 163)
	if err != nil {
		return err
	}
	o.Note("The memory has %d records of 163 bytes, words of %s. Each request is the one before with another last prompt; the proxies are pinned to core %d and asked in turns.", pathRecords, from, proxyCore)
	o.Note("Added: the median over %d rounds of the difference to the proxy without a memory in the same round. Budgets: 50 µs switched off, 5 ms with recall; \"none, again\" has no memory either, so what it adds is noise.", rounds)
	for _, d := range []wire.Dialect{wire.Chat, wire.Responses, wire.Messages, wire.Gemini} {
		for _, size := range []struct {
			name  string
			bytes int
		}{{"100 KiB", 100 << 10}, {"1 MiB", 1 << 20}} {
			if err := b.memoryCase(fmt.Sprintf("%s, %s", d, size.name), d, size.bytes, sides, rounds, texts); err != nil {
				return err
			}
		}
	}
	return nil
}

// memoryCase measures one dialect and size.
func (b *proxyRun) memoryCase(name string, d wire.Dialect, size int, sides map[string]*benchChild, rounds int, texts []string) error {
	const requests = 8 // of a round
	order := []string{pathNone, pathAgain, pathOff, pathRecall, pathReplay}
	open, path := pathBody(d, size), pathOf(d)
	cpu, wall := map[string][]time.Duration{}, map[string][]time.Duration{}
	next := 0
	for round := range rounds + 2 { // the first two warm up
		for turn := range order {
			side := order[(turn+round)%len(order)]
			bodies := make([][]byte, requests)
			for i := range bodies {
				if side != pathReplay {
					next++
					bodies[i] = open(limit.Clip(texts[(next*31)%len(texts)], 60) + " " + strconv.Itoa(next))
				} else {
					bodies[i] = open("a prompt that is known")
				}
			}
			c := sides[side]
			before, err := c.cost()
			if err != nil {
				return err
			}
			began := time.Now()
			for _, body := range bodies {
				if err := b.postTo(c, path, body); err != nil {
					return fmt.Errorf("%s, %s: %w", name, side, err)
				}
			}
			took := time.Since(began) / requests
			after, err := c.cost()
			if err != nil {
				return err
			}
			if round >= 2 {
				cpu[side] = append(cpu[side], (after.CPU-before.CPU)/requests)
				wall[side] = append(wall[side], took)
			}
		}
	}
	for _, side := range order[1:] {
		budget := Row{Baseline: "budget", BaselineValue: 5000}
		if side == pathOff || side == pathAgain {
			budget.BaselineValue = 50
		}
		b.o.Add(Row{Case: name, Metric: side + ": CPU per request", Value: us(median(cpu[side])), Unit: "µs", Baseline: "no memory", BaselineValue: us(median(cpu[pathNone]))})
		for _, m := range []struct {
			name string
			of   map[string][]time.Duration
		}{{"CPU", cpu}, {"time", wall}} {
			row := budget
			row.Case, row.Metric, row.Unit = name, side+": added "+m.name, "µs"
			row.Value = us(median(differences(m.of[side], m.of[pathNone])))
			b.o.Add(row)
		}
	}
	return nil
}

func differences(a, b []time.Duration) []time.Duration {
	out := make([]time.Duration, len(a))
	for i := range a {
		out[i] = a[i] - b[i]
	}
	return out
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
		if err := os.WriteFile(filepath.Join(dir, "config.toml"), fmt.Appendf(nil, "[memory]\ninject = %q\n", side), 0o600); err != nil {
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
