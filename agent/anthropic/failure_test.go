package anthropic_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/internal/testing/scripted"
)

type keeping struct {
	canned
	sent *[]byte
}

func (k keeping) RoundTrip(r *http.Request) (*http.Response, error) {
	*k.sent, _ = io.ReadAll(r.Body)
	return k.canned.RoundTrip(r)
}

func TestFailures(t *testing.T) {
	t.Parallel()
	const js = "application/json"
	anthropicError := func(kind, words string) string {
		return fmt.Sprintf(`{"type":"error","error":{"type":%q,"message":%q},"request_id":"req_1"}`, kind, words)
	}
	for name, c := range map[string]struct {
		canned        canned
		want          agent.Failure
		text          string
		limit, actual int
		after         time.Duration
	}{
		"key":                  {canned: said(401, js, anthropicError("authentication_error", "invalid x-api-key sk-ant-secret-key")), want: agent.Key, text: "[hidden]"},
		"permission":           {canned: said(403, js, anthropicError("permission_error", "no")), want: agent.Key},
		"model":                {canned: said(404, js, anthropicError("not_found_error", "model: claude-none")), want: agent.NoModel, text: "claude-none"},
		"path":                 {canned: said(404, js, anthropicError("not_found_error", "Not Found")), want: agent.NotAnAPI},
		"page":                 {canned: said(200, "text/html", "<title>Welcome</title>"), want: agent.NotAnAPI, text: "Welcome"},
		"overloaded":           {canned: said(529, js, anthropicError("overloaded_error", "Overloaded")), want: agent.Busy},
		"rate":                 {canned: canned{429, js, http.Header{"Retry-After": {"12"}}, said(0, "", anthropicError("rate_limit_error", "slow down")).body}, want: agent.Busy, after: 12 * time.Second},
		"credit":               {canned: said(400, js, anthropicError("invalid_request_error", "Your credit balance is too low to access the Anthropic API.")), want: agent.Refused, text: "credit balance"},
		"too long":             {canned: said(400, js, anthropicError("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum")), want: agent.TooLong, limit: 200_000, actual: 210_000},
		"too large":            {canned: said(413, js, anthropicError("request_too_large", "Request exceeds the maximum size")), want: agent.TooLong},
		"overloaded, later":    {canned: streamed(begin + textBlock + oneWord + "event: error\n" + event(`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`)), want: agent.Busy, text: "Overloaded"},
		"too long, later":      {canned: streamed("event: error\n" + event(`{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}`)), want: agent.TooLong, limit: 200_000, actual: 210_000},
		"no end":               {canned: streamed(begin + textBlock + oneWord), want: agent.Broken, text: "broke off"},
		"no beginning":         {canned: streamed(end), want: agent.Broken},
		"no JSON":              {canned: streamed(begin + event("{{")), want: agent.Broken},
		"nothing":              {canned: streamed(""), want: agent.Broken},
		"whole, of no message": {canned: said(200, js, `{"hello":"world"}`), want: agent.Broken},
		"an error, whole":      {canned: said(200, js, anthropicError("api_error", "Internal server error")), want: agent.Busy},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := cannedModel(t, c.canned).Generate(t.Context(), question, nothing)
			e := failure(t, err)
			if e.Failure != c.want || e.Limit != c.limit || e.Actual != c.actual || e.After != c.after || !strings.Contains(e.Text, c.text) {
				t.Errorf("%+v", e)
			}
			if strings.Contains(e.Error()+e.Text+fmt.Sprint(e.Err), "secret") || e.Text == "" {
				t.Errorf("%v", e)
			}
		})
	}
}

