package config

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/internal/config/profile"
)

// Match is the tool that a command starts.
type Match struct {
	Tool    string   // name of the history and the slots; see [SafeName]
	Profile string   // name of the built-in profile, "" if there is none for it
	Via     []string // launchers the command goes through, the outermost first
	// Variant tells the uses of a generic tool apart: "test" for make test, "run build" for npm run build, a digest of
	// the text after sh -c. "" for other tools. It holds no value of an option.
	Variant string
}

// maxLaunchers bounds how many launchers one command is followed through.
const maxLaunchers = 8

// Tool returns the tool that a command line starts, without configuration: see [Loaded.Tool].
func Tool(command []string) Match { return (*Loaded)(nil).Tool(command) }

// Tool returns the tool that a command line starts. The first of these that knows the name decides: a match list of [tools.NAME], a built-in
// profile, a table's name; with a nil l only the profile. It looks through launchers (npx, node, python -m, env, timeout, sh -c, …), symbolic
// links and shell scripts that end by executing a tool it knows. Files are read, at most 16 KiB of each, and never run. An unknown tool gets the
// name of the command behind the launchers, and no command at all the name command.
func (l *Loaded) Tool(command []string) Match {
	if len(command) == 0 {
		return Match{Tool: SafeName("")}
	}
	t := tracer{loaded: l, dir: ".", path: os.Getenv("PATH")}
	if l != nil {
		t.dir, t.path = l.dir, l.path
	}
	if name, via, ok := t.trace(command, nil); ok {
		m := Match{Tool: name, Via: via}
		if _, known := profile.Find(name); known {
			m.Profile = name
		} else {
			m.Variant = variantOf(t.argv)
		}
		return m
	}
	name, via := t.last, t.via
	return Match{Tool: SafeName(name), Via: via, Variant: variantOf(t.argv)}
}

// tracer follows a command through launchers.
type tracer struct {
	loaded *Loaded
	dir    string // of relative paths
	path   string // list of directories to find commands in
	last   string // base name of the innermost command so far
	via    []string
	argv   []string // of the command whose name is last; nil if that is a script
}

// trace returns the name of the known tool that argv starts, and the launchers it goes through; false if there is none. t.last and t.via
// then describe the unknown one. via are the launchers so far.
func (t *tracer) trace(argv, via []string) (string, []string, bool) {
	if len(argv) == 0 || len(via) > maxLaunchers {
		return "", nil, false
	}
	base := baseName(argv[0])
	t.last, t.via, t.argv = base, via, argv
	inside := append(slices.Clone(via), base)
	if base == "exec" || base == "command" {
		inside = via // words of the shell, not programs
	}
	launch, ok := launchers[launcherName(base)]
	if !ok {
		if name := t.profileOf(base); name != "" {
			return name, via, true
		}
	} else {
		// A table for python must not hide what python -m aider is.
		inners := launch(t, argv[1:])
		for _, inner := range inners {
			if inner.pkg != "" {
				if a, ok := profile.OfPackage(inner.pkg); ok {
					return a.Name, inside, true
				}
			}
			if len(inner.argv) == 0 {
				continue
			}
			if inner.script {
				if name, ok := t.scriptTool(inner.argv[0], inside); ok {
					return name, inside, true
				}
				continue
			}
			if name, via, ok := t.trace(inner.argv, inside); ok {
				return name, via, true
			}
		}
		if name := t.profileOf(base); name != "" {
			t.argv = argv
			return name, via, true
		}
		if n := len(inners); n > 1 && inners[n-1].line && inners[n-1].argv[0] != "exec" {
			t.last, t.via, t.argv = base, via, argv // several commands, none of them known: the shell is the tool
		}
		return "", nil, false
	}
	file := t.find(argv[0])
	if file == "" {
		return "", nil, false
	}
	// Whatever a wrapper runs: if nobody knows that, the wrapper itself is the tool.
	defer func(last string, via []string) { t.last, t.via, t.argv = last, via, argv }(base, via)
	if real, err := filepath.EvalSymlinks(file); err == nil && real != file {
		if name := t.profileOf(baseName(real)); name != "" {
			return name, inside, true
		}
		file = real
	}
	name, _ := packageOf(file)
	if a, ok := profile.OfPackage(name); ok {
		return a.Name, inside, true
	}
	for _, inner := range scriptCommands(file) {
		if name, via, ok := t.trace(inner, inside); ok {
			return name, via, true
		}
	}
	return "", nil, false
}

