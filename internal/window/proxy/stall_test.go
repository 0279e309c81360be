package proxy

import (
	"bytes"
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

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/plimsoll/plimsoll/journal"
)

// packedBy packs what is written to it, piece by piece.
func packedBy(t *testing.T, encoding string) func(string) string {
	var b bytes.Buffer
	var w interface {
		io.Writer
		Flush() error
	} = gzip.NewWriter(&b)
	switch encoding {
	case "br":
		w = brotli.NewWriter(&b)
	case "zstd":
		z, err := zstd.NewWriter(&b)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = z.Close() })
		w = z
	}
	return func(text string) string {
		b.Reset()
		_, _ = io.WriteString(w, text)
		_ = w.Flush()
		return b.String()
	}
}

// A packed answer is looked into as it is unpacked: events are what counts there too. What cannot be unpacked counts by its bytes.
func TestPackedAnswersThatStandStill(t *testing.T) {
	for _, encoding := range []string{"gzip", "br", "zstd"} {
		t.Run(encoding, func(t *testing.T) {
			stillTest(t, Options{}, func(s *still) {
				header := http.Header{"Content-Type": {"text/event-stream"}, "Content-Encoding": {encoding}}
				s.asked(s.Context(), "/anthropic/v1/messages", askMessages, header)
				pack := packedBy(s.T, encoding)
				s.write(pack(messageStart))
				for range 10 {
					time.Sleep(4 * time.Minute)
					s.write(pack(contentDelta))
				}
				began := time.Now()
				for range 31 {
					time.Sleep(15 * time.Second)
					s.write(pack(ping))
				}
				if _, cut := s.over(); !cut || time.Since(began) != 8*time.Minute {
					t.Errorf("cut %t after %s", cut, time.Since(began))
				}
			})
			stillTest(t, Options{}, func(s *still) {
				header := http.Header{"Content-Type": {"text/event-stream"}, "Content-Encoding": {encoding}}
				s.asked(s.Context(), "/anthropic/v1/messages", askMessages, header)
				for range 10 {
					s.write("not packed at all, or not by a packer that we know")
					time.Sleep(4 * time.Minute)
				}
				synctest.Wait()
				if len(s.stalls()) != 0 {
					t.Errorf("%+v", s.stalls())
				}
				s.over()
			})
		})
	}
}

// A still is an answer that is sent in pieces, and what came of it.
type still struct {
	*testing.T
	p     *Proxy
	j     *journal.Journal
	write func(string)
	end   func()   // the provider's, in its own way
	done  chan any // what the handler panicked with, or nil
	got   *httptest.ResponseRecorder
}

// asked sends a request whose answer the test writes.
func (s *still) asked(ctx context.Context, path, body string, header http.Header) {
	r, w := io.Pipe()
	s.p.transport = piped{header, r}
	s.end = func() { _ = w.Close() }
	s.write = func(text string) { _, _ = io.WriteString(w, text) }
	request := httptest.NewRequestWithContext(ctx, http.MethodPost, path, strings.NewReader(body))
	got, done := httptest.NewRecorder(), make(chan any, 1)
	s.got, s.done = got, done
	s.Cleanup(func() { _ = w.Close() })
	go func() {
		defer func() { done <- recover() }()
		s.p.ServeHTTP(got, request)
	}()
}

// over waits for the end, and gives what the client has and whether its connection was cut.
func (s *still) over() (text string, cut bool) {
	end := <-s.done
	if end != nil && end != http.ErrAbortHandler {
		panic(end)
	}
	return s.got.Body.String(), end != nil
}

func (s *still) stalls() []journal.WindowStalled { return events[journal.WindowStalled](s.j) }

func stillTest(t *testing.T, o Options, test func(s *still)) {
	synctest.Test(t, func(t *testing.T) {
		o.AnyPeer, o.Hosts, o.Journal = true, []string{"example.com"}, journal.New(journal.Options{})
		o.Transport = piped{}
		p, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		test(&still{T: t, p: p, j: o.Journal})
	})
}

