package dashboard

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"testing"

	"github.com/plimsoll/plimsoll/internal/printable"
	"github.com/plimsoll/plimsoll/internal/testing/wait"
	"github.com/plimsoll/plimsoll/internal/watch/runs"
	"github.com/plimsoll/plimsoll/journal"
)

// serving starts a dashboard over an empty store.
func serving(t *testing.T) (s *Server, base, dir string) {
	t.Helper()
	dir = t.TempDir()
	s, err := New(Options{StateDir: dir, Version: "test", Pages: []Page{{Name: "more", Title: "More", Script: []byte("export default () => {}"), Data: func(context.Context) (any, error) { return []int{1}, nil }, Ask: func(_ context.Context, q url.Values) (any, error) { return q.Get("q"), nil }}, thingsPage()}})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(s)
	t.Cleanup(func() { _ = s.Close(); server.Close() })
	return s, server.URL, dir
}

// thingsPage is a page of tables, with more rows than are shown.
func thingsPage() Page {
	return TablesPage("things", "Things", func(context.Context) ([]*Table, error) {
		t := &Table{Title: "Things", Columns: []Column{{Name: "Text", Kind: Wide}, {Name: "Size", Kind: Bytes}}}
		for range MaxTableRows + 2 {
			t.Add(Cell{Value: "<b>one</b>", Note: "a note"}, 1)
		}
		return []*Table{t, {Title: "None"}}, nil
	})
}

// A page of tables needs no script of its own, has a bound, and says what is beyond it.
func TestAPageOfTables(t *testing.T) {
	t.Parallel()
	s, base, _ := serving(t)
	c, base := enter(t, s, base)
	get := func(path string) string {
		r, err := c.Get(base + path)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Body.Close()
		body, _ := io.ReadAll(r.Body)
		if r.StatusCode != http.StatusOK {
			t.Errorf("%s: %d", path, r.StatusCode)
		}
		return string(body)
	}
	if shared, own := get("/assets/page/things.js"), get("/assets/tables.js"); shared != own || !strings.Contains(own, "export default") {
		t.Errorf("%.80s, not %.80s", shared, own)
	}
	if said := get("/api/page/more?q=%3Cb%3E"); said != `"\u003cb\u003e"` {
		t.Errorf("the answer is %s", said)
	}
	for _, path := range []string{"/api/page/things?q=x", "/api/page/more?q=" + strings.Repeat("x", maxQuestion)} {
		r, err := c.Get(base + path)
		if err != nil {
			t.Fatal(err)
		}
		_ = r.Body.Close()
		if r.StatusCode != http.StatusBadRequest {
			t.Errorf("%.40s: %d", path, r.StatusCode)
		}
	}
	var got struct{ Tables []Table }
	text := get("/api/page/things")
	if err := json.Unmarshal([]byte(text), &got); err != nil || len(got.Tables) != 2 || len(got.Tables[0].Rows) != MaxTableRows || got.Tables[0].LeftOut != 2 || strings.Contains(text, `"rows":null`) {
		t.Errorf("%.300s, %v", text, err)
	}
}

func TestPagesHaveNamesOfTheirOwn(t *testing.T) {
	t.Parallel()
	page := thingsPage()
	for _, name := range []string{"", "run", "alerts", "a/b", "A", "things"} {
		other := page
		other.Name = name
		if _, err := New(Options{StateDir: t.TempDir(), Pages: []Page{page, other}}); err == nil {
			t.Errorf("a page may be called %q", name)
		}
	}
}

// enter goes in as a browser does, and gives the address of what is there.
func enter(t *testing.T, s *Server, base string) (*http.Client, string) {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	c := &http.Client{Jar: jar}
	r, err := c.Get(s.URL(base))
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(r.Body)
	_ = r.Body.Close()
	if r.StatusCode != http.StatusOK || !strings.Contains(string(body), "<title>Plimsoll") || r.Request.URL.RawQuery != "" {
		t.Fatalf("%d at %s: %.200s", r.StatusCode, r.Request.URL, body)
	}
	return c, strings.TrimSuffix(r.Request.URL.String(), "/")
}

