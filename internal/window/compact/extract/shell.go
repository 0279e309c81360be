package extract

import (
	"slices"
	"strings"
)

const (
	maxWords    = 512 // of one line of a shell command
	maxCommands = 400 // lines of one
)

// addShell adds the files that a shell command changes: by redirection, or by commands that are known to change files. It does not parse
// the shell's language: a mistake means one more path in a list.
func (e *edits) addShell(text string) {
	heredoc := ""
	n := 0
	for row := range strings.Lines(text) {
		row = strings.TrimSpace(row)
		if heredoc != "" {
			if row == heredoc {
				heredoc = ""
			} else {
				e.addProgram(row)
			}
			continue
		}
		if n++; n > maxCommands {
			return
		}
		if at := strings.Index(row, "<<"); at >= 0 && !strings.HasPrefix(row[at:], "<<<") {
			mark := strings.TrimLeft(row[at+2:], "-~ ")
			end := strings.IndexAny(mark, " ;|&>)")
			if end < 0 {
				end = len(mark)
			}
			heredoc = strings.Trim(mark[:end], `'"\`)
		}
		e.addProgram(row)
		e.addCommands(shellWords(row))
	}
}

// shellWords returns the words of a line of shell, with quotes removed; operators that separate commands or redirect are words of their
// own.
func shellWords(row string) (words []string) {
	var b strings.Builder
	quoted := false
	flush := func() {
		if b.Len() > 0 || quoted {
			words = append(words, b.String())
		}
		b.Reset()
		quoted = false
	}
	for i := 0; i < len(row) && len(words) < maxWords; i++ {
		switch c := row[i]; c {
		case ' ', '\t':
			flush()
		case '\'', '"':
			quoted = true
			end := strings.IndexByte(row[i+1:], c)
			if end < 0 {
				b.WriteString(row[i+1:])
				i = len(row)
				continue
			}
			b.WriteString(row[i+1 : i+1+end])
			i += end + 1
		case '\\':
			if i+1 < len(row) {
				i++
				b.WriteByte(row[i])
			}
		case ';', '|', '&', '>', '<', '(', ')':
			// "2>" and "&>" keep what stands before them.
			if c == '>' && b.Len() == 1 && (b.String() == "1" || b.String() == "2") {
				b.WriteByte('>')
			} else {
				flush()
				b.WriteByte(c)
			}
			for i+1 < len(row) && (row[i+1] == '>' || row[i+1] == c || c == '>' && (row[i+1] == '&' || row[i+1] == '|')) {
				i++
				b.WriteByte(row[i])
			}
			flush()
		default:
			b.WriteByte(c)
		}
	}
	flush()
	return words
}

// isSeparator reports whether a word of a command line separates commands.
func isSeparator(word string) bool {
	switch word {
	case ";", ";;", "|", "||", "&", "&&", "(", ")", "((", "))":
		return true
	}
	return false
}

// addCommands adds the files that the commands of one line change.
func (e *edits) addCommands(words []string) {
	for len(words) > 0 {
		end := slices.IndexFunc(words, isSeparator)
		if end < 0 {
			end = len(words)
		}
		e.addCommand(words[:end])
		words = words[min(end+1, len(words)):]
	}
}

// runners stand before the command that they run.
var runners = []string{"sudo", "env", "time", "nice", "nohup", "command", "exec", "then", "do", "else", "if", "!", "{", "npx", "bunx", "pnpm", "uvx"}

// addCommand adds the files that one command changes: by redirection, or because the command is known to change files.
func (e *edits) addCommand(words []string) {
	var rest []string
	for i := 0; i < len(words); i++ {
		switch words[i] {
		case ">", ">>", ">|", "1>", "1>>", "&>", "&>>":
			if i++; i < len(words) {
				e.shellPath(words[i])
			}
		case "2>", "2>>", "<", "<<", "<<<", ">&", "2>&", "<>":
			i++
		default:
			rest = append(rest, words[i])
		}
	}
	for len(rest) > 0 && (slices.Contains(runners, rest[0]) || strings.Contains(rest[0], "=") && !strings.HasPrefix(rest[0], "-")) {
		rest = rest[1:]
	}
	if len(rest) < 2 {
		return
	}
	name := rest[0][strings.LastIndexByte(rest[0], '/')+1:]
	flags, plain := splitFlags(rest[1:])
	has := func(flag string) bool {
		return slices.ContainsFunc(flags, func(f string) bool {
			return strings.HasPrefix(f, flag) || len(flag) == 2 && !strings.HasPrefix(f, "--") && strings.IndexByte(f, flag[1]) > 0
		})
	}
	switch name {
	case "sed", "gsed":
		if has("-i") || has("--in-place") {
			if !has("-e") && !has("-f") && !has("--expression") && len(plain) > 0 {
				plain = plain[1:]
			}
			e.shellPaths(plain)
		}
	case "perl", "ruby", "awk", "gawk":
		if has("-i") && len(plain) > 1 {
			e.shellPaths(plain[1:]) // behind the program
		}
	case "tee", "touch", "truncate", "rm", "unlink", "shred", "patch", "ed", "ex", "chmod":
		e.shellPaths(plain)
	case "mv", "cp", "install", "ln", "rsync":
		if name == "mv" {
			e.shellPaths(plain)
		} else if len(plain) > 1 {
			e.shellPath(plain[len(plain)-1])
		}
	case "git":
		if len(plain) > 1 && slices.Contains([]string{"mv", "rm", "restore", "checkout", "add"}, plain[0]) {
			e.shellPaths(plain[1:])
		}
	case "gofmt", "gofumpt", "goimports":
		if has("-w") {
			e.shellPaths(plain)
		}
	case "prettier", "eslint", "biome", "ruff":
		if has("--write") || has("-w") || has("--fix") {
			e.shellPaths(plain)
		}
	case "yq", "crudini", "sd", "comby":
		if name != "yq" || has("-i") {
			e.shellPaths(plain)
		}
	case "Set-Content", "Add-Content", "Out-File", "New-Item", "Remove-Item", "Move-Item", "Copy-Item", "Rename-Item":
		e.shellPaths(plain)
	case "black", "rustfmt", "isort", "dos2unix":
		e.shellPaths(plain)
	case "bash", "sh", "zsh", "dash":
		if len(flags) > 0 && strings.HasSuffix(flags[0], "c") && len(plain) > 0 && len(plain[0]) < len(strings.Join(words, " ")) {
			e.addCommands(shellWords(plain[0]))
		}
	}
}

// splitFlags returns the flags among a command's words, and the other words.
func splitFlags(words []string) (flags, plain []string) {
	for i, w := range words {
		switch {
		case w == "--":
			return flags, append(plain, words[i+1:]...)
		case len(w) > 1 && w[0] == '-':
			flags = append(flags, w)
		default:
			plain = append(plain, w)
		}
	}
	return flags, plain
}

// shellPaths adds the words of a command that look like paths.
func (e *edits) shellPaths(words []string) {
	for _, w := range words {
		e.shellPath(w)
	}
}

// shellPath adds a word of a command if it looks like a path.
func (e *edits) shellPath(word string) {
	if looksLikePath(word) || couldBePath(word) && (word == "Makefile" || word == "Dockerfile") {
		e.addPath(word)
	}
}

// addProgram adds the file that a line of a script opens to write: open("p", "w"), Path("p").write_text, fs.writeFileSync("p", …).
func (e *edits) addProgram(row string) {
	for _, call := range []string{"open(", "Path(", "writeFileSync(", "writeFile(", "File.write(", "WriteFile(", "file_put_contents("} {
		_, after, ok := strings.Cut(row, call)
		if !ok {
			continue
		}
		rest := strings.TrimLeft(after, "rbfu")
		if rest == "" || rest[0] != '\'' && rest[0] != '"' {
			continue
		}
		end := strings.IndexByte(rest[1:], rest[0])
		if end < 0 {
			continue
		}
		path, behind := rest[1:1+end], rest[2+end:]
		switch call {
		case "open(":
			mode := strings.TrimLeft(behind, ", mode=")
			if len(mode) < 2 || mode[0] != '\'' && mode[0] != '"' || !strings.ContainsAny(mode[1:min(len(mode), 4)], "wax+") {
				continue
			}
		case "Path(":
			if !strings.Contains(behind, ".write_") && !strings.Contains(behind, ".unlink") && !strings.Contains(behind, ".touch") && !strings.Contains(behind, ".rename") {
				continue
			}
		}
		e.shellPath(path)
	}
}
