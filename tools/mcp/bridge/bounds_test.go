package bridge

import (
	"context"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/tools/mcp/transport"
)

// asking is a server that asks the client in every call and waits for ever.
type asking struct {
	script
	ended  int
	closed int
}

func (s *asking) Send(ctx context.Context, m transport.Message, to transport.Receiver) {
	if m.Head.Method != "tools/call" {
		s.script.Send(ctx, m, to)
		return
	}
	s.mu.Lock()
	s.calls++
	id := strconv.Itoa(s.calls)
	s.mu.Unlock()
	to.Receive(&transport.Frame{Head: []byte(`{"jsonrpc":"2.0","id":` + id + `,"method":"roots/list"}`)})
	context.AfterFunc(ctx, func() {
		s.mu.Lock()
		s.ended++
		s.mu.Unlock()
		to.Done(ctx.Err())
	})
}

// counts is how many calls and how many ways were ended.
func (s *asking) counts() (ended, closed int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended, s.closed
}

func (s *asking) Close() error {
	s.mu.Lock()
	s.closed++
	s.mu.Unlock()
	return nil
}

// TestTimeEndsWhatIsHeld: the gathering, the hold and the idle session take as long as they
// should, and nothing is left of them.
func TestTimeEndsWhatIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &asking{}
		b := Modern(nil, Options{Open: func(context.Context, transport.Message) (transport.Peer, error) { return server, nil }})
		c := modernCaller(t, b)
		start := time.Now()
		has(t, c.tool("x", `{}`), "input_required")
		if took := time.Since(start); took != DefaultGather {
			t.Errorf("the client was asked after %v", took)
		}
		synctest.Wait()
		time.Sleep(DefaultHold - time.Nanosecond)
		synctest.Wait()
		if ended, _ := server.counts(); ended != 0 {
			t.Error("the call was given up early")
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if ended, closed := server.counts(); ended != 1 || closed != 0 {
			t.Errorf("after the hold %d calls are ended, %d sessions closed", ended, closed)
		}
		time.Sleep(2 * DefaultIdle)
		synctest.Wait()
		if _, closed := server.counts(); closed != 1 {
			t.Errorf("an idle session was closed %d times", closed)
		}
		_ = b.Close()
	})
}

// TestOldHoldsGiveNoRoom: beyond the limits a call is refused, and an event says so.
func TestOldHoldsGiveNoRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := journal.New(journal.Options{})
		server := &asking{}
		b := Modern(server, Options{MaxHeld: 3, Journal: j})
		c := modernCaller(t, b)
		for range 3 {
			has(t, c.tool("x", `{}`), "input_required")
		}
		has(t, c.tool("x", `{}`), "which is the limit")
		synctest.Wait()
		if ended, _ := server.counts(); ended != 1 || j.Counts()["tools.refused"] != 1 {
			t.Errorf("%d calls ended, %v", ended, j.Counts())
		}
		_ = b.Close()
		synctest.Wait()
		if ended, _ := server.counts(); ended != 4 {
			t.Errorf("%d calls are ended after Close", ended)
		}
	})
}

// TestLegacyClientThatNeverAnswers: its call ends when the hold does.
func TestLegacyClientThatNeverAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &script{answers: []string{`"result":{"resultType":"input_required","inputRequests":{"a":{"method":"roots/list"}}}`}}
		b := Legacy(server, Options{})
		c := &caller{t: t, p: b, heard: make(chan string, 100)}
		c.call("initialize", `"protocolVersion":"2025-11-25","capabilities":{"roots":{}}`)
		call := c.start("7", "tools/call", `"name":"x"`)
		c.hear("request roots/list")
		time.Sleep(DefaultHold)
		synctest.Wait()
		has(t, <-call.response, `"id":7`, "did not come within 10m0s")
		has(t, c.hear("notifications/cancelled"), `"requestId":"plimsoll-`)
		_ = b.Close()
	})
}
