package watch

import (
	"context"
	"strings"

	"github.com/plimsoll/plimsoll/app/memories"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/memory"
	"github.com/plimsoll/plimsoll/watch/dashboard"
)

func init() { addPage(30, memoryPage) }

// maxRemembered bounds the records that the page of the memory shows, the newest.
const maxRemembered = memory.MaxLimit

// memoryPage shows what is remembered, with its origin. The dashboard only reads: what searches and forgets is the command line.
func memoryPage(s source) (dashboard.Page, bool) {
	return dashboard.TablesPage("memory", "Memory", func(ctx context.Context) ([]*dashboard.Table, error) {
		records := &dashboard.Table{
			Title: "The newest records", Note: "This page only reads. To search all of them: plimsoll memory search WORDS. To remove one for good: plimsoll memory forget ID.", Empty: "Nothing is remembered yet: plimsoll memory add",
			Columns: []dashboard.Column{
				{Name: "Said", Kind: dashboard.Time}, {Name: "Kind"}, {Name: "Origin"}, {Name: "Namespace"}, {Name: "Words", Kind: dashboard.Wide}, {Name: "Source"}, {Name: "ID"}, {Name: "Run", Kind: dashboard.RunID},
			},
		}
		spaces := &dashboard.Table{Title: "Namespaces", Columns: []dashboard.Column{
			{Name: "Namespace"}, {Name: "Records", Kind: dashboard.Count}, {Name: "Disk", Kind: dashboard.Bytes}, {Name: "Newest", Kind: dashboard.Time},
		}}
		pins := &dashboard.Table{Title: "Pinned", Note: "Your standing instructions, as they are in force: plimsoll memory pin.", Columns: []dashboard.Column{{Name: "Instruction", Kind: dashboard.Wide}, {Name: "Size", Kind: dashboard.Bytes}, {Name: "ID"}}}
		tables := []*dashboard.Table{records, spaces, pins}
		if !memories.Exists(s.core) {
			return tables[:1], nil
		}
		m, err := memories.Open(s.core, memories.Options{})
		if err != nil {
			return nil, err
		}
		defer m.Close()
		page, err := m.List(ctx, memories.Query{Limit: maxRemembered})
		if err != nil {
			return nil, err
		}
		for _, r := range page.Records {
			where := strings.Join(strings.Fields(r.Source.Client+" "+r.Source.Tool+" "+r.Source.File), ", ")
			records.Add(r.Said, string(r.Kind), string(r.Origin), r.Namespace, limit.ShortRunes(strings.Join(strings.Fields(r.Text), " "), 400), where, r.ID, r.Source.Run)
		}
		stats, err := m.Stats(ctx)
		if err != nil {
			return nil, err
		}
		for _, n := range stats.Namespaces {
			spaces.Add(n.Name, n.Records, int64(n.Bytes), n.Newest)
		}
		for _, p := range stats.Profile.Entries {
			pins.Add(p.Text, int64(p.Bytes), p.ID)
		}
		return tables, nil
	}), true
}
