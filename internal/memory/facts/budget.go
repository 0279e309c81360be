package facts

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/plimsoll/plimsoll/internal/atomicfile"
	"github.com/plimsoll/plimsoll/internal/memory/archive"
	"github.com/plimsoll/plimsoll/internal/store"
)

// Budget limits the tokens spent in a day (UTC), over all processes of a directory. Tokens are reserved before a request and settled with
// what the provider counted; what a dead process had reserved counts as spent.
type Budget struct {
	dir    string
	perDay int
}

const budgetFile = "budget.json"

// spent is the content of the file.
type spent struct {
	Day    string `json:"day"` // 2026-11-25
	Tokens int    `json:"tokens"`
}

// ErrBudget means that too few of the day's tokens are left for a request.
var ErrBudget = errors.New("the day's tokens for facts are spent")

// NewBudget returns the budget whose file is in a directory. perDay is the number of tokens for each day.
func NewBudget(dir string, perDay int) *Budget { return &Budget{dir: dir, perDay: perDay} }

// Reserve takes tokens off the day's; when fewer are left it takes none and returns an [ErrBudget].
func (b *Budget) Reserve(ctx context.Context, now time.Time, tokens int) error {
	return b.changeCount(ctx, now, func(s *spent) error {
		if tokens > b.perDay-s.Tokens {
			return fmt.Errorf("%w: %d of %d, and a request takes up to %d", ErrBudget, s.Tokens, b.perDay, tokens)
		}
		s.Tokens += tokens
		return nil
	})
}

// Settle replaces the reserved tokens of a request by the used ones, which may be more. Once that day (UTC) is over it does nothing.
func (b *Budget) Settle(ctx context.Context, reservedAt time.Time, reserved, used int) error {
	return b.changeCount(ctx, time.Now(), func(s *spent) error {
		if s.Day == formatDay(reservedAt) {
			s.Tokens = max(0, s.Tokens-reserved+used)
		}
		return nil
	})
}

// Spent returns how many tokens of the day of now are used or reserved.
func (b *Budget) Spent(now time.Time) (int, error) {
	s, err := b.countFile().Read()
	if err != nil {
		return 0, b.explainError(err)
	}
	if s.Day != formatDay(now) {
		return 0, nil
	}
	return s.Tokens, nil
}

// formatDay returns the day of a time in UTC, as the file has it.
func formatDay(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// countFile returns the file in which the tokens spent today are kept.
func (b *Budget) countFile() store.Document[spent] {
	return store.Document[spent]{
		File: store.File{Path: filepath.Join(b.dir, budgetFile), Max: 4096, Kept: atomicfile.Durable},
		Check: func(s *spent) error {
			if s.Tokens < 0 {
				return fmt.Errorf("tokens is %d", s.Tokens)
			}
			return nil
		},
	}
}

// changeCount lets edit change today's count under the lock of the file. On a new day the count begins at 0. An [ErrBudget] of edit is returned
// as it is.
func (b *Budget) changeCount(ctx context.Context, now time.Time, edit func(*spent) error) error {
	err := b.countFile().Change(ctx, func(s *spent) error {
		if s.Day != formatDay(now) {
			*s = spent{Day: formatDay(now)}
		}
		return edit(s)
	})
	if errors.Is(err, ErrBudget) {
		return err
	}
	return b.explainError(err)
}

// explainError adds to an error of the file what a person can do about it; nil stays nil. A damaged file is not replaced: an empty one would be
// a new budget.
func (b *Budget) explainError(err error) error {
	if err == nil {
		return nil
	}
	if damage, ok := errors.AsType[*store.Damage](err); ok {
		return fmt.Errorf("the budget of facts cannot be read, so nothing is spent: %w; remove %s to begin the day anew", damage.Err, damage.Path)
	}
	return fmt.Errorf("the budget of facts: %w; %s", err, archive.NextStep(b.dir, err))
}
