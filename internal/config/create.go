package config

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/plimsoll/plimsoll/internal/atomicfile"
)

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
