package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/testing/heldout"
	"github.com/plimsoll/plimsoll/internal/window/compact"
	"github.com/plimsoll/plimsoll/internal/window/compact/checkpoint"
	"github.com/plimsoll/plimsoll/internal/window/proxy"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/window/models"
	"github.com/plimsoll/plimsoll/window/wire"
)

// topicsFacts plays sessions of several tasks through the proxy, request by request, with and without compactions at the boundaries
// between the tasks, and compares what facts are in the requests and how often the provider's cache is lost.
func topicsFacts(_ context.Context, o *Out, seed uint64, held bool, line float64) error {
	o.Note("Every request of a session goes through the proxy to a provider that counts (o200k) and keeps what came. A fact is kept in a request when it was said before and its text is still there; the share is the mean over the requests since the first one that was compacted with or without topics.")
	o.Note("A break is a request whose messages do not begin with those of the one before, cache marks aside: the provider reads all of it again. \"written\" are the tokens that the cache did not have.")
	o.Note("The baseline is the same session without topics.")
	if held {
		for _, set := range []string{"first", "second", "third", "fourth", "fifth"} {
			sessions, err := heldout.Sessions(set)
			if err != nil {
				return err
			}
			var all []taskSession
			for _, one := range sessions {
				s, err := answered(one)
				if err != nil {
					return err
				}
				all = append(all, s)
			}
			if err := compareTopics(o, "topics, held out, "+set+" set", all, line); err != nil {
				return err
			}
		}
		return nil
	}
	for _, d := range []wire.Dialect{wire.Messages, wire.Chat, wire.Responses, wire.Gemini} {
		var all []taskSession
		for n := range uint64(3) {
			s, err := newTasks(d, seed+n)
			if err != nil {
				return err
			}
			all = append(all, s)
		}
		if err := compareTopics(o, fmt.Sprintf("topics, %v", d), all, line); err != nil {
			return err
		}
	}
	return nil
}

// A topicTally is the result of playing sessions one way.
type topicTally struct {
	all, kept map[string]float64
	breaks    int
	inTask    int // breaks that were not at a boundary
	written   int // tokens that the cache did not have
	sent      int
	requests  int
	compacted int
	took      time.Duration
	reasons   map[string]int
}

func compareTopics(o *Out, name string, sessions []taskSession, line float64) error {
	off, on := newTopicTally(), newTopicTally()
	tasks := 0
	for i := range sessions {
		s := &sessions[i]
		window := (o200k()(s.whole).Total/5 + 999) / 1000 * 1000
		played := [2]*played{}
		for k, topics := range []float64{0, line} {
			p, err := s.play(window, topics)
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			played[k] = p
		}
		from := min(played[0].first, played[1].first)
		off.add(s, played[0], from)
		on.add(s, played[1], from)
		tasks += len(s.tasks) + 1
	}
	name = fmt.Sprintf("%s: %d sessions, %d tasks", name, len(sessions), tasks)
	row := func(metric string, with, without float64, unit string) {
		o.Add(Row{Case: name, Metric: metric, Value: with, Unit: unit, Baseline: "no topics", BaselineValue: without})
	}
	kinds := make([]string, 0, len(on.all))
	for kind := range on.all {
		kinds = append(kinds, kind)
	}
	slices.SortFunc(kinds, func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a, b))
	})
	for _, kind := range kinds {
		row(kind+", kept", 100*on.kept[kind]/on.all[kind], 100*off.kept[kind]/off.all[kind], "%")
	}
	row("breaks of the prefix", float64(on.breaks), float64(off.breaks), "requests")
	row("of them inside a task", float64(on.inTask), float64(off.inTask), "requests")
	row("compactions", float64(on.compacted), float64(off.compacted), "")
	row("written", float64(on.written), float64(off.written), "tokens")
	row("sent", float64(on.sent), float64(off.sent), "tokens")
	row("requests", float64(on.requests), float64(off.requests), "")
	o.Add(Row{Case: name, Metric: "time", Value: float64(on.took.Milliseconds()), Unit: "ms", Baseline: "no topics", BaselineValue: float64(off.took.Milliseconds())})
	o.Note("%s: compactions by reason %v, without topics %v.", name, on.reasons, off.reasons)
	return nil
}

// rank puts the kinds of facts into their order, those of the task under way last.
func rank(kind string) int {
	if i := slices.Index(codingKinds, kind); i >= 0 {
		return i
	}
	return len(codingKinds)
}

func newTopicTally() *topicTally {
	return &topicTally{all: map[string]float64{}, kept: map[string]float64{}, reasons: map[string]int{}}
}

// played is one session after it went through the proxy.
type played struct {
	ends    []int
	kept    [][]bool // for each request, of each fact that was said by then
	broke   []bool
	written []int
	sent    []int
	first   int // request that was compacted first
	reasons map[string]int
	took    time.Duration
}

