package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/plimsoll/plimsoll/internal/atomicfile"
	"github.com/plimsoll/plimsoll/internal/statefile"
)

// A LinkError means that a path to write to leads through a symbolic link inside a project to a place outside of it.
type LinkError struct {
	Link    string // the link
	Target  string // what it leads to
	Project string // the folder that the link is in and leads out of
	Instead string // the path that was asked for, without the link
}

func (e *LinkError) Error() string {
	return fmt.Sprintf("%s is a symbolic link that leads out of the project %s, to %s: who wrote the project would choose what is written there. "+
		"If you mean that place, name it: %s; or else remove the link", e.Link, e.Project, e.Target, e.Instead)
}

// Destination returns the path to write to with all symbolic links followed, the last one too. Parts that do not exist stay as they are named; a
// link that leads nowhere is an error.
//
// Links of the user's own are followed. A link inside a project came with the project, as a repository is cloned or an archive unpacked, so it may
// lead anywhere within the project; one that leads out of it is a *[LinkError]. That holds for relative and absolute paths alike, because neither
// shows where its links lead. A project is the git repository that the link lies in, else the folder with a .plimsoll.toml, else the working
// directory. The home directory and the root of the file system are not projects.
func Destination(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	separator := string(filepath.Separator)
	at := filepath.VolumeName(abs) + separator
	rest := strings.Split(strings.Trim(abs[len(filepath.VolumeName(abs)):], separator), separator)
	for i, name := range rest {
		next := filepath.Join(at, name)
		info, err := os.Lstat(next)
		if errors.Is(err, fs.ErrNotExist) {
			return filepath.Join(append([]string{at}, rest[i:]...)...), nil
		}
		if err != nil {
			return "", err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			at = next
			continue
		}
		target, err := filepath.EvalSymlinks(next)
		if err != nil {
			return "", fmt.Errorf("the symbolic link %s leads nowhere: %w; remove it, or make what it leads to", next, err)
		}
		if project := projectAround(at); project != "" && !isBelow(target, project) {
			return "", &LinkError{Link: next, Target: target, Project: project, Instead: filepath.Join(append([]string{target}, rest[i+1:]...)...)}
		}
		at = target
	}
	return at, nil
}

// OpenFolder opens the folder that a file is to be written to, by the rules of [Destination], and returns the file's name in it. Within a
// project the folder is opened so that a link that replaces a folder meanwhile does not lead out of the project.
func OpenFolder(file string) (root *os.Root, name string, err error) {
	dir, err := Destination(filepath.Dir(file))
	if err != nil {
		return nil, "", err
	}
	project := projectAround(dir)
	if project == "" {
		root, err = statefile.OpenRoot(dir)
		return root, filepath.Base(file), err
	}
	top, err := statefile.OpenRoot(project)
	if err != nil {
		return nil, "", err
	}
	defer top.Close()
	below, err := filepath.Rel(project, dir)
	if err == nil {
		root, err = top.OpenRoot(below)
	}
	return root, filepath.Base(file), err
}

// projectAround returns the project that a directory lies in, "" if there is none or it is the home or root directory. dir has no symbolic links
// in it.
func projectAround(dir string) string {
	project := nearestAbove(dir, ".git")
	if project == "" {
		project = nearestAbove(dir, ProjectFile)
	}
	if here := realPath("."); project == "" && isBelow(dir, here) {
		project = here
	}
	if home, err := os.UserHomeDir(); err == nil && project == realPath(home) || project == filepath.Dir(project) {
		return ""
	}
	return project
}

// realPath returns the absolute path of a file without symbolic links. If links cannot be followed, as for a missing file, they stay.
func realPath(path string) string {
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	return path
}

// isBelow reports whether path is dir or lies below it; links are not followed.
func isBelow(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// Create writes a fresh configuration file and makes its directory: [WriteProjectInit] with mode 0644 if path is named .plimsoll.toml,
// because that is checked in with the project, else [WriteInit] with mode 0600. If the file exists, the error wraps fs.ErrExist, unless
// force is set, which replaces it as a whole, also behind a symbolic link. A .plimsoll.toml that is a symbolic link is an error, because
// the project's authors decide where it leads.
func Create(path string, force bool) error {
	var b bytes.Buffer
	write, mode := WriteInit, fs.FileMode(0o600)
	project := filepath.Base(path) == ProjectFile
	if project {
		write, mode = WriteProjectInit, 0o644
	}
	if err := write(&b); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if link, err := os.Lstat(path); project && err == nil && link.Mode()&fs.ModeSymlink != 0 {
		return fmt.Errorf("%s is a symbolic link, and who wrote the project decides where it leads; remove the link first", path)
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		if !force {
			return fmt.Errorf("%s: %w; edit it, or replace it with --force", path, fs.ErrExist)
		}
		if fi, err := os.Stat(real); err == nil && !fi.Mode().IsRegular() {
			return fmt.Errorf("%s is not a regular file and is not replaced; PLIMSOLL_CONFIG names another", path)
		}
		path = real
	}
	return atomicfile.Write(path, b.Bytes(), mode, atomicfile.Durable)
}
