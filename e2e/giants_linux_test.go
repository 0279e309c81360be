package e2e

import (
	"bytes"
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
	codec "github.com/plimsoll/plimsoll/window/wire"
)

// giantMemory is what the daemon may take while 64 clients send bodies that are large, or made of very many records, most of
// them a few kilobytes of gzip. It took 1.4 GB with eight of 60 MiB when each was charged only for its text, and 4 GB
// where 2 MB are 190,000 records.
const giantMemory = 400 * limit.MiB

// Bodies that cost much to look into take neither the daemon's memory nor the turn of a small request beside them. The
// largest reach the provider as they came; others are made to fit, or told to come again.
func TestGiantsLeaveTheDaemonItsMemory(t *testing.T) {
	line := strings.Repeat("all work and no play ", 3277)
	text := func(size int) string {
		return `{"model":"gpt-4o","messages":[{"role":"user","content":"` + strings.Repeat(line, size/len(line)) + `"}]}`
	}
	records := `{"model":"gpt-4o","messages":[` + strings.Repeat(`{"role":"user","content":[{"text":""},{"text":""}]},`, 60_000) + `{"role":"user","content":"hi"}]}`
	for _, c := range []struct {
		name, body, encoding string
		passes               int  // how many of the 64 reach the provider as they came, at least
		again                bool // a slow machine may tell some to come again: that they are giants shows only when they are unpacked
	}{
		{"60 MiB in gzip", text(60 << 20), "gzip", 32, false},
		{"15.5 MiB in gzip", text(31 << 19), "gzip", 16, false},
		{"7 MiB in zstd", text(7 << 20), "zstd", 16, false},
		{"7 MiB as they are", text(7 << 20), "", 16, false},
		{"3 MiB as they are", text(3 << 20), "", 0, true},
		{"180,000 records in gzip", records, "gzip", 16, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			body, err := codec.Encode(c.encoding, []byte(c.body))
			if err != nil {
				t.Fatal(err)
			}
			manyGiants(t, body, c.encoding, c.passes, c.again)
		})
	}
}

func manyGiants(t *testing.T, packed []byte, encoding string, passes int, again bool) {
	var mu sync.Mutex
	whole := 0
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		if bytes.Equal(body, packed) {
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
	statuses := map[int]int{}
	const n = 64
	for range n {
		giants.Go(func() {
			status, err := post(packed, encoding)
			mu.Lock()
			defer mu.Unlock()
			statuses[status]++
			if err != nil {
				t.Errorf("a giant: %v", err)
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
	// The window of the model is far smaller: what was looked into is made to fit or refused; what found no room is told to
	// come again, or passes whole.
	t.Logf("%d of %d reached the provider as they came; statuses: %v", whole, n, statuses)
	for status := range statuses {
		if status != http.StatusOK && status != http.StatusBadRequest && (status != http.StatusServiceUnavailable || !again) {
			t.Errorf("status %d", status)
		}
	}
	if whole < passes {
		t.Errorf("%d of %d giants reached the provider as they came, want %d", whole, n, passes)
	}
}
