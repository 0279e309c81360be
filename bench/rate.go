package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/fleet"
	"github.com/plimsoll/plimsoll/internal/fleet/rates"
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
	natsURL        = "PLIMSOLL_BENCH_NATS"
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
		hosts int
		start func(provider string) (url string, stop func(), err error)
	}{
		{name: "without", start: nil},
		{name: "LiteLLM", start: func(provider string) (string, func(), error) { return liteLLM(ctx, provider) }},
		{name: "plimsoll", start: nil},
		{name: "plimsoll on 2 hosts", hosts: 2},
		{name: "plimsoll on 5 hosts", hosts: 5},
	} {
		if c.name == "LiteLLM" && os.Getenv(liteLLMBinary) == "" {
			o.Note("LiteLLM was left out: name its program in %s (pip install 'litellm[proxy]')", liteLLMBinary)
			continue
		}
		if c.hosts > 1 && os.Getenv(natsURL) == "" {
			o.Note("%s was left out: name the address of a nats-server with JetStream in %s", c.name, natsURL)
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
		} else if strings.HasPrefix(c.name, "plimsoll") {
			if share, err = os.MkdirTemp("", "plimsoll-bench-"); err != nil {
				return err
			}
			defer os.RemoveAll(share)
		}
		if err := measureRate(ctx, o, c.name, p, target, share, max(c.hosts, 1)); err != nil {
			return err
		}
	}
	return nil
}

// measureRate lets the agents ask at one time, and adds the rows of what came of it.
func measureRate(ctx context.Context, o *Out, name string, p *strictProvider, url, share string, hosts int) error {
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
		state := share
		if hosts > 1 {
			state = filepath.Join(share, strconv.Itoa(i%hosts))
		}
		a := &rateChild{cmd: exec.CommandContext(ctx, self, "rate", "child-agent", url, state, strconv.Itoa(i))}
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
		if url := os.Getenv(natsURL); url != "" {
			f := fleet.New(fleet.Options{URL: url})
			defer f.Close()
			s.Join(rates.Of(f.Bucket(fleet.Rates)))
		}
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
