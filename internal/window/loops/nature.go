package loops

import (
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/plimsoll/plimsoll/internal/window/compact/extract"
)

// nature says what a call probably does, judged by its name and arguments. It decides what a repetition of it means.
type nature uint8

const (
	acts  nature = iota // may change something; also what is not known
	looks               // reads what is there
	opens               // reads one file, which another call changes or does not
	asks                // asks how far something is, which somebody else is at
	waits
)

// polls reports whether a call of this nature may repeat with the same result without being a loop, because it waits for something or asks
// for its state.
func (n nature) polls() bool { return n == asks || n == waits }

// Words in the names of tools. A name has the nature of the first list that has a word of it.
var (
	waitNames = strings.Fields("wait sleep delay stdin") // write_stdin is how Codex waits for a command that runs
	actNames  = strings.Fields("write edit update create delete remove set add insert replace patch apply move rename send submit")
	askNames  = strings.Fields("poll status progress watch monitor tail logs health ping jobs output")
	lookNames = strings.Fields("get list read search find view show fetch query describe glob grep ls cat lookup inspect explain think diff check resolve browse retrieve recall count")
)

// Words that a command line begins with. What waits makes the whole line a wait; the line asks or looks if all its commands do.
var (
	waitCommands = strings.Fields("sleep wait watch")
	askCommands  = strings.Fields("tail ps pgrep jobs top uptime free df nvidia-smi squeue sacct qstat bjobs lsof ss netstat ping pg_isready journalctl")
	lookCommands = strings.Fields(`cat head ls find grep rg fd wc pwd echo printf stat file which whereis type tree du diff cmp sort uniq cut awk jq yq less more nl od xxd
		strings date whoami id env printenv uname hostname test true basename dirname realpath readlink sha256sum md5sum`)
)

// asking are commands with a first argument that asks for a state.
var asking = map[string][]string{
	"docker": {"ps", "logs", "inspect", "stats", "top", "wait"}, "podman": {"ps", "logs", "inspect", "stats", "top", "wait"},
	"kubectl": {"get", "describe", "logs", "rollout", "top", "wait"}, "oc": {"get", "describe", "logs", "rollout", "status", "wait"},
	"systemctl": {"status", "is-active", "is-failed", "show", "list-units"}, "service": {"--status-all"}, "argocd": {"app"},
	"gh": {"run", "pr", "workflow", "api"}, "glab": {"ci", "pipeline", "mr"}, "helm": {"status", "list", "history"}, "fly": {"status", "logs"},
	"aws": nil, "gcloud": nil, "az": nil, "redis-cli": {"ping", "info"},
}

// looking are commands with a first argument that only reads.
var looking = map[string][]string{
	"git": {"status", "log", "diff", "show", "branch", "blame", "grep", "ls-files", "rev-parse", "remote", "describe", "cat-file"}, "go": {"doc", "env", "list", "version"},
	"npm": {"ls", "list", "view"}, "pip": {"list", "show", "freeze"}, "cargo": {"tree", "metadata"}, "sed": {"-n"},
}

// openNames are words in the names of tools that read a file, where one of fileKeys is among the arguments.
var (
	openNames = strings.Fields("read view cat")
	fileKeys  = strings.Fields(`"path" "file_path" "filePath" "absolute_path" "target_file" "file" "filename"`)
)

// maxLooked bounds the arguments of a call that are read for its nature, in bytes.
const maxLooked = 16 << 10

// natureOf returns the nature of a call, whether it acts, asks, waits or looks, by the tool's name, its arguments and the command line in
// them. An unknown one acts.
func natureOf(name, arguments string) nature {
	if len(arguments) > maxLooked { // a file that is written, mostly
		return acts
	}
	for _, order := range []string{`"wait"`, `"poll"`, `"sleep"`} { // as the value of an "action"
		if i := strings.Index(arguments, order); i > 0 && !strings.HasPrefix(strings.TrimLeft(arguments[i+len(order):], " \t\n"), ":") {
			return asks
		}
	}
	words := wordsOf(name)
	if line := commandOf(name, arguments); line != "" && !slices.Contains(words, "stdin") {
		return natureOfLine(line)
	}
	for _, list := range []struct {
		words  []string
		nature nature
	}{{waitNames, waits}, {actNames, acts}, {askNames, asks}, {lookNames, looks}} {
		if !anyOf(words, list.words) {
			continue
		}
		if list.nature == looks && anyOf(words, openNames) && slices.ContainsFunc(fileKeys, func(k string) bool { return strings.Contains(arguments, k) }) {
			return opens
		}
		return list.nature
	}
	return acts
}

