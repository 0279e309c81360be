package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/testing/natsserver"
)

// proxyBench runs three children: a provider that answers at once, the proxy under test and
// httputil.ReverseProxy, both pinned to one core of their own and asked in turns, so that a
// slow moment of the machine hits both. CPU is user and system time of the child between
// two questions, by getrusage. args: "quick" does a tenth of the requests.
func proxyBench(o *Out, args []string) {
	if len(args) > 0 && strings.HasPrefix(args[0], "child-") {
		proxyChild(o, args[0], args[1:])
		return
	}
	b := o.proxyRun(args)
	b.ours, b.theirs = b.proxy("child-plimsoll"), b.proxy("child-reverse")
	o.Note("the proxies are pinned to core %d, provider and clients to the others; medians over rounds taken in turns", proxyCore)
	b.measureRequests()
	b.measureLatency()
	b.measureStream()
	b.measureFlight()
}

type proxyRun struct {
	*Out
	scale        int
	provider     *server
	ours, theirs *server
}

// proxyRun starts a provider. args: "quick" does a tenth of the requests.
func (o *Out) proxyRun(args []string) *proxyRun {
	b := &proxyRun{Out: o, scale: 10}
	if slices.Contains(args, "quick") {
		b.scale = 1
	}
	b.provider = b.startServer("child-provider")
	return b
}

// A server is a child that serves at a URL and tells what it has used.
type server struct {
	*child
	url    string
	client *http.Client
}

// startServer starts a child in a role and returns it with its URL and a client.
func (b *proxyRun) startServer(args ...string) *server {
	s := &server{child: b.startRole(append([]string{"proxy"}, args...)...)}
	line, err := s.out.ReadString('\n')
	if err != nil {
		b.Fatalf("%s did not start: %w", args[0], err)
	}
	s.url = strings.TrimSpace(line)
	s.client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 128, DisableCompression: true}}
	return s
}

// proxy starts a proxy in front of the provider.
func (b *proxyRun) proxy(role string, args ...string) *server {
	return b.startServer(append([]string{role, b.provider.url}, args...)...)
}

// A cost is the processor time and memory that a child has used so far.
type cost struct {
	CPU  time.Duration `json:"cpu"`
	Peak int64         `json:"peak"` // VmHWM in bytes
}

func (s *server) cost() (used cost) {
	must(io.WriteString(s.in, "\n"))
	check(json.Unmarshal(must(s.out.ReadBytes('\n')), &used))
	return used
}

// post sends a body as a Chat request and reads the whole answer.
func (b *proxyRun) post(s *server, mark string, body []byte) error {
	res, err := postBytes(b.ctx, s.client, s.url+"/v1/chat/completions", map[string]string{"Authorization": "Bearer bench", "X-Bench": mark}, body)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answered %s", s.url, res.Status)
	}
	return nil
}

// timedPost posts, and returns how long that took.
func (b *proxyRun) timedPost(s *server, body []byte) time.Duration {
	began := time.Now()
	check(b.post(s, "", body))
	return time.Since(began)
}

// cpuPerRequest returns the median CPU per request of both in µs, over rounds taken in turns.
func (b *proxyRun) cpuPerRequest(rounds, requests int, body func(i int) []byte) (ours, theirs float64) {
	var used [2][]time.Duration
	next := 0
	for round := range rounds + 1 { // the first warms up
		for side, s := range []*server{b.ours, b.theirs} {
			bodies := make([][]byte, requests)
			for i := range bodies {
				bodies[i] = body(next)
				next++
			}
			before := s.cost()
			for _, body := range bodies {
				check(b.post(s, "", body))
			}
			if after := s.cost(); round > 0 {
				used[side] = append(used[side], (after.CPU-before.CPU)/time.Duration(requests))
			}
		}
	}
	return us(median(used[0])), us(median(used[1]))
}

// measureRequests reports the processor time per request with bodies that are small, that were seen before but for one message, and that were
// never seen.
func (b *proxyRun) measureRequests() {
	small, long := benchHistory(1000, 1), benchHistory(300_000, 2)
	open := slices.Clip(long[:len(long)-len("]}")])
	for _, c := range []struct {
		name             string
		rounds, requests int
		body             func(i int) []byte
		goal             string
		times, plus      float64 // of ReverseProxy's, and µs
	}{
		{"1 KB", 9, 200, func(int) []byte { return small }, "1.5 × ReverseProxy", 1.5, 0},
		{"300 KB, seen but one message", 7, 40, func(i int) []byte {
			return fmt.Appendf(open, `,{"role":"user","content":"and now step %d of the plan, please"}]}`, i)
		}, "4 × ReverseProxy", 4, 0},
		{"300 KB, never seen", 7, 4, func(i int) []byte { return benchHistory(300_000, i+1000) }, "10 ms", 0, 10_000},
	} {
		ours, theirs := b.cpuPerRequest(c.rounds, c.requests*b.scale, c.body)
		b.Add(Row{Case: c.name, Metric: "CPU per request", Value: ours, Unit: "µs", Baseline: "ReverseProxy", BaselineValue: theirs})
		b.Add(Row{Case: c.name, Metric: "goal", Value: ours, Unit: "µs", Baseline: c.goal, BaselineValue: c.times*theirs + c.plus})
	}
}

