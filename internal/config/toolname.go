package config

import (
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/internal/config/profile"
)

// CanonicalTool returns the name of the built-in profile that a name or alias stands for: claude for claude-code and Claude. Any other name
// is returned without blanks around it; it need not be safe, see [SafeName].
func CanonicalTool(name string) string {
	if a, ok := profile.Named(name); ok {
		return a.Name
	}
	return strings.TrimSpace(name)
}

// foldTool returns the form of a tool's name that is compared: a table, a variable and --tool may differ in case, and in _ and -.
func foldTool(name string) string {
	return strings.ReplaceAll(strings.ToLower(CanonicalTool(name)), "_", "-")
}

// maxToolName bounds the name of a tool, in bytes. With a suffix it names files and cgroups, for which every system allows 255.
const maxToolName = 64

// SafeName returns a tool's name made from any text: with letters, digits, '.', '_' and '-' only, a letter or digit first, at most 64
// bytes. If nothing is left of the text it is "command"; a name reserved by Windows gets the prefix "tool-".
func SafeName(text string) string {
	out := make([]byte, 0, min(len(text), maxToolName))
	for _, r := range text {
		if len(out) == maxToolName {
			break
		}
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
		switch {
		case letter || len(out) > 0 && (r == '.' || r == '_' || r == '-'):
			out = append(out, byte(r))
		case len(out) > 0 && out[len(out)-1] != '-':
			out = append(out, '-')
		}
	}
	name := strings.TrimRight(string(out), "-.")
	switch {
	case name == "":
		return "command"
	case reserved(name):
		return "tool-" + name
	}
	return name
}

// reserved reports whether a file of this name, with any extension, is a device on Windows.
func reserved(name string) bool {
	name, _, _ = strings.Cut(strings.ToLower(name), ".")
	if slices.Contains([]string{"con", "prn", "aux", "nul"}, name) {
		return true
	}
	return len(name) == 4 && (name[:3] == "com" || name[:3] == "lpt") && name[3] >= '1' && name[3] <= '9'
}
