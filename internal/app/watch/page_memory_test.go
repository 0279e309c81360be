package watch

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/app/memories"
	"github.com/plimsoll/plimsoll/internal/memory"
	"github.com/plimsoll/plimsoll/internal/testing/wait"
)

// TestMemoryPage: the newest records, a search, and where a record comes from; nothing is opened where there is no memory, nothing is
// read twice that has not changed, and nothing stays open.
func TestMemoryPage(t *testing.T) {
	dir := t.TempDir()
	c, err := core.New(core.Options{Dir: dir, Environ: []string{"HOME=" + dir, "PLIMSOLL_STATE_DIR=" + dir + "/state", "PLIMSOLL_CONFIG=" + dir + "/config.toml"}})
	if err != nil {
		t.Fatal(err)
	}
	r := &remembered{source: source{core: c}}
	if v, err := r.overview(t.Context()); err != nil || v.(memoryOverview).Namespaces != nil || r.open != nil {
		t.Fatalf("%+v, %v", v, err)
	}
	m, err := memories.Open(c, memories.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	pin, err := m.Pin(t.Context(), "Answer in English")
	if err != nil {
		t.Fatal(err)
	}
	for n := range maxRemembered + 5 {
		if _, err := m.Add(t.Context(), "user", fmt.Sprintf("heron number %d %s", n, strings.Repeat("and so on ", 60))); err != nil {
			t.Fatal(err)
		}
	}
	v, err := r.overview(t.Context())
	one, ok := v.(memoryOverview)
	if err != nil || !ok || len(one.Records) != maxRemembered || one.Total != maxRemembered+6 || !one.Records[0].Cut || len(one.Namespaces.Rows) != 1 {
		t.Fatalf("%+v, %v", v, err)
	}
	if text, _ := json.Marshal(one.Pins); !strings.Contains(string(text), "plimsoll memory pin --remove "+pin.ID) {
		t.Errorf("%s", text)
	}
	if again, _ := r.overview(t.Context()); &again.(memoryOverview).Records[0] != &one.Records[0] {
		t.Error("it was read again, and nothing has changed")
	}
	ask := func(q url.Values) memoryFound {
		t.Helper()
		v, err := r.search(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		return v.(memoryFound)
	}
	if f := ask(url.Values{"q": {"heron"}, "offset": {"50"}}); len(f.Records) != 5 || f.Total != maxRemembered+5 {
		t.Errorf("%d of %d", len(f.Records), f.Total)
	}
	if f := ask(url.Values{"kind": {"pin"}}); len(f.Records) != 1 || f.Records[0].Text != "Answer in English" {
		t.Errorf("%+v", f)
	}
	if f := ask(url.Values{"q": {"heron"}, "origin": {"tool"}}); len(f.Records) != 0 {
		t.Errorf("%+v", f)
	}
	for _, bad := range []url.Values{{"q": {"x"}, "origin": {"nobody"}}, {"offset": {"-1"}}, {"offset": {"99999999999"}}, {"why": {"../../x"}}, {"why": {strings.Repeat("0", 26)}}} {
		if v, err := r.search(t.Context(), bad); err == nil {
			t.Errorf("%v: %+v", bad, v)
		}
	}
	record := one.Records[0]
	found, err := m.Store.Get(t.Context(), record.ID, 0)
	if err == nil {
		err = m.Store.RecordUse(t.Context(), memory.Use{How: memory.UseSearch, Client: "claude"}, found...)
	}
	if err != nil {
		t.Fatal(err)
	}
	w, err := r.search(t.Context(), url.Values{"why": {record.ID}})
	why, ok := w.(memoryOrigin)
	if err != nil || !ok || why.Forget != "plimsoll memory forget "+record.ID || why.Not != "plimsoll memory not "+record.ID || why.Withheld || why.Record.Text == record.Text || len(why.Uses) != 1 {
		t.Errorf("%+v, %v", w, err)
	}
	if err := m.Store.Withhold(t.Context(), record.ID); err != nil {
		t.Fatal(err)
	}
	if w, err := r.search(t.Context(), url.Values{"why": {record.ID}}); err != nil || w.(memoryOrigin).Not != "plimsoll memory not "+record.ID+" --undo" || !w.(memoryOrigin).Withheld {
		t.Errorf("%+v, %v", w, err)
	}
	if f := ask(url.Values{"q": {"heron"}}); !slices.ContainsFunc(f.Records, func(r shownRecord) bool { return r.Withheld }) {
		t.Error("the list does not say that it was taken back")
	}
	if w, err := r.search(t.Context(), url.Values{"why": {pin.ID}}); err != nil || w.(memoryOrigin).Not != "" || w.(memoryOrigin).Forget != "plimsoll memory pin --remove "+pin.ID {
		t.Errorf("%+v, %v", w, err)
	}
	r.close.Reset(time.Millisecond)
	wait.Until(t, "it is closed", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.open == nil
	})
}
