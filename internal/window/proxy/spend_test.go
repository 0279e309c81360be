package proxy

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/spend"
	"github.com/plimsoll/plimsoll/internal/testing/wait"
	"github.com/plimsoll/plimsoll/journal"
)

// postTo sends a body to a path of the proxy and returns the answer with its text.
func postTo(t *testing.T, url, body string) (*http.Response, string) {
	t.Helper()
	res, err := http.Post(url, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(res.Body)
	return res, string(text)
}

// At a limit that is used up each dialect gets the refusal in its own form, and nothing goes to the provider.
func TestAtTheLineEveryDialectIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		path, body string
		status     int
		want       string
	}{
		"messages":  {"/anthropic/v1/messages", `{"model":"priced","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}`, 402, `"type":"billing_error"`},
		"chat":      {"/openai/v1/chat/completions", `{"model":"priced","messages":[{"role":"user","content":"hi"}]}`, 400, `"type":"invalid_request_error"`},
		"responses": {"/openai/v1/responses", `{"model":"priced","input":"hi"}`, 400, `"type":"invalid_request_error"`},
		"gemini":    {"/gemini/v1beta/models/priced:generateContent", `{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}`, 400, `"status":"INVALID_ARGUMENT"`},
		"converse":  {"/bedrock/model/priced/converse", `{"messages":[{"role":"user","content":[{"text":"hi"}]}]}`, 400, `"message":`},
	} {
		t.Run(name, func(t *testing.T) {
			upstream, requests := rawUpstream(t, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}")
			m := spend.New(spend.Options{Limits: spend.Limits{Tokens: 100}, Run: "r1"})
			h, err := m.Hold(t.Context(), spend.Request{})
			if err != nil {
				t.Fatal(err)
			}
			h.Settle(spend.Amount{Tokens: 100})
			_, root, j := start(t, upstream, Options{Price: price, Spend: m})
			res, text := postTo(t, root+c.path, c.body)
			if res.StatusCode != c.status || !strings.Contains(text, c.want) || !strings.Contains(text, "plimsoll raise r1 --tokens +100") {
				t.Errorf("%d %s", res.StatusCode, text)
			}
			if e := events[journal.WindowRefused](j); len(e) != 1 || e[0].Reason != "spend" {
				t.Errorf("the journal has %+v", e)
			}
			select {
			case r := <-requests:
				t.Errorf("the provider got %s", r)
			default:
			}
		})
	}
}

// What an answer has cost is settled by its usage, or by a count of ours where that says nothing that can be; a failed request costs nothing.
func TestAnswersAreSettled(t *testing.T) {
	t.Parallel()
	const usage = `{"type":"message","role":"assistant","content":[{"type":"text","text":"x"}],"stop_reason":"end_turn","usage":{"input_tokens":%IN,"output_tokens":%OUT}}`
	body := func(in, out string) string { return strings.NewReplacer("%IN", in, "%OUT", out).Replace(usage) }
	for name, c := range map[string]struct {
		head, answer string
		low, high    int64 // tokens
	}{
		"usage":      {"200 OK", body("100", "50"), 150, 150},
		"none":       {"200 OK", `{"type":"message","role":"assistant","content":[{"type":"text","text":"` + strings.Repeat("word ", 200) + `"}]}`, 200, 400},
		"negative":   {"200 OK", body("-100", "-50"), 10, 100},
		"absurd":     {"200 OK", body("900000000", "900000000"), 10, 100},
		"giant":      {"200 OK", body("1e400", "99999999999999999999"), 10, 100},
		"no JSON":    {"200 OK", "<html>" + strings.Repeat("x", 400), 10, 200},
		"a failure":  {"500 Internal Server Error", `{"type":"error","error":{"type":"api_error","message":"x"}}`, 0, 0},
		"overloaded": {"529 Overloaded", `{"type":"error","error":{"type":"overloaded_error","message":"x"}}`, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			upstream, _ := rawUpstream(t, "HTTP/1.1 "+c.head+"\r\nConnection: close\r\nContent-Type: application/json\r\n\r\n"+c.answer)
			m := spend.New(spend.Options{Limits: spend.Limits{Tokens: 1_000_000, Cost: 1}})
			_, root, j := start(t, upstream, Options{Price: price, Spend: m})
			res, text := postTo(t, root+"/anthropic/v1/messages", `{"model":"priced","max_tokens":100,"messages":[{"role":"user","content":"how are you today, and how was yesterday?"}]}`)
			if text != c.answer {
				t.Errorf("%d %s", res.StatusCode, text)
			}
			wait.Until(t, "the answer is told", func() bool { return len(events[journal.WindowResponse](j)) == 1 })
			used := m.Settled()
			if used.Tokens < c.low || used.Tokens > c.high || (used.Cost > 0) != (c.low > 0) || used.Cost > 0.1 {
				t.Errorf("%+v is settled", used)
			}
			h, err := m.Hold(t.Context(), spend.Request{Input: 900_000, Price: dear, Priced: true})
			if err != nil {
				t.Errorf("the hold of the request is there still: %v", err)
			}
			h.Release()
		})
	}
}

// What costs money and is not counted does not get around a limit.
func TestUncountedRequestsAreRefused(t *testing.T) {
	t.Parallel()
	upstream, _ := rawUpstream(t, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}")
	for _, path := range []string{"/anthropic/v1/messages/batches", "/openai/v1/embeddings", "/openai/v1/images/generations", "/gemini/v1beta/models/m:batchEmbedContents", "/bedrock/model/amazon.titan/invoke"} {
		for _, limited := range []bool{true, false} {
			var o spend.Options
			if limited {
				o.Limits.Cost = 5
			}
			_, root, _ := start(t, upstream, Options{Price: price, Spend: spend.New(o)})
			res, text := postTo(t, root+path, `{}`)
			if refused := strings.Contains(text, "is not counted"); refused != limited {
				t.Errorf("%s, limited %v: %d %s", path, limited, res.StatusCode, text)
			}
		}
	}
	for _, path := range []string{"/anthropic/v1/messages/count_tokens", "/gemini/v1beta/models/m:countTokens", "/openai/v1/files"} {
		_, root, _ := start(t, upstream, Options{Price: price, Spend: spend.New(spend.Options{Limits: spend.Limits{Cost: 5}})})
		if res, text := postTo(t, root+path, `{}`); res.StatusCode != http.StatusOK {
			t.Errorf("%s: %d %s", path, res.StatusCode, text)
		}
	}
}

// A body that is too large to be looked into is held, and settled, by its size.
func TestGiantsAreHeld(t *testing.T) {
	t.Parallel()
	upstream, _ := rawUpstream(t, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}")
	m := spend.New(spend.Options{Limits: spend.Limits{Tokens: 1000}})
	_, root, _ := start(t, upstream, Options{MaxHeld: 4096, Spend: m})
	body := `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"` + strings.Repeat("x", 8000) + `"}]}`
	if res, text := postTo(t, root+"/anthropic/v1/messages", body); res.StatusCode != http.StatusOK {
		t.Fatalf("%d %s", res.StatusCode, text)
	}
	wait.Until(t, "it is settled", func() bool { return m.Settled().Tokens >= 2000 })
	if res, _ := postTo(t, root+"/anthropic/v1/messages", body); res.StatusCode != http.StatusPaymentRequired {
		t.Errorf("the next one got %d", res.StatusCode)
	}
}

// dear is the price that account_test's price has.
var dear, _ = price("", "priced")