func TestOnlyWhoHasTheTokenLooks(t *testing.T) {
	t.Parallel()
	s, base, _ := serving(t)
	below := s.base
	for _, path := range []string{"/", "/?token=", "/?token=wrong", "/api/state", "/dashboard-other/", below, below + "?token=x", below + "assets/app.js", below + "api/state", below + "api/events", below + "api/run/x", below + "api/page/more"} {
		r, err := http.Get(base + path)
		if err != nil {
			t.Fatal(err)
		}
		_ = r.Body.Close()
		if r.StatusCode != http.StatusUnauthorized || len(r.Cookies()) != 0 {
			t.Errorf("%s: %d, %v", path, r.StatusCode, r.Cookies())
		}
	}
	c, base := enter(t, s, base)
	for path, want := range map[string]int{
		"/": 200, "/assets/app.js": 200, "/assets/page/more.js": 200, "/api/state": 200, "/api/page/more": 200, "/assets/../server.go": 404,
		"/assets/%2e%2e/server.go": 404, "/assets/none.js": 404, "/api/run/none": 404, "/api/cut/none": 404, "/api/none": 404, "/assets/favicon.svg": 200,
	} {
		r, err := c.Get(base + path)
		if err != nil {
			t.Fatal(err)
		}
		_ = r.Body.Close()
		if r.StatusCode != want {
			t.Errorf("%s: %d, not %d", path, r.StatusCode, want)
		}
		if policy := r.Header.Get("Content-Security-Policy"); !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") {
			t.Errorf("%s: %s", path, policy)
		}
	}
	for _, method := range []string{http.MethodPost, http.MethodPut, http.MethodDelete} {
		q, _ := http.NewRequest(method, base+"/api/state", nil)
		r, err := c.Do(q)
		if err != nil {
			t.Fatal(err)
		}
		_ = r.Body.Close()
		if r.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("%s: %d", method, r.StatusCode)
		}
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest(http.MethodGet, s.URL("http://127.0.0.1:1"), nil))
	set := w.Header().Get("Set-Cookie")
	for _, want := range []string{"HttpOnly", "SameSite=Strict", "Path=" + s.base} {
		if !strings.Contains(set, want) {
			t.Errorf("the cookie is %s", set)
		}
	}
	if strings.Contains(set, s.o.Token) {
		t.Error("the cookie is the token")
	}
}

// Another server on this host, which another user may have put there, sees no cookie, whatever pages of it the browser opens; with what an earlier
// start gave nobody looks.
func TestACookieIsShownToNobodyElse(t *testing.T) {
	t.Parallel()
	var seen sync.Map
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { seen.Store(r.URL.Path, r.Header.Get("Cookie")) }))
	t.Cleanup(other.Close)
	s, base, dir := serving(t)
	c, at := enter(t, s, base)
	paths := []string{"/", "/api/state", "/assets/app.js", "/dashboard-", "/dashboard-other/api/state"}
	for _, path := range paths {
		r, err := c.Get(other.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		_ = r.Body.Close()
		if cookie, _ := seen.Load(path); cookie != "" {
			t.Errorf("at %s it was shown %q", path, cookie)
		}
	}
	again, err := New(Options{StateDir: dir, Token: s.o.Token})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = again.Close() })
	below, _ := url.Parse(at)
	for _, path := range []string{below.Path + "/api/state", again.base + "api/state"} {
		q := httptest.NewRequest(http.MethodGet, path, nil)
		q.AddCookie(&http.Cookie{Name: cookieName, Value: s.cookie})
		w := httptest.NewRecorder()
		if again.ServeHTTP(w, q); w.Code != http.StatusUnauthorized || !again.Takes(path) {
			t.Errorf("%s of another start: %d", path, w.Code)
		}
	}
}

// What a run is called turns no text and no title of a page, whatever its tool has put into it.
func TestNoNameTurnsAPage(t *testing.T) {
	t.Parallel()
	s, base, dir := serving(t)
	c, base := enter(t, s, base)
	start := journal.Report{Tool: "cl\u202eaude\x1b[31m", Project: "p\u2066\u0085"}
	w := runs.Begin(runs.Options{Dir: dir}, runs.Header{ID: "wputuqf627ll", Kind: runs.KindRun, Report: start})
	if err := w.End(start); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/api/state", "/api/run/wputuqf627ll", "/api/events"} {
		r, err := c.Get(base + path)
		if err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewReader(r.Body)
		var text string
		for !strings.Contains(text, "{") && err == nil {
			text, err = lines.ReadString('\n')
		}
		_ = r.Body.Close()
		var got any
		if err := json.Unmarshal([]byte(strings.TrimPrefix(text, "data: ")), &got); err != nil {
			t.Fatalf("%s: %v in %q", path, err, text)
		}
		if shown := fmt.Sprint(got); !strings.Contains(shown, "cl�aude�[31m") || !strings.Contains(shown, "p��") || shown != printable.Text(shown) {
			t.Errorf("%s shows %q", path, shown)
		}
	}
}

