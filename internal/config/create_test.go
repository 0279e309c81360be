package config_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/testing/testfile"
)

func TestCreateNeverOverwritesUnasked(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "new", "config.toml")
	if err := config.Create(file, false); err != nil {
		t.Fatal(err)
	}
	if fi, err := os.Stat(file); err != nil || runtime.GOOS != "windows" && fi.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v; want mode 0600", fi, err)
	}
	testfile.Write(t, file, "[resources]\npids_max = 9\n")
	if err := config.Create(file, false); !errors.Is(err, fs.ErrExist) || !strings.Contains(err.Error(), "--force") {
		t.Errorf("Create over a file: %v", err)
	}
	if data, _ := os.ReadFile(file); !strings.Contains(string(data), "pids_max = 9") {
		t.Error("Create without force has changed the file")
	}
	link := filepath.Join(dir, "link.toml")
	if err := os.Symlink(file, link); err != nil {
		link = file
	}
	if err := config.Create(link, true); err != nil {
		t.Fatal(err)
	}
	if data, _ := os.ReadFile(file); !strings.Contains(string(data), "# pids_max = \"auto\"") {
		t.Error("Create with force has not replaced the file behind the link")
	}
	if rest, _ := filepath.Glob(filepath.Join(dir, "new", "*.tmp")); len(rest) > 0 {
		t.Errorf("left behind: %v", rest)
	}
}

func TestAProjectsFileHoldsOnlyWhatItMaySet(t *testing.T) {
	file := filepath.Join(t.TempDir(), config.ProjectFile)
	if err := config.Create(file, false); err != nil {
		t.Fatal(err)
	}
	data := testfile.Read(t, file)
	for _, k := range config.Keys() {
		if k.Table == "upstream" || k.Table == "serve" || k.Table == "watch" || k.Table == "submit" {
			if strings.Contains(string(data), "["+k.Table+"]") {
				t.Errorf("table [%s], which a project file may not have, is in the file", k.Table)
			}
			continue
		}
		has := strings.Contains(string(data), "\n# "+k.Name+" = ") || strings.Contains(string(data), "."+k.Name+"]")
		if has == (k.Project == config.ProjectNever) {
			t.Errorf("%s (%s): in the file: %v", k.Name, k.Project, has)
		}
	}
}

// A repository's link says which file of the user's would be replaced.
func TestAProjectsLinkIsNotFollowed(t *testing.T) {
	dir := t.TempDir()
	victim, link := filepath.Join(dir, "victim"), filepath.Join(dir, config.ProjectFile)
	testfile.Write(t, victim, "mine")
	if err := os.Symlink(victim, link); err != nil {
		t.Skip(err)
	}
	for _, force := range []bool{false, true} {
		if err := config.Create(link, force); err == nil || !strings.Contains(err.Error(), "symbolic link") {
			t.Errorf("force %v: %v", force, err)
		}
	}
	if data, _ := os.ReadFile(victim); string(data) != "mine" {
		t.Errorf("the file behind the link holds %q", data)
	}
}
