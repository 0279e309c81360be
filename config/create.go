package config

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Create writes a fresh configuration file: [WriteProjectInit] with mode 0644 when path is
// named .plimsoll.toml, because it is checked in with the project, else [WriteInit] with
// mode 0600. It creates the directory. A file that exists is an error that wraps
// fs.ErrExist, or is replaced as a whole when force is set, also behind a symbolic link.
func Create(path string, force bool) error {
	var b bytes.Buffer
	write, mode := WriteInit, fs.FileMode(0o600)
	if filepath.Base(path) == ProjectFile {
		write, mode = WriteProjectInit, 0o644
	}
	if err := write(&b); err != nil {
		return err
	}
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		if !force {
			return fmt.Errorf("%s: %w; edit it, or replace it with --force", path, fs.ErrExist)
		}
		path, dir = real, filepath.Dir(real)
	}
	tmp, err := os.CreateTemp(dir, ".plimsoll-*.tmp")
	if err != nil {
		return err
	}
	defer os.Remove(tmp.Name()) // gone already when all went well
	_, err = tmp.Write(b.Bytes())
	if err := errors.Join(err, tmp.Chmod(mode), tmp.Sync(), tmp.Close()); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return os.Rename(tmp.Name(), path)
}
