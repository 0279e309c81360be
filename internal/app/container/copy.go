package container

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/plimsoll/plimsoll/internal/atomicfile"
	"github.com/plimsoll/plimsoll/internal/config"
)

// CopyTo puts a copy of this program into a directory, under its name there, plimsoll, for everybody to read and run. It appears whole
// or not at all. The result is its path.
func CopyTo(dir string) (string, error) {
	own, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find this program's own file: %w", err)
	}
	program, err := os.Open(own)
	if err != nil {
		return "", fmt.Errorf("read this program's own file: %w", err)
	}
	defer program.Close()
	root, name, err := config.OpenFolder(filepath.Join(dir, "plimsoll"))
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("copy plimsoll to %s: there is no such directory; mount the volume there", dir)
		}
		return "", fmt.Errorf("copy plimsoll to %s: %w; name a directory that this user may write to", dir, err)
	}
	defer root.Close()
	if filepath.Ext(own) == ".exe" {
		name += ".exe"
	}
	// The volume of a pod is gone with the machine.
	to := atomicfile.Replacement{Root: root, Name: name, Perm: 0o755, Kept: atomicfile.Volatile}
	if err := to.Stream(func(w io.Writer) error { _, err := io.Copy(w, program); return err }); err != nil {
		return "", fmt.Errorf("copy plimsoll to %s: %w; the directory must be one that this user may write to, with room for the program", dir, err)
	}
	if err := root.Chmod(name, 0o755); err != nil { // whatever the umask left of it
		return "", fmt.Errorf("let everybody run %s: %w", filepath.Join(dir, name), err)
	}
	return filepath.Join(dir, name), nil
}
