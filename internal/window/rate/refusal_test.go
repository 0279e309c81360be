package rate

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

var refusals = []struct {
	name   string
	status int
	h      http.Header
	body   string
	ok     bool
	want   Refusal
}{
	{"Anthropic's", 429, header("retry-after: 12"), `{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your organization's rate limit of 30,000 input tokens per minute"}}`, true, Refusal{After: 12 * time.Second}},
	{"overloaded", 529, nil, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, true, Refusal{}},
	{"OpenAI's", 429, nil, `{"error":{"message":"Rate limit reached for gpt-5 in organization org-x on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000. Please try again in 1.2s. Visit https://x","type":"tokens","code":"rate_limit_exceeded"}}`, true, Refusal{After: 1200 * time.Millisecond}},
	{"no money", 429, header("retry-after: 1"), `{"error":{"code":"insufficient_quota","message":"You exceeded your current quota"}}`, true, Refusal{Final: true, After: time.Second}},
	{"larger than the allowance", 429, nil, `{"error":{"message":"Request too large for gpt-5 on tokens per min (TPM): Limit 30000, Requested 50000."}}`, true, Refusal{Final: true}},
	{"Gemini's", 429, nil, `{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerMinutePerProjectPerModel-FreeTier","quotaValue":"15"}]},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"34.5s"}]}}`, true, Refusal{After: 34500 * time.Millisecond, Limit: 15}},
	{"Gemini's in a stream", 429, nil, ` [{"error":{"details":[{"retryDelay":"3s"}]}}`, true, Refusal{After: 3 * time.Second}},
	{"Gemini's of a day", 429, nil, `{"error":{"details":[{"violations":[{"quotaId":"GenerateRequestsPerDayPerProjectPerModel"}]},{"retryDelay":"9s"}]}}`, true, Refusal{Final: true, After: 9 * time.Second}},
	{"ChatGPT's plan", 429, nil, `{"error":{"type":"usage_limit_reached"}}`, true, Refusal{Final: true}},
	{"not to be tried again", 429, header("x-should-retry: false"), `{}`, true, Refusal{Final: true}},
	{"an overloaded model", 503, nil, `{"error":{"message":"The model is overloaded. Please try again later."}}`, true, Refusal{}},
	{"a server that is down", 503, nil, `{"error":{"message":"upstream connect error"}}`, false, Refusal{}},
	{"the contents", 400, header("retry-after: 3"), `{"error":{"message":"rate limit"}}`, false, Refusal{}},
	{"an absurd wait", 429, nil, `{"error":{"message":"Please try again in 99999h."}}`, true, Refusal{After: maxWait}},
	{"nothing readable", 429, nil, "\x00<html>try again in . never", true, Refusal{}},
}

func TestRefused(t *testing.T) {
	for _, c := range refusals {
		got, ok := Refused(c.status, c.h, []byte(c.body))
		if ok != c.ok || got != c.want {
			t.Errorf("%s: %+v, %v", c.name, got, ok)
		}
	}
}

// A plan that is used up for long is final, one that begins anew in a moment is not.
func TestRefusedByPlan(t *testing.T) {
	for wait, final := range map[time.Duration]bool{10 * time.Second: false, time.Hour: true} {
		h := header("anthropic-ratelimit-unified-5h-utilization: 1.0", "anthropic-ratelimit-unified-5h-status: rejected", "anthropic-ratelimit-unified-5h-reset: "+strconv.FormatInt(time.Now().Add(wait).Unix(), 10))
		r, ok := Refused(429, h, nil)
		if !ok || r.Final != final || r.After < wait-2*time.Second {
			t.Errorf("in %v: %+v", wait, r)
		}
	}
}

func FuzzRefused(f *testing.F) {
	for _, r := range refusals {
		f.Add(r.status, r.body)
	}
	f.Add(429, strings.Repeat("[", 70_000))
	f.Add(429, `{"error":{"details":[`+strings.Repeat(`{"violations":[{}]},`, 100)+`{}]}}`)
	f.Fuzz(func(t *testing.T, status int, body string) {
		r, ok := Refused(status, nil, []byte(body))
		if r.After < 0 || r.After > maxWait || r.Limit < 0 || !ok && r != (Refusal{}) {
			t.Errorf("%+v, %v", r, ok)
		}
	})
}
