package proxy

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/journal"
)

func TestWebSocketIsSentBackToHTTP(t *testing.T) {
	t.Parallel()
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Upgrade") != "websocket" {
			t.Errorf("upgrade did not arrive: %v", r.Header)
		}
		c, rw, err := w.(http.Hijacker).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		fmt.Fprint(rw, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		_ = rw.Flush()
		line, _ := rw.ReadString('\n')
		fmt.Fprint(rw, "echo "+line)
		_ = rw.Flush()
	}))
	defer upstream.Close()
	_, root, j := start(t, upstream.URL, Options{})
	host := strings.TrimPrefix(root, "http://")
	ask := "Host: " + host + "\r\nConnection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n\r\n"
	if got := roundTrip(t, root, "GET /openai/v1/responses HTTP/1.1\r\n"+strings.Replace(ask, "keep-alive, Upgrade", "Upgrade, close", 1)); !strings.HasPrefix(got, "HTTP/1.1 426 ") {
		t.Errorf("a WebSocket on /responses gets %q", got)
	}
	if refused := events[journal.WindowRefused](j); len(refused) != 1 || refused[0].Reason != "websocket" {
		t.Errorf("refused is %+v", refused)
	}
	c, err := net.Dial("tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprint(c, "GET /openai/v1/realtime HTTP/1.1\r\n"+ask)
	in := bufio.NewReader(c)
	res, err := http.ReadResponse(in, nil)
	if err != nil || res.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("a WebSocket elsewhere gets %v (%v)", res, err)
	}
	fmt.Fprint(c, "hello\n")
	if line, err := in.ReadString('\n'); err != nil || line != "echo hello\n" {
		t.Errorf("the other end says %q (%v)", line, err)
	}
}

// TestNoRawTunnel: behind a request to switch protocols, or CONNECT, nobody would look any more, and the provider would have our key. What is no
// WebSocket of a known client is answered as if nobody had asked, or refused.
func TestNoRawTunnel(t *testing.T) {
	t.Parallel()
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if len(r.Header["Upgrade"]) > 0 || r.Method == http.MethodConnect {
			t.Errorf("%s %s arrived with %v", r.Method, r.URL, r.Header)
		}
		_, _ = io.WriteString(w, "{}")
	}))
	defer upstream.Close()
	_, root, _ := start(t, upstream.URL, Options{})
	host := strings.TrimPrefix(root, "http://")
	const socket = "Connection: Upgrade, close\r\nUpgrade: websocket\r\n"
	for ask, want := range map[string]string{
		"GET /openai/v1/models HTTP/1.1\r\nConnection: Upgrade, close, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\r\n": "200",
		"GET /openai/v1/realtime HTTP/1.1\r\nConnection: Upgrade, close\r\nUpgrade: h2c\r\n":                                                           "200",
		"GET /openai/v1/realtime HTTP/1.1\r\nConnection: Upgrade, close\r\nUpgrade: websocket, h2c\r\n":                                                "200",
		"GET /openai/v1/realtime HTTP/1.1\r\nConnection: Upgrade, close\r\nUpgrade: websocket\r\nUpgrade: h2c\r\n":                                     "200",
		"GET /openai/v1/models HTTP/1.1\r\n" + socket:                                                                                                  "403",
		"GET /openai/v1/unrealtime HTTP/1.1\r\n" + socket:                                                                                              "403",
		"GET /gemini/ws/evil.GenerativeService.BidiGenerateContent HTTP/1.1\r\n" + socket:                                                              "403",
		"CONNECT /openai/v1/models HTTP/1.1\r\nConnection: close\r\n":                                                                                  "405",
	} {
		if got := roundTrip(t, root, ask+"Host: "+host+"\r\n\r\n"); !strings.HasPrefix(got, "HTTP/1.1 "+want+" ") {
			t.Errorf("%q gets %q, want %s", ask, got, want)
		}
	}
	for below, want := range map[string]bool{
		"v1/realtime": true, "realtime": true, "realtime/": true, "v1/realtime/x": false, "": false,
		"api/ws/speech_to_text/voice_stream": true, "api/aws/speech_to_text/voice_stream": false,
		"ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent":             true,
		"ws/google.ai.generativelanguage.v1alpha.GenerativeService.BidiGenerateContentConstrained": true,
	} {
		if isSocket(below) != want {
			t.Errorf("%q is open: %v", below, !want)
		}
	}
}
