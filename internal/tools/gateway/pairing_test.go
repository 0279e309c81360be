package gateway_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/tools/gateway"
	"github.com/plimsoll/plimsoll/journal"
)

func TestALargeResultIsPagedSearchedAndQueried(t *testing.T) {
	each(t, gateway.Settings{}, func(t *testing.T, r *rig, c *client) {
		first := c.ok(c.call("big", `{"items":500,"kind":"json","needle":"needle-at-the-end"}`))
		page := first.Meta.Page
		if page == nil || page.TotalItems != 500 || page.Page != 1 || !page.Complete {
			t.Fatalf("the first page is described as %+v: %.800s", page, first.text())
		}
		if strings.Contains(first.text(), "needle-at-the-end") {
			t.Fatal("the end of the result is on its first page")
		}
		last := c.ok(c.call("result_page", fmt.Sprintf(`{"handle":%q,"page":%d}`, page.Handle, page.TotalPages)))
		if !strings.Contains(last.text(), "needle-at-the-end") {
			t.Errorf("the last page has no needle: %.600s", last.text())
		}
		found := c.ok(c.call("result_search", fmt.Sprintf(`{"handle":%q,"pattern":"needle-AT-the"}`, page.Handle)))
		if !strings.Contains(found.text(), "item 500") {
			t.Errorf("the search found: %.600s", found.text())
		}
		if raceDetector { // its memory does not fit into the child's limit
			return
		}
		counted := c.ok(c.call("result_query", fmt.Sprintf(`{"handle":%q,"query":".items | length"}`, page.Handle)))
		if !strings.HasPrefix(counted.text(), "500\n") || counted.IsError {
			t.Errorf("the query gave: %.600s", counted.text())
		}
		if n := r.journal.Counts()["tools.read"]; n != 3 {
			t.Errorf("%d reads are in the journal, want 3", n)
		}
	})
}

func TestWritesReachTheServerEveryTimeAndPollingIsFresh(t *testing.T) {
	each(t, gateway.Settings{}, func(t *testing.T, r *rig, c *client) {
		c.ok(c.do("tools/list", ""))
		for range 2 {
			c.ok(c.call("write", `{}`))
		}
		if n := r.ts.Stats().Writes; n != 2 {
			t.Errorf("two equal writes reached the server %d times", n)
		}
		seen := map[string]bool{}
		for range 4 {
			seen[c.ok(c.call("counter", `{}`)).text()] = true
		}
		if len(seen) != 4 {
			t.Errorf("4 polls saw %d different values", len(seen))
		}
	})
}

// A call is never answered from the spool: the client gets what is, and result_page what was, or what is on demand.
func TestEveryCallReachesTheServerAndRefreshToo(t *testing.T) {
	counted := regexp.MustCompile(`count-\d+`)
	each(t, gateway.Settings{}, func(t *testing.T, r *rig, c *client) {
		c.ok(c.do("tools/list", ""))
		reads := func() int64 { return r.ts.Stats().Reads }
		first := c.ok(c.call("counter", `{"bytes":40000}`))
		before := reads()
		second := c.ok(c.call("counter", `{"bytes":40000}`))
		if reads() != before+1 || first.Meta.Page.Handle == second.Meta.Page.Handle {
			t.Fatalf("the same call again did not reach the server: %.300s", second.text())
		}
		fresh := c.ok(c.call("result_page", fmt.Sprintf(`{"handle":%q,"refresh":true}`, first.Meta.Page.Handle)))
		if fresh.Meta.Page == nil || reads() != before+2 {
			t.Fatalf("refresh did not reach the server: %.300s", fresh.text())
		}
		found := c.ok(c.call("result_search", fmt.Sprintf(`{"handle":%q,"pattern":"count-"}`, fresh.Meta.Page.Handle)))
		if !counted.MatchString(found.text()) {
			t.Errorf("the fresh result has no count: %.300s", found.text())
		}
	})
}

