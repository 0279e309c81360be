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

	"github.com/plimsoll/plimsoll/internal/window/proxy"
	"github.com/plimsoll/plimsoll/internal/window/rate"
)

func init() {
	register("rate", "40 agents at a provider with strict rates: failures, use of what it allows, fairness; with us, without, and through LiteLLM", rateBench)
}

// What the agents ask for, and what the provider lets through in a minute.
const (
	rateAgents     = 40
	rateRequests   = 50
	rateLimit      = 1200
	rateTokens     = 1_300_000
	sdkRetries     = 2 // of the libraries of OpenAI and Anthropic
	liteLLMBinary  = "PLIMSOLL_BENCH_LITELLM"
	rateModelsName = "bench-model"
)

// rateBench starts every agent as a process of its own, and a provider that answers 429 to whatever is over its buckets. An agent asks one
// thing after the other, and tries again as often as the libraries do. With us each has a proxy of its own, as with plimsoll run.
func rateBench(ctx context.Context, o *Out, args []string) error {
	if len(args) > 0 && args[0] == "child-agent" {
		return rateAgent(ctx, args[1], args[2], args[3])
	}
	o.Note("%d agents, %d requests each of 200 to 2,000 tokens, at %d requests and %d tokens a minute; an agent tries %d times", rateAgents, rateRequests, rateLimit, rateTokens, 1+sdkRetries)
	for _, c := range []struct {
		name  string
		start func(provider string) (url string, stop func(), err error)
	}{
		{name: "without", start: nil},
		{name: "LiteLLM", start: func(provider string) (string, func(), error) { return liteLLM(ctx, provider) }},
		{name: "plimsoll", start: nil},
	} {
		if c.name == "LiteLLM" && os.Getenv(liteLLMBinary) == "" {
			o.Note("LiteLLM was left out: name its program in %s (pip install 'litellm[proxy]')", liteLLMBinary)
			continue
		}
		if len(args) > 0 && !slices.Contains(args, c.name) {
			continue
		}
		p := newStrictProvider()
		url, err := p.listen()
		if err != nil {
			return err
		}
		target, share := url, ""
		if c.start != nil {
			through, stop, err := c.start(url)
			if err != nil {
				o.Note("%s could not be started: %v", c.name, err)
				continue
			}
			defer stop()
			target = through
		} else if c.name == "plimsoll" {
			if share, err = os.MkdirTemp("", "plimsoll-bench-"); err != nil {
				return err
			}
			defer os.RemoveAll(share)
		}
		if err := measureRate(ctx, o, c.name, p, target, share); err != nil {
			return err
		}
	}
	return nil
}

// measureRate lets the agents ask at one time, and adds the rows of what came of it.
func measureRate(ctx context.Context, o *Out, name string, p *strictProvider, url, share string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	var agents []*rateChild
	defer func() {
		for _, a := range agents {
			_ = a.leash.Close()
			_ = a.cmd.Wait()
		}
	}()
	for i := range rateAgents {
		a := &rateChild{cmd: exec.CommandContext(ctx, self, "rate", "child-agent", url, share, strconv.Itoa(i))}
		a.cmd.Stderr = os.Stderr
		a.leash, err = a.cmd.StdinPipe()
		if err != nil {
			return err
		}
		out, err := a.cmd.StdoutPipe()
		if err != nil {
			return err
		}
		if err := a.cmd.Start(); err != nil {
			return err
		}
		a.out = bufio.NewReader(out)
		agents = append(agents, a)
	}
	for _, a := range agents { // all are ready before the first asks
		if _, err := a.out.ReadString('\n'); err != nil {
			return fmt.Errorf("an agent did not start: %w", err)
		}
	}
	p.fill()
	began := time.Now()
	for _, a := range agents {
		if _, err := io.WriteString(a.leash, "go\n"); err != nil {
			return err
		}
	}
	var results []rateResult
	for _, a := range agents {
		var r rateResult
		if err := json.NewDecoder(a.out).Decode(&r); err != nil {
			return fmt.Errorf("an agent: %w", err)
		}
		results = append(results, r)
	}
	p.report(o, name, results, began)
	return nil
}

type rateChild struct {
	cmd   *exec.Cmd
	leash io.WriteCloser
	out   *bufio.Reader
}

// A rateResult is an agent's: when each of its requests was answered, and how many failed.
type rateResult struct {
	Done   []time.Time `json:"done"`
	Failed int         `json:"failed"`
	Worst  string      `json:"worst"` // of the failures
}

