package facts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/plimsoll/plimsoll/internal/atomicfile"
	"github.com/plimsoll/plimsoll/internal/filelock"
	"github.com/plimsoll/plimsoll/internal/memory/archive"
	"github.com/plimsoll/plimsoll/internal/statefile"
)

// Budget limits the tokens spent in a day (UTC), over all processes of a directory. Tokens are reserved before a request and settled with
// what the provider counted; what a dead process had reserved counts as spent.
type Budget struct {
	dir    string
	perDay int
}

const (
	budgetFile = "budget.json"
	budgetLock = "budget.lock"
)

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
	return b.change(ctx, now, func(s *spent) error {
		if tokens > b.perDay-s.Tokens {
			return fmt.Errorf("%w: %d of %d, and a request takes up to %d", ErrBudget, s.Tokens, b.perDay, tokens)
		}
		s.Tokens += tokens
		return nil
	})
}

// Settle replaces the reserved tokens of a request by the used ones, which may be more. Once that day (UTC) is over it does nothing.
func (b *Budget) Settle(ctx context.Context, reservedAt time.Time, reserved, used int) error {
	return b.change(ctx, time.Now(), func(s *spent) error {
		if s.Day == dayOf(reservedAt) {
			s.Tokens = max(0, s.Tokens-reserved+used)
		}
		return nil
	})
}

// Spent returns how many tokens of the day of now are used or reserved.
func (b *Budget) Spent(now time.Time) (int, error) {
	s, err := b.read()
	if err != nil || s.Day != dayOf(now) {
		return 0, err
	}
	return s.Tokens, nil
}

func dayOf(t time.Time) string { return t.UTC().Format(time.DateOnly) }

func (b *Budget) change(ctx context.Context, now time.Time, edit func(*spent) error) error {
	if err := os.MkdirAll(b.dir, 0o700); err != nil {
		return fmt.Errorf("the budget of facts: %w; %s", err, archive.NextStep(b.dir, err))
	}
	lock, err := filelock.Open(ctx, filepath.Join(b.dir, budgetLock))
	if err != nil {
		return fmt.Errorf("the budget of facts: %w; %s", err, archive.NextStep(b.dir, err))
	}
	defer filelock.Release(lock)
	s, err := b.read()
	if err != nil {
		return err
	}
	if s.Day != dayOf(now) {
		s = spent{Day: dayOf(now)}
	}
	if err := edit(&s); err != nil {
		return err
	}
	body, err := json.Marshal(s)
	if err != nil {
		return err
	}
	if err := atomicfile.Write(filepath.Join(b.dir, budgetFile), append(body, '\n'), 0o600, atomicfile.Durable); err != nil {
		return fmt.Errorf("the budget of facts: %w; %s", err, archive.NextStep(b.dir, err))
	}
	return nil
}

// read returns the content of the budget file, zero if there is none. A damaged file is an error: as an empty one it would be a new budget.
func (b *Budget) read() (spent, error) {
	path := filepath.Join(b.dir, budgetFile)
	body, err := statefile.Read(path, 4096)
	if errors.Is(err, fs.ErrNotExist) {
		return spent{}, nil
	}
	var s spent
	if err == nil {
		err = json.Unmarshal(body, &s)
	}
	if err != nil || s.Tokens < 0 {
		return spent{}, fmt.Errorf("the budget of facts cannot be read, so nothing is spent: %w; remove %s to begin the day anew", errors.Join(err, errNegative(s)), path)
	}
	return s, nil
}

func errNegative(s spent) error {
	if s.Tokens < 0 {
		return fmt.Errorf("tokens is %d", s.Tokens)
	}
	return nil
}