// measureLatency reports the times of requests at a fixed modest rate, so that no queue forms.
func (b *proxyRun) measureLatency() {
	for _, c := range []struct {
		name string
		size int
		rate int
	}{{"1 KB at 100/s", 1000, 100}, {"300 KB at 20/s", 300_000, 20}} {
		body := benchHistory(c.size, 3)
		var took [2][]time.Duration
		tick := time.NewTicker(time.Second / time.Duration(c.rate))
		defer tick.Stop()
		for range c.rate * b.scale / 2 {
			for side, s := range []*server{b.ours, b.theirs} {
				<-tick.C
				took[side] = append(took[side], b.timedPost(s, body))
			}
		}
		for _, q := range quantiles {
			ours, theirs := quantile(took[0], q.part), quantile(took[1], q.part)
			b.Add(Row{Case: c.name, Metric: q.name, Value: us(ours), Unit: "µs", Baseline: "ReverseProxy", BaselineValue: us(theirs)})
			b.Add(Row{Case: c.name, Metric: "added " + q.name, Value: us(ours - theirs), Unit: "µs"})
		}
	}
}

// measureStream compares the rate and the processor time of a long stream of small events with those of a plain ReverseProxy, with the provider
// flushing each event and not. Two broken streams are left out; a third ends the benchmark.
func (b *proxyRun) measureStream() {
	events := 5000 * b.scale
	body := []byte(`{"model":"gpt-4o","stream":true,"messages":[{"role":"user","content":"go"}]}`)
	cut := 0
	for _, c := range []struct{ name, mark string }{{"SSE, flushed one by one", "events"}, {"SSE, as fast as it goes", "bulk"}} {
		var rate, cpu [2][]float64
		for round := range 8 {
			for side, s := range []*server{b.ours, b.theirs} {
				before, began := s.cost(), time.Now()
				if err := b.post(s, fmt.Sprintf("%s %d", c.mark, events), body); err != nil {
					// Connections have been seen to break on a busy machine: that round does not count.
					if cut++; cut > 2 || b.ctx.Err() != nil {
						check(err)
					}
					b.Note("%s: a stream broke off (%v), that round is left out", s.url, err)
					continue
				}
				took, after := time.Since(began), s.cost()
				if round > 0 {
					rate[side] = append(rate[side], float64(events)/took.Seconds())
					cpu[side] = append(cpu[side], us(after.CPU-before.CPU)/float64(events))
				}
			}
		}
		b.Add(Row{Case: c.name, Metric: "events per second", Value: median(rate[0]), Unit: "1/s", Baseline: "ReverseProxy", BaselineValue: median(rate[1])})
		b.Add(Row{Case: c.name, Metric: "CPU per event", Value: median(cpu[0]), Unit: "µs", Baseline: "ReverseProxy", BaselineValue: median(cpu[1])})
	}
}

// measureFlight reports the memory while 64 requests of 300 KB, each a history of its own, are held at the provider until all of them have
// arrived.
func (b *proxyRun) measureFlight() {
	const requests = 64
	var peak [2]int64
	for side, s := range []*server{b.ours, b.theirs} {
		var all sync.WaitGroup
		errs := make([]error, requests)
		for i := range errs {
			body := benchHistory(300_000, 5000+i)
			all.Go(func() { errs[i] = b.post(s, fmt.Sprintf("together %d", requests), body) })
		}
		all.Wait()
		check(errors.Join(errs...))
		peak[side] = s.cost().Peak
	}
	b.Add(Row{Case: "64 × 300 KB in flight", Metric: "peak RSS", Value: mib(peak[0]), Unit: "MiB", Baseline: "ReverseProxy", BaselineValue: mib(peak[1])})
	b.Add(Row{Case: "64 × 300 KB in flight", Metric: "goal", Value: float64(peak[0]) / 1e6, Unit: "MB", Baseline: "100 MB", BaselineValue: 100})
}