const (
	askMessages = `{"model":"claude-x","max_tokens":10,"stream":true,"messages":[{"role":"user","content":"hi"}]}`
	askThinking = `{"model":"claude-x","max_tokens":10,"stream":true,"thinking":{"type":"adaptive","display":"omitted"},"messages":[{"role":"user","content":"hi"}]}`
	askChat     = `{"model":"gpt-x","stream":true,"messages":[{"role":"user","content":"hi"}]}`
	askResponse = `{"model":"gpt-x","stream":true,"input":"hi"}`
	askGemini   = `{"contents":[{"role":"user","parts":[{"text":"hi"}]}]}`

	ping       = "event: ping\ndata: {\"type\": \"ping\"}\n\n"
	chatDelta  = "data: {\"choices\":[{\"delta\":{\"content\":\"a\"}}]}\n\n"
	blockStart = "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n"
	blockStop  = "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n"
	thinkStart = "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\"}}\n\n"
	itemAdded  = "data: {\"type\":\"response.output_item.added\",\"item\":{\"type\":\"message\"}}\n\n"
	reasonItem = "data: {\"type\":\"response.output_item.added\",\"item\":{\"type\":\"reasoning\"}}\n\n"
	thoughtSSE = "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a\",\"thought\":true}]}}]}\n\n"
)

var (
	eventStream = http.Header{"Content-Type": {"text/event-stream; charset=utf-8"}}
	wholeJSON   = http.Header{"Content-Type": {"application/json"}}
)

func TestStalledAnswerEndsInTheProvidersOwnError(t *testing.T) {
	t.Parallel()
	const text = "Nothing but signs of life came from the provider for %s, so Plimsoll ended the answer here. Try again."
	for _, c := range []struct {
		name, path, ask string
		header          http.Header
		sent            string // then pings only
		ping            string
		after           time.Duration
		reasoning       bool
		want            string // behind what was sent; "" is a cut
	}{
		{
			"messages", "/anthropic/v1/messages", askMessages, eventStream, messageStart + blockStart + contentDelta, ping, stallAfter, false,
			"event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"" + text + "\"}}\n\n",
		},
		{
			"messages, behind message_start", "/anthropic/v1/messages", askMessages, eventStream, messageStart, ping, stallAfter, false,
			"event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"" + text + "\"}}\n\n",
		},
		{
			"messages, thinking without display", "/anthropic/v1/messages", askThinking, eventStream, messageStart, ping, stallMost, true,
			"event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"" + text + "\"}}\n\n",
		},
		{
			"messages, in a thinking block", "/anthropic/v1/messages", askMessages, eventStream, messageStart + thinkStart, ping, stallMost, true,
			"event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"" + text + "\"}}\n\n",
		},
		{"messages, behind a block", "/anthropic/v1/messages", askMessages, eventStream, messageStart + blockStart + contentDelta + blockStop, ping, stallAfter, false, ""},
		{"messages, in the middle of an event", "/anthropic/v1/messages", askMessages, eventStream, messageStart + "event: content_block_delta\n", "", stallAfter, false, ""},
		{"messages, packed", "/anthropic/v1/messages", askMessages, http.Header{"Content-Type": {"text/event-stream"}, "Content-Encoding": {"gzip"}}, gzippedText(messageStart + contentDelta), "", stallAfter, false, ""},
		{"messages, packed by brotli", "/anthropic/v1/messages", askMessages, http.Header{"Content-Type": {"text/event-stream"}, "Content-Encoding": {"br"}}, string(packedAs(t, "br", []byte(messageStart+contentDelta))), "", stallAfter, false, ""},
		{"messages, packed by something else", "/anthropic/v1/messages", askMessages, http.Header{"Content-Type": {"text/event-stream"}, "Content-Encoding": {"compress"}}, "xyz", "", stallAfter, false, ""},
		{
			"chat", "/openai/v1/chat/completions", askChat, eventStream, chatDelta, ": OPENROUTER PROCESSING\n\n", stallAfter, false,
			"data: {\"error\":{\"message\":\"" + text + "\",\"type\":\"server_error\",\"param\":null,\"code\":null}}\n\n",
		},
		{
			"chat, silence", "/openai/v1/chat/completions", askChat, eventStream, chatDelta, "", stallAfter, false,
			"data: {\"error\":{\"message\":\"" + text + "\",\"type\":\"server_error\",\"param\":null,\"code\":null}}\n\n",
		},
		{
			"responses", "/openai/v1/responses", askResponse, eventStream, itemAdded, "data: {\"type\":\"keepalive\"}\n\n", stallAfter, false,
			"event: response.failed\ndata: {\"type\":\"response.failed\",\"response\":{\"object\":\"response\",\"status\":\"failed\",\"error\":{\"code\":\"server_error\",\"message\":\"" + text + "\"}}}\n\n",
		},
		{
			"responses, reasoning", "/openai/v1/responses", askResponse, eventStream, reasonItem, ":\n\n", stallMost, true,
			"event: response.failed\ndata: {\"type\":\"response.failed\",\"response\":{\"object\":\"response\",\"status\":\"failed\",\"error\":{\"code\":\"server_error\",\"message\":\"" + text + "\"}}}\n\n",
		},
		{
			"gemini", "/gemini/v1beta/models/gemini-x:streamGenerateContent?alt=sse", askGemini, eventStream, strings.Replace(thoughtSSE, "true", "false", 1), "", stallAfter, false,
			"data: {\"error\":{\"code\":503,\"message\":\"" + text + "\",\"status\":\"UNAVAILABLE\"}}\n\n",
		},
		{
			"gemini, thoughts", "/gemini/v1beta/models/gemini-x:streamGenerateContent?alt=sse", askGemini, eventStream, thoughtSSE, "", stallMost, true,
			"data: {\"error\":{\"code\":503,\"message\":\"" + text + "\",\"status\":\"UNAVAILABLE\"}}\n\n",
		},
		{
			"gemini, array", "/gemini/v1beta/models/gemini-x:streamGenerateContent", askGemini, wholeJSON, "[{\"candidates\":[]}\n", "", stallAfter, false,
			",\n{\"error\":{\"code\":503,\"message\":\"" + text + "\",\"status\":\"UNAVAILABLE\"}}\n]\n",
		},
		{"gemini, in the middle of an array", "/gemini/v1beta/models/gemini-x:streamGenerateContent", askGemini, wholeJSON, "[{\"candidates\":[", "", stallAfter, false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			stillTest(t, Options{}, func(s *still) {
				s.asked(s.Context(), c.path, c.ask, c.header)
				s.write(c.sent)
				began, pings, pinged := time.Now(), "", make(chan struct{})
				go func() {
					defer close(pinged)
					for c.ping != "" && time.Since(began) < c.after-20*time.Second {
						time.Sleep(15 * time.Second)
						s.write(c.ping)
						pings += c.ping
					}
				}()
				text, cut := s.over()
				quiet := time.Since(began)
				<-pinged
				if quiet < c.after || quiet > c.after+holdTime {
					t.Errorf("it ended after %s, want %s", quiet, c.after)
				}
				want, ended := c.sent+pings, "cut"
				if c.want != "" {
					want += strings.Replace(c.want, "%s", c.after.String(), 1)
					ended = "error"
				}
				if text != want || cut != (c.want == "") {
					t.Errorf("the client has (cut: %t)\n%s\nwant\n%s", cut, text, want)
				}
				told := s.stalls()
				if len(told) != 1 || told[0].Ended != ended || told[0].Reasoning != c.reasoning || told[0].Quiet < c.after || told[0].Model == "" {
					t.Errorf("the journal has %+v", told)
				}
				if r := events[journal.WindowResponse](s.j); len(r) != 1 || r[0].Ended != "stalled" || r[0].Bytes != int64(len(text)) {
					t.Errorf("the journal has %+v", r)
				}
			})
		})
	}
}

