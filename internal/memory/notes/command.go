package notes

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/internal/atomicfile"
	"github.com/plimsoll/plimsoll/internal/nearest"
	"github.com/plimsoll/plimsoll/limit"
)

// Commands are the commands of the memory tool, in the order of its documentation.
var Commands = []string{"view", "create", "str_replace", "insert", "delete", "rename"}

// Command is one call of the memory tool. Which fields count depends on Command.
type Command struct {
	Command string
	// Path is used by all commands but rename.
	Path string
	// ViewRange holds the first and the last line, from 1; a last line of -1 means the end. Nil means all lines.
	ViewRange []int
	// FileText is used by create.
	FileText string
	// OldStr and NewStr are used by str_replace.
	OldStr, NewStr string
	// InsertLine is the line after which insert puts InsertText; 0 means the beginning.
	InsertLine int
	InsertText string
	// OldPath and NewPath are used by rename.
	OldPath, NewPath string
	// ContentSHA256 makes a change only if the file's content has this digest (64 hexadecimal digits). create then replaces that content.
	ContentSHA256 string
	// WithSHA256 makes view end with a line that has the file's digest.
	WithSHA256 bool
}

// Writes reports whether a command changes anything.
func (c Command) Writes() bool { return c.Command != "view" }

// Execute carries out a command. Its result, and the text of its error, are meant for the model.
func (d *Dir) Execute(ctx context.Context, c Command) (string, error) {
	if c.ContentSHA256 != "" && !isDigest(c.ContentSHA256) {
		return "", refuse("Error: content_sha256 is %q; it must be 64 lowercase hexadecimal characters", limit.Clip(c.ContentSHA256, 80))
	}
	switch c.Command {
	case "view":
		return d.viewPath(c)
	case "create":
		return d.createNote(ctx, c)
	case "str_replace":
		return d.replaceText(ctx, c)
	case "insert":
		return d.insertText(ctx, c)
	case "delete":
		return d.removeNotes(ctx, c)
	case "rename":
		return d.renameNote(ctx, c)
	}
	hint := ""
	if near := nearest.Names(c.Command, Commands, 1); len(near) > 0 {
		hint = fmt.Sprintf(" (did you mean %s?)", near[0])
	}
	return "", refuse("Error: Unknown command %q%s. The commands are %s", limit.Clip(c.Command, 40), hint, strings.Join(Commands, ", "))
}

// createNote carries out the command create: it writes a new note. A note that exists is replaced only if the command has its digest.
func (d *Dir) createNote(ctx context.Context, c Command) (string, error) {
	name, err := resolvePath(c.Path)
	if err != nil {
		return "", err
	}
	if name == "." {
		return "", refuse("Error: File %s already exists", c.Path)
	}
	err = d.whileLocked(ctx, func(root *os.Root) error {
		info, err := root.Lstat(name)
		switch {
		case err == nil && (c.ContentSHA256 == "" || !info.Mode().IsRegular()):
			return refuse("Error: File %s already exists", c.Path)
		case err == nil:
			old, err := readNote(root, name, c.Path)
			if err == nil && old == c.FileText {
				return nil // what was asked for is there, whoever did it
			}
			if err == nil {
				err = d.checkDigest(c, old)
			}
			if err != nil {
				return err
			}
			return d.writeNote(root, name, c.Path, c.FileText, int64(len(old)))
		case !errors.Is(err, fs.ErrNotExist):
			return plainError(c.Path, err)
		case c.ContentSHA256 != "":
			return noPath(c.Path)
		}
		return d.writeNote(root, name, c.Path, c.FileText, -1)
	})
	if err != nil {
		return "", err
	}
	return "File created successfully at: " + c.Path, nil
}

