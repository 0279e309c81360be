package memory

import (
	"cmp"
	"container/heap"
	"context"
	"errors"
	"os"
	"path"

	"github.com/plimsoll/plimsoll/internal/memory/archive"
	"github.com/plimsoll/plimsoll/internal/memory/embed"
	"github.com/plimsoll/plimsoll/internal/sorting"
)

// vectorsFile is the name of the file of vectors, beside the segments of its namespace.
const vectorsFile = "vectors"

// vectorFile returns the file of vectors of a namespace. It may not exist.
func (s *Store) vectorFile(namespace string) embed.File {
	return embed.File{Root: s.archive.Root(), Name: path.Join(archive.FolderName(namespace), vectorsFile)}
}

// Fusion of what was found by words and by meaning. A place in one of both lists counts 1/(fusionK+place) (reciprocal rank fusion, Cormack et al.
// 2009), that by meaning weighed with meaningWeight. Both were fitted on LoCoMo's conversations 1 to 5 with a small model (all-MiniLM-L6-v2): the customary 60 lets
// a list of many equals bury what the better one has at its top.
const (
	fusionK       = 20
	meaningWeight = 0.35
	// fusionDepth is the number of entries of each list that are considered.
	fusionDepth = 2 * MaxLimit
)

// questionVector is the question of a search as a vector, and the model that made it. nil stands for a search by words only.
type questionVector struct {
	vector embed.Vector
	model  string
}

// nearestVectors returns up to limit records that pass keeps, with the similarity of their vectors and their neighbours' to m as scores. They form
// a heap, the worst first. The caller holds h.mu. It takes eight bytes of memory a record.
func (h *shelf) nearestVectors(ctx context.Context, s *Store, m *questionVector, q *Query, keeps func(int) bool, limit int) ([]shelfHit, error) {
	scores := make([]float32, len(h.slots))
	_, err := s.vectorFile(h.name).Scan(ctx, m.model, func(e embed.Entry) {
		if len(e.Values) != len(m.vector.Values) {
			return
		}
		if n, ok := h.byID.findID(h, e.ID); ok && h.slots[n].version == e.Version {
			scores[n] = e.Cosine(m.vector)
		}
	})
	scores = h.x.Spread(scores, q.Alone)
	best := make(hitHeap, 0, limit)
	for n, score := range scores {
		switch full := len(best) == limit; {
		case score <= 0 || full && float64(score) <= best[0].score || !keeps(n):
		case full:
			best[0] = shelfHit{h, n, float64(score)}
			heap.Fix(&best, 0)
		default:
			heap.Push(&best, shelfHit{h, n, float64(score)})
		}
	}
	return best, err
}

// hitHeap is a heap of hits with the worst first.
type hitHeap []shelfHit

func (p hitHeap) Len() int           { return len(p) }
func (p hitHeap) Less(i, j int) bool { return p[i].score < p[j].score }
func (p hitHeap) Swap(i, j int)      { p[i], p[j] = p[j], p[i] }
func (p *hitHeap) Push(x any)        { *p = append(*p, x.(shelfHit)) }
func (p *hitHeap) Pop() any {
	last := (*p)[len(*p)-1]
	*p = (*p)[:len(*p)-1]
	return last
}

// fuseLists joins two lists, each the best first, into one, the best first. The score of a record comes from its ranks in both. Of the passages
// of one turn only the best counts.
func fuseLists(words, near []shelfHit) []shelfHit {
	type spot struct { // a turn of a conversation, or a record that stands in none
		h          *shelf
		talk, turn uint32
	}
	at := map[spot]int{}
	var out []shelfHit
	var ranks []int // the best of each
	add := func(list []shelfHit, weight float64) {
		rank := 0
		seen := map[int]bool{} // spots of this list
		for _, p := range list {
			talk, turn := p.h.x.Turn(p.n)
			if talk == 0 || turn == 0 {
				talk, turn = 0, uint32(p.n)
			}
			i, known := at[spot{p.h, talk, turn}]
			if known && seen[i] {
				continue
			}
			rank++
			score := weight / float64(fusionK+rank)
			switch {
			case !known:
				i = len(out)
				at[spot{p.h, talk, turn}] = i
				out, ranks = append(out, shelfHit{p.h, p.n, score}), append(ranks, rank)
			default:
				if out[i].score += score; rank < ranks[i] {
					out[i].n, ranks[i] = p.n, rank
				}
			}
			seen[i] = true
		}
	}
	add(words, 1)
	add(near, meaningWeight)
	sorting.StableBy(out, func(a, b shelfHit) int { return cmp.Compare(b.score, a.score) }) // of equals, those by words first
	return out
}

// pruneVectors removes the vectors of records that no longer exist from the disk, also in a process that makes no vectors.
func (s *Store) pruneVectors(ctx context.Context, name string) error {
	f := s.vectorFile(name)
	if _, err := f.Root.Lstat(f.Name); errors.Is(err, os.ErrNotExist) {
		_, err := f.Prune(ctx, func(embed.Key) bool { return true })
		return err
	}
	live := map[recordID]uint16{}
	dropped := map[recordID]bool{}
	var at archive.Cursor
	if _, err := s.archive.Read(name, &at, func(_ archive.Position, l archive.Line) error {
		b, err := decodeInPlace(l.Body)
		if err != nil {
			return nil
		}
		for _, text := range b.Drop {
			if id, err := parseID(text); err == nil {
				dropped[id] = true
			}
		}
		if id, err := parseID(b.ID); err == nil && !s.isIDForgotten(b.ID) {
			live[id] = max(live[id], uint16(b.Version))
		}
		return nil
	}); err != nil {
		return err
	}
	_, err := f.Prune(ctx, func(k embed.Key) bool {
		version, ok := live[k.ID]
		return ok && version == k.Version && !dropped[k.ID]
	})
	return err
}

// DropVectors removes all vectors from the disk. A store with a client for embeddings makes them again.
func (s *Store) DropVectors(ctx context.Context) error {
	names, err := s.Namespaces()
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range names {
		_, err := s.vectorFile(name).Prune(ctx, func(embed.Key) bool { return false })
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
