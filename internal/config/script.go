package config

import (
	"encoding/json"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/internal/statefile"
)

// maxScript bounds how much of a script or of a package.json is read, in bytes.
const maxScript = 16 << 10

// maxCommands bounds how many commands of one script are read.
const maxCommands = 256

// readHead returns the first maxScript bytes of a regular file, "" if it cannot be read.
func readHead(file string) string {
	f, err := statefile.OpenLinked(file)
	if err != nil {
		return ""
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxScript))
	if err != nil {
		return ""
	}
	return string(data)
}

// scriptCommands returns the commands that a shell script may end in: those after exec, from the last, which is the likeliest, to the first.
// A file that is not a shell script has none.
func scriptCommands(file string) [][]string {
	text := readHead(file)
	line, body, _ := strings.Cut(text, "\n")
	line, isScript := strings.CutPrefix(line, "#!")
	if !isScript {
		return nil
	}
	words := strings.Fields(line)
	if len(words) == 0 {
		return nil
	}
	interpreter := baseName(words[0])
	if interpreter == "env" {
		words = slices.DeleteFunc(words[1:], func(w string) bool { return strings.HasPrefix(w, "-") || strings.Contains(w, "=") })
		if len(words) == 0 {
			return nil
		}
		interpreter = baseName(words[0])
	}
	switch interpreter {
	case "sh", "bash", "dash", "zsh", "ksh", "ash":
	default:
		return nil
	}
	var out [][]string
	for _, argv := range slices.Backward(shellCommands(body, filepath.Dir(file))) {
		if argv[0] == "exec" && len(argv) > 1 {
			out = append(out, argv[1:])
		}
	}
	return out
}

// shell is the launcher of shells: sh -c 'LINE' or sh SCRIPT.
func shell(t *tracer, args []string) []inner {
	for i, arg := range args {
		if len(arg) < 2 || arg[0] != '-' && arg[0] != '+' {
			file := arg
			if !filepath.IsAbs(file) {
				file = filepath.Join(t.dir, file)
			}
			var out []inner
			for _, argv := range scriptCommands(file) {
				out = append(out, inner{argv: argv})
			}
			// Last, so that a script which leads to nothing known gives its own name.
			return append(out, inner{argv: args[i:], script: true})
		}
		if arg[0] == '-' && arg[1] != '-' && strings.HasSuffix(arg, "c") && i+1 < len(args) {
			commands := shellCommands(args[i+1], "")
			var out []inner
			if !slices.ContainsFunc(commands, func(argv []string) bool { return !slices.Contains(shellBuiltins, argv[0]) }) {
				return nil
			}
			for _, argv := range commands {
				out = append(out, inner{argv: argv, line: true})
			}
			return out
		}
		if arg == "-o" || arg == "-O" || arg == "--rcfile" || arg == "--init-file" {
			return shell(t, args[min(i+2, len(args)):])
		}
	}
	return nil
}

// shellBuiltins are commands that a shell carries out itself, so they start no tool.
var shellBuiltins = []string{
	":", ".", "[", "alias", "bg", "break", "cd", "continue", "echo", "eval", "exit", "export", "false", "fg", "jobs",
	"kill", "popd", "printf", "pushd", "pwd", "read", "readonly", "return", "set", "shift", "source", "test", "trap",
	"true", "type", "ulimit", "umask", "unset", "wait",
}

// windowsShell is the launcher of cmd.exe: cmd /c with words, or with one word that is a line.
func windowsShell(t *tracer, args []string) []inner {
	for len(args) > 0 && strings.HasPrefix(args[0], "/") {
		args = args[1:]
	}
	if len(args) == 1 && t.find(args[0]) == "" {
		args = windowsWords(args[0])
	}
	var out []inner
	for len(args) > 0 && len(out) < maxCommands {
		end := slices.IndexFunc(args, func(word string) bool { return word != "" && strings.Trim(word, "&|") == "" })
		if end < 0 {
			end = len(args)
		}
		if end > 0 {
			out = append(out, inner{argv: args[:end:end], line: true})
		}
		args = args[min(end+1, len(args)):]
	}
	return out
}

// windowsWords splits a line into words as cmd.exe does: quotes keep blanks and operators together, and a backslash is part of a path. &,
// && and | are words of their own.
func windowsWords(line string) (words []string) {
	var word strings.Builder
	open, quoted := false, false
	end := func() {
		if open {
			words = append(words, word.String())
		}
		word.Reset()
		open = false
	}
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '"':
			quoted, open = !quoted, true
		case quoted:
			word.WriteByte(c)
		case c == ' ' || c == '\t':
			end()
		case c == '&' || c == '|':
			end()
			from := i
			for i+1 < len(line) && line[i+1] == c {
				i++
			}
			words = append(words, line[from:i+1])
		case (c == '(' || c == ')' || c == '@') && !open: // groups, and what is not echoed
		default:
			word.WriteByte(c)
			open = true
		}
	}
	end()
	return words
}

