package client

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
)

// absent is a receiver that does not come back, as that of a client that reads nothing.
type absent struct {
	*receiver
	reached, release chan struct{}
}

func (s *absent) Receive(*transport.Frame) {
	close(s.reached)
	<-s.release
}

func TestCloseDoesNotWaitForAReceiverForEver(t *testing.T) {
	s, _ := child(t, "plain", func(o *StdioOptions) { o.Grace = 20 * time.Millisecond })
	r := &absent{newReceiver(), make(chan struct{}), make(chan struct{})}
	defer close(r.release)
	s.Send(t.Context(), request(t, "1", "big"), r)
	<-r.reached
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

func TestServerWhoseMessageDoesNotEndIsStartedAgain(t *testing.T) {
	s, _ := child(t, "plain", func(o *StdioOptions) { o.MaxFrame, o.Grace = 1<<20, 20*time.Millisecond })
	for _, method := range []string{"endless", "endless text"} {
		r := ask(t, s, "1", method)
		if lost, ok := errors.AsType[*Lost](r.err); !ok || !strings.Contains(lost.Reason, "does not end") {
			t.Errorf("%s: Done(%v), want Lost because it does not end", method, r.err)
		}
		if r := ask(t, s, "2", "echo"); r.err != nil {
			t.Errorf("after %s: %v", method, r.err)
		}
	}
}

// A client that hears of an answer that broke off may ask again at once, before the end of
// the server has been seen: what it asks for is for the next one.
func TestRequestsBehindADeathWaitForTheNextServer(t *testing.T) {
	s, _ := child(t, "plain", nil)
	for i := range 10 {
		next := newReceiver()
		s.Send(t.Context(), request(t, "1", "die mid-frame"), &asking{newReceiver(), func() {
			s.Send(t.Context(), request(t, "2", "echo"), next)
		}})
		if next.wait(t); next.err != nil {
			t.Fatalf("time %d: %v", i, next.err)
		}
		s.mu.Lock()
		s.health.pauses = 0
		s.mu.Unlock()
	}
}

// asking does something when an answer has broken off.
type asking struct {
	*receiver
	then func()
}

func (a *asking) Receive(f *transport.Frame) {
	a.receiver.Receive(f)
	a.then()
}
