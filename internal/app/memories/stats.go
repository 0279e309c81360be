package memories

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/memory"
	"github.com/plimsoll/plimsoll/internal/memory/facts"
	"github.com/plimsoll/plimsoll/internal/memory/notes"
)

// Stats describe the contents of the memory, and its bounds.
type Stats struct {
	memory.Stats
	MaxBytes int64   `json:"max_bytes"`
	Vectors  Meaning `json:"vectors"`
	Notes    Files   `json:"notes"`
	Profile  Pins    `json:"profile"`
	// Facts counts the episodes that wait to be read for facts, and the tokens spent.
	Facts FactsStats `json:"facts"`
	Dir   string     `json:"dir"`
}

// Meaning describes the basis of searches by meaning.
type Meaning struct {
	// Service and Model make the vectors; "" means that the user has named none.
	Service  string `json:"service,omitempty"`
	Model    string `json:"model,omitempty"`
	Vectors  int    `json:"vectors"`
	Bytes    int64  `json:"bytes"`
	MaxBytes int64  `json:"max_bytes"`
}

// Files counts the notes of agents.
type Files struct {
	Files    int   `json:"files"`
	Bytes    int64 `json:"bytes"`
	MaxFiles int   `json:"max_files"` // of one directory
	MaxBytes int64 `json:"max_bytes"`
}

// FactsStats are the state of the queue and of the budget of facts, which all processes share.
type FactsStats struct {
	On           bool `json:"on"` // serve draws them in the background
	Waiting      int  `json:"waiting"`
	MaxWaiting   int  `json:"max_waiting"`
	Read         int  `json:"read"` // episodes that were read, as far as it is remembered
	SpentToday   int  `json:"spent_today"`
	TokensPerDay int  `json:"tokens_per_day"`
	// Problem is the reason why some of this is unknown.
	Problem string `json:"problem,omitempty"`
}

// FactsStats returns the state of the queue and of the budget, from their files and the configuration. Errors are in its Problem.
func (m *Memory) FactsStats() FactsStats {
	s := FactsStats{MaxWaiting: facts.MaxQueue}
	settings, err := m.core.Config.For("")
	if err == nil {
		s.On, s.TokensPerDay = settings.Memory.Facts && settings.Memory.State != config.MemoryOff, settings.Memory.FactsTokens
	}
	var errs [3]error
	s.Waiting, errs[0] = facts.NewQueue(m.FactsDir(), 0).Len()
	s.SpentToday, errs[1] = facts.NewBudget(m.FactsDir(), s.TokensPerDay).Spent(time.Now())
	s.Read, errs[2] = facts.NewReadSet(m.FactsDir(), 0).Len()
	if err = errors.Join(err, errs[0], errs[1], errs[2]); err != nil {
		s.Problem = err.Error()
	}
	return s
}

// Stats counts everything that is kept. It reads all of it.
func (m *Memory) Stats(ctx context.Context) (Stats, error) {
	s, err := m.Store.Stats(ctx)
	if err != nil {
		return Stats{}, err
	}
	if s.Namespaces == nil {
		s.Namespaces = []memory.NamespaceStats{}
	}
	options, err := StoreOptions(m.core, nil)
	if err != nil {
		return Stats{}, err
	}
	out := Stats{Stats: s, MaxBytes: int64(options.MaxBytes), Dir: options.Dir, Notes: Files{MaxFiles: notes.MaxFiles, MaxBytes: int64(notes.MaxTotal)}}
	out.MaxBytes = cmp.Or(out.MaxBytes, int64(memory.DefaultMaxBytes))
	settings, err := m.core.Config.For("")
	if err != nil {
		return out, err
	}
	out.Vectors = Meaning{Service: settings.Memory.EmbedURL, Model: settings.Memory.EmbedModel, MaxBytes: int64(options.MaxVectors)}
	for _, n := range s.Namespaces {
		out.Vectors.Vectors += n.Vectors
		out.Vectors.Bytes += int64(n.VectorBytes)
		d, err := notes.Open(notes.Options{Dir: m.notesPath(n.Name)})
		if err != nil {
			return out, err
		}
		list, err := d.List()
		if err != nil {
			return out, err
		}
		for _, note := range list {
			out.Notes.Files++
			out.Notes.Bytes += note.Bytes
		}
	}
	out.Facts = m.FactsStats()
	out.Profile, err = m.Pins()
	return out, err
}

// GC removes the records that are in force no longer from the disk, and all vectors if the user names no service any more. With dry it
// changes nothing and returns what would be removed.
func (m *Memory) GC(ctx context.Context, dry bool) (memory.Collected, error) {
	if dry {
		return m.Store.WouldGC(ctx)
	}
	out, err := m.Store.GC(ctx)
	return out, errors.Join(err, m.dropVectors(ctx))
}