// anyOf reports whether one of the words is in a list.
func anyOf(words, list []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(list, w) })
}

// commandOf returns the command line that a call runs; "" for any other call. Codex writes it into a script: exec_command({cmd: "ls"}).
func commandOf(name, arguments string) string {
	if strings.HasPrefix(strings.TrimSpace(arguments), "{") {
		return extract.Command(name, arguments)
	}
	_, rest, ok := strings.Cut(arguments, "exec_command(")
	if !ok {
		return ""
	}
	if _, rest, ok = strings.Cut(rest, "cmd:"); !ok {
		return ""
	}
	rest = strings.TrimSpace(rest)
	if rest == "" || !strings.ContainsRune("\"'`", rune(rest[0])) {
		return ""
	}
	line, _, _ := strings.Cut(rest[1:], rest[:1])
	return line
}

// natureOfLine returns the nature of a command line: of its commands the one that changes the most, but a wait counts for the whole.
func natureOfLine(line string) nature {
	found := waits
	any := false
	for command := range commandsIn(extract.Words(line)) {
		n := natureOfCommand(command)
		if n == waits {
			return waits
		}
		if command[0] != "cd" && command[0] != "echo" {
			found, any = min(found, n), true
		}
	}
	if !any {
		return acts
	}
	return found
}

// commandsIn yields the commands of a line, each as its words; of several joined by pipes only the first.
func commandsIn(words []string) func(func([]string) bool) {
	return func(yield func([]string) bool) {
		start, piped := 0, false
		for i := 0; i <= len(words); i++ {
			if i < len(words) && !slices.Contains([]string{";", "&&", "||", "|", "&", "(", ")"}, words[i]) {
				continue
			}
			if start < i && !piped && !yield(words[start:i]) {
				return
			}
			piped = i < len(words) && words[i] == "|"
			start = i + 1
		}
	}
}

// natureOfCommand returns the nature of one command: whether it changes something, waits, asks or looks. An unknown command counts as one
// that changes something.
func natureOfCommand(words []string) nature {
	for len(words) > 1 && (slices.Contains([]string{"sudo", "time", "do", "then", "while", "until", "if", "!", "timeout", "nohup", "env"}, words[0]) || strings.Contains(words[0], "=")) {
		words = words[1:]
		for len(words) > 1 && (words[0][:min(1, len(words[0]))] == "-" || isNumber(words[0])) { // of timeout
			words = words[1:]
		}
	}
	name, first := path.Base(words[0]), ""
	if len(words) > 1 {
		first = words[1]
	}
	for _, w := range words[1:] {
		if w == "--watch" || w == "--wait" || w == "--follow" {
			return waits
		}
		if strings.HasPrefix(w, ">") {
			return acts
		}
	}
	switch list, known := asking[name]; {
	case slices.Contains(waitCommands, name):
		return waits
	case slices.Contains(askCommands, name):
		return asks
	case known && list == nil: // a cloud's: its verbs stand behind its services
		for _, w := range words[1:] {
			if verb, _, _ := strings.Cut(w, "-"); slices.Contains([]string{"describe", "get", "list", "show", "wait"}, verb) {
				return asks
			}
		}
		return acts
	case known && slices.Contains(list, first):
		return asks
	case slices.Contains(lookCommands, name), slices.Contains(looking[name], first):
		return looks
	case name == "curl" || name == "wget":
		if slices.ContainsFunc(words, func(w string) bool { return strings.Contains(w, "localhost") || strings.Contains(w, "127.0.0.1") }) {
			return asks
		}
	}
	return acts
}

// isNumber reports whether a word is made of digits, dots and the units s, m and h.
func isNumber(word string) bool {
	return word != "" && strings.Trim(word, "0123456789.smh") == ""
}

// wordsOf returns the words in a tool's name, in lower case: bash_output and BashOutput have the same.
func wordsOf(name string) (words []string) {
	start := 0
	flush := func(end int) {
		if start < end {
			words = append(words, strings.ToLower(name[start:end]))
		}
	}
	name = name[:min(len(name), 256)]
	lower := false
	for i, r := range name {
		switch {
		case !unicode.IsLetter(r):
			flush(i)
			start, lower = i+len(string(r)), false
		case unicode.IsUpper(r) && lower:
			flush(i)
			start, lower = i, false
		default:
			lower = unicode.IsLower(r)
		}
	}
	flush(len(name))
	return words
}
