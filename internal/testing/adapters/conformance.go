package adapters

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/internal/testing/scripted"
	"github.com/plimsoll/plimsoll/internal/testing/streams"
)

// Test holds an adapter to what is true of all of them. It sets variables and measures the heap, so the test that calls it is not parallel.
func Test(t *testing.T, w Wire) {
	t.Run("environment", w.testEnvironment)
	t.Run("long answers", w.testLongAnswers)
	t.Run("options", w.testOptions)
	t.Run("faults", w.testFaults)
	t.Run("silence", w.testSilence)
	t.Run("signs of life", w.testSignsOfLife)
	t.Run("cancel", w.testCancel)
	t.Run("deadline", w.testDeadline)
}

// The key, the address and the headers of somebody else's variables are not used.
func (w Wire) testEnvironment(t *testing.T) {
	for _, name := range w.Environment {
		value := "environment"
		switch {
		case strings.HasSuffix(name, "_BASE_URL"):
			value = "http://127.0.0.1:1"
		case strings.HasSuffix(name, "_CUSTOM_HEADERS"):
			value = "X-Environment: environment"
		}
		t.Setenv(name, value)
	}
	p := scripted.New(scripted.Options{})
	server := httptest.NewServer(p)
	defer server.Close()
	m, err := w.New(Options{URL: server.URL, Model: w.Model, Header: map[string]string{"X-Team": "seven"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Generate(t.Context(), Question, Ignore); err != nil {
		t.Fatal(err)
	}
	header := p.Requests()[0].Header
	for name, values := range header {
		if name == "Authorization" || strings.HasSuffix(name, "-Key") || strings.Contains(strings.Join(values, " "), "environment") {
			t.Errorf("sent %s: %v", name, values)
		}
	}
	if header.Get("X-Team") != "seven" {
		t.Errorf("sent %v", header)
	}
}

func (w Wire) testOptions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		o    Options
		want string
	}{
		"no model":    {Options{URL: "http://h"}, "Model"},
		"no key":      {Options{Model: "m"}, "Key"},
		"no scheme":   {Options{URL: "localhost:8080", Model: "m"}, "http://"},
		"no URL":      {Options{URL: "http://u:hunter22@[::1", Model: "m"}, "no URL"},
		"query":       {Options{URL: "http://h/v1?key=hunter22", Model: "m"}, "query"},
		"extra":       {Options{URL: "http://h", Model: "m", Extra: map[string]json.RawMessage{"x": nil}}, "Extra"},
		"no JSON":     {Options{URL: "http://h", Model: "m", Extra: map[string]json.RawMessage{"x": json.RawMessage("{")}}, "Extra"},
		"negative":    {Options{URL: "http://h", Model: "m", MaxOutput: -1}, "negative"},
		"two keys":    {Options{URL: "http://h", Model: "m", Key: "hunter22 hunter23"}, "space"},
		"header":      {Options{URL: "http://h", Model: "m", Header: map[string]string{"X-A": "hunter22\r\nX-B: c"}}, "X-A"},
		"header name": {Options{URL: "http://h", Model: "m", Header: map[string]string{"X A": "c"}}, "X A"},
		"no header":   {Options{URL: "http://h", Model: "m", Header: map[string]string{"": "c"}}, "header"},
	} {
		if _, err := w.New(c.o); err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "hunter") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What goes wrong with one answer does nothing to the next.
func (w Wire) testFaults(t *testing.T) {
	t.Parallel()
	answer := strings.Repeat("words of an answer ", 20)
	for name, c := range map[string]struct {
		fault scripted.Fault
		want  agent.Failure // "": an answer
	}{
		"cut":          {scripted.Fault{Kind: scripted.Cut, Events: 4}, agent.Broken},
		"page":         {scripted.Fault{Kind: scripted.HTML}, agent.Busy},
		"page, 404":    {scripted.Fault{Kind: scripted.HTML, Status: 404}, agent.NotAnAPI},
		"rate":         {scripted.Fault{Kind: scripted.RateLimit}, agent.Busy},
		"server":       {scripted.Fault{Kind: scripted.ServerErr}, agent.Busy},
		"garbage":      {scripted.Fault{Kind: scripted.Garbage}, agent.Broken},
		"compressed":   {scripted.Fault{Kind: scripted.Gzip}, ""},
		"drops":        {scripted.Fault{Kind: scripted.Drip, Bytes: 7}, ""},
		"huge comment": {scripted.Fault{Kind: scripted.HugeEvent, Bytes: 9 << 20}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(scripted.New(scripted.Options{
				Side:  func(int, *scripted.Request) scripted.Reply { return scripted.Reply{Text: answer} },
				Fault: scripted.FaultAt(0, c.fault),
			}))
			defer server.Close()
			m := w.At(t, server.URL)
			got, err := m.Generate(t.Context(), Question, Ignore)
			if c.want != "" {
				if e := ErrorOf(t, err); e.Failure != c.want {
					t.Errorf("%+v", e)
				}
				got, err = m.Generate(t.Context(), Question, Ignore)
			}
			if err != nil || got.Message.Text != answer {
				t.Errorf("%v, %+v", err, got)
			}
		})
	}
}

// An answer that stops coming is given up, and its request ended.
func (w Wire) testSilence(t *testing.T) {
	t.Parallel()
	word := w.Word("x")
	for name, c := range map[string]struct {
		first string
		after time.Duration
	}{
		"nothing":          {"", 5 * time.Minute},
		"at the beginning": {w.Begin, 5 * time.Minute},
		"after a word":     {w.Begin + word, time.Minute},
		"inside of a word": {w.Begin + word + word[:len(word)/2], time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				begun := time.Now()
				ended := false
				a := Written(func(_ context.Context, in *io.PipeWriter) { io.WriteString(in, c.first) })
				body := a.Body
				a.Body = func(r *http.Request) io.ReadCloser {
					context.AfterFunc(r.Context(), func() { ended = true })
					return body(r)
				}
				_, err := w.Canned(t, a).Generate(t.Context(), Question, Ignore)
				e := ErrorOf(t, err)
				if took := time.Since(begun).Truncate(time.Second); e.Failure != agent.Broken || !strings.Contains(e.Text, "nothing came for") || took != c.after { // of the bubble's clock
					t.Errorf("%+v after %v", e, took)
				}
				synctest.Wait()
				if !ended {
					t.Error("the request was not ended")
				}
			})
		})
	}
}

