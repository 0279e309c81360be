package setup

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/plimsoll/plimsoll/internal/lazy"
	"github.com/plimsoll/plimsoll/internal/rawjson"
)

// insertion is a piece of text in a file, as it is recorded.
type insertion struct {
	What string `json:"what"`
	Path string `json:"path"` // behind symbolic links
	At   int    `json:"at"`   // in bytes
	Text string `json:"text"`
	// Before and After are the SHA-256 digests of the whole file without and with the text.
	Before string `json:"before"`
	After  string `json:"after"`
	// Made means that there was no file. Folders are those that were made for it, the innermost first.
	Made    bool     `json:"made,omitempty"`
	Folders []string `json:"folders,omitempty"`
}

func digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// apply returns a file's content with the text put in, and sets the digests.
func (i *insertion) apply(base []byte) []byte {
	after := append(append(bytes.Clone(base[:i.At]), i.Text...), base[i.At:]...)
	i.Before, i.After = digest(base), digest(after)
	return after
}

// remove returns a file's content without the text. exact reports whether that is the file before, byte for byte; found is false, and base the
// content, when the text is not there or, in a file that was changed since, more than once.
func (i insertion) remove(content []byte) (base []byte, exact, found bool) {
	at := i.At
	if digest(content) != i.After || at < 0 || at+len(i.Text) > len(content) || string(content[at:at+len(i.Text)]) != i.Text {
		if at = bytes.Index(content, []byte(i.Text)); i.Text == "" || at < 0 || bytes.LastIndex(content, []byte(i.Text)) != at {
			return content, false, false
		}
	}
	base = append(bytes.Clone(content[:at]), content[at+len(i.Text):]...)
	return base, digest(base) == i.Before, true
}

// The lines around what stands in a shell's file.
const (
	openMark  = "# >>> plimsoll setup >>> (plimsoll setup --undo takes this out)\n"
	closeMark = "# <<< plimsoll setup <<<\n"
)

// hookText returns the text that a shell's file gets at its end, with the marks, and its offset.
func hookText(base []byte, lines string) (at int, text string) {
	text = openMark + lines + closeMark
	if len(base) > 0 && base[len(base)-1] != '\n' {
		text = "\n" + text
	}
	return len(base), text
}

// withoutMarked returns a file's content without the first pair of marks and the text between them; without a pair, the content as it is. It finds
// a text that is not in the record any more, as after the state directory was lost.
func withoutMarked(content []byte) []byte {
	before, rest, ok := bytes.Cut(content, []byte(openMark))
	_, after, closed := bytes.Cut(rest, []byte(closeMark))
	if !ok || !closed {
		return content
	}
	return append(bytes.Clone(before), after...)
}

// leftAlone is the error of a file that is left as it is.
type leftAlone struct {
	why     string
	already bool // because it has what it would get
}

func (l *leftAlone) Error() string { return l.why }

// statusLineText returns the member that ~/.claude/settings.json gets as the first of its object, and its offset. The error is a
// *leftAlone.
func statusLineText(base []byte, command string) (at int, text string, err error) {
	quoted := string(rawjson.Quote(nil, command+" status --line --color always"))
	member := `"statusLine": {"type": "command", "command": ` + quoted + `, "refreshInterval": 10}`
	if len(bytes.Trim(base, " \t\r\n")) == 0 {
		return len(base), "{\n  " + member + "\n}\n", nil
	}
	whole, err := rawjson.Only(base)
	if err != nil || base[whole.Start] != '{' || !json.Valid(base) {
		return 0, "", &leftAlone{why: "it is no plain JSON object: put the member into it by hand: " + member}
	}
	empty := true
	for m, err := range rawjson.Members(base, whole.Start) {
		if err != nil {
			return 0, "", &leftAlone{why: "it is no valid JSON (" + err.Error() + "): mend it, then run plimsoll setup again"}
		}
		empty = false
		if string(m.Key) != "statusLine" {
			continue
		}
		if bytes.Contains(m.Value.Of(base), []byte(" status --line")) {
			return 0, "", &leftAlone{why: "it has the status line", already: true}
		}
		return 0, "", &leftAlone{why: "it has a status line of yours already; `plimsoll status --line` prints what can be added to it"}
	}
	text = "\n  " + member
	if !empty {
		text += ","
	}
	return whole.Start + 1, text, nil
}

