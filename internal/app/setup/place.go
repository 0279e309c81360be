package setup

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/plimsoll/plimsoll/internal/app/shellenv"
	"github.com/plimsoll/plimsoll/internal/atomicfile"
	"github.com/plimsoll/plimsoll/internal/config/profile"
	"github.com/plimsoll/plimsoll/internal/statefile"
	"github.com/plimsoll/plimsoll/internal/tools/wrap"
)

// maxFile bounds the files that are changed, in bytes.
const maxFile = wrap.MaxFile

// hookFile returns the file that a shell reads in every interactive session, "" if that is not known.
func hookFile(shell, home string, getenv func(string) string) string {
	switch shell {
	case shellenv.Bash:
		return filepath.Join(home, ".bashrc")
	case shellenv.Zsh:
		if dir := getenv("ZDOTDIR"); filepath.IsAbs(dir) {
			return filepath.Join(dir, ".zshrc")
		}
		return filepath.Join(home, ".zshrc")
	case shellenv.Fish:
		return filepath.Join(configHome(home, getenv), "fish", "config.fish")
	}
	if env := getenv("ENV"); filepath.IsAbs(env) { // POSIX, sh, ENV
		return env
	}
	return ""
}

// configHome returns XDG_CONFIG_HOME if it is an absolute path, else .config below home.
func configHome(home string, getenv func(string) string) string {
	if dir := getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return dir
	}
	return filepath.Join(home, ".config")
}

// client is a file with the MCP servers of a client. tool is the agent whose runs wrap them by themselves, so that the file needs no change
// where the agent runs in its limits. defers means that the client does not give its model all definitions of tools.
type client struct {
	path, tool string
	defers     bool
}

// clients returns the user's own files in which clients may keep MCP servers. A project's file is not among them: it is checked in, and
// others have no Plimsoll at this path.
func clients(home string, getenv func(string) string) []client {
	settings := configHome(home, getenv)
	if runtime.GOOS == "darwin" {
		settings = filepath.Join(home, "Library", "Application Support")
	}
	var all []client
	for _, a := range profile.All() {
		if a.ServerFiles == nil {
			continue
		}
		for _, path := range a.ServerFiles(profile.Home{Dir: home, Get: getenv}) {
			c := client{path: path, defers: a.DefersTools}
			if a.Servers != nil {
				c.tool = a.Name
			}
			all = append(all, c)
		}
	}
	return append(all,
		client{path: filepath.Join(home, ".cursor", "mcp.json")},
		client{path: filepath.Join(home, ".codeium", "windsurf", "mcp_config.json")},
		client{path: filepath.Join(settings, "Claude", "claude_desktop_config.json")},
		client{path: filepath.Join(settings, "Code", "User", "mcp.json")},
	)
}

// file is a file that is to be changed, as it was read.
type file struct {
	path    string // as it is named
	target  string // behind symbolic links
	content []byte
	mode    fs.FileMode
	missing bool
	folders []string // that are missing, the innermost first
	after   []byte   // what it is to be
}

// readTarget reads a file behind symbolic links; a link that leads out of the home directory is followed only if follow is set. A file that does
// not exist is noted as missing, which is no error. If the file has to be left alone, the error is a *leftAlone with the reason.
func readTarget(path, home string, follow bool) (file, error) {
	f := file{path: path, target: path, mode: 0o600}
	dir := filepath.Dir(path)
	for {
		if _, err := os.Lstat(dir); err == nil || dir == filepath.Dir(dir) {
			break
		}
		f.folders = append(f.folders, dir)
		dir = filepath.Dir(dir)
	}
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return f, &leftAlone{why: fmt.Sprintf("its folder cannot be opened: %v", err)}
	}
	if f.target = filepath.Join(real, strings.TrimPrefix(path, dir)); len(f.folders) == 0 {
		switch _, err := os.Lstat(f.target); {
		case errors.Is(err, fs.ErrNotExist):
			f.missing = true
		case err != nil:
			return f, err
		default:
			if f.target, err = filepath.EvalSymlinks(f.target); err != nil {
				return f, &leftAlone{why: "it is a symbolic link that leads nowhere: remove it, or make what it leads to"}
			}
		}
	} else {
		f.missing = true
	}
	if isBelow(path, home) && !follow {
		top, err := filepath.EvalSymlinks(home)
		if err != nil {
			return f, err
		}
		if !isBelow(f.target, top) {
			return f, &leftAlone{why: "a symbolic link leads out of your home directory, to " + f.target + "; --follow-links changes it there"}
		}
	}
	if f.missing {
		return f, nil
	}
	info, err := os.Stat(f.target)
	if err != nil {
		return f, err
	}
	f.mode = info.Mode().Perm()
	f.content, err = statefile.Read(f.target, maxFile)
	if errors.Is(err, statefile.ErrNotRegular) {
		return f, &leftAlone{why: "it is no regular file"}
	}
	return f, err
}

// isBelow reports whether path is dir or below it, by the names alone: links are not resolved.
func isBelow(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
}

// replace writes the content after into the file, and makes its missing folders. It is an error if the file has changed since it was read.
func (f file) replace(after []byte) error {
	now, err := statefile.Read(f.target, maxFile)
	if there := err == nil; there == f.missing || there && !bytes.Equal(now, f.content) {
		return fmt.Errorf("%s was changed meanwhile, so it was left alone: try again", f.path)
	}
	for i := len(f.folders) - 1; i >= 0; i-- {
		if err := os.Mkdir(f.folders[i], 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	if err := atomicfile.Write(f.target, after, f.mode, atomicfile.Durable); err != nil {
		return err
	}
	if f.missing {
		return nil
	}
	return os.Chmod(f.target, f.mode) // what the umask took
}

// removeFile removes a file that setup made, and then the folders that were made for it, as long as they are empty.
func removeFile(path string, folders []string) error {
	err := os.Remove(path)
	for _, dir := range folders {
		if os.Remove(dir) != nil {
			break
		}
	}
	return err
}
