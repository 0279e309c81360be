package gemini_test

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

func TestFailures(t *testing.T) {
	t.Parallel()
	const js = "application/json"
	google := func(code int, status, words, details string) string {
		return fmt.Sprintf(`{"error":{"code":%d,"message":%q,"status":%q,"details":[%s]}}`, code, words, status, details)
	}
	const retry = `{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"quotaId":"GenerateRequestsPerMinute"}]},{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"17.5s"}`
	exhausted := google(429, "RESOURCE_EXHAUSTED", "You exceeded your current quota, please check your plan.", retry)
	const invalidKey = `{"@type":"type.googleapis.com/google.rpc.ErrorInfo","reason":"API_KEY_INVALID","domain":"googleapis.com"}`
	for name, c := range map[string]struct {
		canned        canned
		want          agent.Failure
		text          string
		limit, actual int
		after         time.Duration
	}{
		"key":                  {canned: said(400, js, google(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key: AIza-secret-key.", invalidKey)), want: agent.Key, text: "[hidden]"},
		"permission":           {canned: said(403, js, google(403, "PERMISSION_DENIED", "no", "")), want: agent.Key},
		"model":                {canned: said(404, js, google(404, "NOT_FOUND", "models/m is not found for API version v1beta, or is not supported for generateContent.", "")), want: agent.NoModel},
		"page":                 {canned: said(200, "text/html", "<title>Welcome</title>"), want: agent.NotAnAPI, text: "Welcome"},
		"overloaded":           {canned: said(503, js, google(503, "UNAVAILABLE", "The model is overloaded. Please try again later.", "")), want: agent.Busy},
		"rate":                 {canned: said(429, js, exhausted), want: agent.Busy, after: 17500 * time.Millisecond},
		"rate, an array":       {canned: said(429, js, "["+exhausted+"]"), want: agent.Busy, after: 17500 * time.Millisecond},
		"rate, a header":       {canned: canned{429, js, http.Header{"Retry-After": {"12"}}, said(0, "", exhausted).body}, want: agent.Busy, after: 12 * time.Second},
		"place":                {canned: said(400, js, google(400, "FAILED_PRECONDITION", "User location is not supported for the API use.", "")), want: agent.Refused, text: "location"},
		"too long":             {canned: said(400, js, google(400, "INVALID_ARGUMENT", "The input token count (1210000) exceeds the maximum number of tokens allowed (1048576).", "")), want: agent.TooLong, limit: 1_048_576, actual: 1_210_000},
		"overloaded, later":    {canned: streamed(oneWord + event("%s", google(503, "UNAVAILABLE", "The model is overloaded.", ""))), want: agent.Busy, text: "overloaded"},
		"rate, later":          {canned: streamed(oneWord + event("%s", exhausted)), want: agent.Busy, after: 17500 * time.Millisecond},
		"malformed call":       {canned: streamed(event(`{"candidates":[{"content":{},"finishReason":"MALFORMED_FUNCTION_CALL","finishMessage":"Malformed function call: print(x"}]}`)), want: agent.Broken, text: "MALFORMED_FUNCTION_CALL: Malformed function call: print(x"},
		"unexpected call":      {canned: streamed(stop("UNEXPECTED_TOOL_CALL")), want: agent.Broken, text: "UNEXPECTED_TOOL_CALL"},
		"no end":               {canned: streamed(oneWord), want: agent.Broken, text: "broke off"},
		"no candidate":         {canned: streamed(event(`{%s}`, counted)), want: agent.Broken, text: "candidate"},
		"no JSON":              {canned: streamed(oneWord + event("{{")), want: agent.Broken},
		"nothing":              {canned: streamed(""), want: agent.Broken},
		"whole, of no answer":  {canned: said(200, js, `{"hello":"world"}`), want: agent.Broken},
		"an error, whole":      {canned: said(200, js, google(500, "INTERNAL", "An internal error has occurred.", "")), want: agent.Busy},
		"an address elsewhere": {canned: canned{302, "", http.Header{"Location": {"https://elsewhere.test/x"}}, said(0, "", "").body}, want: agent.NotAnAPI, text: "elsewhere"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := cannedModel(t, c.canned, "m").Generate(t.Context(), question, nothing)
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

// hanging is an answer that never ends behind its first words.
func hanging(first string, ended *bool) canned {
	return canned{200, "text/event-stream", nil, func(r *http.Request) io.ReadCloser {
		out, in := io.Pipe()
		context.AfterFunc(r.Context(), func() { *ended = true; in.CloseWithError(r.Context().Err()) })
		go io.WriteString(in, first)
		return out
	}}
}

func TestSilence(t *testing.T) {
	t.Parallel()
	thought := event(`{"candidates":[{"content":{"parts":[]}}],%s}`, counted)
	for name, c := range map[string]struct {
		first string
		after time.Duration
	}{
		"at the beginning": {thought, 5 * time.Minute},
		"after a word":     {oneWord, time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				ended := false
				_, err := cannedModel(t, hanging(c.first, &ended), "m").Generate(t.Context(), question, nothing)
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

func TestCancel(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		ended := false
		m := cannedModel(t, hanging(oneWord, &ended), "m")
		if _, err := m.Generate(ctx, question, func(string) { cancel() }); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
		if _, err := m.Generate(ctx, question, nothing); !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	})
}
