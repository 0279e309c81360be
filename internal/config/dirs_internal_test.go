package config

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// dirsOf is Dirs of a made-up system: owners says which directories exist and whose they are.
func dirsOf(goos string, uid int, home string, owners map[string]int, env map[string]string) Dirs {
	return Dirs{resolver{
		getenv: func(name string) string { return env[name] }, goos: goos, uid: uid, temp: "/tmp",
		home: func() (string, error) {
			if home == "" {
				return "", errors.New("unknown user")
			}
			return home, nil
		},
		ownedBy: func(path string) (int, error) {
			if uid, ok := owners[path]; ok {
				return uid, nil
			}
			return -1, os.ErrNotExist
		},
		abs: func(p string) (string, error) { return filepath.Join("/cwd", p), nil },
	}}
}

func TestDirsFollowTheSystemAndTheVariables(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("paths are written with slashes")
	}
	run := map[string]int{"/run/user/7": 7, "/run/user/8": 8}
	for name, c := range map[string]struct {
		goos, home                     string
		uid                            int
		env                            map[string]string
		state, runtime, cache, configs string
	}{
		"linux": {
			"linux", "", 7,
			map[string]string{"HOME": "/home/u", "XDG_RUNTIME_DIR": "/run/user/7"},
			"/home/u/.local/state/plimsoll", "/run/user/7/plimsoll", "/home/u/.cache/plimsoll", "/home/u/.config/plimsoll/config.toml",
		},
		"linux without a session variable": {
			"linux", "", 7,
			map[string]string{"HOME": "/home/u"},
			"/home/u/.local/state/plimsoll", "/run/user/7/plimsoll", "/home/u/.cache/plimsoll", "/home/u/.config/plimsoll/config.toml",
		},
		"linux after su": {
			"linux", "", 7,
			map[string]string{"HOME": "/home/u", "XDG_RUNTIME_DIR": "/run/user/8"},
			"/home/u/.local/state/plimsoll", "/run/user/7/plimsoll", "/home/u/.cache/plimsoll", "/home/u/.config/plimsoll/config.toml",
		},
		"linux without logind": {
			"linux", "", 9,
			map[string]string{"HOME": "/home/u"},
			"/home/u/.local/state/plimsoll", "/tmp/plimsoll-9", "/home/u/.cache/plimsoll", "/home/u/.config/plimsoll/config.toml",
		},
		"root": {
			"linux", "", 0,
			map[string]string{"HOME": "/root", "XDG_RUNTIME_DIR": "/run/user/7"},
			"/root/.local/state/plimsoll", "/run/plimsoll", "/root/.cache/plimsoll", "/root/.config/plimsoll/config.toml",
		},
		"XDG everywhere, relative ones ignored": {
			"linux", "", 9,
			map[string]string{"HOME": "/h", "XDG_STATE_HOME": "/s", "XDG_CACHE_HOME": "rel", "XDG_CONFIG_HOME": "/c", "XDG_RUNTIME_DIR": "/r"},
			"/s/plimsoll", "/r/plimsoll", "/h/.cache/plimsoll", "/c/plimsoll/config.toml",
		},
		"own variables": {
			"linux", "", 0,
			map[string]string{"PLIMSOLL_STATE_DIR": "/p/", "PLIMSOLL_CACHE_DIR": "/q", "PLIMSOLL_CONFIG": "my.toml", "XDG_STATE_HOME": "/s"},
			"/p", "/p/run", "/q", "/cwd/my.toml",
		},
		"HOME unset": {
			"linux", "/home/found", 9, nil,
			"/home/found/.local/state/plimsoll", "/tmp/plimsoll-9", "/home/found/.cache/plimsoll", "/home/found/.config/plimsoll/config.toml",
		},
		"darwin": {
			"darwin", "", 7,
			map[string]string{"HOME": "/Users/u"},
			"/Users/u/Library/Application Support/plimsoll/state", "/tmp/plimsoll-7", "/Users/u/Library/Caches/plimsoll", "/Users/u/Library/Application Support/plimsoll/config.toml",
		},
		"darwin with XDG": {
			"darwin", "", 7,
			map[string]string{"HOME": "/Users/u", "XDG_STATE_HOME": "/s", "XDG_RUNTIME_DIR": "/r", "XDG_CONFIG_HOME": "/c"},
			"/s/plimsoll", "/r/plimsoll", "/Users/u/Library/Caches/plimsoll", "/c/plimsoll/config.toml",
		},
		"windows": {
			"windows", "", -1,
			map[string]string{"AppData": "/U/Roaming", "LocalAppData": "/U/Local"},
			"/U/Local/plimsoll/state", "/U/Local/plimsoll/run", "/U/Local/plimsoll/cache", "/U/Roaming/plimsoll/config.toml",
		},
		"windows without variables": {
			"windows", "/U", -1, nil,
			"/U/AppData/Local/plimsoll/state", "/U/AppData/Local/plimsoll/run", "/U/AppData/Local/plimsoll/cache", "/U/AppData/Roaming/plimsoll/config.toml",
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := dirsOf(c.goos, c.uid, c.home, run, c.env)
			for what, pair := range map[string]struct {
				got  func() (string, error)
				want string
			}{"state": {d.State, c.state}, "runtime": {d.Runtime, c.runtime}, "cache": {d.Cache, c.cache}, "config": {d.ConfigFile, c.configs}} {
				if got, err := pair.got(); err != nil || got != pair.want {
					t.Errorf("%s = %q, %v; want %q", what, got, err, pair.want)
				}
			}
		})
	}
}

