package scripted

import (
	"bytes"
	"compress/gzip"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/plimsoll/plimsoll/internal/window/overflow"
	"github.com/plimsoll/plimsoll/window/wire"
)

func TestFaults(t *testing.T) {
	path, body := ask(wire.Messages, true, task)
	for _, f := range []Fault{{Kind: HTML}, {Kind: RateLimit}, {Kind: ServerErr}, {Kind: ServerErr, Status: 529}} {
		p, server := start(t, Options{Fault: FaultAt(0, f)})
		status, header, answer := send(t, server, path, body)
		if status < 400 {
			t.Errorf("%s: %d", f.Kind, status)
		}
		if f.Kind == HTML && !strings.Contains(header.Get("Content-Type"), "html") {
			t.Errorf("no HTML: %s", answer)
		}
		if _, ok := overflow.Classify(status, header.Get("Content-Type"), []byte(answer)); ok {
			t.Errorf("%s is taken for an overflow: %s", f.Kind, answer)
		}
		if status, _, _ = send(t, server, path, body); status != 200 || p.Requests()[1].Turn != 0 {
			t.Errorf("%s: the repeat: %d", f.Kind, status)
		}
	}
	plain := func(f Fault) string {
		_, server := start(t, Options{Script: Replies(Reply{Text: "ünicode text"}), Fault: FaultAt(0, f)})
		_, _, answer := send(t, server, path, body)
		return answer
	}
	want := plain(Fault{})
	for _, f := range []Fault{{Kind: Drip}, {Kind: Drip, Bytes: 5}} {
		if got := plain(f); got != want {
			t.Errorf("%s changes the bytes: %q", f.Kind, got)
		}
	}
	for _, f := range []Fault{{Kind: Garbage}, {Kind: HugeEvent}} {
		if got := plain(f); !strings.HasSuffix(got, want) || got == want {
			t.Errorf("%s: %.100q", f.Kind, got)
		}
	}
	t.Run("cut", func(t *testing.T) {
		_, server := start(t, Options{Fault: FaultAt(0, Fault{Kind: Cut, Events: 2})})
		resp, err := server.Client().Post(server.URL+path, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err == nil || strings.HasSuffix(string(text), "\n\n") || strings.Count(string(text), "event:") != 3 {
			t.Errorf("%v %q", err, text)
		}
	})
	t.Run("gzip", func(t *testing.T) {
		_, server := start(t, Options{Fault: FaultAt(0, Fault{Kind: Gzip})})
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Accept-Encoding", "identity")
		resp, err := server.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		z, err := gzip.NewReader(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		if text, err := io.ReadAll(z); err != nil || !strings.Contains(string(text), "message_stop") {
			t.Errorf("%v %q", err, text)
		}
	})
	t.Run("hang", func(t *testing.T) {
		arrived := make(chan struct{})
		p, server := start(t, Options{Fault: func(*Request) Fault { close(arrived); return Fault{Kind: Hang} }})
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-arrived; cancel() }()
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		if resp, err := server.Client().Do(req); err == nil {
			resp.Body.Close()
			t.Error("it answered")
		}
		server.Close() // waits for the handler
		if kept := p.Requests(); len(kept) != 1 || kept[0].Status != 0 {
			t.Errorf("recorded %+v", kept)
		}
	})
}

func TestCompressedRequests(t *testing.T) {
	path, body := ask(wire.Responses, false, task)
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	io.WriteString(z, body)
	z.Close()
	encoder, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	for encoding, raw := range map[string][]byte{"gzip": zipped.Bytes(), "zstd": encoder.EncodeAll([]byte(body), nil)} {
		p, server := start(t, Options{})
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+path, bytes.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Encoding", encoding)
		resp, err := server.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != 200 || string(p.Requests()[0].Body) != body {
			t.Errorf("%s: %d", encoding, resp.StatusCode)
		}
	}
}
