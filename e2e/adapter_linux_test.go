package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/testfile"
)

// behindAdapter starts an agent behind an adapter, both by the names of real ones, and returns the agent's pid.
func (w *world) behindAdapter(m mode, report string) (k *talk, adapter, agent int) {
	w.t.Helper()
	body := testfile.Read(w.t, testtool)
	program := filepath.Join(w.home, "claude")
	if err := os.WriteFile(program, body, 0o700); err != nil {
		w.t.Fatal(err)
	}
	start := filepath.Join(w.home, "claude-agent-acp")
	if err := os.WriteFile(start, []byte("#!/bin/sh\n"+program+" acp acp\necho over >&2\n"), 0o700); err != nil {
		w.t.Fatal(err)
	}
	k = w.talkTo(w.inSession, []string{"--layer", m.layer, "--memory-max", "400M", "--report", report}, start)
	k.begin()
	for _, p := range w.processes() {
		switch {
		case strings.HasPrefix(p.args, program+" "):
			agent = p.pid
		case strings.HasPrefix(p.args, "/bin/sh "+start):
			adapter = p.pid
		}
	}
	if agent == 0 || adapter == 0 {
		w.t.Fatalf("no agent behind an adapter in %v", w.processes())
	}
	return k, adapter, agent
}

type ended struct {
	Outcome        string
	KilledChildren []struct{ Name string } `json:"killed_children"`
}

func (k *talk) report(file string) (r ended) {
	k.w.t.Helper()
	k.close()
	_ = k.cmd.Wait()
	text, err := os.ReadFile(file)
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		k.w.t.Fatal(err)
	}
	return r
}

// A greedy tool of an agent behind an adapter goes, and the agent stays.
func TestAgentBehindAdapterOutlivesItsTool(t *testing.T) {
	t.Parallel()
	everyLayer(t, func(t *testing.T, m mode) {
		w := newWorld(t)
		file := filepath.Join(w.home, "report.json")
		k, adapter, agent := w.behindAdapter(m, file)
		score := func(pid int) string {
			text := testfile.Read(t, fmt.Sprintf("/proc/%d/oom_score_adj", pid))
			return string(text)
		}
		k.prompt("run head -c 3000000000 /dev/zero | tail -c 3000000000 >/dev/null")
		if r, ok := k.answer(2); !ok || r.Error != nil {
			t.Fatalf("the agent answered %+v", r.Error)
		}
		if got, want := score(agent), score(adapter); got != want {
			t.Errorf("the agent has the OOM score %s, and the adapter %s", got, want)
		}
		r := k.report(file)
		if r.Outcome != "ok" || m.layer != "rlimit" && (len(r.KilledChildren) == 0 || r.KilledChildren[0].Name != "tail") {
			t.Errorf("the report says %+v", r)
		}
	})
}

// An agent that is killed for memory ends its run, and the editor hears of it, though the adapter goes on.
func TestDeathOfAgentBehindAdapterIsTheRuns(t *testing.T) {
	t.Parallel()
	everyLayer(t, func(t *testing.T, m mode) {
		if m.layer == "rlimit" {
			t.Skip("an allocation fails there, and nobody is killed")
		}
		w := newWorld(t)
		file := filepath.Join(w.home, "report.json")
		k, _, _ := w.behindAdapter(m, file)
		k.prompt("eat")
		r, ok := k.answer(2)
		if !ok || r.Error == nil || r.Error.Data.Reason != "oom" || !strings.Contains(strings.Join(r.Error.Data.Killed, " "), "claude") {
			t.Errorf("the editor got %v %+v", ok, r.Error)
		}
		if r := k.report(file); r.Outcome != "oom" {
			t.Errorf("the report says %+v", r)
		}
	})
}
