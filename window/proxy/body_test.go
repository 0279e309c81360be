package proxy

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"sync"
	"testing"
)

// The transport may close a body while it reads it. What is read afterwards would be
// somebody else's: the buffer goes back to the pool.
func TestClosedBodyIsNotRead(t *testing.T) {
	for range 200 {
		b := &heldBody{bytes: append(newBuffer(8<<10), bytes.Repeat([]byte("a"), 8<<10)...), room: hold{b: newBudget(1, 0)}, pooled: true}
		b.refs.Store(1)
		r := b.reader(b.bytes)
		b.release()
		var wg sync.WaitGroup
		var err error
		wg.Go(func() {
			p := make([]byte, 64)
			for err == nil {
				var n int
				n, err = r.Read(p)
				if bytes.Trim(p[:n], "a") != nil {
					t.Errorf("read %q", p[:n])
				}
			}
		})
		_ = r.Close()
		_ = r.Close()
		other := append(newBuffer(8<<10), bytes.Repeat([]byte("b"), 8<<10)...)
		wg.Wait()
		freeBuffer(other)
		if !errors.Is(err, io.EOF) && !errors.Is(err, http.ErrBodyReadAfterClose) {
			t.Errorf("reading ended with %v", err)
		}
	}
}
