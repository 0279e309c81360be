package standin_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll/plimsoll/agent/standin"
	"github.com/plimsoll/plimsoll/internal/agent/lab"
	"github.com/plimsoll/plimsoll/internal/testing/wait"
	"github.com/plimsoll/plimsoll/internal/window/overflow"
)

// post sends a body and returns what came.
func post(h http.Handler, body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(body)))
	return w
}

const echoTool = `"tools":[{"type":"function","function":{"name":"echo","description":"Says it.","parameters":{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}}}]`

func TestRefusals(t *testing.T) {
	t.Parallel()
	h := standin.New(standin.Options{})
	for name, test := range map[string]struct {
		body, words string
		status      int
	}{
		"no JSON":       {`{"model":`, "", 400},
		"empty":         {``, "", 400},
		"no messages":   {`{"model":"standin-planner"}`, "messages", 400},
		"no model":      {`{"messages":[{"role":"user","content":"x"}]}`, "model parameter", 400},
		"another model": {`{"model":"gpt-5.1","messages":[{"role":"user","content":"x"}]}`, "model_not_found", 404},
		"orphaned call": {
			`{"model":"standin-planner","messages":[{"role":"user","content":"x"},{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"f","arguments":"{}"}}]},{"role":"user","content":"y"}]}`,
			"must be followed by tool messages", 400,
		},
		"orphaned result": {`{"model":"standin-planner","messages":[{"role":"user","content":"x"},{"role":"tool","tool_call_id":"c1","content":"y"}]}`, "must be a response to a preceeding message", 400},
		"two choices":     {`{"model":"standin-planner","n":2,"messages":[{"role":"user","content":"x"}]}`, "'n'", 400},
		"no output":       {`{"model":"standin-planner","max_tokens":0,"messages":[{"role":"user","content":"x"}]}`, "max_tokens", 400},
		"a bad tool":      {`{"model":"standin-planner","messages":[{"role":"user","content":"x"}],"tools":[{"type":"function","function":{"name":"a b"}}]}`, "function.name", 400},
		"a bad schema":    {`{"model":"standin-planner","messages":[{"role":"user","content":"x"}],"tools":[{"type":"function","function":{"name":"a","parameters":{"type":"string"}}}]}`, "Invalid schema", 400},
		"a tool twice":    {`{"model":"standin-planner","messages":[{"role":"user","content":"x"}],"tools":[{"type":"function","function":{"name":"a"}},{"type":"function","function":{"name":"a"}}]}`, "unique", 400},
		"no such choice":  {`{"model":"standin-planner","messages":[{"role":"user","content":"x"}],"tool_choice":{"type":"function","function":{"name":"b"}},` + echoTool + `}`, "not found", 400},
		"JSON wanted":     {`{"model":"standin-planner","response_format":{"type":"json_object"},"messages":[{"role":"user","content":"x"}]}`, "response_format", 400},
		"wrong type":      {`{"model":"standin-planner","stream":"yes","messages":[{"role":"user","content":"x"}]}`, "stream", 400},
		"a deep schema":   {`{"model":"standin-planner","messages":[{"role":"user","content":"x"}],"tools":[{"type":"function","function":{"name":"a","parameters":` + strings.Repeat(`{"a":`, 5000) + `1` + strings.Repeat(`}`, 5000) + `}}]}`, "Invalid schema", 400},
	} {
		w := post(h, test.body)
		var got struct {
			Error struct{ Message, Type string }
		}
		if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != test.status || got.Error.Message == "" || got.Error.Type == "" || !strings.Contains(w.Body.String(), test.words) {
			t.Errorf("%s: %d %.300s (%v)", name, w.Code, w.Body, err)
		}
	}
	if s := h.Stats(); s.Orphaned != 2 || s.Refused != 16 || s.Answered != 0 || s.Running != 0 {
		t.Errorf("%+v", s)
	}
	if w := post(h, `{"model":"standin-planner","messages":[{"role":"user","content":"`+strings.Repeat("x", int(standin.MaxBody))+`"}]}`); w.Code != 413 {
		t.Errorf("too many bytes: %d %.200s", w.Code, w.Body)
	}
}

