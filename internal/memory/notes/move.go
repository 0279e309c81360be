package notes

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
)

// removeNotes carries out the command delete for a note or a directory, and reports the change of each note.
func (d *Dir) removeNotes(ctx context.Context, c Command) (string, error) {
	name, err := resolvePath(c.Path)
	if err != nil {
		return "", err
	}
	if name == "." {
		return "", refuse("Error: Cannot delete the %s directory itself", prefix)
	}
	err = d.whileLocked(ctx, func(root *os.Root) error {
		if err := d.checkTarget(root, c, name, c.Path); err != nil {
			return err
		}
		gone, err := notesBelow(root, name)
		if err != nil {
			return err
		}
		if err := root.RemoveAll(name); err != nil {
			return plainError(c.Path, err)
		}
		for _, p := range gone {
			d.removed.Add(1)
			if d.o.Changed != nil {
				d.o.Changed(p, "", true)
			}
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	return "Successfully deleted " + c.Path, nil
}

// renameNote carries out the command rename. The destination must not exist. The change of each note is reported.
func (d *Dir) renameNote(ctx context.Context, c Command) (string, error) {
	from, err := resolvePath(c.OldPath)
	if err != nil {
		return "", err
	}
	to, err := resolvePath(c.NewPath)
	if err != nil {
		return "", err
	}
	if from == "." {
		return "", refuse("Error: Cannot rename the %s directory itself", prefix)
	}
	err = d.whileLocked(ctx, func(root *os.Root) error {
		if err := d.checkTarget(root, c, from, c.OldPath); err != nil {
			return err
		}
		if _, err := root.Lstat(to); err == nil {
			return refuse("Error: The destination %s already exists", c.NewPath)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return plainError(c.NewPath, err)
		}
		if strings.HasPrefix(to+"/", from+"/") {
			return refuse("Error: %s lies in %s and cannot be moved into itself", c.NewPath, c.OldPath)
		}
		old, err := notesBelow(root, from)
		if err != nil {
			return err
		}
		if parent := path.Dir(to); parent != "." {
			if err := root.MkdirAll(parent, 0o700); err != nil {
				return plainError(c.NewPath, err)
			}
		}
		if err := root.Rename(from, to); err != nil {
			return plainError(c.NewPath, err)
		}
		return d.reportMoved(root, from, to, old)
	})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("Successfully renamed %s to %s", c.OldPath, c.NewPath), nil
}

// reportMoved calls Options.Changed twice for each note that was renamed: removed at the old path, and written at the new one. old are the
// paths before.
func (d *Dir) reportMoved(root *os.Root, from, to string, old []string) error {
	if d.o.Changed == nil {
		return nil
	}
	for _, p := range old {
		d.o.Changed(p, "", true)
		now := path.Join(prefix, to) + strings.TrimPrefix(p, path.Join(prefix, from))
		name, err := resolvePath(now)
		if err != nil {
			continue
		}
		if text, err := readNote(root, name, now); err == nil {
			d.o.Changed(now, text, false)
		}
	}
	return nil
}

// checkTarget returns an error if a command's file or directory does not exist, or if the command has a digest and the file's is another.
func (d *Dir) checkTarget(root *os.Root, c Command, name, notePath string) error {
	info, err := root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return noPath(notePath)
	}
	if err != nil {
		return plainError(notePath, err)
	}
	if c.ContentSHA256 == "" {
		return nil
	}
	if info.IsDir() {
		return refuse("Error: content_sha256 is a precondition on a file, and %s is a directory", notePath)
	}
	text, err := readNote(root, name, notePath)
	if err != nil {
		return err
	}
	c.Path = notePath
	return d.checkDigest(c, text)
}

// notesBelow returns the paths of the notes at a name: the file itself, or all files in the directory.
func notesBelow(root *os.Root, name string) ([]string, error) {
	all, err := listNotes(root)
	if err != nil {
		return nil, fmt.Errorf("notes: %w", err)
	}
	at := path.Join(prefix, name)
	var out []string
	for _, n := range all {
		if n.Path == at || strings.HasPrefix(n.Path, at+"/") {
			out = append(out, n.Path)
		}
	}
	return out, nil
}