// Many look at once: all see a run that begins, and its end, and nothing is read once they have gone.
func TestManyLookAtOnce(t *testing.T) {
	t.Parallel()
	s, base, dir := serving(t)
	c, base := enter(t, s, base)
	var all, ready sync.WaitGroup
	for range 8 {
		ready.Add(1)
		all.Go(func() {
			r, err := c.Get(base + "/api/events")
			if err != nil {
				t.Error(err)
				ready.Done()
				return
			}
			defer r.Body.Close()
			ready.Done()
			seen := map[string]bool{}
			lines := bufio.NewScanner(r.Body)
			lines.Buffer(nil, 1<<20)
			for lines.Scan() && !seen["ok"] {
				text, ok := strings.CutPrefix(lines.Text(), "data: ")
				if !ok {
					continue
				}
				var step struct{ Rows []row }
				if err := json.Unmarshal([]byte(text), &step); err != nil {
					t.Errorf("%s: %v", text, err)
				}
				for _, one := range step.Rows {
					seen[one.State] = true
					if one.Project != "<img src=x onerror=alert(1)>" {
						t.Errorf("%+v", one)
					}
				}
			}
			if !seen["ok"] || !seen["running"] {
				t.Errorf("saw %v", seen)
			}
		})
	}
	ready.Wait()
	start := journal.Report{Tool: "claude", Project: "<img src=x onerror=alert(1)>"}
	w := runs.Begin(runs.Options{Dir: dir}, runs.Header{ID: "one", Kind: runs.KindRun, Report: start})
	w.Observe(journal.Record{Seq: 1, Event: journal.RunStarted{PID: 1}})
	for { // until the beginning has been seen
		now, err := s.hub.waitForSnapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(now.rows) == 1 {
			break
		}
	}
	start.Outcome = journal.OutcomeOK
	if err := w.End(start); err != nil {
		t.Fatal(err)
	}
	all.Wait()
}

func TestThereAreNotTooManyViewers(t *testing.T) {
	t.Parallel()
	h := &hub{dir: t.TempDir()}
	for range MaxViewers {
		if err := h.join(); err != nil {
			t.Fatal(err)
		}
	}
	if err := h.join(); err != errBusy {
		t.Errorf("one more: %v", err)
	}
	for range MaxViewers {
		h.leave()
	}
	_ = h.close()
	if err := h.join(); err == nil {
		t.Error("it is closed")
	}
}

func TestStepsHoldWhatChanged(t *testing.T) {
	t.Parallel()
	seen, rest, order := map[string]string{}, "", ""
	one := &snapshot{rows: []rowText{{"a", []byte(`{"id":"a"}`)}, {"b", []byte(`{"id":"b"}`)}}, rest: []byte(`"host":null`)}
	if text, changed := one.takeChanges(seen, &rest, &order); !changed || string(text) != `{"rows":[{"id":"a"},{"id":"b"}],"order":["a","b"],"host":null}` || !json.Valid(text) {
		t.Errorf("%s", text)
	}
	if text, changed := one.takeChanges(seen, &rest, &order); changed {
		t.Errorf("%s", text)
	}
	two := &snapshot{rows: []rowText{{"b", []byte(`{"id":"b","x":1}`)}}, rest: one.rest}
	if text, changed := two.takeChanges(seen, &rest, &order); !changed || string(text) != `{"rows":[{"id":"b","x":1}],"order":["b"]}` || len(seen) != 1 {
		t.Errorf("%s", text)
	}
}

// What is sent stays small: the promise is 150 KB for the whole page.
func TestTheFilesAreSmall(t *testing.T) {
	t.Parallel()
	entries, err := static.ReadDir("static")
	if err != nil {
		t.Fatal(err)
	}
	sum := 0
	for _, e := range entries {
		text, err := static.ReadFile("static/" + e.Name())
		if err != nil {
			t.Fatal(err)
		}
		sum += len(text)
		if strings.HasSuffix(e.Name(), ".js") && !strings.HasPrefix(e.Name(), "uPlot") {
			for _, bad := range []string{"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("} {
				if strings.Contains(string(text), bad) {
					t.Errorf("%s has %s", e.Name(), bad)
				}
			}
		}
	}
	if sum > 150_000 {
		t.Errorf("%d bytes", sum)
	}
}

// A store that could not be opened at first is read as soon as it can be, and closed when nobody looks any more.
func TestAStoreThatComesLaterIsClosed(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("open files are counted in /proc")
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // which closes what nobody holds any more
	s, _, dir := serving(t)
	store := filepath.Join(dir, runs.Dir)
	opened := func() (n int) {
		fds, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		for _, fd := range fds {
			if at, err := os.Readlink("/proc/self/fd/" + fd.Name()); err == nil && strings.HasPrefix(at, store) {
				n++
			}
		}
		return n
	}
	if err := os.WriteFile(store, nil, 0o600); err != nil { // no folder
		t.Fatal(err)
	}
	if err := s.hub.join(); err != nil {
		t.Fatal(err)
	}
	shows := func(what string) func() bool {
		return func() bool {
			now, _ := s.hub.current()
			return now != nil && strings.Contains(string(now.encode()), what)
		}
	}
	wait.Until(t, "the problem shows", shows("cannot be read"))
	if err := os.Remove(store); err != nil {
		t.Fatal(err)
	}
	w := runs.Begin(runs.Options{Dir: dir}, runs.Header{ID: "later", Kind: runs.KindRun, Report: journal.Report{Tool: "claude"}})
	if err := w.End(journal.Report{Tool: "claude", Outcome: journal.OutcomeOK}); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the run shows", shows("later"))
	if opened() == 0 {
		t.Error("nothing is open while somebody looks, so the test tells nothing")
	}
	s.hub.leave()
	wait.Until(t, "nobody looks", func() bool { now, _ := s.hub.current(); return now == nil })
	wait.Until(t, "the store is closed", func() bool { return opened() == 0 })
}
