package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

func init() {
	register("proxy", "CPU, latency, memory and streams of the model proxy, against httputil.ReverseProxy", proxyBench)
}

// proxyBench runs three children: a provider that answers at once, the proxy under test and
// httputil.ReverseProxy, both pinned to one core of their own and asked in turns, so that a
// slow moment of the machine hits both. CPU is user and system time of the child between
// two questions, by getrusage. args: "quick" does a tenth of the requests.
func proxyBench(ctx context.Context, o *Out, args []string) error {
	if len(args) > 0 && strings.HasPrefix(args[0], "child-") {
		return proxyChild(args[0], args[1:])
	}
	b := &proxyRun{ctx: ctx, o: o, scale: 10}
	if slices.Contains(args, "quick") {
		b.scale = 1
	}
	defer b.stop()
	var err error
	if b.provider, err = b.child("child-provider"); err != nil {
		return err
	}
	if b.ours, err = b.child("child-plimsoll", b.provider.url); err != nil {
		return err
	}
	if b.theirs, err = b.child("child-reverse", b.provider.url); err != nil {
		return err
	}
	b.o.Note("the proxies are pinned to core %d, provider and clients to the others; medians over rounds taken in turns", proxyCore)
	for _, step := range []func() error{b.small, b.seen, b.unseen, b.latency, b.stream, b.flight} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

type proxyRun struct {
	ctx                    context.Context
	o                      *Out
	scale                  int
	provider, ours, theirs *benchChild
	children               []*benchChild
}

// A benchChild is this binary in another role. Its standard input is its leash: it ends
// when that closes.
type benchChild struct {
	cmd     *exec.Cmd
	leash   io.Closer
	url     string // where it serves
	control string // where it tells its rusage
	client  *http.Client
}

func (b *proxyRun) child(role string, args ...string) (*benchChild, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	c := &benchChild{cmd: exec.Command(self, append([]string{"proxy", role}, args...)...)}
	c.cmd.Stderr = os.Stderr
	leash, err := c.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, err
	}
	c.leash = leash
	b.children = append(b.children, c)
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("%s did not start: %w", role, err)
	}
	if _, err := fmt.Sscan(line, &c.url, &c.control); err != nil {
		return nil, fmt.Errorf("%s said %q: %w", role, line, err)
	}
	c.client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 128, DisableCompression: true}}
	return c, nil
}

func (b *proxyRun) stop() {
	for _, c := range b.children {
		_ = c.leash.Close()
		_ = c.cmd.Wait()
	}
}

// A cost is the processor time and memory that a child has used so far.
type cost struct {
	CPU  time.Duration `json:"cpu"`
	Peak int64         `json:"peak"` // VmHWM in bytes
	Anon int64         `json:"anon"` // RssAnon now
}

func (c *benchChild) cost() (cost, error) {
	res, err := c.client.Get(c.control)
	if err != nil {
		return cost{}, err
	}
	defer res.Body.Close()
	var used cost
	return used, json.NewDecoder(res.Body).Decode(&used)
}

// post sends a body as a Chat request and reads the whole answer.
func (b *proxyRun) post(c *benchChild, mark string, body []byte) error {
	req, err := http.NewRequestWithContext(b.ctx, http.MethodPost, c.url+"/v1/chat/completions", bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer bench")
	req.Header.Set("X-Bench", mark)
	res, err := c.client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answered %s", c.url, res.Status)
	}
	return nil
}

// perRequest returns the median CPU per request of both, over rounds taken in turns.
func (b *proxyRun) perRequest(rounds, requests int, body func(i int) []byte) (ours, theirs time.Duration, err error) {
	var used [2][]time.Duration
	next := 0
	for round := range rounds + 1 { // the first warms up
		for side, c := range []*benchChild{b.ours, b.theirs} {
			bodies := make([][]byte, requests)
			for i := range bodies {
				bodies[i] = body(next)
				next++
			}
			before, err := c.cost()
			if err != nil {
				return 0, 0, err
			}
			for _, body := range bodies {
				if err := b.post(c, "", body); err != nil {
					return 0, 0, err
				}
			}
			after, err := c.cost()
			if err != nil {
				return 0, 0, err
			}
			if round > 0 {
				used[side] = append(used[side], (after.CPU-before.CPU)/time.Duration(requests))
			}
		}
	}
	return median(used[0]), median(used[1]), nil
}

func us(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }

func (b *proxyRun) small() error {
	body := benchHistory(1000, 1)
	ours, theirs, err := b.perRequest(9, 200*b.scale, func(int) []byte { return body })
	if err != nil {
		return err
	}
	b.o.Add(Row{Case: "1 KB", Metric: "CPU per request", Value: us(ours), Unit: "µs", Baseline: "ReverseProxy", BaselineValue: us(theirs)})
	b.o.Add(Row{Case: "1 KB", Metric: "goal", Value: us(ours), Unit: "µs", Baseline: "1.5 × ReverseProxy", BaselineValue: 1.5 * us(theirs)})
	return nil
}

func (b *proxyRun) seen() error {
	body := benchHistory(300_000, 2)
	open := body[:len(body)-len("]}")]
	ours, theirs, err := b.perRequest(7, 40*b.scale, func(i int) []byte {
		return fmt.Appendf(slices.Clip(open), `,{"role":"user","content":"and now step %d of the plan, please"}]}`, i)
	})
	if err != nil {
		return err
	}
	b.o.Add(Row{Case: "300 KB, seen but one message", Metric: "CPU per request", Value: us(ours), Unit: "µs", Baseline: "ReverseProxy", BaselineValue: us(theirs)})
	b.o.Add(Row{Case: "300 KB, seen but one message", Metric: "goal", Value: us(ours), Unit: "µs", Baseline: "4 × ReverseProxy", BaselineValue: 4 * us(theirs)})
	return nil
}

