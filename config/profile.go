package config

import (
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/limit"
)

// Profile is what is known about a tool before its first run here.
type Profile struct {
	Name            string
	Aliases         []string // other names accepted in tables and by --tool
	Packages        []string // packages that hold it, by launcher registry name
	InitialEstimate limit.Bytes
	MaxConcurrent   int // 0 means no bound
	// Resume is the command that goes on with the newest session in the same directory, "" for none; each as its own documentation has it (November 2026).
	Resume string
}

// The estimates of claude, codex, gemini and opencode, and the two bounds on concurrency,
// are those of the sub-agent runner whose users know these names: 4096, 4096, 1024 and
// 1536 MB, 3 and 5 at once. The others are chosen from the measured memory of one turn
// (PSS: qwen 264-869 MB, copilot 280 MB, cline 361 MB) with room for the build or test that
// the tool starts: about twice the largest turn, and never under 1 GiB. goose is a native
// program like codex (179 MB a turn) without that one's sandbox builds, aider one Python
// process; neither was measured, so they get what a tool of 500 MB would.
var profiles = map[string]Profile{
	"claude": {
		Aliases: []string{"claude-code"}, Packages: []string{"@anthropic-ai/claude-code"},
		InitialEstimate: 4096 * limit.MiB, MaxConcurrent: 3,
		Resume: "claude --continue",
	},
	"codex":    {Packages: []string{"@openai/codex"}, InitialEstimate: 4096 * limit.MiB, MaxConcurrent: 5, Resume: "codex resume --last"},
	"gemini":   {Aliases: []string{"gemini-cli"}, Packages: []string{"@google/gemini-cli"}, InitialEstimate: 1024 * limit.MiB, Resume: "gemini --resume latest"},
	"opencode": {Packages: []string{"opencode-ai"}, InitialEstimate: 1536 * limit.MiB, Resume: "opencode --continue"},
	"qwen":     {Aliases: []string{"qwen-code"}, Packages: []string{"@qwen-code/qwen-code"}, InitialEstimate: 1792 * limit.MiB, Resume: "qwen --continue"},
	"copilot":  {Aliases: []string{"copilot-cli"}, Packages: []string{"@github/copilot"}, InitialEstimate: 1024 * limit.MiB, Resume: "copilot --continue"},
	"cline":    {Packages: []string{"cline"}, InitialEstimate: 1024 * limit.MiB},
	"goose":    {Aliases: []string{"goose-cli"}, InitialEstimate: 1024 * limit.MiB, Resume: "goose session --resume"},
	"aider":    {Aliases: []string{"aider-chat"}, Packages: []string{"aider-chat"}, InitialEstimate: 1024 * limit.MiB, Resume: "aider --restore-chat-history"},
}

// ResumeLine is how a tool is asked to go on with the session that ended last, "" where it cannot be.
func ResumeLine(tool string) string { return profiles[tool].Resume }

// Profiles returns the built-in profiles, sorted by name.
func Profiles() []Profile {
	out := make([]Profile, 0, len(profiles))
	for name, p := range profiles {
		p.Name = name
		out = append(out, p)
	}
	sorting.By(out, func(a, b Profile) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// CanonicalTool maps the names people use for a tool with a built-in profile to one:
// claude-code and Claude to claude. Every other name comes back without outer blanks. It
// does not make a name safe: see [SafeName].
func CanonicalTool(name string) string {
	name = strings.TrimSpace(name)
	folded := strings.ReplaceAll(strings.ToLower(name), "_", "-")
	if _, ok := profiles[folded]; ok {
		return folded
	}
	for canonical, p := range profiles {
		if slices.Contains(p.Aliases, folded) {
			return canonical
		}
	}
	return name
}

// foldTool is the name under which configuration of a tool is found: a table, a variable
// and --tool must not differ by the case of a letter or by _ for -.
func foldTool(name string) string {
	return strings.ReplaceAll(strings.ToLower(CanonicalTool(name)), "_", "-")
}

// profileOfPackage finds the profile of a package name, without a version.
func profileOfPackage(name string) string {
	for canonical, p := range profiles {
		if slices.Contains(p.Packages, name) {
			return canonical
		}
	}
	return ""
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