// A request over the window is refused in OpenAI's words, with numbers that are true.
func TestWindow(t *testing.T) {
	t.Parallel()
	h := standin.New(standin.Options{Window: 1000})
	body := func(words int) string {
		return `{"model":"standin-planner","messages":[{"role":"user","content":"` + strings.Repeat("word ", words) + `"}]}`
	}
	w := post(h, body(3000))
	over, ok := overflow.Classify(w.Code, w.Header().Get("Content-Type"), w.Body.Bytes())
	if !ok || over.Limit != 1000 || over.Actual < 3000 || over.Actual > 3100 || !strings.Contains(w.Body.String(), "context_length_exceeded") {
		t.Errorf("%d %s: %+v", w.Code, w.Body, over)
	}
	w = post(h, body(700))
	var got struct {
		Usage struct {
			Prompt     int `json:"prompt_tokens"`
			Completion int `json:"completion_tokens"`
			Total      int `json:"total_tokens"`
		}
	}
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || got.Usage.Prompt < 700 || got.Usage.Prompt > 800 || got.Usage.Completion < 10 || got.Usage.Total != got.Usage.Prompt+got.Usage.Completion {
		t.Errorf("%s: %+v, %v", w.Body, got, err)
	}
}

// An answer longer than it may be ends in the middle, and the rest is given when it is
// asked for, as often as that takes.
func TestGoesOnWhereItWasCut(t *testing.T) {
	t.Parallel()
	tools, err := argoTools()
	if err != nil {
		t.Fatal(err)
	}
	c := newConversation(t, standin.Options{Window: -1}, tools)
	whole := c.ask("list all clusters")
	c.messages = c.messages[:len(c.messages)-1]
	var joined strings.Builder
	for parts := 0; ; parts++ {
		p := c.params()
		p.MaxOutput = 200
		if parts > 0 {
			p.Messages = append(p.Messages, chatMessage{Role: "assistant", Content: joined.String()}, user("The answer was cut at the output limit. Go on exactly where it ends."))
		}
		done, err := c.client.complete(t, p)
		if err != nil || parts > 20 {
			t.Fatal(parts, err)
		}
		joined.WriteString(done.Choices[0].Message.Content)
		if done.Choices[0].FinishReason == "stop" {
			if joined.String() != whole || parts < 2 {
				t.Errorf("%d parts make\n%s\nand not\n%s", parts+1, &joined, whole)
			}
			break
		}
		if done.Choices[0].FinishReason != "length" || done.Usage.Completion > 200 {
			t.Errorf("%s after %d tokens", done.Choices[0].FinishReason, done.Usage.Completion)
		}
	}
}

// A streamed answer is put together as a whole one is read.
func TestStreams(t *testing.T) {
	t.Parallel()
	c := newConversation(t, standin.Options{}, lab.Tools(lab.Options{}))
	c.messages = append(c.messages, user(`echo "héllo wörld" and flood 2 KiB`))
	sum, err := c.client.stream(t, c.params())
	if err != nil {
		t.Fatal(err)
	}
	if sum.Model != standin.Model || sum.Fingerprint != standin.Owner || sum.Usage.Prompt == 0 || sum.Choices[0].FinishReason != "tool_calls" {
		t.Errorf("%+v", sum)
	}
	var got []string
	for _, one := range sum.Choices[0].Message.ToolCalls {
		got = append(got, one.Function.Name+" "+one.Function.Arguments)
	}
	if strings.Join(got, "; ") != `echo {"text":"héllo wörld"}; flood {"bytes":2048}` {
		t.Errorf("%q", got)
	}
}

func TestModelsAndKey(t *testing.T) {
	t.Parallel()
	s, err := standin.Listen(t.Context(), standin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if !strings.HasPrefix(s.URL(), "http://127.0.0.1:") || !strings.HasSuffix(s.URL(), "/v1") || len(s.Token()) < 26 {
		t.Errorf("%s, a token of %d bytes", s.URL(), len(s.Token()))
	}
	mine := client{s.URL(), s.Token()}
	res, err := mine.do(t, http.MethodGet, "/models", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var page struct {
		Data []struct {
			ID      string `json:"id"`
			OwnedBy string `json:"owned_by"`
		} `json:"data"`
	}
	if err := json.NewDecoder(res.Body).Decode(&page); err != nil || len(page.Data) != 1 || page.Data[0].ID != standin.Model || page.Data[0].OwnedBy != standin.Owner {
		t.Errorf("%+v, %v", page, err)
	}
	if _, err := mine.do(t, http.MethodGet, "/models/gpt-5.1", nil); status(err) != 404 {
		t.Errorf("another model: %v", err)
	}
	for _, key := range []string{"wrong", s.Token() + "x", s.Token()[1:]} {
		if _, err := (client{s.URL(), key}).do(t, http.MethodGet, "/models", nil); status(err) != 401 || strings.Contains(err.Error(), s.Token()) {
			t.Errorf("a wrong key: %v", err)
		}
	}
	for path, want := range map[string]int{"/v1/embeddings": 404, "/": 404, "/v1/chat/completions": 405} {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, strings.TrimSuffix(s.URL(), "/v1")+path, nil)
		req.Header.Set("Authorization", "bearer "+s.Token())
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if res.Body.Close(); res.StatusCode != want {
			t.Errorf("GET %s: %d", path, res.StatusCode)
		}
	}
	if err := s.Close(); err != nil || s.Close() != nil {
		t.Errorf("it ends with %v", err)
	}
}

func status(err error) int {
	if e, ok := errors.AsType[*refusal](err); ok {
		return e.status
	}
	return 0
}

func TestListenEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	s, err := standin.Listen(ctx, standin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := s.Close(); err != nil { // waits for the end that is under way
		t.Error(err)
	}
	if _, err := standin.Listen(ctx, standin.Options{}); err == nil {
		t.Error("it listens although its time is over")
	}
}

// One pause between two events, and none once the client has gone.
func TestDelay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := standin.New(standin.Options{Delay: time.Second})
		body := `{"model":"standin-planner","stream":true,"messages":[{"role":"user","content":"hello"}]}`
		began := time.Now()
		w := post(h, body)
		events := strings.Count(w.Body.String(), "data: ")
		if took := time.Since(began); events < 5 || took != time.Duration(events-1)*time.Second {
			t.Errorf("%d events in %v", events, took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 1500*time.Millisecond)
		defer cancel()
		w = httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodPost, "/v1/chat/completions", strings.NewReader(body)))
		if n := strings.Count(w.Body.String(), "data: "); n != 2 || h.Stats().BrokenOff != 1 || h.Stats().Answered != 1 {
			t.Errorf("%d events for a client that left, %+v", n, h.Stats())
		}
	})
}

