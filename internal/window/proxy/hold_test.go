package proxy

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll/plimsoll/journal"
)

// piped answers every request with the reading end of a pipe that the test writes to.
type piped struct {
	header http.Header
	body   *io.PipeReader
}

func (p piped) RoundTrip(r *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, r.Body)
	_ = r.Body.Close()
	stop := context.AfterFunc(r.Context(), func() { _ = p.body.CloseWithError(r.Context().Err()) })
	_ = stop
	return &http.Response{
		StatusCode: 200, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Header: p.header, Body: p.body, ContentLength: -1, Request: r,
	}, nil
}

// arriving notes when what arrived at a client.
type arriving struct {
	*httptest.ResponseRecorder
	writes chan string
}

func (a *arriving) Write(p []byte) (int, error) {
	a.writes <- string(p)
	return a.ResponseRecorder.Write(p)
}

func held(t *testing.T, test func(upstream *io.PipeWriter, arrived <-chan string, j *journal.Journal)) {
	synctest.Test(t, func(t *testing.T) {
		r, w := io.Pipe()
		j := journal.New(journal.Options{})
		p, err := New(Options{
			Transport: piped{http.Header{"Content-Type": {"text/event-stream"}}, r}, AnyPeer: true, Hosts: []string{"example.com"}, Journal: j,
		})
		if err != nil {
			t.Fatal(err)
		}
		request := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/anthropic/v1/messages",
			strings.NewReader(`{"model":"claude-sonnet-4-5","max_tokens":10,"stream":true,"thinking":{"type":"adaptive"},"messages":[{"role":"user","content":"hi"}]}`))
		client := &arriving{httptest.NewRecorder(), make(chan string, 100)}
		done := make(chan struct{})
		go func() {
			defer close(done)
			p.ServeHTTP(client, request)
		}()
		test(w, client.writes, j)
		<-done
	})
}

const (
	messageStart = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"content\":[],\"usage\":{\"input_tokens\":5,\"output_tokens\":1}}}\n\n"
	contentDelta = "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"a\"}}\n\n"
)

func TestAnnouncementsAreHeldForTwoSeconds(t *testing.T) {
	held(t, func(upstream *io.PipeWriter, arrived <-chan string, j *journal.Journal) {
		began := time.Now()
		_, _ = io.WriteString(upstream, messageStart)
		if got := <-arrived; got != messageStart || time.Since(began) != holdTime {
			t.Errorf("after %v came %q", time.Since(began), got)
		}
		// A model that thinks for ten minutes is waited for.
		time.Sleep(10 * time.Minute)
		_, _ = io.WriteString(upstream, contentDelta)
		if got := <-arrived; got != contentDelta {
			t.Errorf("then came %q", got)
		}
		_ = upstream.Close()
		synctest.Wait()
		if found := events[journal.WindowResponse](j); len(found) != 1 || found[0].Ended != "complete" || found[0].TokensIn != 5 {
			t.Errorf("the journal has %+v", found)
		}
	})
}

func TestContentIsNotHeld(t *testing.T) {
	t.Parallel()
	held(t, func(upstream *io.PipeWriter, arrived <-chan string, j *journal.Journal) {
		began := time.Now()
		_, _ = io.WriteString(upstream, messageStart+contentDelta)
		if got := <-arrived; got != messageStart+contentDelta || time.Since(began) != 0 {
			t.Errorf("after %v came %q", time.Since(began), got)
		}
		_ = upstream.CloseWithError(io.EOF)
	})
}

func TestNoMoreIsHeldThanTheBound(t *testing.T) {
	t.Parallel()
	held(t, func(upstream *io.PipeWriter, arrived <-chan string, j *journal.Journal) {
		began := time.Now()
		ping := ": ping " + strings.Repeat("x", 1000) + "\n"
		go func() {
			for range 2 * holdBytes / len(ping) {
				_, _ = io.WriteString(upstream, ping)
			}
			_ = upstream.Close()
		}()
		if got := <-arrived; len(got) < holdBytes || len(got) > holdBytes+len(ping) || time.Since(began) != 0 {
			t.Errorf("after %v %d bytes came at once", time.Since(began), len(got))
		}
		for n := 0; n < 2*holdBytes/len(ping)*len(ping)-holdBytes-len(ping); {
			n += len(<-arrived)
		}
	})
}