// rateAgent is one agent, with a proxy in front of it where share names a folder.
func rateAgent(ctx context.Context, url, share, number string) error {
	n, _ := strconv.Atoi(number)
	if share != "" {
		s := rate.Open(share, func(err error) { fmt.Fprintln(os.Stderr, err) })
		defer s.Close()
		p, err := proxy.New(proxy.Options{Upstreams: []proxy.Upstream{{Name: "openai", URL: url + "/v1"}}, Rate: proxy.Rate{Share: s, Run: number}})
		if err != nil {
			return err
		}
		server, err := p.Listen(proxy.ListenOptions{})
		if err != nil {
			return err
		}
		url = server.URL() + "/openai"
	}
	fmt.Println("ready")
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return err
	}
	var r rateResult
	for i := range rateRequests {
		if err := rateAsk(ctx, url, rateBody(n, i)); err != nil {
			r.Failed, r.Worst = r.Failed+1, err.Error()
			continue
		}
		r.Done = append(r.Done, time.Now())
	}
	return json.NewEncoder(os.Stdout).Encode(r)
}

// rateBody is the i-th request of an agent, of 200 to 2,000 tokens.
func rateBody(agent, i int) []byte {
	words := 200 + (agent*7919+i*104729)%1800
	body, _ := json.Marshal(map[string]any{
		"model": rateModelsName, "max_tokens": 16,
		"messages": []map[string]string{{"role": "user", "content": fmt.Sprint(agent, " ", i, strings.Repeat(" and", words))}},
	})
	return body
}

