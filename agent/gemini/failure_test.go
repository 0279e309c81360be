package gemini_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/internal/testing/adapters"
)

func TestFailures(t *testing.T) {
	t.Parallel()
	const js = "application/json"
	google := func(code int, status, words, details string) string {
		return fmt.Sprintf(`{"error":{"code":%d,"message":%q,"status":%q,"details":[%s]}}`, code, words, status, details)
	}
	const retry = `{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerMinute"}]},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"17.5s"}`
	exhausted := google(429, "RESOURCE_EXHAUSTED", "You exceeded your current quota, please check your plan.", retry)
	const invalidKey = `{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID","domain":"googleapis.com"}`
	adapters.Failures(t, wire, map[string]adapters.Failed{
		"key":                  {Answer: adapters.Said(400, js, google(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key: sk-test-secret-key.", invalidKey)), Want: agent.Key, Text: "[hidden]"},
		"permission":           {Answer: adapters.Said(403, js, google(403, "PERMISSION_DENIED", "no", "")), Want: agent.Key},
		"model":                {Answer: adapters.Said(404, js, google(404, "NOT_FOUND", "models/m is not found for API version v1beta, or is not supported for generateContent.", "")), Want: agent.NoModel},
		"page":                 {Answer: adapters.Said(200, "text/html", "<title>Welcome</title>"), Want: agent.NotAnAPI, Text: "Welcome"},
		"overloaded":           {Answer: adapters.Said(503, js, google(503, "UNAVAILABLE", "The model is overloaded. Please try again later.", "")), Want: agent.Busy},
		"rate":                 {Answer: adapters.Said(429, js, exhausted), Want: agent.Busy, After: 17500 * time.Millisecond},
		"rate, an array":       {Answer: adapters.Said(429, js, "["+exhausted+"]"), Want: agent.Busy, After: 17500 * time.Millisecond},
		"rate, a header":       {Answer: adapters.Said(429, js, exhausted).With("Retry-After", "12"), Want: agent.Busy, After: 12 * time.Second},
		"place":                {Answer: adapters.Said(400, js, google(400, "FAILED_PRECONDITION", "User location is not supported for the API use.", "")), Want: agent.Refused, Text: "location"},
		"too long":             {Answer: adapters.Said(400, js, google(400, "INVALID_ARGUMENT", "The input token count (1210000) exceeds the maximum number of tokens allowed (1048576).", "")), Want: agent.TooLong, Limit: 1_048_576, Actual: 1_210_000},
		"overloaded, later":    {Answer: adapters.Stream(word("x") + event("%s", google(503, "UNAVAILABLE", "The model is overloaded.", ""))), Want: agent.Busy, Text: "overloaded"},
		"rate, later":          {Answer: adapters.Stream(word("x") + event("%s", exhausted)), Want: agent.Busy, After: 17500 * time.Millisecond},
		"malformed call":       {Answer: adapters.Stream(event(`{"candidates":[{"content":{},"finishReason":"MALFORMED_FUNCTION_CALL","finishMessage":"Malformed function call: print(x"}]}`)), Want: agent.Broken, Text: "MALFORMED_FUNCTION_CALL: Malformed function call: print(x"},
		"unexpected call":      {Answer: adapters.Stream(stop("UNEXPECTED_TOOL_CALL")), Want: agent.Broken, Text: "UNEXPECTED_TOOL_CALL"},
		"no end":               {Answer: adapters.Stream(word("x")), Want: agent.Broken, Text: "broke off"},
		"no candidate":         {Answer: adapters.Stream(event(`{%s}`, counted)), Want: agent.Broken, Text: "candidate"},
		"no JSON":              {Answer: adapters.Stream(word("x") + event("{{")), Want: agent.Broken},
		"nothing":              {Answer: adapters.Stream(""), Want: agent.Broken},
		"whole, of no answer":  {Answer: adapters.Said(200, js, `{"hello":"world"}`), Want: agent.Broken},
		"an error, whole":      {Answer: adapters.Said(200, js, google(500, "INTERNAL", "An internal error has occurred.", "")), Want: agent.Busy},
		"an address elsewhere": {Answer: adapters.Said(302, "", "").With("Location", "https://elsewhere.test/x"), Want: agent.NotAnAPI, Text: "elsewhere"},
		"too many parts": {
			Answer: adapters.Stream(event(`{"candidates":[{"content":{"parts":[%s{}]}}]}`, strings.Repeat(`{"functionCall":{"name":"f"}},`, 4097))), Want: agent.Oversized,
		},
	})
}
