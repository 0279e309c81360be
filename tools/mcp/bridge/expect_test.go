package bridge

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/tools/mcp/transport"
)

func has(t *testing.T, got string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(got, w) {
			t.Errorf("%q is missing in %.600s", w, got)
		}
	}
}

func lacks(t *testing.T, got string, unwanted ...string) {
	t.Helper()
	for _, w := range unwanted {
		if strings.Contains(got, w) {
			t.Errorf("%q should not be in %.600s", w, got)
		}
	}
}

// inputs answers an input_required result with what answer gives for each request.
func inputs(t *testing.T, r string, answer func(method, params string) string) string {
	t.Helper()
	has(t, r, `"resultType":"input_required"`)
	state := rawjson.Get([]byte(r), "result", "requestState")
	if state.IsZero() {
		t.Fatalf("no requestState in %s", r)
	}
	var out []string
	all := rawjson.Get([]byte(r), "result", "inputRequests")
	for m, err := range rawjson.Members([]byte(r), all.Start) {
		if err != nil {
			t.Fatal(err)
		}
		v := m.Value.Of([]byte(r))
		method, _ := rawjson.Text(v, "method")
		if a := answer(method, string(rawjson.Get(v, "params").Of(v))); a != "" {
			out = append(out, fmt.Sprintf("%q:%s", m.Key, a))
		}
	}
	return `"requestState":` + string(state.Of([]byte(r))) + `,"inputResponses":{` + strings.Join(out, ",") + "}"
}

func accept(string, string) string {
	return `{"action":"accept","content":{"name":"Zoë","n":9007199254740993}}`
}

// interact calls a tool and answers whatever is asked until it is done.
func interact(t *testing.T, c *caller, call string, answer func(method, params string) string) (r string, rounds int) {
	t.Helper()
	for r = c.call("tools/call", call); strings.Contains(r, `"input_required"`); rounds++ {
		r = c.call("tools/call", call+","+inputs(t, r, answer))
	}
	return r, rounds
}

// closing tells when it is closed.
type closing struct {
	transport.Peer
	closed chan bool
}

func (c closing) Close() error {
	c.closed <- true
	return c.Peer.Close()
}

// eventually waits for what another goroutine does.
func eventually(t *testing.T, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !ok(); {
		if time.Now().After(deadline) {
			t.Fatal("it did not happen")
		}
		time.Sleep(time.Millisecond)
	}
}