// Comments keep an answer open, for half an hour before its first words.
func (w Wire) testSignsOfLife(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		got, err := w.Canned(t, Written(func(_ context.Context, in *io.PipeWriter) {
			for range 7 {
				time.Sleep(4 * time.Minute)
				io.WriteString(in, ": still thinking\n\n")
			}
			io.WriteString(in, w.Begin+w.Word("x"))
			for range 5 {
				time.Sleep(50 * time.Second)
				io.WriteString(in, ": keep-alive\n\n")
			}
			io.WriteString(in, w.End)
			in.Close()
		})).Generate(t.Context(), Question, Ignore)
		if err != nil || got.Message.Text != "x" || time.Since(begun).Truncate(time.Second) != 28*time.Minute+250*time.Second {
			t.Errorf("%v, %+v after %v", err, got, time.Since(begun))
		}
	})
}

// The end of the caller's context is the end of the request at the service, and no *agent.ModelError.
func (w Wire) testCancel(t *testing.T) {
	t.Parallel()
	gone := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		out.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(out, w.Begin+w.Word("x"))
		http.NewResponseController(out).Flush()
		<-r.Context().Done()
		close(gone)
	}))
	defer server.Close()
	m := w.At(t, server.URL)
	ctx, cancel := context.WithCancelCause(t.Context())
	if _, err := m.Generate(ctx, Question, func(string) { cancel(errors.New("enough")) }); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v, not the context's", err)
	}
	<-gone
	if _, err := m.Generate(ctx, Question, Ignore); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v, not the context's", err)
	}
}

