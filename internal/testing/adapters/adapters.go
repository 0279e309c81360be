// Package adapters asks of each adapter of a model (agent/anthropic, agent/gemini, agent/openai) what must be true of all of them. A test
// describes its protocol in a [Wire] and calls [Test]; what depends on the provider's own words comes as tables ([Failures], [Streams]).
//
//	func TestAdapter(t *testing.T) { adapters.Test(t, wire) }
//
// Answers are canned ([Answer]), or come from a provider that is as strict as the real ones (internal/testing/scripted). Time is that of a
// bubble of testing/synctest wherever an adapter waits.
package adapters

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/plimsoll/plimsoll/agent"
)

// Wire describes an adapter and its protocol.
type Wire struct {
	New         func(Options) (agent.Model, error)
	Model       string   // the name of one of the provider's models
	Environment []string // variables that the provider's own libraries read
	// An answer is Begin, any number of words, and End.
	Begin string
	Word  func(string) string
	End   string
	// Interleaved protocols may stream the words of one block between those of another.
	Interleaved bool
}

// Options are those that all adapters have. URL is without a version.
type Options struct {
	URL, Key, Model string
	Client          *http.Client
	Header          map[string]string
	Extra           map[string]json.RawMessage
	MaxOutput       int
}

// Key is the key that the models of this package send. No error may show it.
const Key = "sk-test-secret-key"

// Question is a request of one word.
var Question = Ask("a")

// Ask returns a request of one message.
func Ask(text string) *agent.Request {
	return &agent.Request{Messages: []agent.Message{{Role: agent.RoleUser, Text: text}}}
}

// Ignore takes the words of an answer and does nothing with them.
func Ignore(string) {}

// At returns a model at an address.
func (w Wire) At(t testing.TB, url string) agent.Model {
	t.Helper()
	return w.make(t, Options{URL: url})
}

// Canned returns a model whose requests all get the same answer.
func (w Wire) Canned(t testing.TB, a Answer) agent.Model {
	t.Helper()
	return w.make(t, Options{URL: "http://model.test", Client: a.Client()})
}

func (w Wire) make(t testing.TB, o Options) agent.Model {
	t.Helper()
	o.Key, o.Model, o.Header = Key, w.Model, map[string]string{"X-Other": "header-secret"}
	m, err := w.New(o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Answer is the HTTP answer to every request.
type Answer struct {
	Status int
	Kind   string // Content-Type
	Header http.Header
	Body   func(*http.Request) io.ReadCloser
	Sent   *[]byte // the body of the newest request; nil if nobody asks
}

// Said returns an answer of some text.
func Said(status int, kind, text string) Answer {
	return Answer{Status: status, Kind: kind, Body: func(*http.Request) io.ReadCloser { return io.NopCloser(strings.NewReader(text)) }}
}

// Stream returns a stream of events.
func Stream(events string) Answer { return Said(200, "text/event-stream", events) }

// Written returns a stream that a function writes, and that stays open behind it until the request ends.
func Written(write func(context.Context, *io.PipeWriter)) Answer {
	return Answer{Status: 200, Kind: "text/event-stream", Body: func(r *http.Request) io.ReadCloser {
		out, in := io.Pipe()
		context.AfterFunc(r.Context(), func() { in.CloseWithError(r.Context().Err()) })
		go write(r.Context(), in)
		return out
	}}
}

// With returns the answer with another header.
func (a Answer) With(name, value string) Answer {
	a.Header = maps.Clone(a.Header)
	if a.Header == nil {
		a.Header = http.Header{}
	}
	a.Header.Set(name, value)
	return a
}

// Client returns a client that gets the answer to every request.
func (a Answer) Client() *http.Client { return &http.Client{Transport: a} }

// RoundTrip implements http.RoundTripper.
func (a Answer) RoundTrip(r *http.Request) (*http.Response, error) {
	sent, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	r.Body.Close()
	if a.Sent != nil {
		*a.Sent = sent
	}
	h := http.Header{"Content-Type": {a.Kind}}
	maps.Copy(h, a.Header)
	return &http.Response{StatusCode: a.Status, Header: h, Body: a.Body(r), Request: r, ProtoMajor: 1, ProtoMinor: 1}, nil
}

// ErrorOf returns the *agent.ModelError that an error has to be. Whatever went wrong, it can be shown, and shows no secret.
func ErrorOf(t testing.TB, err error) *agent.ModelError {
	t.Helper()
	e, ok := errors.AsType[*agent.ModelError](err)
	if !ok {
		t.Fatalf("the error is %T %v, no *agent.ModelError", err, err)
	}
	all := e.Text + fmt.Sprint(e.Err) + e.Error()
	if strings.Contains(all, "secret") || len(e.Text) > 300 || e.Text == "" || !utf8.ValidString(e.Text) || strings.ContainsFunc(e.Text, func(r rune) bool { return r < ' ' }) {
		t.Errorf("the text %q, the error %q", e.Text, all)
	}
	if e.Failure == "" || e.Tries != 1 || e.After < 0 {
		t.Errorf("%+v", e)
	}
	return e
}

// Failed is an answer that is none, and what its error says.
type Failed struct {
	Answer        Answer
	Want          agent.Failure
	Text          string // a part of the error's text
	Limit, Actual int
	After         time.Duration
}

// Failures asks for each answer and looks at its error.
func Failures(t *testing.T, w Wire, list map[string]Failed) {
	for name, c := range list {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := w.Canned(t, c.Answer).Generate(t.Context(), Question, Ignore)
			e := ErrorOf(t, err)
			if e.Failure != c.Want || e.Limit != c.Limit || e.Actual != c.Actual || e.After != c.After || !strings.Contains(e.Text, c.Text) {
				t.Errorf("%+v", e)
			}
			if e.Model.Name != w.Model || !strings.HasPrefix(e.Model.URL, "http://model.test") {
				t.Errorf("it is of %+v", e.Model)
			}
		})
	}
}

// Streams asks for each stream and compares the reply that is read from it, whose role need not be named.
func Streams(t *testing.T, w Wire, list map[string]Streamed) {
	for name, c := range list {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var text strings.Builder
			got, err := w.Canned(t, Stream(c.Events)).Generate(t.Context(), Question, func(s string) { text.WriteString(s) })
			if err != nil {
				t.Fatal(err)
			}
			c.Want.Message.Role = agent.RoleAssistant
			if diff := cmp.Diff(&c.Want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if text.String() != c.Want.Message.Text {
				t.Errorf("streamed %q", text.String())
			}
		})
	}
}

// Streamed is the body of an answer, as events or whole, and the reply that it is.
type Streamed struct {
	Events string
	Want   agent.Reply
}