func TestMisbehaves(t *testing.T) {
	t.Parallel()
	t.Run("busy", func(t *testing.T) {
		h := standin.New(standin.Options{Busy: 2, After: 1500 * time.Millisecond})
		body := `{"model":"standin-planner","messages":[{"role":"user","content":"x"}]}`
		for i, want := range []int{429, 429, 200} {
			if w := post(h, body); w.Code != want || want == 429 && w.Header().Get("Retry-After") != "2" {
				t.Errorf("request %d: %d %v", i, w.Code, w.Header())
			}
		}
	})
	t.Run("cut", func(t *testing.T) {
		c := newConversation(t, standin.Options{Cut: 1}, nil)
		c.messages = append(c.messages, user("hello"))
		if _, err := c.client.stream(t, c.params()); err == nil {
			t.Error("the first answer came to its end")
		}
		if answer := c.ask("hello"); !strings.Contains(answer, "not a language model") {
			t.Errorf("then: %s", answer)
		}
	})
	t.Run("malformed", func(t *testing.T) {
		c := newConversation(t, standin.Options{Malformed: 1}, lab.Tools(lab.Options{}))
		c.messages = append(c.messages, user("echo one and echo two"))
		for _, valid := range []bool{false, true} {
			done, err := c.client.complete(t, c.params())
			if err != nil {
				t.Fatal(err)
			}
			calls := done.Choices[0].Message.ToolCalls
			if len(calls) != 2 || !json.Valid([]byte(calls[0].Function.Arguments)) || json.Valid([]byte(calls[1].Function.Arguments)) != valid {
				t.Errorf("%+v", calls)
			}
		}
	})
}

// More requests at one time than there may be are told to come again.
func TestConcurrent(t *testing.T) {
	t.Parallel()
	h := standin.New(standin.Options{})
	server := httptest.NewServer(h)
	defer server.Close()
	var wg sync.WaitGroup
	var mu sync.Mutex
	var open []*io.PipeWriter
	for range standin.MaxConcurrent {
		r, w := io.Pipe()
		open = append(open, w)
		wg.Go(func() {
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+"/v1/chat/completions", r)
			req.ContentLength = 1 << 20
			res, err := server.Client().Do(req)
			if err != nil {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			if res.Body.Close(); res.StatusCode == 429 {
				t.Error("one that was in time was refused")
			}
		})
		if _, err := fmt.Fprint(w, `{"model"`); err != nil {
			t.Fatal(err)
		}
	}
	wait.Until(t, "the last of them has begun", func() bool { return h.Stats().Running >= standin.MaxConcurrent })
	res, err := server.Client().Post(server.URL+"/v1/chat/completions", "application/json", strings.NewReader(`{}`))
	if err != nil {
		t.Fatal(err)
	}
	if line, _ := bufio.NewReader(res.Body).ReadString('\n'); res.StatusCode != 429 || res.Header.Get("Retry-After") == "" || !strings.Contains(line, "busy") {
		t.Errorf("one more: %d %s", res.StatusCode, line)
	}
	res.Body.Close()
	for _, w := range open {
		w.CloseWithError(errors.New("gone"))
	}
	wg.Wait()
}
