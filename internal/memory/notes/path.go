package notes

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/plimsoll/plimsoll/internal/diskspace"
	"github.com/plimsoll/plimsoll/internal/statefile"
	"github.com/plimsoll/plimsoll/limit"
)

// prefix is the first element of the memory tool's paths.
const prefix = "/memories"

// IsPath reports whether the path of a record's source is one of a note: what was imported has the name of another file there.
func IsPath(file string) bool { return strings.HasPrefix(file, prefix+"/") }

// maxPath is the longest path in bytes, and maxName the longest name in it: what common file systems take.
const (
	maxPath = 1024
	maxName = 200 // 255 bytes less the ending of a temporary file
)

// resolvePath returns the name below the root for a path of the memory tool, "." for /memories itself. An invalid path is a [Refusal].
func resolvePath(notePath string) (string, error) {
	rest, is := strings.CutPrefix(notePath, prefix)
	if !is || rest != "" && rest[0] != '/' {
		return "", refuse("Error: Path must start with %s, got: %s", prefix, limit.Clip(notePath, maxPath))
	}
	if len(notePath) > maxPath {
		return "", refuse("Error: Path has %d bytes, the most is %d", len(notePath), maxPath)
	}
	name := path.Clean("./" + strings.Trim(rest, "/"))
	if name == "." && !strings.Contains(rest, "..") {
		return name, nil
	}
	if !filepath.IsLocal(filepath.FromSlash(name)) || strings.Contains(rest, `\`) {
		return "", refuse("Error: Path %s would escape %s directory", notePath, prefix)
	}
	if !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl) {
		return "", refuse("Error: Path %q has characters that no file name should have", notePath)
	}
	levels := strings.Split(name, "/")
	if len(levels) > MaxDepth {
		return "", refuse("Error: Path %s is %d levels deep, the most is %d", notePath, len(levels), MaxDepth)
	}
	for _, level := range levels {
		if len(level) > maxName {
			return "", refuse("Error: Path %s: a name has %d bytes, the most is %d", notePath, len(level), maxName)
		}
		if isTemporary(level) {
			return "", refuse("Error: Path %s: names of this form are temporary files", notePath)
		}
	}
	return name, nil
}

// isTemporary reports whether a name has the form of a file that is being written (package atomicfile).
func isTemporary(name string) bool { return strings.Contains(name, ".tmp-") }

// Refusal is an error whose text is meant for the model that made the call, as the memory tool's documentation words it.
type Refusal string

// Error implements error.
func (r Refusal) Error() string { return string(r) }

// refuse returns a [Refusal] with a formatted text.
func refuse(format string, args ...any) error { return Refusal(fmt.Sprintf(format, args...)) }

// trimSlashes returns a path of the memory tool without trailing slashes, as answers show it.
func trimSlashes(notePath string) string {
	if t := strings.TrimRight(notePath, "/"); t != "" {
		return t
	}
	return notePath
}

// noPathForView returns the documented error of view and str_replace for a path that does not exist.
func noPathForView(notePath string) error {
	return refuse("Error: The path %s does not exist. Please provide a valid path.", notePath)
}

// noPath returns the documented error of insert, delete and rename for a path that does not exist.
func noPath(notePath string) error {
	return refuse("Error: The path %s does not exist", notePath)
}

// readNote returns the content of a regular file below the root. For a missing name or a directory it returns an error that wraps
// fs.ErrNotExist. notePath is the path to show in errors.
func readNote(root *os.Root, name, notePath string) (string, error) {
	info, err := root.Stat(name)
	if err != nil {
		return "", plainError(notePath, err)
	}
	if info.IsDir() {
		return "", fs.ErrNotExist
	}
	f, err := statefile.OpenIn(root, name, os.O_RDONLY, 0)
	if err != nil {
		return "", plainError(notePath, err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxRead+1))
	if err != nil {
		return "", plainError(notePath, err)
	}
	if len(text) > maxRead {
		return "", refuse("Error: File %s is larger than %s; notes have at most %d bytes", notePath, limit.Bytes(maxRead).Human(), MaxNote)
	}
	return string(text), nil
}

// plainError returns an error of the file system in the words for a model, without this machine's path. fs.ErrNotExist stays as it is.
func plainError(notePath string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fs.ErrNotExist
	}
	if of, ok := errors.AsType[*fs.PathError](err); ok {
		err = of.Err
	} else if of, ok := errors.AsType[*os.LinkError](err); ok {
		err = of.Err
	}
	if diskspace.IsFull(err) {
		return refuse("Error: %s: %v; nothing was changed. Make room on the disk, or delete notes that are needed no longer", notePath, err)
	}
	return refuse("Error: %s: %v", notePath, err)
}
