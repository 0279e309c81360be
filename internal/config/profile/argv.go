package profile

import (
	"slices"
	"strings"
)

// packageOptions are options of package runners that are followed by a package or another word that is not the command.
var packageOptions = []string{"-p", "--package", "--from", "--with", "--spec", "-w", "--workspace", "--prefix", "--cache", "-C", "--dir", "--title"}

// word returns the index in Argv of the tool's name, package or script, 0 without launchers; the tool's own arguments follow it. false if it
// cannot be found.
func (w *planner) word() (int, bool) {
	if len(w.in.Via) == 0 {
		return 0, true
	}
	for i, arg := range w.out.Argv {
		if i > 0 && slices.Contains(packageOptions, w.out.Argv[i-1]) {
			continue
		}
		if slices.Contains(w.agent.Packages, Package(arg)) || stem(arg) == w.agent.Name || slices.Contains(w.agent.Aliases, stem(arg)) {
			return i, true
		}
	}
	return 0, false
}

// Word returns the index in a command line of the agent's name, package or script; the agent's own arguments follow it. via are the launchers that
// the command goes through; without any the index is 0. ok is false if it cannot be found.
func (a *Agent) Word(argv, via []string) (at int, ok bool) {
	w := planner{agent: a, in: Setup{Argv: argv, Via: via}}
	w.out.Argv = argv
	return w.word()
}

// stem returns the last element of a path, without a version after @ and without the extensions .js, .mjs, .cjs, .py, .exe and .cmd.
func stem(arg string) string {
	name := arg[strings.LastIndexAny(arg, `/\`)+1:]
	if i := strings.LastIndexByte(name, '@'); i > 0 {
		name = name[:i]
	}
	for _, suffix := range []string{".js", ".mjs", ".cjs", ".exe", ".cmd", ".py"} {
		name = strings.TrimSuffix(name, suffix)
	}
	return name
}

// insert inserts arguments directly after the tool's word. If that is not found, it refuses the proxy.
func (w *planner) insert(args ...string) {
	at, ok := w.word()
	if !ok {
		w.refuse("%s takes the address by an argument, and there is no telling where its arguments begin in this command; start %s itself under plimsoll run", w.agent.Name, w.agent.Name)
		return
	}
	w.out.Argv = slices.Insert(w.out.Argv, at+1, args...)
}

// A flag is one occurrence of an option in Argv.
type flag struct {
	at     int    // index of the word that holds the value
	prefix string // of that word, before the value: "", "--name=" or "-c"
	value  string
}

// flags returns the values of an option among the tool's arguments, in order: --name VALUE, --name=VALUE, and for names of one letter -nVALUE. It
// stops at "--". If the tool's word cannot be found, it looks at all arguments, as hasFlag does.
func (w *planner) flags(names ...string) []flag {
	at, _ := w.word()
	var found []flag
	for i := at + 1; i < len(w.out.Argv) && w.out.Argv[i] != "--"; i++ {
		arg := w.out.Argv[i]
		for _, name := range names {
			switch {
			case arg == name && i+1 < len(w.out.Argv):
				found = append(found, flag{at: i + 1, value: w.out.Argv[i+1]})
				i++
			case strings.HasPrefix(arg, name+"="):
				found = append(found, flag{at: i, prefix: name + "=", value: arg[len(name)+1:]})
			case len(name) == 2 && strings.HasPrefix(arg, name) && len(arg) > 2:
				found = append(found, flag{at: i, prefix: name, value: arg[2:]})
			default:
				continue
			}
			break
		}
	}
	return found
}

// hasFlag reports whether a flag without a value is among the tool's arguments, before "--".
func (w *planner) hasFlag(name string) bool {
	at, _ := w.word()
	for _, arg := range w.out.Argv[at+1:] {
		if arg == "--" {
			return false
		}
		if arg == name {
			return true
		}
	}
	return false
}

// replace changes the value of a flag in Argv.
func (w *planner) replace(f flag, value string) { w.out.Argv[f.at] = f.prefix + value }
