package extract

import (
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/internal/rawjson"
)

// failures holds what went wrong in the last run of each command, and in earlier runs, which are marked as over.
type failures struct {
	list []failure
	by   map[string]int // index in list of a command's last run
}

// recordRun records the result of a command in place of those of its earlier runs, and reports whether it failed. reads means that the
// command only shows files: then only a result that the client marked as an error is a failure.
func (f *failures) recordRun(command string, turn int32, text string, isError, reads bool) (found bool) {
	if reads && !isError {
		return false // a file that speaks of errors
	}
	one, found := readFailure(unwrapResult(text), isError)
	command = oneLine(command, maxCommand)
	f.retireCommand(command)
	if found {
		one.command, one.turn = command, turn
		f.addFailure(one)
	}
	return found
}

// retireCommand marks the failure of a command as over, because the command was run again.
func (f *failures) retireCommand(command string) {
	if at, ok := f.by[command]; ok {
		f.list[at].over = true
		delete(f.by, command)
	}
}

// addFailure adds a failure as the newest of its command. One without lines is ignored; if there are too many, the oldest quarter is
// dropped.
func (f *failures) addFailure(one failure) {
	if f.by == nil {
		f.by = map[string]int{}
	}
	if len(one.lines) == 0 {
		return
	}
	if len(f.list) >= maxFailures {
		f.list = slices.Delete(f.list, 0, maxFailures/4)
		clear(f.by)
		for i := range f.list {
			if !f.list[i].over {
				f.by[f.list[i].command] = i
			}
		}
	}
	if !one.over {
		f.retireCommand(one.command)
		f.by[one.command] = len(f.list)
	}
	f.list = append(f.list, one)
}

// commandOf returns the command that a call ran: a shell's command line, or the tool's name with its arguments. reads means that it only
// shows the contents of files.
func commandOf(tool string, arguments *value) (command string, reads bool) {
	if arguments.isPlain() {
		return oneLine(arguments.text, maxCommand), false
	}
	for i := range arguments.members {
		m := &arguments.members[i]
		if !slices.Contains(shellKeys, plainKey(m.key)) {
			continue
		}
		text := m.text
		if m.array && len(m.members) > 0 {
			words := make([]string, 0, len(m.members))
			for k := range m.members[:min(len(m.members), 64)] {
				words = append(words, m.members[k].text)
			}
			if len(words) > 2 && strings.HasPrefix(words[1], "-") && strings.HasSuffix(words[1], "c") {
				words = words[2:]
			}
			text = strings.Join(words, " ")
		}
		if text = oneLine(text, maxCommand); text != "" {
			return text, onlyReads(text)
		}
	}
	var b strings.Builder
	b.WriteString(tool)
	arguments.forPlainValues(func(text, key string) {
		if b.Len() < maxCommand && len(text) < 200 {
			b.WriteString(" " + text)
		}
	})
	return oneLine(b.String(), maxCommand), hasWord(tool, readingWords) && !hasWord(tool, writingWords) && !hasWord(tool, runningWords)
}

// runningWords are in the names of tools that read the output of a command or a check.
var runningWords = []string{"terminal", "process", "output", "shell", "console", "task", "job", "log", "logs", "test", "tests", "build", "diagnostics", "problems", "errors", "lint", "check", "stdin", "session", "run", "exec"}

// unwrapResult returns the text of a result that a client has wrapped in JSON, short values with their names; any other text as it is.
func unwrapResult(text string) string {
	if !strings.HasPrefix(text, "{") {
		return text
	}
	if _, err := rawjson.Only([]byte(text)); err != nil {
		return text
	}
	v := parseArguments(text)
	var b strings.Builder
	v.forPlainValues(func(text, key string) {
		if len(text) < 40 {
			b.WriteString(key + ": ")
		}
		b.WriteString(text + "\n")
	})
	return b.String()
}

// readers are commands that show what is in files.
var readers = []string{"cat", "head", "tail", "less", "more", "grep", "rg", "ag", "egrep", "find", "fd", "ls", "tree", "wc", "nl", "bat", "stat", "file", "diff", "cut", "sort", "jq", "yq", "awk", "history", "printenv", "env", "echo"}

// editsInPlace reports whether an argument of sed makes it write the file that it reads.
func editsInPlace(argument string) bool {
	return strings.HasPrefix(argument, "--in-place") || strings.HasPrefix(argument, "-") && !strings.HasPrefix(argument, "--") && strings.Contains(argument, "i")
}

// onlyReads reports whether every command of a line only shows the contents of files. It returns false for files that may hold the output
// of a command, such as logs and reports.
func onlyReads(command string) bool {
	if containsAny(command, []string{".log", ".out", "/tmp/", "output", "report", "result", "junit", ".xml", ".txt"}) {
		return false // of what a command said
	}
	words := shellWords(command)
	for len(words) > 0 {
		end := slices.IndexFunc(words, isSeparator)
		if end < 0 {
			end = len(words)
		}
		if one := words[:end]; len(one) > 0 {
			name := one[0][strings.LastIndexByte(one[0], '/')+1:]
			switch {
			case name == "cd" || slices.Contains(readers, name):
			case name == "sed" && !slices.ContainsFunc(one[1:], editsInPlace):
			case name == "git" && len(one) > 1 && slices.Contains([]string{"show", "log", "diff", "blame", "grep", "status", "ls-files"}, one[1]):
			default:
				return false
			}
		}
		words = words[min(end+1, len(words)):]
	}
	return true
}

// maxCalledBytes bounds the arguments of a call that [Todos] and [Command] look into, in bytes.
const maxCalledBytes = 256 << 10

// Todos returns the texts, without their state, of the things to do that one call states as a whole list, as TodoWrite, update_plan,
// write_todos and their like do. It is nil for any other call, and for a tool that adds or changes single items.
func Todos(tool, arguments string) (items []string) {
	if !keepsPlan(tool) || len(arguments) > maxCalledBytes {
		return nil
	}
	v := parseArguments(arguments)
	r := planReader{plans: &plans{}, name: tool, named: true}
	r.readValue(&v)
	if !r.found {
		return nil
	}
	for _, p := range r.list {
		for _, item := range p.items {
			items = append(items, item.text)
		}
	}
	return items
}

// KeepsTodos reports whether a tool may, by its name, keep a list of things to do.
func KeepsTodos(tool string) bool { return keepsPlan(tool) }

// Command returns the command line that a call has a shell run, on one line, at most 160 bytes of it; "" for any other call.
func Command(tool, arguments string) string {
	if len(arguments) > maxCalledBytes {
		return ""
	}
	v := parseArguments(arguments)
	if !slices.ContainsFunc(v.members, func(m value) bool { return slices.Contains(shellKeys, plainKey(m.key)) }) {
		return ""
	}
	command, _ := commandOf(tool, &v)
	return command
}

// Words returns the words of a command line as a shell splits it, with quotes removed; operators between commands are words of their own.
func Words(line string) []string { return shellWords(line) }
