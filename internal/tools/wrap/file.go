package wrap

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/plimsoll/plimsoll/internal/atomicfile"
	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/statefile"
)

// BackupSuffix is the end of the name of a backup.
const BackupSuffix = ".plimsoll-backup"

// file is a configuration file as it was read.
type file struct {
	path   string // as the caller named it
	target string // behind symbolic links
	mode   fs.FileMode
	data   []byte
	agents bool // an editor's agents are wrapped in it, not MCP servers
}

// openFile reads a configuration file of at most MaxFile bytes, with its mode. Links are followed, so that the target is rewritten later and
// not the link. Anything but a regular file is an error.
func openFile(path string) (file, error) {
	f := file{path: path}
	var err error
	if f.target, err = config.Destination(path); err != nil {
		return f, err
	}
	info, err := os.Stat(f.target)
	if err != nil {
		return f, err
	}
	if !info.Mode().IsRegular() {
		return f, &Error{Path: path, Text: "this is not a file: name the configuration file itself"}
	}
	f.mode = info.Mode().Perm()
	f.data, err = readLimited(f.target)
	if err != nil {
		return f, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

// readLimited reads a file of at most MaxFile bytes; a larger one is an error.
func readLimited(path string) ([]byte, error) {
	data, err := statefile.ReadLinked(path, MaxFile)
	if errors.Is(err, statefile.ErrTooLarge) {
		err = errors.New("the file is larger than 16 MiB: is it a configuration file?")
	}
	return data, err
}

// replace writes other bytes to the file, unless the file has changed since it was read.
func (f file) replace(after []byte) error {
	now, err := readLimited(f.target)
	if err != nil {
		return err
	}
	if !bytes.Equal(now, f.data) {
		return &Error{Path: f.path, Text: "the file was changed while it was being rewritten, so it was left alone: close the client that uses it and try again"}
	}
	return f.write(f.target, after, f.mode)
}

// write writes the configuration file or one next to it, durably and with exactly this mode. The folder may be a project's, so no link in
// it is followed: see [config.OpenFolder].
func (f file) write(path string, body []byte, mode fs.FileMode) error {
	folder, name, err := config.OpenFolder(path)
	if err != nil {
		return err
	}
	defer folder.Close()
	if err := (atomicfile.Replacement{Root: folder, Name: name, Perm: mode, Kept: atomicfile.Durable}).Write(body); err != nil {
		return err
	}
	return folder.Chmod(name, mode) // regardless of the umask
}

// backupPath returns the path of the file's backup. Servers and agents of one file have separate backups.
func (f file) backupPath() string {
	if f.agents { // servers and agents of one file are wrapped and undone separately
		return f.target + ".agents" + BackupSuffix
	}
	return f.target + BackupSuffix
}

// Backup returns the path of the backup that Apply makes of a file, with agents for an editor's agents in it: beside it, behind symbolic links.
func Backup(path string, agents bool) string {
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	return file{target: path, agents: agents}.backupPath()
}

// Preview returns the file's bytes and the change that Apply would make.
func Preview(path string, o Options) (before []byte, c Change, err error) {
	f, err := openFile(path)
	if err != nil {
		return nil, Change{}, err
	}
	c, err = Plan(path, f.data, o)
	return f.data, c, err
}

// Apply wraps the servers of a file in place. If there is nothing to change it writes nothing. Otherwise it first copies the file to its
// backup, beside it and readable by its owner only. If the file already has wrapped servers, an existing backup has the original and is
// kept.
func Apply(path string, o Options) (Change, error) {
	f, err := openFile(path)
	if err != nil {
		return Change{}, err
	}
	f.agents = o.Agents
	c, err := Plan(path, f.data, o)
	if err != nil || !c.Changed(f.data) {
		return c, err
	}
	already := slices.ContainsFunc(c.Servers, func(s Server) bool { return s.Action == Already })
	if _, err := os.Stat(f.backupPath()); err != nil || !already {
		if err := f.write(f.backupPath(), f.data, 0o600); err != nil {
			return c, fmt.Errorf("no backup could be written, so nothing was done: %w", err)
		}
	}
	return c, f.replace(c.After)
}

// PreviewUndo returns the file's bytes and the change that Undo would make.
func PreviewUndo(path string, agents bool) (before []byte, c Change, err error) {
	f, err := openFile(path)
	if err != nil {
		return nil, Change{}, err
	}
	f.agents = agents
	c, _, err = f.planUndo()
	return f.data, c, err
}

// planUndo returns the change that unwraps the file, and the content of its backup: nil if there is no backup. It writes nothing.
func (f file) planUndo() (c Change, backup []byte, err error) {
	backup, err = readLimited(f.backupPath())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return c, nil, fmt.Errorf("the backup cannot be read: %w", err)
	}
	if err != nil {
		backup = nil
	} else if backup == nil {
		backup = []byte{}
	}
	c, err = planUnwrapAll(f.path, f.data, backup, f.agents)
	return c, backup, err
}

// Undo unwraps the MCP servers of a file or, with agents, an editor's agents; see [Unplan]. It removes the backup, unless an entry had to
// be left because its form is not known.
func Undo(path string, agents bool) (Change, error) {
	f, err := openFile(path)
	if err != nil {
		return Change{}, err
	}
	f.agents = agents
	c, backup, err := f.planUndo()
	if err != nil {
		return c, err
	}
	if c.Changed(f.data) {
		if err := f.replace(c.After); err != nil {
			return c, err
		}
	}
	if backup == nil {
		return c, nil
	}
	for _, s := range c.Servers {
		if s.Action == Left && s.Why == whyForm {
			return c, nil
		}
	}
	return c, os.Remove(f.backupPath())
}