// An answer that goes on is left alone, however slowly: with an event every four minutes, with bytes of one that is long, with a client
// that does not read; and so is one that comes in one piece.
func TestSlowAnswersAreLeftAlone(t *testing.T) {
	t.Run("events", func(t *testing.T) {
		stillTest(t, Options{}, func(s *still) {
			s.asked(s.Context(), "/openai/v1/chat/completions", askChat, eventStream)
			for range 30 {
				s.write(chatDelta)
				time.Sleep(4*time.Minute + 59*time.Second)
			}
			s.write("data: [DONE]\n\n")
			s.end()
			if text, cut := s.over(); cut || !strings.HasSuffix(text, "[DONE]\n\n") || len(s.stalls()) != 0 {
				t.Errorf("cut %t, %+v", cut, s.stalls())
			}
		})
	})
	t.Run("one long event", func(t *testing.T) {
		stillTest(t, Options{}, func(s *still) {
			s.asked(s.Context(), "/openai/v1/chat/completions", askChat, eventStream)
			s.write("data: {\"x\":\"" + strings.Repeat("y", 300))
			for range 10 {
				time.Sleep(4 * time.Minute)
				s.write(strings.Repeat("y", 300))
			}
			synctest.Wait()
			if len(s.stalls()) != 0 {
				t.Errorf("%+v", s.stalls())
			}
			s.end()
			s.over()
		})
	})
	t.Run("one piece", func(t *testing.T) {
		stillTest(t, Options{}, func(s *still) {
			s.asked(s.Context(), "/anthropic/v1/messages", strings.Replace(askMessages, "true", "false", 1), wholeJSON)
			s.write("{\"content\":[")
			time.Sleep(3 * time.Hour)
			s.write("]}")
			s.end()
			if text, cut := s.over(); cut || text != "{\"content\":[]}" {
				t.Errorf("%q, cut %t", text, cut)
			}
		})
	})
	t.Run("an observer", func(t *testing.T) {
		stillTest(t, Options{Mode: Observe}, func(s *still) {
			s.asked(s.Context(), "/openai/v1/chat/completions", askChat, eventStream)
			s.write(chatDelta)
			time.Sleep(3 * time.Hour)
			s.write(chatDelta)
			s.end()
			if text, cut := s.over(); cut || text != chatDelta+chatDelta {
				t.Errorf("%q, cut %t", text, cut)
			}
		})
	})
	t.Run("a server of one's own, before it begins", func(t *testing.T) {
		stillTest(t, Options{Upstreams: []Upstream{{Name: "mine", URL: "http://127.0.0.1:8080/v1", Provider: OpenAI}}}, func(s *still) {
			s.asked(s.Context(), "/mine/v1/chat/completions", strings.Replace(askChat, "gpt-x", "qwen3", 1), eventStream)
			time.Sleep(29 * time.Minute)
			s.write(chatDelta)
			synctest.Wait()
			if len(s.stalls()) != 0 {
				t.Errorf("%+v", s.stalls())
			}
			if text, cut := s.over(); cut || !strings.Contains(text, "5m0s") {
				t.Errorf("then it stands still: %q, cut %t", text, cut)
			}
		})
	})
}

