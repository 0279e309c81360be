package config_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/testing/testfile"
	"github.com/plimsoll/plimsoll/limit"
)

func TestAProjectFileMayTightenButNotWeaken(t *testing.T) {
	for name, c := range map[string]struct {
		user, project string
		got           func(config.Settings) any
		want          any
		warning       string // "" means the project's value is taken
	}{
		"enforcement off":           {"", "enforcement = 'off'", func(s config.Settings) any { return s.Enforcement }, config.EnforcementBestEffort, "only make it stricter than best-effort (default)"},
		"enforcement below user's":  {"enforcement = 'required'", "enforcement = 'best-effort'", func(s config.Settings) any { return s.Enforcement }, config.EnforcementRequired, "stricter than required"},
		"enforcement up":            {"", "enforcement = 'required'", func(s config.Settings) any { return s.Enforcement }, config.EnforcementRequired, ""},
		"memory above user's":       {"memory_max = '4G'", "memory_max = '8G'", func(s config.Settings) any { return s.MemoryMax }, 4 * limit.GiB, "may not raise it above your 4G"},
		"memory auto above user's":  {"memory_max = '4G'", "memory_max = 'auto'", func(s config.Settings) any { return s.MemoryMax }, 4 * limit.GiB, "may not raise it above your 4G"},
		"memory below user's":       {"memory_max = '4G'", "memory_max_mb = 2048", func(s config.Settings) any { return s.MemoryMax }, 2 * limit.GiB, ""},
		"memory, user silent":       {"", "memory_max = '8G'", func(s config.Settings) any { return s.MemoryMax }, 8 * limit.GiB, ""},
		"pids above user's":         {"pids_max = 100", "pids_max = 4000", func(s config.Settings) any { return s.PidsMax }, 100, "above your 100"},
		"pids below user's":         {"pids_max = 100", "pids_max = 50", func(s config.Settings) any { return s.PidsMax }, 50, ""},
		"slots without bound":       {"max_concurrent = 2", "max_concurrent = 0", func(s config.Settings) any { return s.MaxConcurrent }, 2, "above your 2"},
		"slots in its own table":    {"max_concurrent = 2", "max_concurrent = 1\n[tools.codex]\nmax_concurrent = 4", func(s config.Settings) any { return s.MaxConcurrent }, 1, "above your 2"},
		"shared directory":          {"", "shared_ledger = '/tmp/evil'", func(s config.Settings) any { return s.SharedLedger }, "", "may not set it"},
		"reserve of the host":       {"", "min_free = '0'", func(s config.Settings) any { return s.MinFree }, config.Auto, "may not set it"},
		"layers":                    {"", "layers = ['monitor']", func(s config.Settings) any { return len(s.Layers) }, 6, "may not set it"},
		"leftovers stay":            {"", "on_exit = 'leave'", func(s config.Settings) any { return s.OnExit }, config.OnExitKill, "stricter than kill"},
		"pressure off":              {"", "on_pressure = 'off'", func(s config.Settings) any { return s.OnPressure }, config.OnPressureAuto, "stricter than auto"},
		"longer grace":              {"", "grace = '1h'", func(s config.Settings) any { return s.Grace }, 2 * time.Second, "stricter than 2s"},
		"estimate":                  {"initial_estimate = '1G'", "initial_estimate = '3G'", func(s config.Settings) any { return s.InitialEstimate }, 3 * limit.GiB, ""},
		"estimate of the tool":      {"", "initial_estimates = { codex = 512 }", func(s config.Settings) any { return s.InitialEstimate }, 512 * limit.MiB, ""},
		"what another command is":   {"", "wait = '1s'\n[tools.codex]\nmatch = ['bash']", func(s config.Settings) any { return s.Wait }, time.Second, "may not set it"},
		"user's table of the tool":  {"pids_max = 900\n[tools.codex]\npids_max = 90", "pids_max = 500", func(s config.Settings) any { return s.PidsMax }, 90, "above your 90"},
		"project's tool, user all":  {"pids_max = 90", "[tools.codex]\npids_max = 500", func(s config.Settings) any { return s.PidsMax }, 90, "above your 90"},
		"environment is the user's": {"", "enforcement = 'required'", func(s config.Settings) any { return s.Enforcement }, config.EnforcementRequired, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t).user("[resources]\n" + c.user).repo("[resources]\n" + c.project)
			s := w.settings("codex")
			if got := c.got(s); got != c.want {
				t.Errorf("in force: %v, want %v", got, c.want)
			}
			if c.warning == "" && len(s.Warnings) > 0 || c.warning != "" && (len(s.Warnings) != 1 || !strings.Contains(s.Warnings[0].String(), c.warning)) {
				t.Errorf("warnings %v, want one with %q", s.Warnings, c.warning)
			}
		})
	}
	w := newWorld(t).repo("[resources]\nenforcement = 'required'").env("PLIMSOLL_RESOURCES_ENFORCEMENT=off")
	if s := w.settings(""); s.Enforcement != config.EnforcementOff {
		t.Errorf("the environment, which is the user's, gives way to the project: %s", s.Enforcement)
	}
}

