//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/agent/a2a/tasklog"
	"github.com/plimsoll/plimsoll/app"
	"github.com/plimsoll/plimsoll/internal/testing/golden"
	"github.com/plimsoll/plimsoll/journal"
)

// olderHandle is the result in testdata/older: what the client was given for it.
const olderHandle = "r_qluklatoh6vn6s3g3bz2rlqlhk"

// olderState copies what an older program left behind, as it would lie on this host.
func olderState(t *testing.T) *site {
	t.Helper()
	s := newSite(t)
	if err := os.CopyFS(filepath.Join(s.state, "older"), os.DirFS(filepath.Join("testdata", "older", "state"))); err != nil {
		t.Fatal(err)
	}
	s.state = filepath.Join(s.state, "older")
	s.env = append(s.env, "PLIMSOLL_STATE_DIR="+s.state, "PLIMSOLL_CACHE_DIR="+filepath.Join(s.state, "cache"),
		"PLIMSOLL_CONFIG="+filepath.Join(s.state, "config.toml"), "TZ=UTC", "OPENAI_API_KEY=", "ANTHROPIC_API_KEY=")
	err := filepath.WalkDir(s.state, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return os.Chmod(path, 0o700)
		}
		return os.Chmod(path, 0o600) // git keeps no modes
	})
	if err != nil {
		t.Fatal(err)
	}
	// A result lives for a day from its beginning.
	head, err := filepath.Glob(filepath.Join(s.state, "cache", "results", "*", "head"))
	if err != nil || len(head) != 1 {
		t.Fatal(head, err)
	}
	replaceIn(t, head[0], regexp.MustCompile(`"created_ms":\d+`), fmt.Sprintf(`"created_ms":%d`, time.Now().UnixMilli()))
	if err := os.Remove(filepath.Join(s.state, "cache", "results", "ledger")); err != nil { // it is made again from the heads
		t.Fatal(err)
	}
	if runtime.GOOS != "linux" {
		return s
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		t.Fatal(err)
	}
	namespace, err := os.Readlink("/proc/self/ns/pid") // pid:[4026531836]
	if err != nil {
		t.Fatal(err)
	}
	ledger := filepath.Join(s.state, "run", "ledger")
	here := filepath.Join(ledger, strings.TrimSpace(string(boot)))
	if err := os.Rename(filepath.Join(ledger, "BOOT"), here); err != nil {
		t.Fatal(err)
	}
	claim := filepath.Join(here, "claims", "3vbceaixbx7z.json")
	replaceIn(t, claim, regexp.MustCompile("BOOT"), filepath.Base(here))
	replaceIn(t, claim, regexp.MustCompile(`"pid_namespace":\d+`), `"pid_namespace":`+strings.Trim(strings.TrimPrefix(namespace, "pid:"), "[]"))
	return s
}

