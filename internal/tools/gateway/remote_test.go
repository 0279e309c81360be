package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/testing/toolserver"
	"github.com/plimsoll/plimsoll/internal/tools/gateway"
	mcpserver "github.com/plimsoll/plimsoll/internal/tools/mcp/server"
	"github.com/plimsoll/plimsoll/journal"
)

// A server that wants credentials is answered for by itself: its client must see the status
// and where to get them, also before it is known which protocol version the server speaks.
func TestCredentialsAreBetweenClientAndServer(t *testing.T) {
	ts := toolserver.New(toolserver.Options{Versions: toolserver.LegacyOnly})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer of-the-client" {
			w.Header().Set("WWW-Authenticate", `Bearer realm="tools"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		ts.Handler().ServeHTTP(w, r)
	}))
	defer web.Close()
	j := journal.New(journal.Options{})
	server := gateway.NewServer(gateway.ServerOptions{Name: "test", Remote: true, Spool: newSpool(t, j), Journal: j, Dial: dialHTTP(t, web.URL)})
	defer server.Close()
	h := mcpserver.New(mcpserver.Options{Name: "test", Open: server.Open})
	defer h.Close()
	front := httptest.NewServer(h)
	defer front.Close()
	post := func(token, session, body string) (*http.Response, string) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, front.URL, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		if token != "" {
			r.Header.Set("Authorization", token)
		}
		if session != "" {
			r.Header.Set("Mcp-Session-Id", session)
		}
		res, err := front.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res, string(text)
	}
	initialize := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"claude-code","version":"1"}}}`
	res, _ := post("", "", initialize)
	if res.StatusCode != http.StatusUnauthorized || res.Header.Get("WWW-Authenticate") == "" {
		t.Errorf("without credentials: %d, %q", res.StatusCode, res.Header.Get("WWW-Authenticate"))
	}
	res, text := post("Bearer of-the-client", "", initialize)
	session := res.Header.Get("Mcp-Session-Id")
	if res.StatusCode != http.StatusOK || session == "" || !strings.Contains(text, "protocolVersion") {
		t.Fatalf("with credentials: %d, session %q, %s", res.StatusCode, session, text)
	}
	if _, text = post("Bearer of-the-client", session, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`); !strings.Contains(text, "result_page") {
		t.Errorf("the list: %.300s", text)
	}
	// The session knows its client: 30,000 characters are no large result for this one.
	_, text = post("Bearer of-the-client", session, `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"big","arguments":{"bytes":30000,"kind":"text"}}}`)
	if strings.Contains(text, "plimsoll/result") || len(text) < 30000 {
		t.Errorf("%d bytes came: %.200s", len(text), text)
	}
	if res, _ = post("Bearer of-the-client", "no-such-session", `{"jsonrpc":"2.0","id":4,"method":"tools/list"}`); res.StatusCode != http.StatusNotFound {
		t.Errorf("a session that is gone: %d", res.StatusCode)
	}
}

// A client that speaks both protocol versions tries the newer one first and may go back to the older.
func TestAClientMayGoBackToSessions(t *testing.T) {
	r := newRig(t, toolserver.Options{Versions: toolserver.LegacyOnly}, false, gateway.Settings{})
	p := r.server.Local()
	modern, legacy := onPeer(t, p, true), onPeer(t, p, false)
	modern.begin("someone")
	legacy.begin("someone")
	legacy.ok(legacy.call("echo", `{"text":"x"}`))
	modern.ok(modern.call("echo", `{"text":"x"}`))
}

// A remote server whose discovery names only the newest version may answer initialize all the same, as the Python SDK 2.x does: its older
// clients have their sessions with it, in which it can ask them.
func TestOlderClientOfARemoteServerOfBothVersions(t *testing.T) {
	var ended atomic.Int64
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.Method == http.MethodDelete && r.Header.Get("Mcp-Session-Id") == "probed":
			ended.Add(1)
		case strings.Contains(string(body), `"server/discover"`):
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"supportedVersions":["2026-07-28"],"capabilities":{},"resultType":"complete"}}`, rawjson.Get(body, "id").Of(body))
		case strings.Contains(string(body), `"initialize"`):
			w.Header().Set("Mcp-Session-Id", "probed")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}`, rawjson.Get(body, "id").Of(body))
		default:
			w.WriteHeader(http.StatusAccepted)
		}
	}))
	defer up.Close()
	j := journal.New(journal.Options{})
	s := gateway.NewServer(gateway.ServerOptions{Name: "x", Remote: true, Journal: j, Spool: newSpool(t, j), Dial: dialHTTP(t, up.URL)})
	t.Cleanup(func() { _ = s.Close() })
	opened, err := s.Open(t.Context(), mcpserver.Opening{Begins: true, Header: http.Header{}})
	if err != nil || !opened.Passed || ended.Load() != 1 {
		t.Errorf("%+v, %v, %d sessions ended", opened, err, ended.Load())
	}
}