func TestTheProjectFileIsTheNearestAboveAndNeverTheUsersOwn(t *testing.T) {
	w := newWorld(t)
	w.write(filepath.Join(w.home, ".plimsoll.toml"), "[resources]\npids_max = 70\n")
	if s := w.settings(""); s.PidsMax != 70 {
		t.Errorf("pids_max = %d, want the 70 of the file three directories up", s.PidsMax)
	}
	w.repo("[resources]\npids_max = 60\n")
	l := w.must()
	if s, _ := l.For(""); s.PidsMax != 60 || l.ProjectFile != filepath.Join(w.project, ".plimsoll.toml") {
		t.Errorf("pids_max = %d from %s, want the 60 of the nearest", s.PidsMax, l.ProjectFile)
	}
	own := newWorld(t)
	own.write(filepath.Join(own.home, ".plimsoll.toml"), "[resources]\nenforcement = 'off'\n").env("PLIMSOLL_CONFIG=" + filepath.Join(own.home, ".plimsoll.toml"))
	l = own.must()
	if s, _ := l.For(""); l.ProjectFile != "" || s.Enforcement != config.EnforcementOff || len(s.Warnings) > 0 {
		t.Errorf("the user's own file was taken for a project's: %q, %s, %v", l.ProjectFile, s.Enforcement, s.Warnings)
	}
}

func TestAFilePlantedByAnotherUserIsNotRead(t *testing.T) {
	if runtime.GOOS == "windows" || os.Getuid() != 0 {
		t.Skip("only root can give a file to another user")
	}
	w := newWorld(t).repo("[resources]\npids_max = 7\n")
	file := filepath.Join(w.project, ".plimsoll.toml")
	if err := os.Chown(file, 4242, 4242); err != nil {
		t.Skip("cannot give a file away here:", err)
	}
	if s := w.settings(""); s.PidsMax != 7 {
		t.Errorf("in a closed directory: pids_max %d, want 7", s.PidsMax)
	}
	if err := os.Chmod(w.project, 0o1777); err != nil {
		t.Fatal(err)
	}
	l := w.must()
	if l.ProjectFile != "" || len(l.Warnings) != 1 || !strings.Contains(l.Warnings[0].String(), "another user owns it") {
		t.Errorf("in a directory open to all: read %q, warnings %v", l.ProjectFile, l.Warnings)
	}
}

func TestProjectsWithOneNameHaveTwoKeys(t *testing.T) {
	dir := t.TempDir()
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	}
	make := func(path string) string {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(path, 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	make("a/app/.git")
	deep := make("a/app/x/y")
	make("b/app")
	testfile.Write(t, filepath.Join(dir, "b/app/.git"), "gitdir: elsewhere\n")
	one, two := config.ProjectOf(deep), config.ProjectOf(filepath.Join(dir, "b/app"))
	if one.Name != "app" || two.Name != "app" || one.Key == two.Key || one.Root != filepath.Join(dir, "a/app") || two.Root != filepath.Join(dir, "b/app") {
		t.Errorf("%+v\n%+v", one, two)
	}
	for _, p := range []config.Project{one, two} {
		if config.SafeName(strings.ReplaceAll(p.Key, "-", "")) != strings.ReplaceAll(p.Key, "-", "") {
			t.Errorf("key %q is not safe as a file name", p.Key)
		}
	}
	make("c/inner")
	testfile.Write(t, filepath.Join(dir, "c", config.ProjectFile), "")
	if got := config.ProjectOf(filepath.Join(dir, "c/inner")); got.Root != filepath.Join(dir, "c") {
		t.Errorf("root %s, want the directory of %s", got.Root, config.ProjectFile)
	}
	if err := os.Symlink(filepath.Join(dir, "a/app"), filepath.Join(dir, "link")); err == nil {
		if got := config.ProjectOf(filepath.Join(dir, "link", "x")); got.Key != one.Key {
			t.Errorf("by a symbolic link the key is %s, not %s", got.Key, one.Key)
		}
	}
	if got := config.ProjectOf(filepath.Join(dir, "gone", "日本")); got.Root != filepath.Join(dir, "gone", "日本") || got.Key == "" {
		t.Errorf("a directory that is gone: %+v", got)
	}
}
