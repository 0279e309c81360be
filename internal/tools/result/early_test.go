package result

import (
	"context"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
)

// held gives the first part of a text, then waits for a signal before it gives the rest.
type held struct {
	first, rest io.Reader
	more        chan struct{}
}

func (h *held) Read(p []byte) (int, error) {
	if n, _ := h.first.Read(p); n > 0 {
		return n, nil
	}
	<-h.more
	return h.rest.Read(p)
}

func TestPageOneComesBeforeTheEndWhenTheServerIsSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := open(t)
		o := options(s)
		o.Early = 3 * time.Second
		var (
			mu    sync.Mutex
			got   []byte
			times int
			told  []int64
		)
		o.Progress = func(bytes, _ int64, handle string) {
			mu.Lock()
			defer mu.Unlock()
			if times > 0 || handle == "" {
				t.Error("progress after the answer, or without a handle")
			}
			told = append(told, bytes)
		}
		o.Deliver = func(f *transport.Frame) {
			mu.Lock()
			defer mu.Unlock()
			times++
			got, _ = io.ReadAll(f.Reader())
		}
		text := textResponse(list(2000, 100))
		half := len(text) / 2
		h := &held{strings.NewReader(text[100:half]), strings.NewReader(text[half:]), make(chan struct{})}
		ended := make(chan Outcome)
		start := time.Now()
		go func() { ended <- Bound(context.Background(), &transport.Frame{Head: []byte(text[:100]), Rest: h}, o) }()
		synctest.Wait()
		mu.Lock()
		if times != 0 {
			t.Error("delivered at once")
		}
		mu.Unlock()
		time.Sleep(o.Early)
		synctest.Wait()
		mu.Lock()
		a := decode(t, got)
		if m := metaOf(t, a); times != 1 || m.Complete || m.TotalItems >= 2000 || m.Page != 1 {
			t.Errorf("delivered %d times: %+v", times, m)
		}
		if n := a.Result.Content[1].Text; !strings.Contains(n, "so far") || !strings.Contains(n, `"page":2`) {
			t.Error(n)
		}
		mu.Unlock()
		close(h.more)
		out := <-ended
		if times != 1 || out.Items != 2000 || out.Cut != nil || !out.Spilled || out.Delivered != int64(len(got)) {
			t.Errorf("%+v", out)
		}
		if len(told) == 0 || time.Since(start) != o.Early {
			t.Errorf("progress %v after %v", told, time.Since(start))
		}
	})
}

func TestTheEndComesBeforeEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options(open(t))
		o.Early = time.Hour
		got, out := bound(t, frame(textResponse(list(2000, 100)), 100), o)
		if m := metaOf(t, decode(t, got)); !m.Complete || m.TotalItems != 2000 {
			t.Errorf("%+v %+v", m, out)
		}
		time.Sleep(2 * time.Hour) // nothing is delivered by then: bound counts
	})
}

func TestACancelledCallIsNotAnswered(t *testing.T) {
	s := open(t)
	ctx, cancel := context.WithCancel(t.Context())
	text := textResponse(list(2000, 100))
	h := &held{strings.NewReader(text[:len(text)/2]), strings.NewReader(text), make(chan struct{})}
	o := options(s)
	o.Deliver = func(*transport.Frame) { t.Error("delivered") }
	o.Progress = func(int64, int64, string) { // told once, half a second not being over
		cancel()
		close(h.more)
	}
	out := Bound(ctx, &transport.Frame{Rest: h}, o)
	if out.Cut == nil || out.Delivered != 0 {
		t.Errorf("%+v", out)
	}
}
