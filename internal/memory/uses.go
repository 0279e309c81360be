package memory

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/plimsoll/plimsoll/internal/memory/archive"
	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/limit"
)

// Use is a time at which a record was given to somebody.
type Use struct {
	At time.Time `json:"at"` // the last time, if there were several in one conversation
	// How is UsePrompt or UseSearch.
	How string `json:"how"`
	// Client is the program that it was given to, and Conversation and Run are where, as far as they are known.
	Client       string `json:"client,omitempty"`
	Run          string `json:"run,omitempty"`
	Conversation string `json:"conversation,omitempty"`
	// Words are those of the prompt that the record was found by, with blanks between them, and Score what the search gave it. A pin or a standing
	// instruction has none: it is given to every conversation.
	Words string  `json:"words,omitempty"`
	Score float64 `json:"score,omitempty"`
}

// Values of Use.How.
const (
	UsePrompt = "prompt" // it was added to a prompt
	UseSearch = "search" // an agent searched for it
)

// MaxUses is the number of uses kept of one record, the newest, each of another conversation, client, run or kind.
const MaxUses = 8

// storedUse is a [Use] in a line.
type storedUse struct {
	At           int64  `json:"t"` // milliseconds since 1970
	How          string `json:"h"`
	Client       string `json:"c,omitempty"`
	Run          string `json:"r,omitempty"`
	Conversation string `json:"v,omitempty"`

	Words string  `json:"w,omitempty"`
	Score float64 `json:"s,omitempty"`
}

// sameReader reports whether two uses are of one conversation, client, run and kind.
func (u *storedUse) sameReader(other *storedUse) bool {
	return u.How == other.How && u.Client == other.Client && u.Run == other.Run && u.Conversation == other.Conversation
}

// toUse returns the use as callers get it.
func (u *storedUse) toUse() Use {
	return Use{At: timeFromMillis(u.At), How: u.How, Client: u.Client, Run: u.Run, Conversation: u.Conversation, Words: u.Words, Score: u.Score}
}

// addUse returns uses with u among them, the oldest first and at most MaxUses. Of several by one reader only the latest stays. It does not
// change uses.
func addUse(uses []storedUse, u storedUse) []storedUse {
	uses = slices.DeleteFunc(slices.Clone(uses), func(other storedUse) bool {
		if !u.sameReader(&other) {
			return false
		}
		if other.At > u.At {
			u = other
		}
		return true
	})
	uses = append(uses, u)
	sorting.StableBy(uses, func(a, b storedUse) int { return cmp.Compare(a.At, b.At) })
	return uses[max(0, len(uses)-MaxUses):]
}

// RecordUse records that records were given to somebody, now, whatever use.At is. Records that were never given to anybody are evicted first.
func (s *Store) RecordUse(ctx context.Context, use Use, records ...Record) error {
	byNamespace := map[string][]string{}
	for _, r := range records {
		byNamespace[r.Namespace] = append(byNamespace[r.Namespace], r.ID)
	}
	now := s.o.Clock().UnixMilli()
	small := func(text string) string { return limit.Clip(text, maxSmall) }
	for name, ids := range byNamespace {
		body, err := marshalPlain(entryBody{
			Recall: ids, Recalled: now,
			Use: &storedUse{
				At: now, How: small(use.How), Client: small(use.Client), Run: small(use.Run), Conversation: small(use.Conversation), Words: small(use.Words), Score: use.Score,
			},
		})
		if err != nil {
			return err
		}
		if err := s.archive.Append(ctx, name, false, archive.Line{Body: body}); err != nil {
			return err
		}
	}
	return nil
}

// Uses returns the last uses of a record, at most [MaxUses], the newest first. An unknown id is an [ErrNotFound].
func (s *Store) Uses(ctx context.Context, id string) ([]Use, error) {
	found, err := s.Get(ctx, id, 0)
	if err != nil {
		return nil, err
	}
	_, uses, _, err := s.findRecord(ctx, found[0].Namespace, id)
	out := make([]Use, 0, len(uses))
	for _, u := range slices.Backward(uses) {
		out = append(out, u.toUse())
	}
	return out, err
}

