package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"strconv"
)

// ErrNoHome is wrapped by the error for a directory that would lie in the home directory of a user who has none.
var ErrNoHome = errors.New("no home directory")

// Dirs locates the files that Plimsoll keeps. The zero value is not useful: use [NewDirs]. Only the methods called Ensure… create anything.
//
// PLIMSOLL_STATE_DIR overrides state and runtime (its subdirectory run), PLIMSOLL_CACHE_DIR the cache, PLIMSOLL_CONFIG the user's file.
// Otherwise the XDG base directories apply wherever they are set, on every system, and then the system's own places.
type Dirs struct{ r resolver }

// resolver holds what Dirs reads from outside, so that tests can replace it.
type resolver struct {
	getenv  func(string) string
	goos    string
	uid     int
	temp    string
	home    func() (string, error)         // asked only when the environment names no home
	ownedBy func(path string) (int, error) // uid of an existing directory, links followed
	abs     func(path string) (string, error)
}

// NewDirs returns the directories by the variables that getenv returns; nil means os.Getenv.
func NewDirs(getenv func(string) string) Dirs {
	if getenv == nil {
		getenv = os.Getenv
	}
	temp := getenv("TMPDIR")
	if temp == "" || runtime.GOOS == "windows" {
		temp = os.TempDir()
	}
	return Dirs{resolver{
		getenv: getenv, goos: runtime.GOOS, uid: os.Getuid(), temp: temp,
		home: func() (string, error) {
			u, err := user.Current()
			if err != nil {
				return "", err
			}
			return u.HomeDir, nil
		},
		ownedBy: dirOwner,
		abs:     filepath.Abs,
	}}
}

// State returns the directory for what outlives a reboot, such as the history of peaks. The error wraps [ErrNoHome] or names the variable
// that is wrong.
func (d Dirs) State() (string, error) {
	if dir, err := d.r.override("PLIMSOLL_STATE_DIR"); dir != "" || err != nil {
		return dir, err
	}
	return d.r.base("XDG_STATE_HOME", "history is off", map[string][]string{
		"darwin": {"Library", "Application Support", "plimsoll", "state"}, "windows": {"LocalAppData", "plimsoll", "state"},
		"": {".local", "state", "plimsoll"},
	})
}

// Cache returns the directory for files that may be deleted at any time. Its errors are those of State.
func (d Dirs) Cache() (string, error) {
	if dir, err := d.r.override("PLIMSOLL_CACHE_DIR"); dir != "" || err != nil {
		return dir, err
	}
	return d.r.base("XDG_CACHE_HOME", "nothing is cached", map[string][]string{
		"darwin": {"Library", "Caches", "plimsoll"}, "windows": {"LocalAppData", "plimsoll", "cache"},
		"": {".cache", "plimsoll"},
	})
}

// ConfigFile returns the path of the user's own configuration file, whether it exists or not: PLIMSOLL_CONFIG, else config.toml in the directory
// for configuration. Without that variable and a home directory the error wraps [ErrNoHome].
func (d Dirs) ConfigFile() (string, error) {
	if file := d.r.getenv("PLIMSOLL_CONFIG"); file != "" {
		return d.r.abs(file)
	}
	dir, err := d.r.base("XDG_CONFIG_HOME", "the user's configuration file is not read", map[string][]string{
		"darwin": {"Library", "Application Support", "plimsoll"}, "windows": {"AppData", "plimsoll"},
		"": {".config", "plimsoll"},
	})
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "config.toml"), nil
}

// Runtime returns the directory for what ends with a reboot, such as the ledger of claims. All processes of a user must get the same one, so on
// Linux a login shell and a cron job, which has no XDG_RUNTIME_DIR, both use /run/user/UID where it exists, and root always uses /run/plimsoll.
// PLIMSOLL_STATE_DIR wins over all of these: the directory is then run below it. The last resort is the temporary directory.
func (d Dirs) Runtime() (string, error) {
	r := d.r
	if dir, err := r.override("PLIMSOLL_STATE_DIR"); err != nil {
		return "", err
	} else if dir != "" {
		return filepath.Join(dir, "run"), nil
	}
	if r.goos == "linux" && r.uid == 0 {
		return "/run/plimsoll", nil
	}
	if dir := r.getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		// After su the variable may still name the directory of the user before.
		if owner, err := r.ownedBy(dir); err != nil || owner == r.uid || r.goos == "windows" {
			return filepath.Join(dir, "plimsoll"), nil
		}
	}
	switch r.goos {
	case "linux":
		dir := filepath.Join("/run/user", strconv.Itoa(r.uid))
		if owner, err := r.ownedBy(dir); err == nil && owner == r.uid {
			return filepath.Join(dir, "plimsoll"), nil
		}
	case "windows":
		return r.base("", "slots are off", map[string][]string{"windows": {"LocalAppData", "plimsoll", "run"}})
	}
	return r.tempRuntime(), nil
}