// profileOf returns the tool for the base name of a command, "" if it is not known.
func (t *tracer) profileOf(base string) string {
	if t.loaded != nil {
		if name := t.loaded.matches[base]; name != "" {
			return name
		}
	}
	if a, ok := profile.Named(base); ok {
		return a.Name
	}
	if t.loaded != nil {
		return t.loaded.names[foldTool(base)]
	}
	return ""
}

// scriptTool returns the tool for a file that an interpreter runs, by its name or the package it belongs to; false if it is not known. t.last then
// has the name of the package's command for the file, else the file's.
func (t *tracer) scriptTool(file string, via []string) (string, bool) {
	t.last, t.via, t.argv = baseName(file), via, nil
	if name := t.profileOf(baseName(file)); name != "" {
		return name, true
	}
	if name := t.profileOf(strings.TrimSuffix(baseName(file), filepath.Ext(file))); name != "" {
		return name, true
	}
	if !filepath.IsAbs(file) {
		file = filepath.Join(t.dir, file)
	}
	if real, err := filepath.EvalSymlinks(file); err == nil {
		file = real
	}
	pkg, bin := packageOf(file)
	if a, ok := profile.OfPackage(pkg); ok {
		return a.Name, true
	}
	if bin != "" {
		t.last = bin
		if name := t.profileOf(bin); name != "" {
			return name, true
		}
	}
	return "", false
}

// find returns the path of the file that a command names, as exec would find it, but not in relative directories of PATH; "" if there is none.
func (t *tracer) find(command string) string {
	if strings.ContainsRune(command, filepath.Separator) || strings.Contains(command, "/") {
		if !filepath.IsAbs(command) {
			command = filepath.Join(t.dir, command)
		}
		return executable(command)
	}
	for _, dir := range filepath.SplitList(t.path) {
		if file := executable(filepath.Join(dir, command)); file != "" && filepath.IsAbs(dir) {
			return file
		}
	}
	return ""
}

// executable returns the path of a file that can be executed; else "". On Windows it tries .exe, .cmd and .bat behind it first, and the bare
// name last.
func executable(file string) string {
	suffixes := []string{""}
	if runtime.GOOS == "windows" {
		suffixes = []string{".exe", ".cmd", ".bat", ""}
	}
	for _, s := range suffixes {
		fi, err := os.Stat(file + s)
		if err == nil && fi.Mode().IsRegular() && (runtime.GOOS == "windows" || fi.Mode().Perm()&0o111 != 0) {
			return file + s
		}
	}
	return ""
}

// baseName returns the last element of a path of any system, without the extension by which Windows recognises programs.
func baseName(path string) string {
	path = strings.TrimRight(path, `/\`)
	if i := strings.LastIndexAny(path, `/\`); i >= 0 {
		path = path[i+1:]
	}
	for _, suffix := range []string{".exe", ".cmd", ".bat", ".ps1"} {
		if n := len(path) - len(suffix); n > 0 && strings.EqualFold(path[n:], suffix) {
			return path[:n]
		}
	}
	return path
}

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

// SafeName returns a tool's name made from any text: with letters, digits, '.', '_' and '-' only, a letter or digit first, at most 64 bytes; other
// characters become one '-'. If nothing is left of the text it is "command"; a name reserved by Windows gets the prefix "tool-".
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