func TestDirsSayWhatIsOff(t *testing.T) {
	d := dirsOf("linux", 7, "", nil, nil)
	if _, err := d.State(); !errors.Is(err, ErrNoHome) || !strings.Contains(err.Error(), "history is off") || !strings.Contains(err.Error(), "PLIMSOLL_STATE_DIR") {
		t.Errorf("State without a home: %v", err)
	}
	if _, err := d.EnsureState(); !errors.Is(err, ErrNoHome) {
		t.Errorf("EnsureState without a home: %v", err)
	}
	if dir, err := d.Runtime(); err != nil || dir != filepath.Join("/tmp", "plimsoll-7") {
		t.Errorf("Runtime needs no home, but is %q, %v", dir, err)
	}
	for _, get := range []func() (string, error){
		dirsOf("linux", 7, "", nil, map[string]string{"PLIMSOLL_STATE_DIR": "here"}).State,
		dirsOf("linux", 7, "", nil, map[string]string{"PLIMSOLL_STATE_DIR": "here"}).Runtime,
	} {
		if _, err := get(); err == nil || !strings.Contains(err.Error(), `PLIMSOLL_STATE_DIR="here" is not an absolute path`) {
			t.Errorf("a relative directory: %v", err)
		}
	}
}

func TestNothingExistsUntilItIsAskedFor(t *testing.T) {
	root := filepath.Join(t.TempDir(), "state")
	env := map[string]string{"PLIMSOLL_STATE_DIR": root, "PLIMSOLL_CACHE_DIR": filepath.Join(root, "cache")}
	d := NewDirs(func(name string) string { return env[name] })
	for _, get := range []func() (string, error){d.State, d.Runtime, d.Cache} {
		if _, err := get(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(root); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("asking for a name created it: %v", err)
	}
	for _, ensure := range []func() (string, error){d.EnsureState, d.EnsureRuntime, d.EnsureCache} {
		dir, err := ensure()
		if err != nil {
			t.Fatal(err)
		}
		if fi, err := os.Stat(dir); err != nil || !fi.IsDir() || runtime.GOOS != "windows" && fi.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v; want a directory of mode 0700", dir, fi, err)
		}
	}
}

func TestARuntimeDirectoryOfSomebodyElseIsRefused(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the temporary directory is the user's own")
	}
	uid := os.Getuid() + 1
	d := dirsOf("other", uid, "", nil, nil)
	d.r.temp, d.r.ownedBy = t.TempDir(), dirOwner
	if _, err := d.EnsureRuntime(); err == nil || !strings.Contains(err.Error(), "belongs to user "+strconv.Itoa(os.Getuid())) {
		t.Errorf("EnsureRuntime in a directory of another user: %v", err)
	}
	mine := dirsOf("other", os.Getuid(), "", nil, nil)
	mine.r.temp, mine.r.ownedBy = t.TempDir(), dirOwner
	name := mine.r.tempRuntime()
	if err := os.Mkdir(name, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := mine.EnsureRuntime(); err != nil {
		t.Fatal(err)
	}
	if fi, err := os.Stat(name); err != nil || fi.Mode().Perm() != 0o700 {
		t.Errorf("an open directory stays open: %v, %v", fi.Mode(), err)
	}
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(t.TempDir(), name); err != nil {
		t.Fatal(err)
	}
	if _, err := mine.EnsureRuntime(); err == nil || !strings.Contains(err.Error(), "is not a directory") {
		t.Errorf("EnsureRuntime through a symbolic link: %v", err)
	}
}
