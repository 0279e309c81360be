package config_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/config/profile"
	"github.com/plimsoll/plimsoll/internal/testing/golden"
	"github.com/plimsoll/plimsoll/internal/testing/testfile"
)

const (
	generatedBegin = "<!-- generated from internal/config/schema.go: go test ./internal/config -run Reference -update -->\n"
	generatedEnd   = "<!-- end of the generated part -->\n"
)

func TestReferenceInTheDocsIsUpToDate(t *testing.T) {
	file := filepath.Join("..", "..", "docs", "configuration.md")
	data := testfile.Read(t, file)
	text := strings.ReplaceAll(string(data), "\r\n", "\n")
	before, rest, ok := strings.Cut(text, generatedBegin)
	got, after, ok2 := strings.Cut(rest, generatedEnd)
	if !ok || !ok2 {
		t.Fatalf("%s has lost the marks of its generated part", file)
	}
	var b strings.Builder
	if err := config.WriteReference(&b); err != nil {
		t.Fatal(err)
	}
	want := "\n" + b.String() + "\n"
	if golden.Update() {
		if err := os.WriteFile(file, []byte(before+generatedBegin+want+generatedEnd+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got != want {
		t.Errorf("%s is out of date: go test ./internal/config -run Reference -update", file)
	}
}

func TestInitChangesNothingAndEveryLineOfItIsValid(t *testing.T) {
	var b strings.Builder
	if err := config.WriteInit(&b); err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(b.String()) {
		if line != "\n" && line[0] != '#' {
			t.Errorf("a line is not commented out: %s", line)
		}
	}
	bare := newWorld(t).settings("codex")
	w := newWorld(t)
	if s := w.user(b.String()).settings("codex"); s.MemoryMax != bare.MemoryMax || s.Source("grace").Origin != config.OriginDefault {
		t.Errorf("the generated file changes settings: %+v", s)
	}
	setting := regexp.MustCompile(`(?m)^# (\[[a-z0-9_."-]+\]|[a-z-]+[a-z_]* = .*)$`)
	active := setting.ReplaceAllString(b.String(), "$1")
	l := newWorld(t).user(active).must()
	for _, k := range config.Keys() {
		if !strings.Contains(active, "\n"+k.Name+" = ") && !strings.Contains(active, "."+k.Name+"]") {
			t.Errorf("%s is not in the generated file", k.Name)
		}
		e, err := l.Explain(k.ID(), "my-agent")
		if k.Name == "initial_estimates" {
			continue
		}
		if err != nil || e.Source.Origin != config.OriginUser {
			t.Errorf("%s = %q from %s, %v; want it from the generated file", k.Name, e.Value, e.Source, err)
		}
	}
}

func TestExplainShowsWhatWasOverriddenAndWhy(t *testing.T) {
	l := newWorld(t).user("[resources]\nmemory_max = '4G'\n[tools.claude]\nmemory_max = '3G'\n").repo("[resources]\nmemory_max_mb = 9000\n").
		env("PLIMSOLL_RESOURCES_MEMORY_MAX=5G").must()
	for _, key := range []string{"memory_max", "resources.memory_max", "memory_max_mb", "tools.claude.memory_max", "tools.claude-code.resources.memory_max_mb"} {
		tool := "claude"
		if strings.HasPrefix(key, "tools.") {
			tool = ""
		}
		e, err := l.Explain(key, tool)
		if err != nil {
			t.Fatal(err)
		}
		if e.Key != "resources.memory_max" || e.Value != "5G" || e.Source.String() != "PLIMSOLL_RESOURCES_MEMORY_MAX" || len(e.Overridden) != 4 {
			t.Fatalf("%s: %+v", key, e)
		}
		var got []string
		for _, o := range e.Overridden {
			got = append(got, o.Value+" "+string(o.Source.Origin))
		}
		if want := "9000M project, 3G user, 4G user, auto default"; strings.Join(got, ", ") != want {
			t.Errorf("%s overrides %s, want %s", key, strings.Join(got, ", "), want)
		}
		if !strings.Contains(e.Overridden[0].Ignored, "above your 3G") {
			t.Errorf("ignored: %q", e.Overridden[0].Ignored)
		}
	}
	for key, want := range map[string]string{
		"memory_maxx": `did you mean "memory_max"?`, "window.triger": `did you mean "window.trigger"?`, "initial_estimates": "explain initial_estimate with --tool", "tools.codex": "write tools.NAME.KEY", "": "is not a key",
		"disk": "keys about it are memory.disk_max, write_max, free_min", "pids": `did you mean "pids_max"?`, "limit": "about it are ",
	} {
		if _, err := l.Explain(key, ""); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("Explain(%q): %v; want %q", key, err, want)
		}
	}
	if e, err := l.Explain("pids_max", ""); err != nil || e.Value != "auto (512)" {
		t.Errorf("pids_max: %+v, %v", e, err)
	}
}

func TestSettingsInJSONAreNumbers(t *testing.T) {
	data, err := json.Marshal(newWorld(t).user("[resources]\nmemory_max = '4G'\nwait = 'forever'\n").must().Config())
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Resources map[string]any
		Tools     map[string]map[string]any
	}
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	r := got.Resources
	if r["memory_max"] != float64(4<<30) || r["min_free"] != nil || r["wait_ms"] != nil || r["grace_ms"] != 2000.0 || r["enforcement"] != "best-effort" {
		t.Errorf("%v", r)
	}
	if got.Tools["claude"]["initial_estimate"] != float64(4<<30) || len(got.Tools) != len(profile.All()) {
		t.Errorf("%v", got.Tools)
	}
}
