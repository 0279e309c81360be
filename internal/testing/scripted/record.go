package scripted

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// Recorded is one request as it arrived and what became of it.
type Recorded struct {
	Method, Path, Query, Host string
	Header                    http.Header
	Body                      []byte // decoded
	Digest                    string // SHA-256 of the body as it came, in hexadecimal
	Kind                      string // "model", "count", "models", or "" for anything else
	Request                   *Request
	Turn                      int // of the script; meaningful when Status is 200
	Input                     int // tokens, by the provider's count
	Status                    int // 0: the provider hung
	// Note is the reason why a request was refused, or the fault it met, and Cause the kind of
	// refusal that was: CausePrefix and the others; "" when it was answered.
	Note  string
	Cause string
}

func (k *Recorded) refuse(status int, cause, note string) {
	k.Status, k.Cause, k.Note = status, cause, note
}

// recorder keeps the newest requests within a limit of bytes.
type recorder struct {
	mu      sync.Mutex
	limit   int
	bytes   int
	dropped int
	list    []*Recorded
}

// add keeps a request, and drops the oldest ones until all have at most the limit of bytes. The newest is always kept.
func (r *recorder) add(k *Recorded) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, k)
	r.bytes += k.size()
	for r.bytes > r.limit && len(r.list) > 1 {
		r.bytes -= r.list[0].size()
		r.list = slices.Delete(r.list, 0, 1)
		r.dropped++
	}
}

func (k *Recorded) size() int {
	n := len(k.Body) + 1024
	if k.Request != nil {
		n += len(k.Body) // its members are copies
	}
	return n
}

// Requests returns the kept requests in the order in which they were finished. The
// pointers are the provider's own: read them only.
func (p *Provider) Requests() []*Recorded {
	p.record.mu.Lock()
	defer p.record.mu.Unlock()
	return slices.Clone(p.record.list)
}

// Dropped returns how many requests were let go for Options.RecordBytes.
func (p *Provider) Dropped() int {
	p.record.mu.Lock()
	defer p.record.mu.Unlock()
	return p.record.dropped
}

// Dump writes the kept requests into a directory: NNN-PATH.json (the decoded body) and
// index.json (everything else, without the values of credentials).
func (p *Provider) Dump(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("dump requests: %w", err)
	}
	type row struct {
		File, Method, Path, Query, Digest, Kind, Note, Cause string
		Model                                                string
		Reasoning                                            Reasoning
		Header                                               http.Header
		Bytes, Turn, Input, Cached, Status, Messages         int
		Side                                                 bool
		Tools                                                []string
	}
	var index []row
	for i, k := range p.Requests() {
		name := fmt.Sprintf("%03d-%s.json", i, strings.NewReplacer("/", "_", ":", "_").Replace(strings.Trim(k.Path, "/")))
		e := row{File: name, Method: k.Method, Path: k.Path, Query: k.Query, Digest: k.Digest, Kind: k.Kind, Note: k.Note, Cause: k.Cause, Header: k.Header.Clone(), Bytes: len(k.Body), Turn: k.Turn, Input: k.Input, Status: k.Status}
		for _, secret := range []string{"Authorization", "X-Api-Key", "X-Goog-Api-Key"} {
			if e.Header.Get(secret) != "" {
				e.Header.Set(secret, "(removed)")
			}
		}
		if k.Request != nil {
			e.Reasoning = k.Request.Reasoning
			e.Model, e.Messages, e.Side, e.Cached = k.Request.Model, k.Request.Messages, k.Request.Side, k.Request.Cached
			for _, t := range k.Request.Tools {
				e.Tools = append(e.Tools, t.Name)
			}
		}
		index = append(index, e)
		if err := os.WriteFile(filepath.Join(dir, name), k.Body, 0o600); err != nil {
			return fmt.Errorf("dump requests: %w", err)
		}
	}
	text, err := json.MarshalIndent(index, "", "  ")
	if err != nil {
		return fmt.Errorf("dump requests: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "index.json"), text, 0o600); err != nil {
		return fmt.Errorf("dump requests: %w", err)
	}
	return nil
}

// Stats are totals over the model requests that a Provider got.
type Stats struct {
	Requests, Answered, Refused int
	// Refusals are the refused ones by cause: CausePrefix and the others.
	Refusals map[string]int
	// Summaries are the answered requests for the provider's own compaction.
	Summaries int
	// Sent, Accepted and Dropped count the reasoning that answered requests brought back: blocks of
	// Messages, items of Responses. Made counts that of the answers.
	Sent, Accepted, Dropped, Made int
	// Tokens of the answered requests, as they were reported. CacheRead and CacheWritten are
	// parts of Input.
	Input, CacheRead, CacheWritten, Output int
}

type stats struct {
	mu    sync.Mutex
	total Stats
}

// Stats returns the totals so far.
func (p *Provider) Stats() Stats {
	p.stats.mu.Lock()
	defer p.stats.mu.Unlock()
	s := p.stats.total
	s.Refusals = maps.Clone(s.Refusals)
	if s.Refusals == nil {
		s.Refusals = map[string]int{}
	}
	return s
}

// add adds a request for a model to the totals; other requests are not counted.
func (s *stats) add(k *Recorded) {
	if k.Kind != "model" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t := &s.total
	t.Requests++
	r := k.Request
	if k.Cause != "" || r == nil {
		t.Refused++
		if t.Refusals == nil {
			t.Refusals = map[string]int{}
		}
		t.Refusals[k.Cause]++
		return
	}
	t.Answered++
	if r.Summarize {
		t.Summaries++
	}
	t.Sent, t.Accepted, t.Dropped, t.Made = t.Sent+r.Reasoning.Sent, t.Accepted+r.Reasoning.Accepted, t.Dropped+r.Reasoning.Dropped, t.Made+r.Reasoning.Made
	t.Input, t.CacheRead, t.CacheWritten, t.Output = t.Input+r.Usage.Input, t.CacheRead+r.Usage.Cached, t.CacheWritten+r.Usage.Written, t.Output+r.Usage.Output
}
