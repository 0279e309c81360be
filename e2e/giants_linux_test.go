package e2e

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/limit"
)

// giantMemory is what the daemon may take while 64 clients send 59 KB each that are 60 MiB unpacked. It took 1.4 GB with
// eight of them when each was charged only for its text.
const giantMemory = 400 * limit.MiB

// A few kilobytes that unpack to a giant take neither the daemon's memory nor the turn of a small request beside them, and
// every one of them still reaches the provider as it came.
func TestGiantsLeaveTheDaemonItsMemory(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = io.WriteString(z, `{"model":"gpt-4o","messages":[{"role":"user","content":"`)
	line := strings.Repeat("all work and no play ", 3277)
	for range 60 << 20 / len(line) {
		_, _ = io.WriteString(z, line)
	}
	_, _ = io.WriteString(z, `"}]}`)
	_ = z.Close()

	var mu sync.Mutex
	whole := 0
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		if bytes.Equal(body, packed.Bytes()) {
			whole++
		}
		mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"choices":[{"message":{"role":"assistant","content":"ok"}}],"usage":{"prompt_tokens":3,"completion_tokens":1}}`)
	}))
	t.Cleanup(provider.Close)
	w := newWorld(t)
	base := serve(t, w, provider.URL)
	pid := 0
	for _, p := range w.processes() {
		if strings.Contains(p.args, " serve ") {
			pid = p.pid
		}
	}
	if pid == 0 {
		t.Fatal("the daemon was not found")
	}
	most := watchMemory(pid)

	post := func(body []byte, encoding string) (int, error) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/openai/v1/chat/completions", bytes.NewReader(body))
		if err != nil {
			return 0, err
		}
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Authorization", "Bearer "+key)
		if encoding != "" {
			r.Header.Set("Content-Encoding", encoding)
		}
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			return 0, err
		}
		defer res.Body.Close()
		_, err = io.Copy(io.Discard, res.Body)
		return res.StatusCode, err
	}
	var giants, smalls sync.WaitGroup
	over := make(chan struct{})
	const n = 64
	for range n {
		giants.Go(func() {
			if status, err := post(packed.Bytes(), "gzip"); err != nil || status != http.StatusOK && status != http.StatusBadRequest {
				t.Errorf("a giant: status %d, %v", status, err)
			}
		})
	}
	small := fmt.Appendf(nil, `{"model":"gpt-4o","messages":[{"role":"user","content":%q}]}`, strings.Repeat("hello ", 150))
	var took []time.Duration
	smalls.Go(func() {
		for {
			began := time.Now()
			if status, err := post(small, ""); err != nil || status != http.StatusOK {
				t.Errorf("a small request beside giants: status %d, %v", status, err)
			}
			took = append(took, time.Since(began))
			select {
			case <-over:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	})
	giants.Wait()
	close(over)
	smalls.Wait()
	slices.Sort(took)
	t.Logf("%d small requests beside %d giants: median %v, slowest %v", len(took), n, took[len(took)/2], took[len(took)-1])
	got := most()
	t.Logf("most anonymous memory of the daemon: %s", got.Human())
	if got > giantMemory || got == 0 {
		t.Errorf("the daemon took %s, want at most %s", got.Human(), giantMemory.Human())
	}
	// The window of the model is far smaller: what was looked into is made to fit or refused; all else passes whole.
	if whole < n/2 {
		t.Errorf("%d of %d giants reached the provider as they came", whole, n)
	}
}
