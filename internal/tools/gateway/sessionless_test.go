package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/tools/gateway"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	mcpserver "github.com/plimsoll/plimsoll/internal/tools/mcp/server"
	"github.com/plimsoll/plimsoll/journal"
)

// Many servers of the version with sessions give no session ids. Their clients cannot be told apart, and
// all of them count their requests from 1.
func TestClientsOfAServerWithoutSessionsMayUseTheSameIDs(t *testing.T) {
	came, goOn := make(chan string, 2), make(chan struct{})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		h, err := jsonrpc.Scan(raw)
		switch {
		case r.Method != http.MethodPost:
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		case err != nil:
			w.WriteHeader(http.StatusBadRequest)
			return
		case h.Kind != jsonrpc.Request:
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		switch h.Method {
		case "initialize":
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}}`, h.ID)
		case "tools/call":
			came <- "called"
			<-goOn
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"done"}]}}`, h.ID)
		default:
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, h.ID)
		}
	}))
	defer web.Close()
	j := journal.New(journal.Options{})
	server := gateway.NewServer(gateway.ServerOptions{Name: "test", Remote: true, Spool: newSpool(t, j), Journal: j, Dial: dialHTTP(t, web.URL)})
	defer server.Close()
	h := mcpserver.New(mcpserver.Options{Name: "test", Open: server.Open})
	defer h.Close()
	a, b := onHandler(t, h, false).begin("x"), onHandler(t, h, false).begin("y")
	message := []byte(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"slow","arguments":{}}}`)
	answers := make(chan answer, 2)
	for _, c := range []*client{a, b} {
		go func() { answers <- c.send(t.Context(), message) }()
	}
	for range 2 {
		select {
		case <-came:
		case got := <-answers:
			t.Errorf("refused: %s, %v", got.raw, got.err)
		}
	}
	close(goOn)
	for range cap(answers) - len(answers) {
		if got := <-answers; !strings.Contains(string(got.raw), "done") {
			t.Errorf("%s, %v", got.raw, got.err)
		}
		if t.Failed() {
			break
		}
	}
}
