package printable_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/plimsoll/plimsoll/internal/printable"
)

func TestJoinedErrorsAreSaidOneByOne(t *testing.T) {
	one, two := errors.New("one:\n  a\n  b"), errors.New("two")
	for _, c := range []struct {
		err  error
		want []string
	}{
		{one, []string{"one:\n  a\n  b"}},
		{errors.Join(one, nil, two), []string{"one:\n  a\n  b", "two"}},
		{errors.Join(errors.Join(two, one), two), []string{"two", "one:\n  a\n  b", "two"}},
		{errors.Join(two), []string{"two"}},
		{fmt.Errorf("%w; %w", one, two), []string{"one:\n  a\n  b; two"}},
		{fmt.Errorf("what was done: %w", errors.Join(two, two)), []string{"what was done: two\ntwo"}},
	} {
		if got := printable.ErrorLines(c.err, c.err.Error()); !slices.Equal(got, c.want) {
			t.Errorf("%q became %q", c.err, got)
		}
	}
}
