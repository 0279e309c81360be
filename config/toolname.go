package config

import (
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/config/profile"
)

// CanonicalTool maps the names people use for a tool with a built-in profile to one:
// claude-code and Claude to claude. Every other name comes back without outer blanks. It
// does not make a name safe: see [SafeName].
func CanonicalTool(name string) string {
	if a, ok := profile.Named(name); ok {
		return a.Name
	}
	return strings.TrimSpace(name)
}

// foldTool returns the name under which configuration of a tool is found: a table, a variable
// and --tool must not differ by the case of a letter or by _ for -.
func foldTool(name string) string {
	return strings.ReplaceAll(strings.ToLower(CanonicalTool(name)), "_", "-")
}

// maxToolName bounds the name of a tool, in bytes: with a suffix it is the name of files
// and of cgroups, for which every system allows 255.
const maxToolName = 64

// SafeName makes a tool's name out of any text: letters, digits, '.', '_' and '-' only, the
// first a letter or digit, at most 64 bytes. What is left of nothing is "command".
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

// reserved reports whether Windows takes a file of this name, with any suffix, for a device.
func reserved(name string) bool {
	name, _, _ = strings.Cut(strings.ToLower(name), ".")
	if slices.Contains([]string{"con", "prn", "aux", "nul"}, name) {
		return true
	}
	return len(name) == 4 && (name[:3] == "com" || name[:3] == "lpt") && name[3] >= '1' && name[3] <= '9'
}
