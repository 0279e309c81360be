package client

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
)

// FuzzServerOutput holds that whatever a server writes, an open request ends, once (Done
// twice would panic), and the answer it gets is one that is for it.
func FuzzServerOutput(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"result":{}}`+"\n"+`{"id":1,"result":{}}`+"\n"), false)
	f.Add([]byte(`[{"id":1,"result":{}},3,{"method":"notifications/progress","params":{"progressToken":7}}]`+"\n"), true)
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"result":{"a`), false)
	f.Add([]byte("hello\n"+`{"id":"plimsoll-1","method":"ping"}`+"\n"), true)
	f.Fuzz(func(t *testing.T, output []byte, shared bool) {
		l := &scripted{began: time.Now(), life: func(_ int, in io.Reader, out io.Writer) {
			_, _, _ = jsonrpc.NewLineReader(in, 0).Next()
			_, _ = out.Write(output)
		}}
		s := Stdio(StdioOptions{Name: "fuzz", Launch: l.launch, Shared: shared, TempDir: t.TempDir()})
		r := newReceiver()
		s.Send(t.Context(), message(t, `{"jsonrpc":"2.0","id":1,"method":"x","params":{"_meta":{"progressToken":7}}}`), r)
		<-r.done
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if r.err == nil {
			if h, err := jsonrpc.Scan([]byte(r.last())); len(r.last()) < 1<<10 && (err != nil || h.Kind != jsonrpc.Response || h.ID != "1") {
				t.Fatalf("the answer is %q", r.last())
			}
		}
	})
}

// canned is a transport with one answer.
type canned struct {
	media string
	body  []byte
}

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodPost {
		return &http.Response{StatusCode: http.StatusMethodNotAllowed, Body: http.NoBody, Header: http.Header{}}, nil
	}
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {c.media}}, Body: io.NopCloser(bytes.NewReader(c.body))}, nil
}

// FuzzHTTPAnswer holds the same of the bodies of HTTP answers.
func FuzzHTTPAnswer(f *testing.F) {
	f.Add([]byte("data: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n"), true, false)
	f.Add([]byte("data: {\"method\":\"a\"}\n\ndata: {\"id\":2,\"result\":1}\n\ndata: x"), true, true)
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"result":{}}`), false, false)
	f.Add([]byte(`{"jsonrpc":"2.0","id`), false, true)
	f.Fuzz(func(t *testing.T, body []byte, stream, through bool) {
		media := jsonType
		if stream {
			media = eventStream
		}
		p, err := HTTP(HTTPOptions{Name: "fuzz", URL: "http://fuzz.example", Client: &http.Client{Transport: canned{media, body}}})
		if err != nil {
			t.Fatal(err)
		}
		// Of the sessionless version: nothing is asked for again, which takes a second each time.
		m := message(t, `{"jsonrpc":"2.0","id":1,"method":"x","params":{`+modernMeta+`}}`)
		if through {
			m.Header = http.Header{}
		}
		r := newReceiver()
		p.Send(context.Background(), m, r)
		<-r.done
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		if r.err == nil && !through && r.bytes == 0 {
			t.Fatal("neither an answer nor an error")
		}
	})
}
