package watch

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/app/mcp"
	"github.com/plimsoll/plimsoll/internal/fleet/hosts"
	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/internal/watch/dashboard"
	"github.com/plimsoll/plimsoll/internal/watch/runs"
	"github.com/plimsoll/plimsoll/limit"
)

// source is the input of pages.
type source struct {
	core  *core.Core
	fleet *hosts.View // nil where there is none
}

// morePages make the pages beside those of runs and alerts, in the order of the menu; false leaves one out.
var morePages = []func(source) (dashboard.Page, bool){hostsPage, mcpPage, agentsPage, memoryPage, ledgerPage}

// pages returns the added pages in the order of the menu.
func pages(s source) []dashboard.Page {
	var list []dashboard.Page
	for _, pageOf := range morePages {
		if page, ok := pageOf(s); ok {
			list = append(list, page)
		}
	}
	return list
}

// mcpPage returns the page with MCP servers and tools by the size of all their results so far. It is always there.
func mcpPage(s source) (dashboard.Page, bool) {
	return dashboard.TablesPage("mcp", "MCP", func(context.Context) ([]*dashboard.Table, error) {
		t := &dashboard.Table{Title: "Tools by size", Empty: "No MCP server was called yet: plimsoll mcp -- SERVER", Columns: []dashboard.Column{
			{Name: "Server"},
			{Name: "Tool"},
			{Name: "Calls", Kind: dashboard.Count},
			{Name: "Failed", Kind: dashboard.Count},
			{Name: "From the server", Kind: dashboard.Bytes},
			{Name: "To the agent", Kind: dashboard.Bytes},
			{Name: "Average", Kind: dashboard.Bytes},
			{Name: "95th percentile", Kind: dashboard.Bytes},
			{Name: "Largest", Kind: dashboard.Bytes},
			{Name: "Kept to be paged", Kind: dashboard.Count},
			{Name: "Last call", Kind: dashboard.Time},
		}}
		rows, err := mcp.Stats(s.core, "")
		for _, r := range rows {
			t.Add(r.Server, r.Tool, r.Calls, r.Failed, r.UpstreamBytes, r.DeliveredBytes, r.AverageBytes, r.P95Bytes, r.MaxBytes, r.Spilled, r.Last)
		}
		return []*dashboard.Table{t}, err
	}), true
}

// hostsPage returns the page with the hosts of a fleet and the runs on them; false where there is no fleet.
func hostsPage(s source) (dashboard.Page, bool) {
	return dashboard.TablesPage("hosts", "Hosts", func(ctx context.Context) ([]*dashboard.Table, error) {
		return []*dashboard.Table{hostsTable(s.fleet.Now(), hostName(s.core)), otherRuns(lookOnce(ctx, s.core))}, nil
	}), s.fleet != nil
}

// hostsTable returns the table of the hosts: this one, those that fell silent, then the others. here is the name of this one, in case the fleet
// has not told of it.
func hostsTable(now hosts.Now, here string) *dashboard.Table {
	t := &dashboard.Table{Title: "Hosts", Note: AwayWords(now), Columns: []dashboard.Column{
		{Name: "Host"},
		{Name: "State", Kind: dashboard.State},
		{Name: "Heard", Kind: dashboard.Time},
		{Name: "Memory free", Kind: dashboard.Bytes},
		{Name: "of", Kind: dashboard.Bytes},
		{Name: "Running", Kind: dashboard.Count},
		{Name: "Waiting", Kind: dashboard.Count},
		{Name: "Oldest wait", Kind: dashboard.Duration},
		{Name: "Tokens today", Kind: dashboard.Tokens},
		{Name: "Cost today"},
	}}
	add := func(name, note, state string, h *hosts.Host) {
		var oldest any
		if !h.Oldest.IsZero() {
			oldest = max(0, time.Since(h.Oldest).Milliseconds())
		}
		cost := limit.Dollars(h.Cost)
		if h.Plan > 0 {
			cost += ", a plan's tokens " + limit.Dollars(h.Plan)
		}
		t.Add(dashboard.Cell{Value: name, Note: note}, state, h.Time, h.AvailableBytes, h.TotalBytes, h.Running, h.Waiting, oldest, h.Tokens, cost)
	}
	if now.Own != nil {
		add(now.Own.Name, "this host", "here", now.Own)
	} else if memory, ok := hostNow(); ok {
		t.Add(dashboard.Cell{Value: here, Note: "this host"}, "here", time.Now(), memory.AvailableBytes, memory.TotalBytes)
	}
	for _, h := range now.Gone {
		add(h.Label, "fell silent without a word", "gone", h)
	}
	for _, h := range now.Hosts {
		note := ""
		if h.LeftOut > 0 {
			note = limit.Count(h.LeftOut, "run") + " not told"
		}
		add(h.Label, note, "heard", h)
	}
	return t
}

// otherRuns returns the table with the runs of the other hosts, the largest first.
func otherRuns(now hosts.Now) *dashboard.Table {
	t := &dashboard.Table{Title: "Runs on other hosts", Empty: "Nothing runs on other hosts.", Columns: []dashboard.Column{
		{Name: "Host"},
		{Name: "Run", Kind: dashboard.Code},
		{Name: "State", Kind: dashboard.State},
		{Name: "Tool"},
		{Name: "Project"},
		{Name: "Memory", Kind: dashboard.Bytes},
		{Name: "Peak", Kind: dashboard.Bytes},
		{Name: "Limit", Kind: dashboard.Bytes},
		{Name: "Window", Kind: dashboard.Tokens},
		{Name: "Age", Kind: dashboard.Duration},
		{Name: "Cost"},
	}}
	if now.LeftOut > 0 {
		t.Note = fmt.Sprintf("Not all are held: %s or the runs on them are left out.", limit.Count(now.LeftOut, "host"))
	}
	type of struct {
		host *hosts.Host
		run  *hosts.Run
	}
	var list []of
	for _, h := range now.Hosts {
		for i := range h.Runs {
			list = append(list, of{h, &h.Runs[i]})
		}
	}
	sorting.By(list, func(a, b of) int {
		return cmp.Or(cmp.Compare(b.run.Memory, a.run.Memory), strings.Compare(a.host.Label, b.host.Label), strings.Compare(a.run.ID, b.run.ID))
	})
	for _, one := range list {
		r := one.run
		reason := ""
		if r.State == runs.Waiting {
			reason = r.Reason
		}
		t.Add(one.host.Label, r.ID, dashboard.Cell{Value: r.State, Note: reason}, strings.TrimSpace(r.Tool+" "+r.Variant), r.Project, r.Memory, r.Peak, r.Limit, r.WindowTokens,
			max(0, time.Since(r.Started).Milliseconds()), limit.Dollars(r.Cost))
	}
	return t
}