// replaceText carries out the command str_replace: it replaces a text that the note must have exactly once.
func (d *Dir) replaceText(ctx context.Context, c Command) (string, error) {
	var after string
	var line int
	err := d.editNote(ctx, c, noPathForView, func(text string) (string, error) {
		if c.OldStr == "" {
			return "", refuse("No replacement was performed, old_str is empty. Give the text to replace, or use insert")
		}
		var at []string
		for i := 0; ; {
			next := strings.Index(text[i:], c.OldStr)
			if next < 0 {
				break
			}
			i += next
			line = strings.Count(text[:i], "\n")
			at = append(at, fmt.Sprint(line+1))
			i += len(c.OldStr)
			if len(at) == 100 { // enough to see that it is not unique
				break
			}
		}
		switch len(at) {
		case 0:
			return "", refuse("No replacement was performed, old_str `%s` did not appear verbatim in %s.", c.OldStr, c.Path)
		case 1:
			after = strings.Replace(text, c.OldStr, c.NewStr, 1)
			return after, nil
		}
		return "", refuse("No replacement was performed. Multiple occurrences of old_str `%s` in lines: %s. Please ensure it is unique",
			c.OldStr, strings.Join(slices.Compact(at), ", "))
	})
	if err != nil {
		return "", err
	}
	lines := strings.Split(after, "\n")
	from, to := max(0, line-2), min(len(lines), line+3)
	answer := "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n" + numberedLines(lines[from:to], from+1)
	return answer + c.digestLine(after), nil
}

// insertText carries out the command insert: it inserts a text after a line of a note, 0 for its beginning.
func (d *Dir) insertText(ctx context.Context, c Command) (string, error) {
	var after string
	err := d.editNote(ctx, c, noPath, func(text string) (string, error) {
		lines := strings.Split(text, "\n")
		if c.InsertLine < 0 || c.InsertLine > len(lines) {
			return "", refuse("Error: Invalid `insert_line` parameter: %d. It should be within the range of lines of the file: [0, %d]", c.InsertLine, len(lines))
		}
		after = strings.Join(slices.Insert(lines, c.InsertLine, strings.TrimSuffix(c.InsertText, "\n")), "\n")
		return after, nil
	})
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("The file %s has been edited.", c.Path) + c.digestLine(after), nil
}

// editNote replaces a note's text by the result of change, under the lock and if the note has the digest that the command may name. If the note does
// not exist it returns notFound(path).
func (d *Dir) editNote(ctx context.Context, c Command, notFound func(string) error, change func(string) (string, error)) error {
	name, err := resolvePath(c.Path)
	if err != nil {
		return err
	}
	return d.whileLocked(ctx, func(root *os.Root) error {
		text, err := readNote(root, name, c.Path)
		if errors.Is(err, fs.ErrNotExist) {
			return notFound(c.Path)
		}
		if err == nil {
			err = d.checkDigest(c, text)
		}
		if err != nil {
			return err
		}
		fresh, err := change(text)
		if err != nil {
			return err
		}
		return d.writeNote(root, name, c.Path, fresh, int64(len(text)))
	})
}

// writeNote stores a note's text, after making room for it, and reports the change. before is the size of the note that it replaces, -1 if
// there is none. The caller holds the lock.
func (d *Dir) writeNote(root *os.Root, name, notePath, text string, before int64) error {
	if len(text) > MaxNote && int64(len(text)) > before {
		d.refused.Add(1)
		return refuse("Error: %s would have %d bytes; a note has at most %d. Split it into several files, or shorten it", notePath, len(text), MaxNote)
	}
	files := 0
	if before < 0 {
		before, files = 0, 1
	}
	keep := path.Join(prefix, name)
	if err := d.makeRoom(root, keep, int64(len(text))-before, files); err != nil {
		return err
	}
	if parent := path.Dir(name); parent != "." {
		if err := root.MkdirAll(parent, 0o700); err != nil {
			return plainError(notePath, err)
		}
	}
	if err := (atomicfile.Replacement{Root: root, Name: name, Perm: 0o600}).Write([]byte(text)); err != nil {
		return plainError(notePath, err)
	}
	d.written.Add(1)
	if d.o.Changed != nil {
		d.o.Changed(keep, text, false)
	}
	return nil
}

// checkDigest returns an error if the command has a ContentSHA256 that is not the digest of text.
func (d *Dir) checkDigest(c Command, text string) error {
	if c.ContentSHA256 == "" || c.ContentSHA256 == digest(text) {
		return nil
	}
	d.refused.Add(1)
	return refuse("Error: %s has changed since: its content_sha256 is not %s. View it again, with with_sha256, and repeat the change", c.Path, c.ContentSHA256)
}

// digestLine returns the last line of an answer, with the digest of the new text, if the command had a digest itself; else "".
func (c Command) digestLine(text string) string {
	if c.ContentSHA256 == "" {
		return ""
	}
	return "\ncontent_sha256: " + digest(text)
}

// digest returns the SHA-256 of a text in hexadecimal.
func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// isDigest reports whether s has the form of a digest: 64 small hexadecimal digits.
func isDigest(s string) bool {
	return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == ""
}