func (w Wire) testDeadline(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		m := w.Canned(t, Written(func(_ context.Context, in *io.PipeWriter) { io.WriteString(in, w.Begin+w.Word("x")) }))
		if _, err := m.Generate(ctx, Question, Ignore); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
	})
}

// An answer of 16 MiB is taken, in little more memory than it has; a longer one is not, nor a single event of more than 8 MiB.
func (w Wire) testLongAnswers(t *testing.T) {
	long := func(words int, word string) Answer {
		a := Stream("")
		a.Body = func(*http.Request) io.ReadCloser {
			event := w.Word(word)
			return io.NopCloser(io.MultiReader(strings.NewReader(w.Begin), streams.Repeat(event, int64(words*len(event))), strings.NewReader(w.End)))
		}
		return a
	}
	live := func() uint64 {
		runtime.GC()
		runtime.GC()
		var s runtime.MemStats
		runtime.ReadMemStats(&s)
		return s.HeapAlloc
	}
	word := strings.Repeat("y", 64<<10)
	m := w.Canned(t, long(256, word))
	before, most, pieces := live(), uint64(0), 0
	got, err := m.Generate(t.Context(), Question, func(string) {
		if pieces++; pieces%64 == 0 {
			most = max(most, live())
		}
	})
	if err != nil || len(got.Message.Text) != 16<<20 {
		t.Fatalf("%v", err)
	}
	after := live()
	runtime.KeepAlive(got)
	t.Logf("16 MiB of answer: %.1f MiB live while it comes, %.1f MiB at its end", float64(most-before)/(1<<20), float64(after-before)/(1<<20))
	if most-before > 48<<20 || after-before > 32<<20 {
		t.Errorf("live heap grew by %d while it came, and by %d at its end", most-before, after-before)
	}
	for name, a := range map[string]Answer{"answer": long(257, word), "event": long(1, strings.Repeat("y", 9<<20))} {
		_, err := w.Canned(t, a).Generate(t.Context(), Question, Ignore)
		if e := ErrorOf(t, err); e.Failure != agent.Oversized || !strings.Contains(e.Text, "longer than") {
			t.Errorf("%s: %+v", name, e)
		}
	}
}

// Fuzz reads any bytes as an answer: an error that can be shown comes of them, or a reply that can be sent back. The seeds are answers of
// the protocol; every protocol gets deep nesting too.
func Fuzz(f *testing.F, w Wire, seeds ...string) {
	for _, s := range append(seeds, w.Begin+w.Word("x")+w.End, "data: "+strings.Repeat("[", 300)+"\n\n") {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var text strings.Builder
		got, err := w.Canned(t, Stream(string(body))).Generate(t.Context(), Question, func(s string) { text.WriteString(s) })
		if err != nil {
			ErrorOf(t, err)
			return
		}
		same := text.String() == got.Message.Text || w.Interleaved && text.Len() == len(got.Message.Text)
		if !same || got.Message.Role != agent.RoleAssistant || got.Stop == "" {
			t.Errorf("streamed %q, answered %+v", text.String(), got)
		}
		r := &agent.Request{Messages: []agent.Message{Question.Messages[0], got.Message}}
		for _, c := range got.Message.Calls {
			if c.ID == "" || c.Arguments == "" {
				t.Errorf("call %+v", c)
			}
			r.Messages = append(r.Messages, agent.Message{Role: agent.RoleTool, CallID: c.ID, Text: "b"})
		}
		if _, err := w.Canned(t, Stream(w.Begin+w.Word("x")+w.End)).Generate(t.Context(), r, Ignore); err != nil {
			t.Errorf("the answer can't be sent back: %v", err)
		}
	})
}
