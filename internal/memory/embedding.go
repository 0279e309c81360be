package memory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/memory/embed"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

// embedding is the state of a store that has a client for vectors.
type embedding struct {
	woken chan struct{}
	end   context.CancelFunc
	work  sync.WaitGroup

	mu       sync.Mutex
	text     string // of the last question, whose vector is kept for the next page
	vector   embed.Vector
	failing  map[string]bool // by purpose ("question", "file", …): a failure is logged once until it works again
	full     map[string]bool // namespaces whose vectors have no room, said once
	counters VectorStats
}

// VectorStats count, since [Open], what the service that makes vectors has done.
type VectorStats struct {
	Made      int64 `json:"made"`       // vectors
	Failed    int64 `json:"failed"`     // requests
	Refused   int64 `json:"refused"`    // texts that the service does not take
	WordsOnly int64 `json:"words_only"` // searches that fell back to words
}

// startEmbedding sets up s.embedding and, with EmbedEvery, starts the goroutine that makes vectors for the namespaces that were searched.
func (s *Store) startEmbedding() {
	s.embedding = &embedding{woken: make(chan struct{}, 1), failing: map[string]bool{}, full: map[string]bool{}}
	ctx, end := context.WithCancel(context.Background())
	s.embedding.end = end
	if s.o.EmbedEvery <= 0 {
		return
	}
	s.embedding.work.Go(func() {
		tick := time.NewTicker(s.o.EmbedEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			case <-s.embedding.woken:
			}
			s.mu.Lock()
			var names []string
			for name := range s.shelves { // what nobody searches needs no vectors
				names = append(names, name)
			}
			s.mu.Unlock()
			slices.Sort(names)
			_, _ = s.MakeVectors(ctx, names...) // said where it happened
		}
	})
}

// stop ends the background work and waits for it. It may be called on nil.
func (e *embedding) stop() {
	if e != nil {
		e.end()
		e.work.Wait()
	}
}

// wake makes the background work look for records without vectors now instead of at its next tick. It does not block.
func (e *embedding) wake() {
	select {
	case e.woken <- struct{}{}:
	default:
	}
}

// reportService records the outcome of asking the embedding service for a purpose. An error is counted; the first after a success is journalled and
// logged. nil is a success.
func (s *Store) reportService(purpose string, err error) {
	e := s.embedding
	e.mu.Lock()
	first := err != nil && !e.failing[purpose]
	e.failing[purpose] = err != nil
	if err != nil {
		e.counters.Failed++
	}
	e.mu.Unlock()
	if !first {
		return
	}
	s.o.Journal.Append(journal.MemoryVectorsFailed{For: purpose, Error: limit.Short(err.Error(), 300)})
	if purpose == "question" && s.o.EmbedEvery == 0 {
		return // whoever searches says it
	}
	s.o.Log.Warn("the memory is searched by words only", "for", purpose, "error", limit.Short(err.Error(), 300))
}

// embedQuestion returns the vector of a question; nil when no service is set up or no namespace has vectors. When the service fails it returns nil
// and, in why, one line for the user that says that only words were searched.
func (s *Store) embedQuestion(ctx context.Context, names []string, text string) (m *questionVector, why string) {
	if s.o.Embed == nil || text == "" || !slices.ContainsFunc(names, func(name string) bool { return s.vectorFile(name).Size() > 0 }) {
		return nil, ""
	}
	e := s.embedding
	e.mu.Lock()
	if e.text == text {
		m = &questionVector{e.vector, s.o.Embed.Model()}
	}
	e.mu.Unlock()
	if m != nil {
		return m, ""
	}
	ctx, cancel := context.WithTimeoutCause(ctx, s.o.EmbedWait, fmt.Errorf("no answer within %s", s.o.EmbedWait))
	defer cancel()
	vectors, err := s.o.Embed.Embed(ctx, []string{text})
	if !errors.Is(ctx.Err(), context.Canceled) {
		s.reportService("question", err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if err != nil {
		e.counters.WordsOnly++
		return nil, fmt.Sprintf("found by words only: %v", err)
	}
	e.text, e.vector = text, vectors[0]
	return &questionVector{vectors[0], s.o.Embed.Model()}, ""
}
