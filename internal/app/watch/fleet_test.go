package watch

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/fleet/hosts"
	"github.com/plimsoll/plimsoll/internal/testing/natsserver"
	"github.com/plimsoll/plimsoll/internal/testing/wait"
	"github.com/plimsoll/plimsoll/internal/watch/runs"
	"github.com/plimsoll/plimsoll/journal"
)

// machine is a host of a fleet in a test.
type machine struct {
	*core.Core
	settings config.Settings
	state    string
	mu       sync.Mutex
	warnings []string
}

func newMachine(t *testing.T, name, url string) *machine {
	t.Helper()
	m := &machine{state: t.TempDir()}
	c, err := core.New(core.Options{
		Dir: t.TempDir(), Environ: []string{"HOME=" + t.TempDir(), "PLIMSOLL_STATE_DIR=" + m.state, "PLIMSOLL_FLEET_URL=" + url, "PLIMSOLL_FLEET_HOST=" + name},
		Warn: func(text string) {
			m.mu.Lock()
			defer m.mu.Unlock()
			m.warnings = append(m.warnings, text)
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	m.Core = c
	if m.settings, err = c.Config.For(""); err != nil {
		t.Fatal(err)
	}
	return m
}

func (m *machine) warned() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	text := strings.Join(m.warnings, "\n")
	m.warnings = nil
	return text
}

// spent keeps a run that has ended.
func (m *machine) spent(t *testing.T, id, tool string, cost float64, models ...string) {
	t.Helper()
	w := runs.Begin(runs.Options{Dir: m.state}, runs.Header{ID: id, Kind: runs.KindRun, Report: journal.Report{Tool: tool, Project: "shop"}})
	for _, model := range models {
		w.Observe(journal.Record{Time: time.Now(), Event: journal.WindowResponse{
			Status: 200, Upstream: "x", Model: model, TokensIn: 1000, TokensOut: 100, Cost: cost / float64(len(models)),
		}})
	}
	if err := w.End(journal.Report{Tool: tool, Project: "shop", Outcome: journal.OutcomeOK}); err != nil {
		t.Fatal(err)
	}
}

// Runs, spend, the dashboard and the metrics of one host show those of another one, and of this one alone while the fleet is away.
func TestAllHostsAreShown(t *testing.T) {
	s := natsserver.Start(t)
	here, other := newMachine(t, "here", s.URL), newMachine(t, "other", s.URL)
	here.spent(t, "hhhhhhhhhhh1", "claude", 1, "m")
	other.spent(t, "ooooooooooo1", "claude", 2, "m")
	other.spent(t, "ooooooooooo2", "codex", 4, "m", "n")
	own := hosts.Follow(runs.Header{ID: "ooooooooooo3", Kind: runs.KindRun, Report: journal.Report{Tool: "claude", Project: "shop"}}, 7)
	own.Observe(journal.Record{Time: time.Now().Add(-time.Hour), Event: journal.Waiting{Position: 1, Reason: "memory"}})
	end := other.AnnounceHost(other.settings, own)
	defer func() { end() }()
	daemon := OpenHosts(here.Core, here.settings, false)
	defer daemon.Close()
	wait.Until(t, "the other host and its run are seen, and what it spent", func() bool {
		now := lookOnce(t.Context(), here.Core)
		return len(now.Hosts) == 1 && len(now.Hosts[0].Runs) == 1 && now.Hosts[0].Cost == 6
	})

	list, err := ListEverywhere(t.Context(), here.Core, Filter{})
	if err != nil || len(list) != 2 || here.warned() != "" {
		t.Fatalf("%+v %v", list, err)
	}
	at := slices.IndexFunc(list, func(e runs.Entry) bool { return e.ID == "other/ooooooooooo3" })
	if at < 0 || list[at].Host != "other" || list[at].Outcome != runs.Waiting || list[at].Reason == "" {
		t.Errorf("%+v", list)
	}
	if list, err = ListEverywhere(t.Context(), here.Core, Filter{Tool: "codex"}); err != nil || len(list) != 0 {
		t.Errorf("%+v %v", list, err)
	}

	sums := func(o SpendOptions) string {
		t.Helper()
		rows, err := Spend(t.Context(), here.Core, o)
		if err != nil {
			t.Fatal(err)
		}
		var text []string
		for _, r := range rows {
			row, _ := json.Marshal([]any{r.Key, r.Runs, r.Input, r.Cost})
			text = append(text, string(row))
		}
		return strings.Join(text, " ")
	}
	today := time.Now().Local().Format(time.DateOnly)
	for by, want := range map[string]string{
		"host": `["other",2,3000,6] ["here",1,1000,1]`, "tool": `["codex",1,2000,4] ["claude",2,2000,3]`, "day": `["` + today + `",3,4000,7]`, "model": `["m",3,3000,5] ["n",1,1000,2]`,
	} {
		if got := sums(SpendOptions{By: by}); got != want {
			t.Errorf("by %s: %s, not %s", by, got, want)
		}
	}
	if got := sums(SpendOptions{By: "host", Filter: Filter{Tool: "codex"}}); got != `["other",1,2000,4]` {
		t.Error(got)
	}
	if words := here.warned(); words != "" {
		t.Error("it warned: ", words)
	}
	if got := sums(SpendOptions{By: "project"}); got != `["shop",1,1000,1]` || !strings.Contains(here.warned(), "by day, tool and model") {
		t.Error(got)
	}

	page, there := hostsPage(source{core: here.Core, fleet: daemon})
	data, err := page.Data(t.Context())
	text, _ := json.Marshal(data)
	if !there || err != nil || !bytes.Contains(text, []byte(`"value":"here","note":"this host"`)) || !bytes.Contains(text, []byte(`"other","ooooooooooo3",{"value":"waiting"`)) {
		t.Errorf("%s %v", text, err)
	}
	all, err := Metrics(here.Core)
	if err != nil {
		t.Fatal(err)
	}
	defer all.Close()
	all.ShowFleet(daemon.Now)
	var scraped bytes.Buffer
	if err := all.Write(&scraped); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"\nplimsoll_fleet_away_seconds 0\n", `plimsoll_fleet_hosts{state="heard"} 1`, `plimsoll_fleet_runs{state="waiting"} 1`} {
		if !strings.Contains(scraped.String(), line) {
			t.Errorf("no %q in\n%s", line, scraped.String())
		}
	}
	alerts := alertsOf(daemon.Now(), time.Now())
	if len(alerts) != 1 || alerts[0].Tool != "Host other" || alerts[0].What != "waiting" || !strings.Contains(alerts[0].Text, "1 wait there") {
		t.Errorf("%+v", alerts)
	}

	s.Kill()
	wait.Until(t, "the fleet is away", func() bool { return AwayWords(daemon.Now()) != "" })
	if list, err = ListEverywhere(t.Context(), here.Core, Filter{}); err != nil || len(list) != 1 {
		t.Errorf("%+v %v", list, err)
	}
	if words := here.warned(); !strings.Contains(words, "only this host is shown since ") || strings.Count(words, "\n") > 0 {
		t.Error(words)
	}
	if got := sums(SpendOptions{By: "host"}); got != `["here",1,1000,1]` || !strings.Contains(here.warned(), "only what this host spent is shown: the fleet is away") {
		t.Error(got)
	}
	if alerts = alertsOf(daemon.Now(), time.Now()); len(alerts) != 1 || alerts[0].What != "fleet" {
		t.Errorf("%+v", alerts)
	}
}

// Without a fleet there is no page, and nothing is opened.
func TestNoFleet(t *testing.T) {
	m := newMachine(t, "here", "")
	if f := OpenHosts(m.Core, m.settings, false); f != nil {
		t.Error("a fleet")
	}
	if _, there := hostsPage(source{core: m.Core}); there {
		t.Error("a page")
	}
	m.AnnounceHost(m.settings, nil)()
	if found, _ := filepath.Glob(filepath.Join(m.state, "*")); len(found) > 0 {
		t.Error(found)
	}
}
