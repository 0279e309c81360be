package watch

import (
	"context"
	"slices"
	"testing"

	"github.com/plimsoll/plimsoll/internal/watch/dashboard"
)

// A page is one file, as this one.
func init() { addPage(50, thingsPage) }

func thingsPage(source) (dashboard.Page, bool) {
	return dashboard.TablesPage("things", "Things", func(context.Context) ([]*dashboard.Table, error) { return nil, nil }), true
}

func TestPagesComeInTheirOrder(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		from source
		want []string
	}{
		{source{}, []string{"mcp", "agents", "memory", "things"}},
		{source{ledger: func(context.Context) (any, error) { return nil, nil }}, []string{"mcp", "agents", "memory", "things", "ledger"}},
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