func TestFaults(t *testing.T) {
	t.Parallel()
	answer := strings.Repeat("words of an answer ", 20)
	for name, c := range map[string]struct {
		fault scripted.Fault
		want  agent.Failure // "": an answer
	}{
		"cut":        {scripted.Fault{Kind: scripted.Cut, Events: 5}, agent.Broken},
		"rate":       {scripted.Fault{Kind: scripted.RateLimit}, agent.Busy},
		"garbage":    {scripted.Fault{Kind: scripted.Garbage}, agent.Broken},
		"compressed": {scripted.Fault{Kind: scripted.Gzip}, ""},
		"drops":      {scripted.Fault{Kind: scripted.Drip, Bytes: 7}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(scripted.New(scripted.Options{
				Side:  func(int, *scripted.Request) scripted.Reply { return scripted.Reply{Text: answer} },
				Fault: scripted.FaultAt(0, c.fault),
			}))
			defer server.Close()
			m := model(t, server.URL, nil)
			one, err := m.Generate(t.Context(), question, nothing)
			if c.want == "" {
				if err != nil || one.Message.Text != answer {
					t.Fatalf("%v, %+v", err, one)
				}
				return
			}
			if e := failure(t, err); e.Failure != c.want {
				t.Errorf("%+v", e)
			}
			if one, err = m.Generate(t.Context(), question, nothing); err != nil || one.Message.Text != answer {
				t.Errorf("the next one: %v, %+v", err, one)
			}
		})
	}
}

func TestSilence(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		first string
		after time.Duration
	}{
		"at the beginning": {begin, anthropicPatience},
		"after a word":     {begin + textBlock + oneWord, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				ended := false
				m := cannedModel(t, canned{200, "text/event-stream", nil, func(r *http.Request) io.ReadCloser {
					out, in := io.Pipe()
					context.AfterFunc(r.Context(), func() { ended = true; in.CloseWithError(r.Context().Err()) })
					go io.WriteString(in, c.first)
					return out
				}})
				_, err := m.Generate(t.Context(), question, nothing)
				if e := failure(t, err); e.Failure != agent.Broken || time.Since(begun).Truncate(time.Second) != c.after {
					t.Errorf("%+v after %v", e, time.Since(begun))
				}
				synctest.Wait()
				if !ended {
					t.Error("the request was not ended")
				}
			})
		})
	}
}

// TestSignsOfLife: pings keep an answer open for as long as a model may say nothing at all, and for half an hour while it is said to think.
func TestSignsOfLife(t *testing.T) {
	t.Parallel()
	const thinking = "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\"}}\n\n"
	for name, c := range map[string]struct {
		first string
		after time.Duration
	}{
		"after a word":    {begin + textBlock + oneWord, anthropicPatience},
		"while it thinks": {begin + thinking, 30 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				m := cannedModel(t, canned{200, "text/event-stream", nil, func(r *http.Request) io.ReadCloser {
					out, in := io.Pipe()
					context.AfterFunc(r.Context(), func() { in.CloseWithError(r.Context().Err()) })
					go func() {
						_, err := io.WriteString(in, c.first)
						for err == nil {
							select {
							case <-r.Context().Done():
								return
							case <-time.After(10 * time.Second):
							}
							_, err = io.WriteString(in, "event: ping\ndata: {\"type\": \"ping\"}\n\n")
						}
					}()
					return out
				}})
				_, err := m.Generate(t.Context(), question, nothing)
				if e := failure(t, err); e.Failure != agent.Broken || !strings.Contains(e.Text, "signs of life") || time.Since(begun).Truncate(time.Minute) != c.after {
					t.Errorf("%+v after %v", e, time.Since(begun))
				}
			})
		})
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		m := cannedModel(t, canned{200, "text/event-stream", nil, func(r *http.Request) io.ReadCloser {
			out, in := io.Pipe()
			context.AfterFunc(r.Context(), func() { in.CloseWithError(r.Context().Err()) })
			go io.WriteString(in, begin+textBlock+oneWord)
			return out
		}})
		if _, err := m.Generate(ctx, question, func(string) { cancel() }); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		if _, err := m.Generate(ctx, question, nothing); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	})
}