// rateAsk asks once, and again after a 429 as the libraries do: when they are told to, else after half a second and a second.
func rateAsk(ctx context.Context, url string, body []byte) error {
	for try := 0; ; try++ {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/chat/completions", bytes.NewReader(body))
		if err != nil {
			return err
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", "Bearer sk-bench")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return err
		}
		text, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err == nil && res.StatusCode == http.StatusOK {
			return nil
		}
		if try == sdkRetries {
			return fmt.Errorf("%s: %.200s (%v)", res.Status, text, err)
		}
		pause := 500 * time.Millisecond << try
		if told, err := strconv.ParseFloat(res.Header.Get("Retry-After"), 64); err == nil && told > 0 && told <= 60 {
			pause = time.Duration(told * float64(time.Second))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

// A strictProvider has a bucket of requests and one of tokens, which fill all the time, and says so in OpenAI's words.
type strictProvider struct {
	mu      sync.Mutex
	left    [2]float64
	at      time.Time
	asked   int
	refused int
	taken   [2]float64
}

var strictLimits = [2]float64{rateLimit, rateTokens}

func newStrictProvider() *strictProvider {
	p := &strictProvider{}
	p.fill()
	return p
}

// fill begins anew.
func (p *strictProvider) fill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.left, p.at, p.asked, p.refused, p.taken = strictLimits, time.Now(), 0, 0, [2]float64{}
}

func (p *strictProvider) listen() (string, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	go func() { _ = http.Serve(ln, p) }()
	return "http://" + ln.Addr().String(), nil
}

func (p *strictProvider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	n, _ := io.Copy(io.Discard, r.Body)
	if r.Method != http.MethodPost {
		fmt.Fprintf(w, `{"object":"list","data":[{"id":%q,"object":"model"}]}`, rateModelsName)
		return
	}
	need := [2]float64{1, float64(n) / 4}
	p.mu.Lock()
	now := time.Now()
	short := 0.0 // minutes
	for i := range p.left {
		p.left[i] = min(strictLimits[i], p.left[i]+strictLimits[i]*now.Sub(p.at).Minutes())
		short = max(short, (need[i]-p.left[i])/strictLimits[i])
	}
	p.at = now
	p.asked++
	if short > 0 {
		p.refused++
	} else {
		for i := range p.left {
			p.left[i] -= need[i]
			p.taken[i] += need[i]
		}
	}
	h := w.Header()
	for i, unit := range []string{"requests", "tokens"} {
		h.Set("x-ratelimit-limit-"+unit, strconv.Itoa(int(strictLimits[i])))
		h.Set("x-ratelimit-remaining-"+unit, strconv.Itoa(int(p.left[i])))
		h.Set("x-ratelimit-reset-"+unit, time.Duration((strictLimits[i]-p.left[i])/strictLimits[i]*float64(time.Minute)).Round(time.Millisecond).String())
	}
	p.mu.Unlock()
	h.Set("Content-Type", "application/json")
	if short > 0 {
		h.Set("Retry-After", strconv.Itoa(1+int(short*60)))
		w.WriteHeader(http.StatusTooManyRequests)
		fmt.Fprintf(w, `{"error":{"message":"Rate limit reached for %s. Please try again in %.3fs.","type":"requests","code":"rate_limit_exceeded"}}`, rateModelsName, short*60)
		return
	}
	fmt.Fprintf(w, `{"id":"c","object":"chat.completion","created":1,"model":%q,"choices":[{"index":0,"message":{"role":"assistant","content":"done"},"finish_reason":"stop"}],"usage":{"prompt_tokens":%d,"completion_tokens":1,"total_tokens":%d}}`,
		rateModelsName, n/4, n/4+1)
}

// report adds the rows of one way.
func (p *strictProvider) report(o *Out, name string, results []rateResult, began time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	failed, worst := 0, ""
	var end time.Time
	for _, r := range results {
		failed += r.Failed
		if r.Worst != "" {
			worst = r.Worst
		}
		for _, at := range r.Done {
			if at.After(end) {
				end = at
			}
		}
	}
	took := end.Sub(began)
	var got []float64
	for _, r := range results {
		n := 0.0
		for _, at := range r.Done {
			if at.Sub(began) < took*3/4 {
				n++
			}
		}
		got = append(got, n)
	}
	// As long as this the provider needs for what it let through.
	least := 0.0
	for i, taken := range p.taken {
		least = max(least, (taken-strictLimits[i])/strictLimits[i]*60)
	}
	o.Add(Row{Case: name, Metric: "requests that failed", Value: float64(failed), Unit: "requests", Baseline: "all", BaselineValue: rateAgents * rateRequests})
	o.Add(Row{Case: name, Metric: "refused by the provider", Value: float64(p.refused), Unit: "requests", Baseline: "asked", BaselineValue: float64(p.asked)})
	o.Add(Row{Case: name, Metric: "of what is allowed", Value: 100 * least / took.Seconds(), Unit: "%", Baseline: "goal", BaselineValue: 95})
	o.Add(Row{Case: name, Metric: "Jain's fairness", Value: jain(got), Unit: "", Baseline: "goal", BaselineValue: 0.95})
	o.Add(Row{Case: name, Metric: "time", Value: took.Seconds(), Unit: "s", Baseline: "at least", BaselineValue: least})
	if worst != "" {
		o.Note("%s: the last failure: %s", name, worst)
	}
}

// jain returns Jain's index of fairness: 1 where all have the same, 1/n where one has all.
func jain(x []float64) float64 {
	sum, squares := 0.0, 0.0
	for _, v := range x {
		sum, squares = sum+v, squares+v*v
	}
	if squares == 0 {
		return 0
	}
	return sum * sum / (float64(len(x)) * squares)
}

// liteLLM starts its proxy in front of a provider, with the provider's rates, retries and waits as its own guide has them.
func liteLLM(ctx context.Context, provider string) (url string, stop func(), err error) {
	dir, err := os.MkdirTemp("", "plimsoll-bench-")
	if err != nil {
		return "", nil, err
	}
	config := fmt.Sprintf(`model_list:
  - model_name: %[1]s
    litellm_params: {model: openai/%[1]s, api_base: %[2]s/v1, api_key: sk-bench, rpm: %[3]d, tpm: %[4]d}
router_settings: {routing_strategy: usage-based-routing-v2, num_retries: 5, timeout: 60, enable_pre_call_checks: true}
litellm_settings: {num_retries: 5, request_timeout: 60}
general_settings: {master_key: sk-bench}
`, rateModelsName, provider, rateLimit, rateTokens)
	file := dir + "/config.yaml"
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		return "", nil, err
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	port := ln.Addr().(*net.TCPAddr).Port
	_ = ln.Close()
	cmd := exec.CommandContext(ctx, os.Getenv(liteLLMBinary), "--config", file, "--host", "127.0.0.1", "--port", strconv.Itoa(port))
	log, err := os.Create(dir + "/log")
	if err != nil {
		return "", nil, err
	}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	stop = func() { _ = cmd.Process.Kill(); _ = cmd.Wait(); _ = log.Close(); _ = os.RemoveAll(dir) }
	url = fmt.Sprintf("http://127.0.0.1:%d", port)
	for range 240 {
		if res, err := http.Get(url + "/health/liveliness"); err == nil {
			_ = res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return url, stop, nil
			}
		}
		select {
		case <-ctx.Done():
			stop()
			return "", nil, ctx.Err()
		case <-time.After(500 * time.Millisecond):
		}
	}
	text, _ := os.ReadFile(dir + "/log")
	stop()
	return "", nil, fmt.Errorf("it did not come up: %.500s", text[max(len(text)-500, 0):])
}