// EnsureState creates the state directory, mode 0700, and returns it.
func (d Dirs) EnsureState() (string, error) { return ensure(d.State()) }

// EnsureCache creates the cache directory, mode 0700, and returns it.
func (d Dirs) EnsureCache() (string, error) { return ensure(d.Cache()) }

// EnsureRuntime creates the runtime directory, mode 0700, and returns it. Below the temporary directory, where everybody may create a name first,
// it must be a real directory of this user, and others are shut out of it.
func (d Dirs) EnsureRuntime() (string, error) {
	dir, err := ensure(d.Runtime())
	if err != nil || dir != d.r.tempRuntime() {
		return dir, err
	}
	fi, err := os.Lstat(dir)
	if err != nil {
		return "", err
	}
	hint := "; remove it, or set XDG_RUNTIME_DIR or PLIMSOLL_STATE_DIR to a directory of your own"
	if !fi.IsDir() {
		return "", fmt.Errorf("runtime directory %s is not a directory (%s)%s", dir, fi.Mode().Type(), hint)
	}
	if owner, err := d.r.ownedBy(dir); err != nil || owner != d.r.uid {
		return "", fmt.Errorf("runtime directory %s belongs to user %d, not to %d%s", dir, owner, d.r.uid, hint)
	}
	if fi.Mode().Perm()&0o077 != 0 {
		if err := os.Chmod(dir, 0o700); err != nil {
			return "", fmt.Errorf("close the runtime directory to others: %w", err)
		}
	}
	return dir, nil
}

// ensure makes a directory and those above it, with mode 0700, and returns it. err is the error of finding out its name, and is returned as it is.
func ensure(dir string, err error) (string, error) {
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		if errors.Is(err, fs.ErrPermission) {
			return "", fmt.Errorf("%w; set PLIMSOLL_STATE_DIR to a directory you can write", err)
		}
		return "", err
	}
	return dir, nil
}

func (r resolver) tempRuntime() string {
	return filepath.Join(r.temp, "plimsoll-"+strconv.Itoa(r.uid))
}

// override returns the directory in one of Plimsoll's own variables, "" if it is not set. A relative path is an error: a run inside a run
// has another working directory and would use another ledger.
func (r resolver) override(name string) (string, error) {
	dir := r.getenv(name)
	if dir == "" {
		return "", nil
	}
	if !filepath.IsAbs(dir) {
		return "", fmt.Errorf("%s=%q is not an absolute path; write the whole path", name, dir)
	}
	return filepath.Clean(dir), nil
}

// base returns $xdg/plimsoll, or else this system's place: places has the path elements below the home directory by system, "" for all others.
// consequence is added to the error if there is no home. A relative XDG variable is ignored, as the XDG base directory specification demands.
func (r resolver) base(xdg, consequence string, places map[string][]string) (string, error) {
	if xdg != "" {
		if dir := r.getenv(xdg); filepath.IsAbs(dir) {
			return filepath.Join(dir, "plimsoll"), nil
		}
	}
	place, ok := places[r.goos]
	if !ok {
		place = places[""]
	}
	if r.goos == "windows" {
		if dir := r.getenv(place[0]); filepath.IsAbs(dir) {
			return filepath.Join(append([]string{dir}, place[1:]...)...), nil
		}
		known := map[string][]string{"AppData": {"AppData", "Roaming"}, "LocalAppData": {"AppData", "Local"}}[place[0]]
		place = append(known, place[1:]...)
	}
	home, err := r.homeDir()
	if err != nil {
		return "", fmt.Errorf("%w; %s", err, consequence)
	}
	return filepath.Join(append([]string{home}, place...)...), nil
}

// homeDir returns the home directory: of the environment, else of the user database, whose root directory does not count as one. The error wraps
// [ErrNoHome].
func (r resolver) homeDir() (string, error) {
	name := "HOME"
	if r.goos == "windows" {
		name = "USERPROFILE"
	}
	if home := r.getenv(name); filepath.IsAbs(home) {
		return home, nil
	}
	home, err := r.home()
	if err == nil && filepath.IsAbs(home) && home != string(filepath.Separator) {
		return home, nil
	}
	return "", fmt.Errorf("%w: %s is not set and user %d has none on record; set %s or PLIMSOLL_STATE_DIR",
		ErrNoHome, name, r.uid, name)
}
