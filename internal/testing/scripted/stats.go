package scripted

import (
	"maps"
	"sync"
)

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