func (b *proxyRun) unseen() error {
	ours, theirs, err := b.perRequest(7, 4*b.scale, func(i int) []byte { return benchHistory(300_000, i+1000) })
	if err != nil {
		return err
	}
	b.o.Add(Row{Case: "300 KB, never seen", Metric: "CPU per request", Value: us(ours), Unit: "µs", Baseline: "ReverseProxy", BaselineValue: us(theirs)})
	b.o.Add(Row{Case: "300 KB, never seen", Metric: "goal", Value: us(ours), Unit: "µs", Baseline: "10 ms", BaselineValue: 10_000})
	return nil
}

// latency asks both at a fixed modest rate, so that no queue forms.
func (b *proxyRun) latency() error {
	for _, c := range []struct {
		name string
		size int
		rate int
	}{{"1 KB at 100/s", 1000, 100}, {"300 KB at 20/s", 300_000, 20}} {
		body := benchHistory(c.size, 3)
		var took [2][]time.Duration
		tick := time.NewTicker(time.Second / time.Duration(c.rate))
		for range c.rate * b.scale / 2 {
			for side, child := range []*benchChild{b.ours, b.theirs} {
				<-tick.C
				began := time.Now()
				if err := b.post(child, "", body); err != nil {
					tick.Stop()
					return err
				}
				took[side] = append(took[side], time.Since(began))
			}
		}
		tick.Stop()
		for _, q := range []struct {
			name string
			part float64
		}{{"p50", 0.50}, {"p99", 0.99}} {
			ours, theirs := quantile(took[0], q.part), quantile(took[1], q.part)
			b.o.Add(Row{Case: c.name, Metric: q.name, Value: us(ours), Unit: "µs", Baseline: "ReverseProxy", BaselineValue: us(theirs)})
			b.o.Add(Row{Case: c.name, Metric: "added " + q.name, Value: us(ours - theirs), Unit: "µs"})
		}
	}
	return nil
}

func quantile(d []time.Duration, part float64) time.Duration {
	s := slices.Sorted(slices.Values(d))
	return s[min(int(part*float64(len(s))), len(s)-1)]
}

// stream reads a long stream of small events, each flushed by the provider by itself.
func (b *proxyRun) stream() error {
	const events = 5000
	body := []byte(`{"model":"gpt-4o","stream":true,"messages":[{"role":"user","content":"go"}]}`)
	cut := 0
	for _, c := range []struct{ name, mark string }{{"SSE, flushed one by one", "events"}, {"SSE, as fast as it goes", "bulk"}} {
		var rate, cpu [2][]float64
		for round := range 8 {
			for side, child := range []*benchChild{b.ours, b.theirs} {
				before, err := child.cost()
				if err != nil {
					return err
				}
				began := time.Now()
				if err := b.post(child, fmt.Sprintf("%s %d", c.mark, events*b.scale), body); err != nil {
					// Connections have been seen to break on a busy machine: that round does not count.
					if cut++; cut > 2 || b.ctx.Err() != nil {
						return err
					}
					b.o.Note("%s: a stream broke off (%v), that round is left out", child.url, err)
					continue
				}
				took := time.Since(began)
				after, err := child.cost()
				if err != nil {
					return err
				}
				if round > 0 {
					rate[side] = append(rate[side], float64(events*b.scale)/took.Seconds())
					cpu[side] = append(cpu[side], us(after.CPU-before.CPU)/float64(events*b.scale))
				}
			}
		}
		mid := func(v []float64) float64 { return slices.Sorted(slices.Values(v))[len(v)/2] }
		b.o.Add(Row{Case: c.name, Metric: "events per second", Value: mid(rate[0]), Unit: "1/s", Baseline: "ReverseProxy", BaselineValue: mid(rate[1])})
		b.o.Add(Row{Case: c.name, Metric: "CPU per event", Value: mid(cpu[0]), Unit: "µs", Baseline: "ReverseProxy", BaselineValue: mid(cpu[1])})
	}
	return nil
}

// flight holds 64 requests of 300 KB, each a history of its own, at the provider until all
// of them have arrived.
func (b *proxyRun) flight() error {
	const requests = 64
	bodies := make([][]byte, requests)
	for i := range bodies {
		bodies[i] = benchHistory(300_000, 5000+i)
	}
	var used [2]cost
	for side, child := range []*benchChild{b.ours, b.theirs} {
		var all sync.WaitGroup
		errs := make(chan error, requests)
		for _, body := range bodies {
			all.Go(func() { errs <- b.post(child, fmt.Sprintf("together %d", requests), body) })
		}
		all.Wait()
		close(errs)
		for err := range errs {
			if err != nil {
				return err
			}
		}
		var err error
		if used[side], err = child.cost(); err != nil {
			return err
		}
	}
	mb := func(n int64) float64 { return float64(n) / (1 << 20) }
	b.o.Add(Row{Case: "64 × 300 KB in flight", Metric: "peak RSS", Value: mb(used[0].Peak), Unit: "MiB", Baseline: "ReverseProxy", BaselineValue: mb(used[1].Peak)})
	b.o.Add(Row{Case: "64 × 300 KB in flight", Metric: "goal", Value: float64(used[0].Peak) / 1e6, Unit: "MB", Baseline: "100 MB", BaselineValue: 100})
	return nil
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

// listenBench opens a loopback port for a child.
func listenBench() (net.Listener, error) { return net.Listen("tcp", "127.0.0.1:0") }
