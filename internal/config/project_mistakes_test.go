package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/testing/testfile"
)

// Who wrote the repository wrote the file: it may warn, and keeps no run from starting.
func TestAProjectFileWithMistakesStopsNothing(t *testing.T) {
	for name, c := range map[string]struct{ text, where string }{
		"unknown key":   {"[resources]\nmemry_max = '1G'\n", ".plimsoll.toml:2:1"},
		"bad TOML":      {"[resources]\npids_max = = 3\n", ".plimsoll.toml:2:"},
		"wrong value":   {"[resources]\npids_max = 'many'\n", ".plimsoll.toml:2:1"},
		"unknown table": {"[nonsense]\na = 1\n", ".plimsoll.toml:1:2"},
		"huge":          {strings.Repeat("#", 300<<10), ".plimsoll.toml"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			testfile.Write(t, filepath.Join(dir, config.ProjectFile), c.text)
			l, err := config.Load(config.Options{Dir: dir, Environ: []string{"HOME=" + t.TempDir()}})
			if err != nil {
				t.Fatalf("a run is refused: %v", err)
			}
			if len(l.Warnings) == 0 || !strings.Contains(l.Warnings[0].String(), c.where) || len(l.ProjectProblems) != len(l.Warnings) {
				t.Errorf("warnings %v, mistakes %v; want %s", l.Warnings, l.ProjectProblems, c.where)
			}
		})
	}
	t.Run("a link", func(t *testing.T) {
		dir := t.TempDir()
		testfile.Write(t, filepath.Join(dir, "secret"), "token = hunter2\n")
		if err := os.Symlink("secret", filepath.Join(dir, config.ProjectFile)); err != nil {
			t.Skip(err)
		}
		l, err := config.Load(config.Options{Dir: dir, Environ: []string{"HOME=" + t.TempDir()}})
		if err != nil || len(l.ProjectProblems) != 1 || l.ProjectFile != "" || strings.Contains(l.ProjectProblems[0].String(), "hunter2") {
			t.Errorf("%v, %+v", err, l)
		}
	})
}