// shellCommands splits a text into simple commands, at most maxCommands, and these into words without quotes. Unless here is "", a variable or
// command substitution at the beginning of a path is replaced by it, the directory of the script. It is not a shell, but finds names that are
// written plainly.
func shellCommands(text, here string) [][]string {
	var (
		out  [][]string
		argv []string
		word strings.Builder
		open bool // a word has begun
	)
	endWord := func() {
		if open {
			argv = append(argv, plainPath(word.String(), here))
		}
		word.Reset()
		open = false
	}
	endCommand := func() {
		endWord()
		argv = skipShellWords(argv)
		if len(argv) > 0 && len(out) < maxCommands {
			out = append(out, argv)
		}
		argv = nil
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '\'':
			end := strings.IndexByte(text[i+1:], '\'')
			if end < 0 {
				end = len(text) - i - 1
			}
			word.WriteString(text[i+1 : i+1+end])
			open, i = true, i+1+end
		case '"':
			open = true
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '$' && i+1 < len(text) && text[i+1] == '(' {
					end := closingBracket(text, i+1)
					word.WriteString(text[i:end])
					i = end - 1
					continue
				}
				if text[i] == '\\' && i+1 < len(text) {
					i++
				}
				word.WriteByte(text[i])
			}
		case '\\':
			if i+1 < len(text) && text[i+1] == '\n' {
				i++
				continue
			}
			if i++; i < len(text) {
				word.WriteByte(text[i])
				open = true
			}
		case '$':
			open = true
			if i+1 < len(text) && text[i+1] == '(' {
				end := closingBracket(text, i+1)
				word.WriteString(text[i:end])
				i = end - 1
				continue
			}
			word.WriteByte(c)
		case '#':
			if open {
				word.WriteByte(c)
				continue
			}
			if end := strings.IndexByte(text[i:], '\n'); end >= 0 {
				i += end - 1
			} else {
				i = len(text)
			}
		case ' ', '\t', '\r':
			endWord()
		case '\n', ';', '&', '|', '(', ')':
			endCommand()
		default:
			word.WriteByte(c)
			open = true
		}
	}
	endCommand()
	return out
}

// closingBracket returns the offset after the bracket that closes the one at text[i], or the length of text if none does.
func closingBracket(text string, i int) int {
	depth := 0
	for ; i < len(text); i++ {
		switch text[i] {
		case '(':
			depth++
		case ')':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(text)
}

// skipShellWords returns a command without keywords and assignments before it.
func skipShellWords(argv []string) []string {
	for len(argv) > 0 {
		switch argv[0] {
		case "then", "else", "do", "if", "elif", "while", "!", "{":
			argv = argv[1:]
			continue
		}
		rest := assignments(argv)
		if len(rest) == len(argv) {
			break
		}
		argv = rest
	}
	return argv
}

// plainPath returns a word with a leading $NAME, ${NAME…} or $(…) that is followed by a slash replaced by here.
func plainPath(word, here string) string {
	if here == "" || len(word) < 2 || word[0] != '$' {
		return word
	}
	end := 0
	switch word[1] {
	case '(':
		end = closingBracket(word, 1)
	case '{':
		end = strings.IndexByte(word, '}') + 1
	default:
		end = strings.IndexByte(word, '/')
	}
	if end <= 0 || end >= len(word) || word[end] != '/' {
		return word
	}
	return here + word[end:]
}

// packageOf returns the name of the npm package that a file belongs to, by the nearest package.json at or above its directory, at most six
// levels up, and the name of the command that the package has for the file. Each is "" if there is none.
func packageOf(file string) (name, bin string) {
	dir := filepath.Dir(file)
	for range 6 {
		text := readHead(filepath.Join(dir, "package.json"))
		if text != "" {
			var p struct {
				Name string          `json:"name"`
				Bin  json.RawMessage `json:"bin"`
			}
			// A package.json inside a package that only states {"type": "module"} has no name.
			if json.Unmarshal([]byte(text), &p) == nil && p.Name != "" {
				return p.Name, binOf(p.Name, p.Bin, dir, file)
			}
		}
		if up := filepath.Dir(dir); up != dir && filepath.Base(dir) != "node_modules" {
			dir = up
			continue
		}
		break
	}
	return "", ""
}

// binOf returns the command of a package that starts file, by the bin member of its package.json: of several the first by name, "" if none does.
func binOf(name string, bin json.RawMessage, dir, file string) string {
	var one string
	if json.Unmarshal(bin, &one) == nil && filepath.Join(dir, one) == file {
		return name[strings.LastIndexByte(name, '/')+1:]
	}
	var many map[string]string
	if json.Unmarshal(bin, &many) != nil {
		return ""
	}
	var found []string
	for command, path := range many {
		if filepath.Join(dir, path) == file {
			found = append(found, command)
		}
	}
	slices.Sort(found)
	if len(found) == 0 {
		return ""
	}
	return found[0]
}