func replaceIn(t *testing.T, file string, what *regexp.Regexp, by string) {
	t.Helper()
	body, err := os.ReadFile(file)
	if err != nil || !what.Match(body) {
		t.Fatalf("%s has no %s: %v", file, what, err)
	}
	if err := os.WriteFile(file, what.ReplaceAll(body, []byte(by)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestOlderStateIsRead: an update must find the history, the claims, the sessions and the rest that the program before it
// has left, and show what that one showed.
func TestOlderStateIsRead(t *testing.T) {
	t.Parallel()
	s := olderState(t)
	var all strings.Builder
	commands := [][]string{
		{"stats", "--all"},
		{"stats", "--all", "--json"},
		{"stats", "--mcp"},
		{"stats", "--mcp", "--json"},
		{"window", "show"},
		{"window", "show", "--json"},
		{"window", "show", "a1fd1d96a416-1", "--json"},
		{"agent", "list", "--json"},
		{"agent", "sessions", "reviewer"},
		{"agent", "sessions", "reviewer", "--json"},
		{"config", "check"},
		{"slots", "--json"},
		{"gc", "--dry-run"},
		{"gc", "--dry-run", "--json"},
	}
	if runtime.GOOS != "linux" {
		commands = commands[:len(commands)-3] // the claim is of Linux
	}
	for _, args := range commands {
		o := s.plimsoll(args...)
		if args[0] == "gc" {
			o.stdout = ownGarbage(t, o.stdout)
		}
		text := strings.ReplaceAll(o.stdout+o.stderr, s.state, "STATE")
		if len(text) > 4096 {
			text = text[:4096] + "…\n"
		}
		fmt.Fprintf(&all, "$ plimsoll %s\n%s(%d)\n\n", strings.Join(args, " "), updated.ReplaceAllString(text, "UPDATED"), o.code)
	}
	if runtime.GOOS == "linux" {
		golden.Check(t, recorded("older-state.txt"), all.String())
	}

	// A conversation goes on.
	if o := s.plimsoll("ask", "--model", "standin", "--agent", "reviewer", "--session", "morning", "--continue", "--json", "and now?"); o.code != 0 {
		t.Errorf("ask --continue: %d, %s", o.code, o.stderr)
	}
	if o := s.plimsoll("agent", "sessions", "reviewer"); !strings.Contains(o.stdout, "morning                               6 ") {
		t.Errorf("the session has not grown to 6 messages: %s", o.stdout)
	}
	// The killed run counts as one, and its claim goes.
	if runtime.GOOS == "linux" {
		if o := s.plimsoll("gc"); !strings.Contains(o.stdout, "3vbceaixbx7z") || o.code != 0 {
			t.Errorf("gc: %d, %s%s", o.code, o.stdout, o.stderr)
		}
		if o := s.plimsoll("slots", "--json"); o.stdout != "[]\n" {
			t.Errorf("slots after gc: %s", o.stdout)
		}
	}
}

// strange is a line of gc about a control group, or about the files of a demo that was killed: those of other tests on this host are seen
// by all.
var strange = regexp.MustCompile(`(?m)^(?:kept|would remove|removed) +(?:group|file) .*\n`)

// columns are the spaces between two columns, which are as many as the widest line wants.
var columns = regexp.MustCompile(`  +`)

// ownGarbage is what gc says without what lies in no state directory.
func ownGarbage(t *testing.T, text string) string {
	t.Helper()
	if !strings.HasPrefix(text, "{") {
		return columns.ReplaceAllString(strange.ReplaceAllString(text, ""), "  ")
	}
	var c app.Collection
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		t.Fatalf("gc: %v: %s", err, text)
	}
	others := func(g app.Garbage) bool { return g.Kind == "group" || g.Kind == "file" }
	c.Removed, c.Kept = slices.DeleteFunc(c.Removed, others), slices.DeleteFunc(c.Kept, others)
	var b bytes.Buffer
	if err := app.WriteJSON(&b, c, "  "); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// The host's other garbage does not get into what is compared.
func TestOwnGarbage(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"kept          group  /a/plimsoll-x (and 2 more)  a group of layer cgroup1 without a claim, 1 process: why\nwould remove  claim  id                         what\n": "would remove  claim  id  what\n",
		"{\"dry_run\":true,\"removed\":[{\"kind\":\"group\",\"name\":\"a\",\"what\":\"b\"}],\"kept\":[{\"kind\":\"file\",\"name\":\"a\",\"what\":\"b\"}]}":                  "{\n  \"dry_run\": true,\n  \"removed\": [],\n  \"kept\": []\n}\n",
	} {
		if got := ownGarbage(t, text); got != want {
			t.Errorf("%q becomes %q, not %q", text, got, want)
		}
	}
}

// updated is when a session's file was written, which is now: it was copied.
var updated = regexp.MustCompile(`20\d\d-\d\d-\d\d \d\d:\d\d(?:  )|"updated": "[^"]+"`)

// TestOlderResultIsRead: the client of an older gateway may ask the new one for the next page.
func TestOlderResultIsRead(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("a result belongs to the user who called, and this one was root's")
	}
	s := olderState(t)
	c := stdioClient(t, s, "mcp", "--name", "notes", "--", filepath.Join(tools, "toolserver"))
	last := c.call("result_page", fmt.Sprintf(`{"handle":%q,"page":23}`, olderHandle))
	if p := last.Result.Meta.Page; last.Result.IsError || !strings.Contains(last.text(), "at-the-end") || p.TotalItems != 455 || p.TotalPages != 23 {
		t.Errorf("the last page: %+v", last)
	}
	if found := c.call("result_search", fmt.Sprintf(`{"handle":%q,"pattern":"at-the-end"}`, olderHandle)); found.Result.IsError || !strings.Contains(found.text(), "455") {
		t.Errorf("the search: %+v", found)
	}
}

// TestOlderTaskIsRead with the body that the older program gave its client. The store is opened here and not by the
// program, which would remove a task of this age.
func TestOlderTaskIsRead(t *testing.T) {
	t.Parallel()
	s := olderState(t)
	store, err := tasklog.OpenStore(tasklog.StoreOptions{Dir: filepath.Join(s.state, "agents", "reviewer", "tasks"), MaxAge: 100 * 365 * 24 * time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	task, err := store.Get(t.Context(), "01a2086e-7ffa-747e-9946-ea2e3ed40afe")
	if err != nil || !task.Ended || task.State != "TASK_STATE_COMPLETED" || task.Context != "01a2086e-7ffa-7482-9916-7a8ff85d940f" ||
		!bytes.Contains(task.Body, []byte("hello over A2A")) || !bytes.Contains(task.Body, []byte("I am standin-planner")) {
		t.Errorf("%v: %+v, %s", err, task, task.Body)
	}
}

// TestOlderReportsAreRead: no key of an older report is one that the report of today does not have.
func TestOlderReportsAreRead(t *testing.T) {
	for name, want := range map[string]journal.Outcome{"report.json": journal.OutcomeOK, "report-killed.json": journal.OutcomeOOM} {
		body, err := os.ReadFile(filepath.Join("testdata", "older", name))
		if err != nil {
			t.Fatal(err)
		}
		d := json.NewDecoder(bytes.NewReader(body))
		d.DisallowUnknownFields()
		var r journal.Report
		if err := d.Decode(&r); err != nil || r.Outcome != want || r.PeakBytes == 0 || r.Project != "web" {
			t.Errorf("%s: %v: %+v", name, err, r)
		}
	}
}
