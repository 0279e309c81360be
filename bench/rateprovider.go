package main

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/testing/wait"
)

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

// ServeHTTP answers a request if both buckets, of requests and of tokens, have enough left, and with 429 otherwise.
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

// addRows adds the rows of one way to ask: how many requests failed, how long all took, and how evenly the agents were served.
func (p *strictProvider) addRows(o *Out, name string, results []rateResult, began time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	failed, worst := 0, ""
	var took time.Duration
	for _, r := range results {
		failed, worst = failed+r.Failed, cmp.Or(r.Worst, worst)
		for _, at := range r.Done {
			took = max(took, at.Sub(began))
		}
	}
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
	if p.refused == 0 && least < took.Seconds()/2 {
		o.Note("%s: on this machine it passes on less than the provider allows, so nothing was refused: this says nothing of how it handles rates", name)
	}
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

// liteLLM starts LiteLLM's proxy in front of a provider, with the provider's rates, retries and waits as its own guide has them, waits
// until it answers, and returns its URL. It ends with the benchmark.
func (o *Out) liteLLM(provider string) (url string) {
	config := fmt.Sprintf(`model_list:
  - model_name: %[1]s
    litellm_params: {model: openai/%[1]s, api_base: %[2]s/v1, api_key: sk-bench, rpm: %[3]d, tpm: %[4]d}
router_settings: {routing_strategy: usage-based-routing-v2, num_retries: 5, timeout: 60, enable_pre_call_checks: true}
litellm_settings: {num_retries: 5, request_timeout: 60}
general_settings: {master_key: sk-bench}
`, rateModelsName, provider, rateLimit, rateTokens)
	file := filepath.Join(o.TempDir(), "config.yaml")
	check(os.WriteFile(file, []byte(config), 0o600))
	free := httptest.NewServer(nil)
	free.Close()
	_, port, _ := strings.Cut(strings.TrimPrefix(free.URL, "http://"), ":")
	cmd := exec.CommandContext(o.ctx, os.Getenv(liteLLMBinary), "--config", file, "--host", "127.0.0.1", "--port", port)
	log := must(os.Create(file + ".log"))
	defer log.Close()
	cmd.Stdout, cmd.Stderr = log, log
	check(cmd.Start())
	o.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	wait.Within(o, 2*time.Minute, "LiteLLM comes up", func() bool {
		res, err := http.Get(free.URL + "/health/liveliness")
		if err != nil {
			return o.ctx.Err() != nil
		}
		_ = res.Body.Close()
		return res.StatusCode == http.StatusOK
	}, func() string { return string(must(os.ReadFile(log.Name()))) })
	return free.URL
}