// GivenRecord is a record with one of the times at which it was given to somebody.
type GivenRecord struct {
	Record Record `json:"record"`
	Use    Use    `json:"use"`
}

// GivenFilter selects uses of records. An empty field means no condition.
type GivenFilter struct {
	Run, Conversation string
	Limit             int // (DefaultLimit), at most MaxLimit
}

// Given returns the records that were given to somebody, with when and to whom, the newest first. Of each record that still exists the last [MaxUses]
// times are known.
func (s *Store) Given(ctx context.Context, to GivenFilter) ([]GivenRecord, error) {
	names, err := s.Namespaces()
	if err != nil {
		return nil, err
	}
	type one struct {
		namespace, id string
		use           storedUse
	}
	var all []one
	for _, name := range names {
		uses := map[string][]storedUse{}
		var at archive.Cursor
		_, err := s.archive.Read(name, &at, func(_ archive.Position, l archive.Line) error {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			if !bytes.Contains(l.Body, []byte(`"u":[`)) && !bytes.HasPrefix(l.Body, []byte(`{"r":`)) {
				return nil // a record that was given to nobody when it was written, which are most
			}
			b, err := decodeBody(l.Body)
			if err != nil {
				return nil // of a newer version
			}
			for _, u := range b.Uses {
				uses[b.ID] = addUse(uses[b.ID], u)
			}
			for _, id := range b.Recall {
				if b.Use != nil {
					uses[id] = addUse(uses[id], *b.Use)
				}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
		for id, list := range uses {
			for _, u := range list {
				if (to.Run == "" || u.Run == to.Run) && (to.Conversation == "" || u.Conversation == to.Conversation) {
					all = append(all, one{name, id, u})
				}
			}
		}
	}
	sorting.By(all, func(a, b one) int {
		return cmp.Or(cmp.Compare(b.use.At, a.use.At), cmp.Compare(b.use.Score, a.use.Score), cmp.Compare(a.id, b.id))
	})
	wanted := min(cmp.Or(max(to.Limit, 0), DefaultLimit), MaxLimit)
	var out []GivenRecord
	records := map[string]map[string]Record{}
	for _, o := range all {
		if len(out) == wanted {
			break
		}
		if records[o.namespace] == nil {
			records[o.namespace] = map[string]Record{}
			given := map[string]bool{}
			for _, other := range all {
				given[other.id] = given[other.id] || other.namespace == o.namespace
			}
			some, err := s.loadRecords(ctx, o.namespace, func(r *Record) bool { return given[r.ID] })
			if err != nil {
				return nil, err
			}
			for _, r := range some {
				records[o.namespace][r.ID] = r
			}
		}
		if r, ok := records[o.namespace][o.id]; ok {
			out = append(out, GivenRecord{r, o.use.toUse()})
		}
	}
	return out, nil
}

// removeForgotten removes from a line what speaks of forgotten records: their ids, and the words of a prompt. changed says that it did;
// keep is false if nothing is left of the line.
func (s *Store) removeForgotten(b *entryBody, words *Finder) (changed, keep bool) {
	if len(b.Recall) > 0 {
		n := len(b.Recall)
		if b.Recall = slices.DeleteFunc(b.Recall, s.isIDForgotten); len(b.Recall) == 0 {
			return true, false
		}
		changed = len(b.Recall) < n
	}
	blot := func(u *storedUse) {
		if u.Words != "" && words.In([]byte(u.Words)) {
			u.Words, changed = "", true
		}
	}
	if b.Use != nil {
		blot(b.Use)
	}
	for i := range b.Uses {
		blot(&b.Uses[i])
	}
	return changed, true
}
