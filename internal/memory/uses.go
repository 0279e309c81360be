package memory

import (
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
}

// addUse returns uses, sorted by time and at most MaxUses, with u among them: it replaces a use that differs only in its time.
func addUse(uses []storedUse, u storedUse) []storedUse {
	at := u.At
	u.At = 0
	uses = slices.DeleteFunc(slices.Clone(uses), func(other storedUse) bool {
		when := other.At
		other.At = 0
		if other != u {
			return false
		}
		at = max(at, when)
		return true
	})
	u.At = at
	uses = append(uses, u)
	sorting.StableBy(uses, func(a, b storedUse) int { return cmp.Compare(a.At, b.At) })
	return uses[max(0, len(uses)-MaxUses):]
}

// Recalled records that records were given to somebody, now, whatever use.At is. Records never recalled are evicted first.
func (s *Store) Recalled(ctx context.Context, use Use, records ...Record) error {
	byNamespace := map[string][]string{}
	for _, r := range records {
		byNamespace[r.Namespace] = append(byNamespace[r.Namespace], r.ID)
	}
	now := s.o.Clock().UnixMilli()
	small := func(text string) string { return limit.Clip(text, maxSmall) }
	for name, ids := range byNamespace {
		body, err := marshal(entryBody{
			Recall: ids, Recalled: now,
			Use: &storedUse{At: now, How: small(use.How), Client: small(use.Client), Run: small(use.Run), Conversation: small(use.Conversation)},
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
	_, uses, _, err := s.find(ctx, found[0].Namespace, id)
	out := make([]Use, 0, len(uses))
	for _, u := range slices.Backward(uses) {
		out = append(out, Use{At: timeOf(u.At), How: u.How, Client: u.Client, Run: u.Run, Conversation: u.Conversation})
	}
	return out, err
}