func (t *topicTally) add(s *taskSession, p *played, from int) {
	for n, end := range p.ends {
		t.sent += p.sent[n]
		t.written += p.written[n]
		if p.broke[n] {
			t.breaks++
			if !slices.Contains(s.tasks, end-1) {
				t.inTask++
			}
		}
		if n < from {
			continue
		}
		task := 0
		for task < len(s.tasks) && s.tasks[task] < end {
			task++
		}
		begun := 0
		if task > 0 {
			begun = s.tasks[task-1]
		}
		for i, f := range s.facts {
			if f.at >= end {
				continue
			}
			kinds := []string{f.kind}
			if f.at >= begun {
				kinds = append(kinds, f.kind+" in this task")
			}
			for _, kind := range kinds {
				t.all[kind]++
				if p.kept[n][i] {
					t.kept[kind]++
				}
			}
		}
	}
	t.requests += len(p.ends)
	for reason, n := range p.reasons {
		t.reasons[reason] += n
		t.compacted += n
	}
	t.took += p.took
}

// play sends a session through a proxy with a window of so many tokens.
func (s *taskSession) play(window int, topics float64) (*played, error) {
	provider := &countingProvider{measure: o200k(), d: s.whole.Dialect}
	store, err := checkpoint.Open(checkpoint.Options{})
	if err != nil {
		return nil, err
	}
	j := journal.New(journal.Options{})
	p, err := proxy.New(proxy.Options{
		Transport: provider, Journal: j, Store: store, Hosts: []string{"bench.example"}, AnyPeer: true, Topic: topics, Compactor: compact.New(compact.Options{}),
		Upstreams: []proxy.Upstream{{Name: "openai", URL: "https://api.openai.com/v1"}, {Name: "anthropic", URL: "https://api.anthropic.com"}, {Name: "gemini", URL: "https://generativelanguage.googleapis.com"}},
		Resolver:  models.NewResolver(models.Options{Overrides: models.Overrides{Max: window}}),
	})
	if err != nil {
		return nil, err
	}
	defer p.Close()
	out := &played{ends: s.requests(), reasons: map[string]int{}}
	out.first = len(out.ends)
	path := map[wire.Dialect]string{
		wire.Chat: "/openai/v1/chat/completions", wire.Responses: "/openai/v1/responses", wire.Messages: "/anthropic/v1/messages",
		wire.Gemini: "/gemini/v1beta/models/gemini-2.5-pro:generateContent",
	}[s.whole.Dialect]
	var before [][]byte
	var seq uint64
	for n, end := range out.ends {
		d := s.whole.Draft()
		if end < len(s.whole.Messages) {
			d.DropMessages(end, len(s.whole.Messages))
		}
		r, err := d.Build()
		if err != nil {
			return nil, err
		}
		request := httptest.NewRequest(http.MethodPost, "http://bench.example"+path, bytes.NewReader(r.Body))
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Authorization", "Bearer sk-of-a-bench")
		answer := httptest.NewRecorder()
		start := time.Now()
		p.ServeHTTP(answer, request)
		out.took += time.Since(start)
		if answer.Code != http.StatusOK || provider.last == nil {
			return nil, fmt.Errorf("request %d was answered %d: %.300s", n, answer.Code, answer.Body)
		}
		got, err := wire.Parse(s.whole.Dialect, provider.last)
		if err != nil {
			return nil, err
		}
		for rec := range j.Since(seq) {
			seq = rec.Seq
			if e, ok := rec.Event.(journal.WindowCompacted); ok {
				out.reasons[e.Reason]++
				out.first = min(out.first, n)
			}
		}
		now := make([][]byte, len(got.Messages))
		for i := range got.Messages {
			got.Fingerprint(i, func(b []byte) { now[i] = append(now[i], b...) })
		}
		same := 0
		for same < len(before) && same < len(now) && bytes.Equal(before[same], now[same]) {
			same++
		}
		sizes := provider.measure(got)
		fresh := 0
		for _, size := range sizes.Messages[same:] {
			fresh += size
		}
		out.broke = append(out.broke, same < len(before))
		out.written, out.sent = append(out.written, fresh), append(out.sent, sizes.Total)
		before = now
		text := texts(provider.last)
		kept := make([]bool, len(s.facts))
		for i, f := range s.facts {
			kept[i] = f.at < end && slices.ContainsFunc(f.anyOf, func(key string) bool { return strings.Contains(text, key) })
		}
		out.kept = append(out.kept, kept)
	}
	return out, nil
}

// A countingProvider answers every request and counts its tokens.
type countingProvider struct {
	measure compact.Measure
	d       wire.Dialect
	last    []byte
}

func (c *countingProvider) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	_ = r.Body.Close()
	if err != nil {
		return nil, err
	}
	tokens := 0
	if view, err := wire.Parse(c.d, body); err == nil {
		tokens = c.measure(view).Total
	}
	counts := strings.Contains(r.URL.Path, "count") || strings.HasSuffix(r.URL.Path, "input_tokens")
	if !counts {
		c.last = body
	}
	answer, _ := json.Marshal(fields{
		"type": "message", "role": "assistant", "content": []any{fields{"type": "text", "text": "ok"}}, "stop_reason": "end_turn",
		"input_tokens": tokens, "totalTokens": tokens,
		"usage":         fields{"input_tokens": tokens, "output_tokens": 1, "prompt_tokens": tokens, "completion_tokens": 1, "total_tokens": tokens + 1},
		"usageMetadata": fields{"promptTokenCount": tokens, "candidatesTokenCount": 1, "totalTokenCount": tokens + 1},
	})
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(answer)), Request: r,
	}, nil
}
