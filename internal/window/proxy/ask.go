package proxy

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/window/tokens"
	"github.com/plimsoll/plimsoll/window/wire"
)

const (
	// askTime bounds the wait of a request for its provider's count.
	askTime = 3 * time.Second
	// askAgain is the time after which an upstream that does not count is asked once more.
	askAgain = 10 * time.Minute
	// askMemo bounds how many counts are remembered, askBytes the answer that is read.
	askMemo  = 512
	askBytes = 16 << 10
)

// counts remembers the tokens that providers counted, by a hash of the request, and which upstreams do not count.
type counts struct {
	mu     sync.Mutex
	known  map[[sha256.Size]byte]int
	silent map[string]time.Time // by upstream: until when it is not asked
}

// knownCount returns the count that is remembered under key; false if there is none.
func (c *counts) knownCount(key [sha256.Size]byte) (int, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, ok := c.known[key]
	return n, ok
}

// rememberCount remembers n, the provider's count of a request, under key. If askMemo counts are remembered already, it forgets them first.
func (c *counts) rememberCount(key [sha256.Size]byte, n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil || len(c.known) >= askMemo {
		c.known = map[[sha256.Size]byte]int{} // a count is asked for rarely, and again if need be
	}
	c.known[key] = n
}

// isSilent reports whether the upstream could not count lately and is not to be asked yet.
func (c *counts) isSilent(upstream string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Now().Before(c.silent[upstream])
}

// silenceUpstream records that an upstream could not count, so that it is not asked for askAgain.
func (c *counts) silenceUpstream(upstream string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.silent == nil {
		c.silent = map[string]time.Time{}
	}
	c.silent[upstream] = time.Now().Add(askAgain) // as many entries as upstreams, at most
}

// askCount replaces our estimate by the provider's own count of the request, where the provider counts for free (Anthropic, Gemini, OpenAI,
// Bedrock). It sends one request with the client's own credential, waits a short time, and remembers the count. It is only worth it if the
// estimate's band includes a limit. If the provider cannot count, the estimate stays and the upstream is not asked for a while.
func (t *conversation) askCount() {
	name := t.rt.up.Name
	below, body := t.countRequest()
	if below == "" || t.p.counts.isSilent(name) {
		return
	}
	key := sha256.Sum256(append([]byte(t.Ledger+"\x00"), body...))
	n, known := t.p.counts.knownCount(key)
	if !known {
		var silent bool
		if n, silent = t.askProvider(below, body); n <= 0 {
			if silent {
				t.p.counts.silenceUpstream(name)
			}
			return
		}
		t.p.counts.rememberCount(key, n)
	}
	t.p.o.Usage.Report(t.Ledger, t.Tally, n)
	t.In, t.How = tokens.Exactly(n), tokens.CountedProvider
}

// estimateIncludesCleared reports whether the request asks the provider to clear old results, while we have only our own estimate. The
// estimate counts those results too, and may be far over the provider's count.
func (t *conversation) estimateIncludesCleared() bool {
	return !t.request.Clears.IsZero() && t.How == tokens.CountedEstimate
}

// countRequest returns the path below the upstream and the body of a request that asks the provider to count this one; "" and nil when it
// cannot.
func (t *conversation) countRequest() (below string, body []byte) {
	rules := t.rt.dialect.Rules()
	switch {
	case t.rt.up.Provider == Bedrock && rules.CountedBy == "" && t.rt.name != "":
		return wire.CountInvoked(t.request, strings.TrimSuffix(t.rt.below, "/"))
	case rules.Count == nil, rules.CountedBy != "" && rules.CountedBy != string(t.rt.up.Provider):
		return "", nil
	case t.rt.name != "" && rules.Route.Path != "": // a platform that has the model in the path, and no such path
		return "", nil
	}
	return rules.Count(t.request, strings.TrimSuffix(t.rt.below, "/"), t.model)
}

// setJSONBody replaces the body of req, which was copied from a client's request, by JSON of our own, and drops the headers that describe
// the client's body or the answer it takes.
func setJSONBody(req *http.Request, body []byte) {
	req.Header = req.Header.Clone()
	for _, name := range []string{"Content-Encoding", "Accept-Encoding", "Accept", "Content-Md5", "Digest", "Content-Digest", "Repr-Digest", "Expect"} {
		req.Header.Del(name)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Body = io.NopCloser(bytes.NewReader(body))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	req.ContentLength = int64(len(body))
}

// askProvider sends the request for a count to the path below of the upstream and waits at most askTime. It returns the provider's count, 0
// when there is none; silent means that asking again soon is no use.
func (t *conversation) askProvider(below string, body []byte) (n int, silent bool) {
	ctx, cancel := context.WithTimeout(t.r.Context(), askTime)
	defer cancel()
	rt := *t.rt
	rt.below = below
	req, err := t.p.outgoingRequest(t.r.WithContext(ctx), &rt)
	if err != nil {
		return 0, true
	}
	query := req.URL.Query()
	query.Del("alt") // of the stream
	req.URL.RawQuery = query.Encode()
	setJSONBody(req, body)
	if carried, _ := t.withSummaryForm(nil); carried["Anthropic-Beta"] != nil { // a summary of the provider's is not known to it without
		req.Header["Anthropic-Beta"] = carried["Anthropic-Beta"]
	}
	if t.p.sign(req, &rt, body) != nil {
		return 0, true
	}
	res, err := t.p.transport.RoundTrip(req)
	if err != nil {
		return 0, t.r.Context().Err() == nil
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, askBytes))
	if err != nil || res.StatusCode != http.StatusOK {
		// 400 is about this request and 429 about this minute; what else there is stays.
		return 0, res.StatusCode != http.StatusBadRequest && res.StatusCode != http.StatusTooManyRequests
	}
	var answer struct {
		InputTokens int `json:"input_tokens"`
		TotalTokens int `json:"totalTokens"`
		OfBedrock   int `json:"inputTokens"`
	}
	if json.Unmarshal(text, &answer) != nil {
		return 0, true
	}
	n = max(answer.InputTokens, answer.TotalTokens, answer.OfBedrock)
	return n, n <= 0
}
