package admission

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/filelock"
)

// older plays a process of the version before the table, on what such a version has written: testdata/older is the ledger
// of three of its runs that hold and one that waits.
type older struct {
	t     *testing.T
	l     *Ledger
	locks map[string]*os.File
}

var recordedOwner = regexp.MustCompile(`"owner":\{[^}]*\}`)

// recorded lays the recorded ledger where l is. The runs of it are this process, which has locked their claims.
func recorded(t *testing.T, l *Ledger) older {
	t.Helper()
	owner, err := json.Marshal(self())
	if err != nil {
		t.Fatal(err)
	}
	source := os.DirFS(filepath.Join("testdata", "older"))
	err = fs.WalkDir(source, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(source, path)
		if err != nil {
			return err
		}
		text = recordedOwner.ReplaceAllLiteral(text, []byte(`"owner":`+string(owner)))
		return os.WriteFile(filepath.Join(l.Dir(), path), text, 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	o := older{t, l, map[string]*os.File{}}
	for _, e := range o.ledger().Entries {
		f, err := os.OpenFile(l.claimLock(e.ID), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if ok, err := filelock.Try(f, filelock.Exclusive); err != nil || !ok {
			t.Fatal(err)
		}
		o.locks[e.ID] = f
		t.Cleanup(func() { f.Close() })
	}
	return o
}

// olderLedger is ledger.json, and olderCard a claim's own file, as far as an older version decides by them.
type (
	olderLedger struct {
		Schema  int          `json:"schema"`
		Ticket  uint64       `json:"ticket"`
		Entries []olderEntry `json:"entries"`
	}
	olderEntry struct {
		ID          string          `json:"id"`
		State       string          `json:"state"`
		Ticket      uint64          `json:"ticket"`
		Tool        string          `json:"tool"`
		Project     string          `json:"project,omitempty"`
		Reservation int64           `json:"reservation_bytes"`
		Owner       json.RawMessage `json:"owner"`
		Since       string          `json:"since"`
		MinFree     int64           `json:"min_free_bytes,omitempty"`
		CountSwap   bool            `json:"count_swap,omitempty"`
		PerTool     int             `json:"slots_per_tool,omitempty"`
	}
	olderCard struct {
		Schema int        `json:"schema"`
		Entry  olderEntry `json:"entry"`
	}
)

// ledger is what an older version reads under the lock: ledger.json, if there is one, and all claims that it does not have.
func (o older) ledger() (f olderLedger) {
	o.t.Helper()
	text, err := os.ReadFile(o.l.ledgerPath())
	if err == nil {
		err = json.Unmarshal(text, &f)
	} else if errors.Is(err, fs.ErrNotExist) {
		f.Schema, err = 1, nil
	}
	if err != nil || f.Schema != 1 {
		o.t.Fatalf("an older version would not read schema %d (%v)", f.Schema, err)
	}
	known := map[string]bool{}
	for _, e := range f.Entries {
		known[e.ID] = true
	}
	cards, err := filepath.Glob(filepath.Join(o.l.claims(), "*.json"))
	if err != nil {
		o.t.Fatal(err)
	}
	for _, path := range cards {
		var c olderCard
		text, err := os.ReadFile(path)
		if err := errors.Join(err, json.Unmarshal(text, &c)); err != nil || c.Schema != 1 || c.Entry.ID+".json" != filepath.Base(path) {
			o.t.Fatalf("an older version would not read %s (%v)", text, err)
		}
		if !known[c.Entry.ID] {
			f.Entries = append(f.Entries, c.Entry)
		}
	}
	return f
}

// ends is an older version's release of a run, and admits its admission of one that has waited.
func (o older) ends(id string) {
	o.t.Helper()
	f := o.ledger()
	for i, e := range f.Entries {
		if e.ID == id {
			f.Entries = append(f.Entries[:i], f.Entries[i+1:]...)
			break
		}
	}
	o.locks[id].Close()
	o.l.removeFiles(id)
	o.write(o.l.ledgerPath(), f)
}

func (o older) admits(id string) {
	o.t.Helper()
	f := o.ledger()
	for i := range f.Entries {
		if e := &f.Entries[i]; e.ID == id {
			e.State = "holding"
			o.write(o.l.claimFilePath(id), olderCard{1, *e})
		}
	}
	o.write(o.l.ledgerPath(), f)
}

func (o older) write(path string, what any) {
	o.t.Helper()
	text, err := json.Marshal(what)
	if err := errors.Join(err, os.WriteFile(path, text, 0o600)); err != nil {
		o.t.Fatal(err)
	}
}

func states(t *testing.T, l *Ledger) string {
	t.Helper()
	list, err := l.Holders(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var states []string
	for _, h := range list {
		states = append(states, string(h.State))
	}
	return strings.Join(states, " ")
}

func TestRunsOfAnOlderVersionCountFromTheirStartToTheirEnd(t *testing.T) {
	var said []Warning
	l := open(t, func(o *Options) {
		o.Warn = func(w Warning) { said = append(said, w) }
		o.Reap = func(h Holder) error { t.Errorf("%s was cleaned up after", h.ID); return nil }
	})
	o := recorded(t, l)
	ask := Request{Tool: "three", SlotsPerTool: 3}
	for range 2 {
		_, err := l.Acquire(t.Context(), ask)
		if refused, ok := errors.AsType[*Refused](err); !ok || refused.Reason != ToolSlots {
			t.Errorf("beside three runs of an older version it got %v", err)
		}
	}
	if got := states(t, l); got != "holding holding holding waiting" {
		t.Errorf("the runs are %s", got)
	}
	if len(said) != 1 || !strings.Contains(said[0].Text, "an older version of plimsoll") {
		t.Errorf("it was said: %v", said)
	}
	o.ends("lfaerl73u2xh")
	if _, err := l.Acquire(t.Context(), ask); err == nil {
		t.Error("it passed the older version's run that waits")
	}
	o.admits("scefjk5f5wfi")
	if _, err := l.Acquire(t.Context(), ask); err == nil {
		t.Error("the slot of the older version's run that had waited was given twice")
	}
	if got := states(t, l); got != "holding holding holding" {
		t.Errorf("the runs are %s", got)
	}
	o.ends("wvh4qjl2wxhe") // while its process goes on
	c, err := l.Acquire(t.Context(), ask)
	if err != nil {
		t.Fatal(err)
	}
	if c.entry.Ticket <= 4 {
		t.Errorf("its ticket is %d: before those that were there", c.entry.Ticket)
	}
	o.ends("mvxsyywrf4kr")
	o.ends("scefjk5f5wfi")
	if got := states(t, l); got != "holding" {
		t.Errorf("the runs are %s", got)
	}
	if err := c.Release(); err != nil {
		t.Error(err)
	}
	if len(said) != 1 {
		t.Errorf("it was said: %v", said)
	}
}

func TestOlderVersionReadsEveryRunOfThisOne(t *testing.T) {
	l := open(t, func(o *Options) { o.Warn = nil })
	o := recorded(t, l)
	for id := range o.locks {
		o.ends(id)
	}
	want := func(what string, states ...string) {
		t.Helper()
		f := o.ledger()
		var got []string
		for _, e := range f.Entries {
			if e.Tool != "three" || e.PerTool != 1 || e.Ticket == 0 || e.Reservation != int64(7*mb) {
				t.Errorf("%s: an older version reads %+v", what, e)
			}
			got = append(got, e.State)
		}
		if strings.Join(got, " ") != strings.Join(states, " ") && !(len(got) == 2 && got[0] != got[1] && len(states) == 2) {
			t.Errorf("%s: an older version reads %q, want %q", what, got, states)
		}
	}
	ask := Request{Tool: "three", SlotsPerTool: 1, Reservation: 7 * mb}
	first, err := l.Acquire(t.Context(), ask)
	if err != nil {
		t.Fatal(err)
	}
	want("one holds", "holding")
	o.write(l.ledgerPath(), o.ledger()) // it has looked, and keeps what it read until we have looked
	second := make(chan *Claim)
	waits := make(chan struct{}, 64)
	go func() {
		ask.Wait, ask.Progress = Forever, func(Progress) { waits <- struct{}{} }
		c, err := l.Acquire(t.Context(), ask)
		if err != nil {
			t.Error(err)
		}
		second <- c
	}()
	<-waits
	want("one holds and one waits", "holding", "waiting")
	o.write(l.ledgerPath(), o.ledger())
	if err := first.Release(); err != nil {
		t.Error(err)
	}
	c := <-second
	want("the other one holds", "holding")
	if c != nil {
		if err := c.Release(); err != nil {
			t.Error(err)
		}
	}
	want("nobody is there")
}