// What a model was seen to pause for is allowed twice over the next time, up to the most; other models are not allowed more.
func TestPausesAreLearned(t *testing.T) {
	t.Parallel()
	stillTest(t, Options{}, func(s *still) {
		allowed := stallAfter
		for _, pause := range []time.Duration{4 * time.Minute, 7 * time.Minute, 13 * time.Minute, 25 * time.Minute, 29 * time.Minute} {
			s.asked(s.Context(), "/openai/v1/chat/completions", askChat, eventStream)
			s.write(chatDelta)
			time.Sleep(pause)
			s.write(chatDelta)
			began := time.Now()
			allowed = min(2*pause, stallMost)
			s.over()
			if quiet := time.Since(began); quiet != allowed {
				t.Errorf("after a pause of %s it ended after %s, want %s", pause, quiet, allowed)
			}
		}
		s.asked(s.Context(), "/openai/v1/chat/completions", strings.Replace(askChat, "gpt-x", "gpt-y", 1), eventStream)
		s.write(chatDelta)
		began := time.Now()
		s.over()
		if quiet := time.Since(began); quiet != stallAfter {
			t.Errorf("another model's answer ended after %s", quiet)
		}
	})
}

func TestPausesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var x pauses
		for i := range 3 * maxPauses {
			x.record(fmt.Sprint(i), 4*time.Minute)
			time.Sleep(time.Second)
			x.record("kept", 3*time.Minute)
			x.record("short", stallAfter/2)
		}
		if len(x.known) != maxPauses || x.allowed("kept") != 6*time.Minute || x.allowed("0") != stallAfter || x.allowed("short") != stallAfter {
			t.Errorf("%d are known; kept %s, the first %s, short %s", len(x.known), x.allowed("kept"), x.allowed("0"), x.allowed("short"))
		}
	})
}

// A client that leaves a stalled answer ends it: nothing waits, and it counts as no stall.
func TestClientThatLeavesAStalledAnswer(t *testing.T) {
	t.Parallel()
	stillTest(t, Options{}, func(s *still) {
		ctx, cancel := context.WithCancelCause(s.Context())
		s.asked(ctx, "/openai/v1/chat/completions", askChat, eventStream)
		s.write(chatDelta)
		time.Sleep(4 * time.Minute)
		cancel(errors.New("gone"))
		if _, cut := s.over(); !cut {
			t.Error("the handler went on")
		}
		if r := events[journal.WindowResponse](s.j); len(s.stalls()) != 0 || len(r) != 1 || r[0].Ended != "client_gone" {
			t.Errorf("%+v, %+v", s.stalls(), r)
		}
	})
}

// A body that is passed on unseen has the rule too: what it is answered with is a stream of the same model.
func TestStalledAnswerToAPassedRequest(t *testing.T) {
	t.Parallel()
	stillTest(t, Options{MaxHeld: 1000}, func(s *still) {
		s.asked(s.Context(), "/anthropic/v1/messages", strings.Replace(askMessages, `"hi"`, `"`+strings.Repeat("a", 2000)+`"`, 1), eventStream)
		s.write(messageStart)
		if text, cut := s.over(); cut || !strings.Contains(text, "overloaded_error") || len(s.stalls()) != 1 {
			t.Errorf("cut %t, %q, %+v", cut, text, s.stalls())
		}
	})
}
