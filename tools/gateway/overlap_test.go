package gateway_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/tools/gateway"
	"github.com/plimsoll/plimsoll/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/tools/mcp/transport"
)

// held is a server whose answers wait to be let go.
type held struct {
	answers map[string]string // by tool
	waits   map[string]chan struct{}
	got     chan string
}

func (h *held) Send(_ context.Context, m transport.Message, to transport.Receiver) {
	if m.Head.Method != "tools/call" {
		result := h.answers[m.Head.Method]
		if result == "" {
			result = "{}"
		}
		transport.Reply(to, jsonrpc.ResultResponse(m.Head.ID, []byte(result)))
		return
	}
	name, _ := rawjson.Text(m.Raw, "params", "name")
	id := m.Head.ID
	go func() {
		h.got <- name
		<-h.waits[name]
		transport.Reply(to, jsonrpc.ResultResponse(id, []byte(h.answers[name])))
	}()
}

func (h *held) Listen(ctx context.Context, _ http.Header, to transport.Receiver) {
	<-ctx.Done()
	to.Done(nil)
}

func (h *held) Close() error { return nil }

// What was read before or while something was written is no answer to a read after it.
func TestAReadThatOverlapsAWriteIsNotReused(t *testing.T) {
	for _, order := range []string{"read write read! write! ", "write read read! write! "} {
		t.Run(order, func(t *testing.T) {
			h := &held{
				got: make(chan string, 8), waits: map[string]chan struct{}{"read": make(chan struct{}, 8), "write": make(chan struct{}, 8)},
				answers: map[string]string{
					"tools/list": `{"tools":[{"name":"read","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}},{"name":"write","inputSchema":{"type":"object"}}]}`,
					"read":       `{"content":[{"type":"text","text":"` + strings.Repeat("a line\\n", 10000) + `"}]}`,
					"write":      `{"content":[]}`,
				},
			}
			s := gateway.New(gateway.Options{Name: "t", Next: h, Spool: newSpool(t, journal.New(journal.Options{}))})
			c := onPeer(t, s, false).begin("x")
			c.ok(c.do("tools/list", ""))
			ends := map[string]chan answer{"read": make(chan answer, 1), "write": make(chan answer, 1)}
			for step := range strings.FieldsSeq(order) {
				name, end := strings.CutSuffix(step, "!")
				if end {
					h.waits[name] <- struct{}{}
					c.ok(<-ends[name])
					continue
				}
				message := c.message("tools/call", `"name":"`+name+`","arguments":{}`, "")
				go func() { ends[name] <- c.send(t.Context(), message) }()
				if got := <-h.got; got != name {
					t.Fatalf("%s came", got)
				}
			}
			h.waits["read"] <- struct{}{}
			if text := c.ok(c.call("read", `{}`)).text(); strings.Contains(text, "not asked for again") {
				t.Errorf("a read after a write was answered with what was read before it: %.300s", text)
			}
		})
	}
}

// The id that a client answers with goes to a server behind a merged endpoint as a value,
// whatever is in it.
func TestAnAnswerToAMergedEndpointIsNothingElse(t *testing.T) {
	h := &scripted{answers: map[string]string{"initialize": `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}`}}
	j := journal.New(journal.Options{})
	sp := newSpool(t, j)
	server := gateway.NewServer(gateway.ServerOptions{Name: "one", Spool: sp, Journal: j, Dial: func(gateway.Dialing) transport.Peer { return h }})
	m := gateway.NewMerge(gateway.MergeOptions{Parts: []gateway.Part{{Server: server}}, Spool: sp, Journal: j})
	p := m.Local()
	c := onPeer(t, p, false).begin("x")
	for _, id := range []string{
		`"plimsoll:0:1,\"method\":\"tools/call\",\"params\":{\"name\":\"write\"}"`,
		`"plimsoll:0:1,\"method\":\"shutdown\""`,
		`"plimsoll:0:{}"`, `"plimsoll:0:"`,
	} {
		c.send(t.Context(), []byte(`{"jsonrpc":"2.0","id":`+id+`,"result":{}}`))
	}
	if h.asked("tools/call") != 0 || h.asked("shutdown") != 0 {
		t.Errorf("an answer became a request: %s %s", h.last("tools/call"), h.last("shutdown"))
	}
}
