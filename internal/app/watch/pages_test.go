package watch

import (
	"slices"
	"testing"

	"github.com/plimsoll/plimsoll/internal/fleet/hosts"
	"github.com/plimsoll/plimsoll/internal/watch/dashboard"
)

// A page is one file, as this one.
func TestPagesComeInTheirOrder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from source
		want []string
	}{
		{source{}, []string{"mcp", "agents", "memory", "ledger"}},
		{source{fleet: &hosts.View{}}, []string{"hosts", "mcp", "agents", "memory", "ledger"}},
	} {
		var names []string
		list := pages(c.from)
		for _, p := range list {
			names = append(names, p.Name)
		}
		if !slices.Equal(names, c.want) {
			t.Errorf("the pages are %q, not %q", names, c.want)
		}
		if _, err := dashboard.New(dashboard.Options{StateDir: t.TempDir(), Pages: list}); err != nil {
			t.Error(err)
		}
	}
}
