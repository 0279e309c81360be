package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/fleet"
	"github.com/plimsoll/plimsoll/internal/fleet/rates"
	"github.com/plimsoll/plimsoll/internal/testing/natsserver"
	"github.com/plimsoll/plimsoll/internal/window/proxy"
	"github.com/plimsoll/plimsoll/internal/window/rate"
)

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
func rateBench(o *Out, args []string) {
	if len(args) > 0 && args[0] == "child-agent" {
		o.rateAgent(args[1], args[2], args[3], args[4])
		return
	}
	o.Note("%d agents, %d requests each of 200 to 2,000 tokens, at %d requests and %d tokens a minute; an agent tries %d times", rateAgents, rateRequests, rateLimit, rateTokens, 1+sdkRetries)
	for _, c := range []struct {
		name  string
		hosts int // of ours
	}{{"without", 0}, {"LiteLLM", 0}, {"plimsoll", 1}, {"plimsoll on 2 hosts", 2}, {"plimsoll on 5 hosts", 5}} {
		if len(args) > 0 && !slices.Contains(args, c.name) {
			continue
		}
		p := newStrictProvider()
		url, share, fleet := httptest.NewServer(p).URL, "", ""
		if c.name == "LiteLLM" {
			if os.Getenv(liteLLMBinary) == "" {
				o.Note("LiteLLM was left out: name its program in %s (pip install 'litellm[proxy]')", liteLLMBinary)
				continue
			}
			url = o.liteLLM(url)
		}
		if c.hosts > 0 {
			share = o.TempDir()
		}
		if c.hosts > 1 {
			fleet = natsserver.Start(o).URL
		}
		var agents []*child
		for i := range rateAgents {
			state := share
			if c.hosts > 1 {
				state = filepath.Join(share, strconv.Itoa(i%c.hosts))
			}
			agents = append(agents, o.startRole("rate", "child-agent", url, state, fleet, strconv.Itoa(i)))
		}
		o.measureRate(c.name, p, agents)
	}
}

// measureRate lets all agents start asking at one time, waits for them, and adds the rows of the outcome.
func (o *Out) measureRate(name string, p *strictProvider, agents []*child) {
	for _, a := range agents { // all are ready before the first asks
		if _, err := a.out.ReadString('\n'); err != nil {
			o.Fatalf("an agent did not start: %w", err)
		}
	}
	p.fill()
	began := time.Now()
	for _, a := range agents {
		must(io.WriteString(a.in, "go\n"))
	}
	results := make([]rateResult, len(agents))
	for i, a := range agents {
		if err := json.NewDecoder(a.out).Decode(&results[i]); err != nil {
			o.Fatalf("an agent: %w", err)
		}
	}
	p.addRows(o, name, results, began)
}

// A rateResult is an agent's: when each of its requests was answered, and how many failed.
type rateResult struct {
	Done   []time.Time `json:"done"`
	Failed int         `json:"failed"`
	Worst  string      `json:"worst"` // of the failures
}

// rateAgent plays one agent, with a proxy in front of it where share names a folder, and a share in what a fleet may ask where that has a
// URL. It says when it is ready, asks after a line on standard input, and prints its results as JSON.
func (o *Out) rateAgent(url, share, fleetURL, number string) {
	if share != "" {
		s := rate.Open(share, func(err error) { fmt.Fprintln(os.Stderr, err) })
		defer s.Close()
		if fleetURL != "" {
			f := fleet.New(fleet.Options{URL: fleetURL})
			defer f.Close()
			s.Join(rates.NewTeam(f.Bucket(fleet.Rates)))
		}
		p := must(proxy.New(proxy.Options{Upstreams: []proxy.Upstream{{Name: "openai", URL: url + "/v1"}}, Rate: proxy.Rate{Share: s, Run: number}}))
		url = must(p.Listen(proxy.ListenOptions{})).URL() + "/openai"
	}
	fmt.Println("ready")
	must(bufio.NewReader(os.Stdin).ReadString('\n'))
	var r rateResult
	for i := range rateRequests {
		if err := rateAsk(o.ctx, url, rateBody(must(strconv.Atoi(number)), i)); err != nil {
			r.Failed, r.Worst = r.Failed+1, err.Error()
			continue
		}
		r.Done = append(r.Done, time.Now())
	}
	check(json.NewEncoder(os.Stdout).Encode(r))
}

// rateBody is the i-th request of an agent, of 200 to 2,000 tokens.
func rateBody(agent, i int) any {
	words := 200 + (agent*7919+i*104729)%1800
	return map[string]any{
		"model": rateModelsName, "max_tokens": 16,
		"messages": []map[string]string{{"role": "user", "content": fmt.Sprint(agent, " ", i, strings.Repeat(" and", words))}},
	}
}

// rateAsk asks once, and again after any other answer than 200 as the libraries do: when they are told to, else after half a second and a
// second. After sdkRetries repetitions it gives up.
func rateAsk(ctx context.Context, url string, body any) error {
	for try := 0; ; try++ {
		res, err := post(ctx, url+"/v1/chat/completions", map[string]string{"Authorization": "Bearer sk-bench"}, body)
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