// setting holds keys of one table of the configuration that setup writes.
type setting struct {
	table string
	pairs []pair
}

// pair is a key and its value, a string, a bool or an int64.
type pair struct {
	key   string
	value any
}

// line returns the pair as it stands in the file.
func (p pair) line() string {
	if text, ok := p.value.(string); ok {
		return fmt.Sprintf("%s = %q # by plimsoll setup\n", p.key, text)
	}
	return fmt.Sprintf("%s = %v # by plimsoll setup\n", p.key, p.value)
}

var (
	notify   = setting{"watch", []pair{{"notify", "desktop"}}}
	toolsMax = setting{"mcp", []pair{{"tools_max", "8k"}}}
)

// text returns the text to insert into the configuration file, and its offset. The error is a *leftAlone if the file cannot be changed
// without changing anything else, or sets a key to another value.
func (s setting) text(base []byte) (at int, text string, err error) {
	var was map[string]any
	if err := toml.Unmarshal(base, &was); err != nil {
		return 0, "", &leftAlone{why: "it has mistakes: plimsoll config check names them"}
	}
	table, there := was[s.table].(map[string]any)
	lines, same := "", ""
	for _, p := range s.pairs {
		switch value, set := table[p.key]; {
		case !set:
			lines += p.line()
		case value != p.value:
			return 0, "", &leftAlone{why: fmt.Sprintf("%s is set to %q already", p.key, fmt.Sprint(value))}
		default:
			same = fmt.Sprintf("%s is set to %q already", p.key, fmt.Sprint(value))
		}
	}
	if lines == "" {
		return 0, "", &leftAlone{why: same, already: true}
	}
	unclear := &leftAlone{why: fmt.Sprintf("where its table %s begins is not clear: write into the table by hand: %s", s.table, strings.ReplaceAll(strings.TrimSpace(lines), "\n", "; "))}
	if header := s.tableEnd(base); header > 0 {
		if at, text = header, lines; !bytes.HasSuffix(base[:at], []byte("\n")) {
			text = "\n" + lines
		}
	} else {
		at, text = len(base), "["+s.table+"]\n"+lines
		if len(base) > 0 {
			text = "\n" + text
		}
		if len(base) > 0 && base[len(base)-1] != '\n' {
			text = "\n" + text
		}
	}
	now := map[string]any{}
	after := append(append(bytes.Clone(base[:at]), text...), base[at:]...)
	if err := toml.Unmarshal(after, &now); err != nil {
		return 0, "", unclear
	}
	changed, _ := now[s.table].(map[string]any)
	for _, p := range s.pairs {
		if changed[p.key] != p.value {
			return 0, "", unclear
		}
		if _, set := table[p.key]; !set {
			delete(changed, p.key)
		}
	}
	if len(changed) == 0 && !there {
		delete(now, s.table)
	}
	if was == nil {
		was = map[string]any{}
	}
	if !reflect.DeepEqual(was, now) {
		return 0, "", unclear
	}
	return at, text, nil
}

// tableHeader matches the line that begins a table with a plain name.
var tableHeader = lazy.Regexp(`(?m)^[ \t]*\[[ \t]*([a-z]+)[ \t]*\][ \t]*(#.*)?(\r?\n|\r?$)`)

// tableEnd returns the offset after the line that begins the setting's table, 0 if there is none.
func (s setting) tableEnd(base []byte) int {
	for _, m := range tableHeader().FindAllSubmatchIndex(base, -1) {
		if string(base[m[2]:m[3]]) == s.table {
			return m[1]
		}
	}
	return 0
}

// leaveReason returns the *leftAlone in err, nil for another error.
func leaveReason(err error) *leftAlone {
	l, _ := errors.AsType[*leftAlone](err)
	return l
}

// hookLines returns the lines between the marks. agents is "" for all that are installed, else their names, each behind a blank.
func hookLines(shell, program, agents string) string {
	if shell == "fish" {
		word := "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(program) + "'"
		return "if test -x " + word + "\n    " + word + " shellenv --shell fish" + agents + " | source\nend\n"
	}
	word := shellWord(program)
	return "if [ -x " + word + " ]; then eval \"$(" + word + " shellenv --shell " + shell + agents + ")\"; fi\n"
}

// shellWord returns text as one word of a POSIX shell, quoted where it must be.
func shellWord(text string) string {
	if text != "" && strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/._-+") == "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