func TestPageToolsAnswerWhatCannotBeDone(t *testing.T) {
	each(t, gateway.Settings{}, func(t *testing.T, _ *rig, c *client) {
		page := c.ok(c.call("big", `{"items":500,"kind":"json"}`)).Meta.Page
		h := page.Handle
		for _, bad := range []struct{ tool, arguments, says string }{
			{"result_page", `{}`, "handle is missing"},
			{"result_page", `{"handle":"r_nobody","page":2}`, "no result with this handle"},
			{"result_page", `{"handle":"` + h + `","page":0}`, fmt.Sprintf("pages 1 to %d", page.TotalPages)},
			{"result_page", `{"handle":"` + h + `","page":-1}`, "pages 1 to"},
			{"result_page", `{"handle":"` + h + `","page":1000000000}`, "pages 1 to"},
			{"result_page", `{"handle":"` + h + `","page":1e300}`, "whole number"},
			{"result_page", `{"handle":"` + h + `","page":"two"}`, "whole number"},
			{"result_page", `{"handle":"` + h + `","page_size":-3}`, "page_size"},
			{"result_page", `{"handle":"` + h + `","offset":99999999999}`, "offsets 0 to"},
			{"result_page", `{"handle":"` + h + `","refresh":true}`, "call it yourself"},
			{"result_search", `{"handle":"` + h + `"}`, "pattern is missing"},
			{"result_search", `{"handle":"` + h + `","pattern":"(a"}`, "RE2"},
			{"result_search", `{"handle":"` + h + `","pattern":"(a+)+\\1$"}`, "RE2"},
			{"result_search", `{"handle":"` + h + `","pattern":"x","page":0}`, "counted from 1"},
			{"result_query", `{"handle":"` + h + `"}`, "query is missing"},
			{"result_query", `{"handle":"` + h + `","query":".items["}`, ""},
		} {
			a := c.ok(c.call(bad.tool, bad.arguments))
			if !a.IsError || !strings.Contains(a.text(), bad.says) {
				t.Errorf("%s %s: isError %v, %.300s; want it to say %q", bad.tool, bad.arguments, a.IsError, a.text(), bad.says)
			}
		}
		for _, good := range []string{`{"handle":"` + h + `","page":"2"}`, `{"handle":"` + h + `","page":2.0,"page_size":"5"}`, `{"handle":"` + h + `","offset":"10"}`} {
			if a := c.ok(c.call("result_page", good)); a.IsError {
				t.Errorf("%s: %.300s", good, a.text())
			}
		}
	})
}

func TestAnEndlessQueryEnds(t *testing.T) {
	r := newRig(t, defaultServer, false, gateway.Settings{})
	c := onPeer(t, r.server.Local(), false).begin("test-client")
	h := c.ok(c.call("big", `{"items":500,"kind":"json"}`)).Meta.Page.Handle
	for _, q := range []string{`[range(1e12)]|length`, `def f: f; f`, `\"x\"*1e9`} {
		if a := c.ok(c.call("result_query", `{"handle":"`+h+`","query":"`+q+`"}`)); !a.IsError {
			t.Errorf("%s: %.300s", q, a.text())
		}
	}
}

func TestErrorsStayErrorsAndAreBounded(t *testing.T) {
	each(t, gateway.Settings{}, func(t *testing.T, _ *rig, c *client) {
		if a := c.ok(c.call("error", `{"text":"no such thing"}`)); !a.IsError || a.text() != "no such thing\n" {
			t.Errorf("an error became %+v", a)
		}
		huge := c.ok(c.call("huge_error", `{"bytes":300000}`))
		if !huge.IsError || len(huge.text()) > 12<<10 {
			t.Errorf("a huge error: isError %v, %d bytes", huge.IsError, len(huge.text()))
		}
		a := c.call("huge_error", `{"bytes":300000,"protocol":true}`)
		if _, text := c.refused(a); len(text) > 12<<10 {
			t.Errorf("the text of a protocol error has %d bytes", len(text))
		}
	})
}

func TestAResultThatBreaksOffIsAnErrorAndStaysReadable(t *testing.T) {
	each(t, gateway.Settings{}, func(t *testing.T, _ *rig, c *client) {
		a := c.call("cut", `{"after":200000}`)
		_, text := c.refused(a)
		handle := regexp.MustCompile(`r_[A-Za-z0-9_-]+`).FindString(text)
		if handle == "" {
			t.Fatalf("the error names no handle: %s", text)
		}
		if page := c.ok(c.call("result_page", `{"handle":"`+handle+`"}`)); page.IsError || len(page.text()) < 1000 {
			t.Errorf("what came cannot be read: %.300s", page.text())
		}
	})
}

func TestLargeResultsAreCountedAndToldOf(t *testing.T) {
	r := newRig(t, defaultServer, false, gateway.Settings{})
	c := onPeer(t, r.server.Local(), false).begin("test-client")
	c.ok(c.call("echo", `{"text":"small"}`))
	c.ok(c.call("big", `{"bytes":150000}`))
	c.ok(c.call("big", `{"bytes":300000}`))
	var levels []string
	var called []journal.ToolCalled
	for rec := range r.journal.Since(0) {
		switch e := rec.Event.(type) {
		case journal.ToolResultLarge:
			levels = append(levels, e.Level)
		case journal.ToolCalled:
			called = append(called, e)
		}
	}
	if fmt.Sprint(levels) != "[warning alert]" {
		t.Errorf("levels: %v", levels)
	}
	if len(called) != 3 || called[0].Spilled || !called[2].Spilled || called[2].UpstreamBytes < 300000 || called[2].DeliveredBytes > 14<<10 ||
		called[0].Protocol != "2025-11-25" || called[0].UpstreamBytes != called[0].DeliveredBytes {
		t.Errorf("called: %+v", called)
	}
}
