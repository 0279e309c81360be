package profile

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/plimsoll/plimsoll/internal/lazy"
	"github.com/plimsoll/plimsoll/internal/statefile"
)

// Bounds of what is read. People's settings files are a few kilobytes.
const (
	maxFile  = 1 << 20  // bytes of one file
	maxState = 16 << 20 // bytes of one in which an agent keeps history too: Claude Code's own grows to megabytes
	maxFiles = 256      // files read for one plan
)

// read returns the content of a file, nil if there is none. Other errors are returned, because the file may hold settings that matter.
func (w *planner) read(name string) ([]byte, error) { return w.readUpTo(name, maxFile) }

// readUpTo returns the content of a file of at most most bytes; nil, nil if there is none or the path is not absolute. After maxFiles files
// it returns an error.
func (w *planner) readUpTo(name string, most int) ([]byte, error) {
	if name == "" || !filepath.IsAbs(name) {
		return nil, nil
	}
	if w.reads++; w.reads > maxFiles {
		return nil, fmt.Errorf("more than %d settings files", maxFiles)
	}
	read := w.in.ReadFile
	if read == nil {
		read = readBounded
	}
	text, err := read(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err == nil && len(text) > most {
		err = fmt.Errorf("%s is larger than %d bytes", name, most)
	}
	if err != nil {
		return nil, err
	}
	return text, nil
}

// readBounded reads a regular file of at most maxState bytes. Anything else is an error: reading a pipe would wait for ever.
func readBounded(name string) ([]byte, error) {
	return statefile.ReadLinked(name, maxState)
}

// readJSON decodes a settings file, with or without comments, into v. It returns false if there is no file, or with an error if it cannot be read;
// true with an error if it is not JSON.
func (w *planner) readJSON(name string, v any) (bool, error) {
	text, err := w.read(name)
	if err != nil || text == nil {
		return false, err
	}
	if err := decodeJSON(text, v); err != nil {
		return true, fmt.Errorf("%s: %w", name, err)
	}
	return true, nil
}

// tryJSON is readJSON for files that may be invalid: it notes that one was skipped, and reports whether v was set.
func (w *planner) tryJSON(name string, v any) bool {
	found, err := w.readJSON(name, v)
	if err != nil {
		w.note("%s could not be understood and was passed over", name)
	}
	return found && err == nil
}

// errJSON replaces the errors of encoding/json, which repeat text of the settings: that may hold keys.
var errJSON = errors.New("is not JSON as the tool would read it")

// decodeJSON decodes JSON, with or without comments, into v. Empty text leaves v as it is. A member of a wrong type is left out without an error.
func decodeJSON(text []byte, v any) error {
	text = plainJSON(text)
	if len(bytes.TrimSpace(text)) == 0 {
		return nil
	}
	// A wrong type in one place must not hide the rest.
	err := json.Unmarshal(text, v)
	if _, wrongType := errors.AsType[*json.UnmarshalTypeError](err); err != nil && !wrongType {
		return errJSON
	}
	return nil
}

// plainJSON takes comments, commas before a closing bracket and the byte order mark out of JSON as editors write it. Strings stay as they are;
// what follows a comment without an end is dropped.
func plainJSON(text []byte) []byte {
	text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '"':
			end := i + 1
			for end < len(text) && text[end] != '"' {
				if text[end] == '\\' {
					end++
				}
				end++
			}
			end = min(end+1, len(text))
			out = append(out, text[i:end]...)
			i = end
		case c == '/' && i+1 < len(text) && text[i+1] == '/':
			for i < len(text) && text[i] != '\n' {
				i++
			}
		case c == '/' && i+1 < len(text) && text[i+1] == '*':
			end := bytes.Index(text[i+2:], []byte("*/"))
			if end < 0 {
				return out
			}
			i += 2 + end + 2
			out = append(out, ' ')
		case c == '}' || c == ']':
			trimmed := bytes.TrimRight(out, " \t\r\n")
			if n := len(trimmed); n > 0 && trimmed[n-1] == ',' {
				out = trimmed[:n-1]
			}
			out = append(out, c)
			i++
		default:
			out = append(out, c)
			i++
		}
	}
	return out
}

// dotenv returns the assignments in a .env file. Of its dialects it understands only what an address or a key needs: export, quotes and
// comments, but no substitution.
func dotenv(text []byte) map[string]string {
	found := map[string]string{}
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, maxFile+1)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		line = strings.TrimSpace(strings.TrimPrefix(line, "export "))
		name, value, ok := strings.Cut(line, "=")
		name = strings.TrimSpace(name)
		if !ok || name == "" || name[0] == '#' || len(found) >= 1000 {
			continue
		}
		value = strings.TrimSpace(value)
		if n := len(value); n > 0 && (value[0] == '"' || value[0] == '\'' || value[0] == '`') {
			if end := strings.IndexByte(value[1:], value[0]); end >= 0 {
				value = value[1 : 1+end]
			}
		} else if i := strings.IndexByte(value, '#'); i >= 0 {
			value = strings.TrimSpace(value[:i])
		}
		found[name] = value
	}
	return found
}

// upwards returns dir and the directories above it, the nearest first, at most 16.
func upwards(dir string) []string {
	var dirs []string
	for dir != "" && len(dirs) < 16 {
		dirs = append(dirs, dir)
		parent := filepath.Dir(dir)
		if parent == dir {
			break
		}
		dir = parent
	}
	return dirs
}

var topLevelLine = lazy.Regexp(`^([A-Za-z_][A-Za-z0-9_-]*):[ \t]+["']?([^"'#]*[^"'# \t])["']?[ \t]*(#.*)?$`)

// readLines returns the plain NAME: VALUE lines at the top level of a YAML file, where these tools keep addresses. It ignores everything else
// in it. A file that cannot be read is noted.
func (w *planner) readLines(name string) map[string]string {
	found := map[string]string{}
	text, err := w.read(name)
	if err != nil {
		w.note("%s could not be read and was passed over", name)
	}
	for line := range strings.Lines(string(text)) {
		if m := topLevelLine().FindStringSubmatch(strings.TrimRight(line, "\r\n")); m != nil && len(found) < 1000 {
			found[m[1]] = m[2]
		}
	}
	return found
}

// Home locates the user's files for an agent.
type Home struct {
	// Dir is the user's home, absolute; "" when there is none.
	Dir string
	// Work is the folder that the agent starts in, for relative paths; "" if it is not known, and then those are ignored.
	Work string
	// Get looks up a variable of the agent's environment.
	Get func(name string) string
}

// path returns a path below the home directory; "" without a home.
func (h Home) path(elements ...string) string {
	if h.Dir == "" {
		return ""
	}
	return filepath.Join(append([]string{h.Dir}, elements...)...)
}

// folder returns the folder that a variable names, made absolute by Work; usual if it is not set, or is relative and Work is unknown.
func (h Home) folder(variable, usual string) string {
	switch dir := h.Get(variable); {
	case filepath.IsAbs(dir):
		return dir
	case dir != "" && h.Work != "":
		return filepath.Join(h.Work, dir)
	}
	return usual
}

// settings returns the user's folder of settings by the rules of XDG.
func (h Home) settings() string { return h.folder("XDG_CONFIG_HOME", h.path(".config")) }

// joinBelow returns a path below a folder; "" if folder is "".
func joinBelow(folder string, elements ...string) string {
	if folder == "" {
		return ""
	}
	return filepath.Join(append([]string{folder}, elements...)...)
}