// benchHistory returns a Chat history of about size bytes, as an agent has it: prose, JSON and
// code in turns, calls with their results. Two seeds share no message.
func benchHistory(size, seed int) []byte {
	var out bytes.Buffer
	out.WriteString(`{"model":"gpt-4o","max_tokens":1000,"messages":[{"role":"system","content":"You are an agent that works on a repository."}`)
	for i := 0; out.Len() < size-100; i++ {
		id := fmt.Sprintf("call_%d_%d", seed, i)
		var text string
		room := min(size-out.Len(), 2500)
		switch i % 3 {
		case 0:
			text = benchText(benchProse, seed, i, room)
			fmt.Fprintf(&out, `,{"role":"user","content":%s}`, strconv.Quote(text))
			continue
		case 1:
			text = benchText(benchCode, seed, i, room)
		default:
			text = benchText(benchJSON, seed, i, room)
		}
		fmt.Fprintf(&out, `,{"role":"assistant","content":null,"tool_calls":[{"id":%q,"type":"function","function":{"name":"read","arguments":"{\"path\":\"src/%d/%d.go\"}"}}]}`, id, seed, i)
		fmt.Fprintf(&out, `,{"role":"tool","tool_call_id":%q,"content":%s}`, id, strconv.Quote(text))
	}
	out.WriteString(`]}`)
	return out.Bytes()
}

// benchText returns at least size bytes of text, different for each seed and i.
func benchText(lines []string, seed, i, size int) string {
	var b strings.Builder
	for n := 0; b.Len() < size; n++ {
		fmt.Fprintf(&b, lines[(seed+i+n)%len(lines)], seed*7919+i*31+n)
		b.WriteByte('\n')
	}
	return b.String()
}

var (
	benchProse = []string{
		"Please look at the failing test number %d and tell me what it expects before you change anything.",
		"The report says that %d requests were lost while the connection was being closed by the other side.",
		"I would rather keep the old name in the configuration; rename only what nobody outside can see, as in ticket %d.",
	}
	benchCode = []string{
		"\tif err := s.flush(ctx, batch[%d]); err != nil {",
		"\t\treturn fmt.Errorf(\"flush batch %d: %%w\", err)",
		"func (s *Store) lookup%d(key string) (*entry, bool) {",
		"\tfor i := range min(len(rows), %d) {",
	}
	benchJSON = []string{
		`{"id": %d, "name": "worker", "status": "Running", "restarts": 0, "labels": {"app": "api", "tier": "backend"}},`,
		`{"time": "2026-03-04T05:06:07Z", "level": "info", "msg": "request done", "duration_ms": %d, "path": "/v1/items"},`,
	}
)

// replicasBench lets conversations go to two replicas in turn, and to one proxy without a store, request by request.
func replicasBench(o *Out, args []string) {
	store := natsserver.Start(o).URL
	b := o.proxyRun(args)
	single := b.proxy("child-replica", "")
	replicas := []*server{b.proxy("child-replica", store), b.proxy("child-replica", store)}
	for _, c := range []struct {
		name   string
		result int
	}{{"nothing is decided", 500}, {"a result is bounded in every request", 6000}} {
		var alone, shared []time.Duration
		for talk := range 2 * b.scale {
			messages := []any{map[string]any{"role": "user", "content": fmt.Sprintf("task %d of %s", talk, c.name)}}
			for turn := range 40 {
				id := fmt.Sprint("call_", turn)
				messages = append(messages,
					map[string]any{"role": "assistant", "content": nil, "tool_calls": []any{map[string]any{"id": id, "type": "function", "function": map[string]any{"name": "shell", "arguments": `{"cmd":"ls"}`}}}},
					map[string]any{"role": "tool", "tool_call_id": id, "content": strings.Repeat(fmt.Sprintf("line of turn %d\n", turn), c.result/16)})
				body := must(json.Marshal(map[string]any{"model": "gpt-4o", "messages": messages}))
				alone = append(alone, b.timedPost(single, body))
				shared = append(shared, b.timedPost(replicas[turn%2], body))
			}
		}
		for _, q := range quantiles {
			without, with := quantile(alone, q.part), quantile(shared, q.part)
			o.Add(Row{Case: c.name, Metric: q.name, Value: us(with), Unit: "µs", Baseline: "one proxy, no store", BaselineValue: us(without)})
			o.Add(Row{Case: c.name, Metric: "added " + q.name, Value: us(with-without) / 1000, Unit: "ms", Baseline: "goal", BaselineValue: 5})
		}
	}
}
