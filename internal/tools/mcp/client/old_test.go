package client

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/wait"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
)

func TestServerOfTheOldTransport(t *testing.T) {
	stream := make(chan string, 10)
	s := site(t, func(w http.ResponseWriter, r *http.Request, h jsonrpc.Head) {
		switch {
		case r.Method == http.MethodGet:
			events(w, "event: endpoint\ndata: /messages?session=1")
			for {
				select {
				case text := <-stream:
					if text == "" {
						return
					}
					events(w, "event: message\ndata: "+text)
				case <-r.Context().Done():
					return
				}
			}
		case r.URL.Path != "/messages":
			http.Error(w, "no", http.StatusMethodNotAllowed)
		default:
			w.WriteHeader(http.StatusAccepted)
			switch {
			case h.Method == "ends":
				stream <- ""
			case h.Kind == jsonrpc.Request:
				stream <- `{"jsonrpc":"2.0","method":"notifications/before"}`
				stream <- fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"text":"%s"}}`, h.ID, strings.Repeat("x", 100<<10))
			}
		}
	})
	p := remote(t, s, nil)
	l, _ := listen(t, p)
	begin(t, p)
	if r := ask(t, p, "2", "echo"); r.err != nil || r.bytes < 100<<10 {
		t.Errorf("%d bytes, %v", r.bytes, r.err)
	}
	// It goes by a way of its own, and may come behind the answer.
	wait.Until(t, "the listener gets it", func() bool { return len(l.all()) > 0 })
	if r := ask(t, p, "3", "ends"); r.err == nil || !strings.Contains(r.err.Error(), "its stream ended") {
		t.Errorf("a stream that ends: %v", r.err)
	}
	if r := ask(t, p, "4", "echo"); r.err != nil {
		t.Errorf("after it came back: %v", r.err)
	}
	if n := s.count(http.MethodPost, `"ends"`); n != 1 {
		t.Errorf("what was lost was sent %d times", n)
	}
	if n := s.count(http.MethodPost, `plimsoll-again`); n != 1 {
		t.Errorf("the handshake was said %d times to the new stream", n)
	}
}
