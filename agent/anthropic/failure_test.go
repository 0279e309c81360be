package anthropic_test

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/internal/testing/adapters"
)

func TestFailures(t *testing.T) {
	t.Parallel()
	const js = "application/json"
	anthropicError := func(kind, words string) string {
		return fmt.Sprintf(`{"type":"error","error":{"type":%q,"message":%q},"request_id":"req_1"}`, kind, words)
	}
	adapters.Failures(t, wire, map[string]adapters.Failed{
		"key":                  {Answer: adapters.Said(401, js, anthropicError("authentication_error", "invalid x-api-key sk-test-secret-key")), Want: agent.Key, Text: "[hidden]"},
		"permission":           {Answer: adapters.Said(403, js, anthropicError("permission_error", "no")), Want: agent.Key},
		"model":                {Answer: adapters.Said(404, js, anthropicError("not_found_error", "model: claude-none")), Want: agent.NoModel, Text: "claude-none"},
		"path":                 {Answer: adapters.Said(404, js, anthropicError("not_found_error", "Not Found")), Want: agent.NotAnAPI},
		"page":                 {Answer: adapters.Said(200, "text/html", "<title>Welcome</title>"), Want: agent.NotAnAPI, Text: "Welcome"},
		"overloaded":           {Answer: adapters.Said(529, js, anthropicError("overloaded_error", "Overloaded")), Want: agent.Busy},
		"rate":                 {Answer: adapters.Said(429, js, anthropicError("rate_limit_error", "slow down")).With("Retry-After", "12"), Want: agent.Busy, After: 12 * time.Second},
		"credit":               {Answer: adapters.Said(400, js, anthropicError("invalid_request_error", "Your credit balance is too low to access the Anthropic API.")), Want: agent.Refused, Text: "credit balance"},
		"too long":             {Answer: adapters.Said(400, js, anthropicError("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum")), Want: agent.TooLong, Limit: 200_000, Actual: 210_000},
		"too large":            {Answer: adapters.Said(413, js, anthropicError("request_too_large", "Request exceeds the maximum size")), Want: agent.TooLong},
		"overloaded, later":    {Answer: adapters.Stream(begin + textBlock + word("x") + "event: error\n" + event(`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`)), Want: agent.Busy, Text: "Overloaded"},
		"too long, later":      {Answer: adapters.Stream("event: error\n" + event(`{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`)), Want: agent.TooLong, Limit: 200_000, Actual: 210_000},
		"no end":               {Answer: adapters.Stream(begin + textBlock + word("x")), Want: agent.Broken, Text: "broke off"},
		"no beginning":         {Answer: adapters.Stream(end), Want: agent.Broken},
		"no JSON":              {Answer: adapters.Stream(begin + event("{{")), Want: agent.Broken},
		"nothing":              {Answer: adapters.Stream(""), Want: agent.Broken},
		"whole, of no message": {Answer: adapters.Said(200, js, `{"hello":"world"}`), Want: agent.Broken},
		"an error, whole":      {Answer: adapters.Said(200, js, anthropicError("api_error", "Internal server error")), Want: agent.Busy},
	})
}

// TestSignsOfLife: pings keep an answer open for as long as a model may say nothing at all, and for half an hour while it is said to think.
func TestSignsOfLife(t *testing.T) {
	t.Parallel()
	const thinking = "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\"}}\n\n"
	for name, c := range map[string]struct {
		first string
		after time.Duration
	}{
		"after a word":    {begin + textBlock + word("x"), 5 * time.Minute},
		"while it thinks": {begin + thinking, 30 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				m := wire.Canned(t, adapters.Written(func(ctx context.Context, in *io.PipeWriter) {
					for _, err := io.WriteString(in, c.first); err == nil; {
						select {
						case <-ctx.Done():
							return
						case <-time.After(10 * time.Second):
						}
						_, err = io.WriteString(in, "event: ping\ndata: {\"type\": \"ping\"}\n\n")
					}
				}))
				_, err := m.Generate(t.Context(), adapters.Question, adapters.Ignore)
				if e := adapters.ErrorOf(t, err); e.Failure != agent.Broken || !strings.Contains(e.Text, "signs of life") || time.Since(begun).Truncate(time.Minute) != c.after {
					t.Errorf("%+v after %v", e, time.Since(begun))
				}
			})
		})
	}
}
