// Package shellenv writes the text by which an interactive shell starts agents in runs: `claude` typed at a prompt becomes
// `plimsoll run -- claude`.
//
//	text, err := shellenv.Script(shellenv.Options{Shell: "zsh"}) // for eval "$(plimsoll shellenv)"
//
// The text defines a function for each agent that is installed. In a shell that is not interactive nothing is defined, and a function that
// got there another way (bash can export them) calls the agent itself: scripts, and what an agent starts, are as they were. A function of
// the same name that the user has made is left alone, and that is said. The shell's variable __plimsoll_tools, which is not exported, has
// the names that were defined: by it the text of Undo knows what to remove.
//
// For bash and zsh the text uses the word "function", after which no alias is expanded: alias claude='claude --verbose' goes on working.
// In a plain sh the alias is put aside while the function is defined. The texts are tested in real shells, in a pseudo-terminal and without.
package shellenv

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/internal/printable"
	"github.com/plimsoll/plimsoll/internal/shellwords"
)

// Options of a text. The zero value is the text for the shell that asks, with the known agents that are installed.
type Options struct {
	// Shell is one of [Shells], or a name of another POSIX shell; "" is the one that asks, see [Detect].
	Shell string
	// Tools are the commands to protect; nil means [Known]. Those that are not installed are left out.
	Tools []string
	// Undo gives the text that removes what the other text has defined.
	Undo bool
	// Getenv looks up the environment; nil means os.Getenv.
	Getenv func(string) string
}

// MaxTools bounds the commands that one text protects.
const MaxTools = 100

// Script returns shell code for the shell to evaluate, which defines a function for each tool that runs it under `plimsoll run`; with Undo
// code that removes them.
func Script(o Options) (string, error) {
	if o.Getenv == nil {
		o.Getenv = os.Getenv
	}
	shell, err := Choose(o.Shell, o.Getenv)
	if err != nil {
		return "", err
	}
	if err := checkNames(shell, o.Tools); err != nil {
		return "", err
	}
	if o.Undo {
		if shell == Fish {
			return fishUndo, nil
		}
		return posixUndo, nil
	}
	if o.Tools == nil {
		o.Tools = Known()
	}
	path, inPath, err := Program()
	if err != nil {
		return "", err
	}
	if inPath {
		path = programName
	}
	there := Installed(o.Tools)
	var b strings.Builder
	if shell == Fish {
		b.WriteString("if status is-interactive;\n")
	} else {
		b.WriteString(posixHead)
	}
	for _, name := range there {
		switch shell {
		case Fish:
			writeFish(&b, name, path)
		case SH:
			writeSh(&b, name, path)
		default:
			writeBash(&b, shell, name, path)
		}
	}
	if shell == Fish {
		b.WriteString("true;\nend;\n")
		return b.String(), nil
	}
	b.WriteString(posixTail)
	for _, name := range o.Tools {
		if !slices.Contains(there, name) {
			b.WriteString("# " + name + " is not in PATH\n")
		}
	}
	return b.String(), nil
}

// Names splits names of commands, and refuses what is none in this shell.
func Names(shell, text string) ([]string, error) {
	names := strings.Fields(text)
	return names, checkNames(shell, names)
}

// checkNames returns an error if there are too many tools, or one has a name that a function cannot have in this shell.
func checkNames(shell string, tools []string) error {
	if len(tools) > MaxTools {
		return fmt.Errorf("%d commands are more than the %d that one hook protects", len(tools), MaxTools)
	}
	for _, name := range tools {
		ok := name != "" && name != programName
		for i, r := range name {
			letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '_'
			more := r >= '0' && r <= '9' || (r == '-' || r == '.') && shell != SH // POSIX: a function has the name of a variable
			ok = ok && (letter || i > 0 && more)
		}
		if !ok {
			return fmt.Errorf("%q cannot be protected in %s: a function has the name of a command without a folder, of letters, digits and _ (- and . also, in bash, zsh and fish)", printable.Name(name), shell)
		}
	}
	return nil
}

// The texts go by what POSIX, bash(1), zshmisc(1) and fish-language(1) say. Backslashes keep aliases of a user's out.
const (
	posixHead = "case $- in\n*i*)\n"
	posixTail = ":\n;;\nesac\n"

	posixUndo = `while [ -n "${__plimsoll_tools-}" ]; do
	unset -f "${__plimsoll_tools%% *}"
	case $__plimsoll_tools in
	*' '*) __plimsoll_tools=${__plimsoll_tools#* } ;;
	*) __plimsoll_tools= ;;
	esac
done
unset __plimsoll_tools
`
	fishUndo = `for tool in $__plimsoll_tools;
functions --erase $tool;
end;
set --erase --global __plimsoll_tools;
true;
`
)

// taken returns what is said of a function that somebody else has defined.
func taken(name string) string {
	return shellwords.Quote("plimsoll: "+name+" is a function of yours already and stays as it is; for limits let it call: plimsoll run -- "+name) + " >&2"
}

// writeGuard writes the beginning of a definition in a POSIX shell. exists is a shell command that succeeds if there is a function of that
// name, which is then left alone. What is written next is done only for functions of ours.
func writeGuard(b *strings.Builder, name, exists string) {
	fmt.Fprintf(b, `case " ${__plimsoll_tools-} " in
*' %[1]s '*) ;;
*)
	if %[2]s; then
		\echo %[3]s
	else
		__plimsoll_tools="${__plimsoll_tools:+$__plimsoll_tools }%[1]s"
	fi
	;;
esac
case " ${__plimsoll_tools-} " in
*' %[1]s '*)
`, name, exists, taken(name))
}

// functionBody returns the body of a function in a POSIX shell, which runs the tool under plimsoll in interactive shells only.
func functionBody(name, program string) string {
	return fmt.Sprintf(`{
	case $- in
	*i*) \command %s run -- %s "$@" ;;
	*) \command %[2]s "$@" ;;
	esac
}`, quoted(program), name)
}

// writeBash writes the definition of a function in bash or zsh.
func writeBash(b *strings.Builder, shell, name, program string) {
	exists := `\declare -F ` + name + ` >/dev/null`
	if shell == Zsh {
		exists = `[ -n "${functions[` + name + `]-}" ]`
	}
	writeGuard(b, name, exists)
	b.WriteString("function " + name + " " + functionBody(name, program) + "\n;;\nesac\n")
}

// writeSh writes the definition of a function in a shell where only "name()" is known, which an alias of that name would break; the alias is
// put back afterwards. `command -v` prints the bare name if there is such a function.
func writeSh(b *strings.Builder, name, program string) {
	fmt.Fprintf(b, "__plimsoll_alias=$(\\alias %[1]s 2>/dev/null) && \\unalias %[1]s\n", name)
	writeGuard(b, name, `[ "$(\command -v `+name+`)" = `+name+` ]`)
	b.WriteString("\\eval " + shellwords.Quote(name+"() "+functionBody(name, program)) + "\n;;\nesac\n")
	b.WriteString(`case $__plimsoll_alias in
'') ;;
'alias '*) \eval "$__plimsoll_alias" ;;
*) \eval "\\alias $__plimsoll_alias" ;;
esac
\unset __plimsoll_alias
`)
}

// writeFish writes the definition of a function in fish.
func writeFish(b *strings.Builder, name, program string) {
	fmt.Fprintf(b, `if not contains -- %[1]s $__plimsoll_tools;
if functions --query %[1]s;
echo %[3]s;
else;
set --global --append __plimsoll_tools %[1]s;
end;
end;
if contains -- %[1]s $__plimsoll_tools;
function %[1]s --description 'run in its limits by plimsoll';
if status is-interactive;
command %[2]s run -- %[1]s $argv;
else;
command %[1]s $argv;
end;
end;
end;
`, name, fishQuoted(program), strings.ReplaceAll(taken(name), `\`, `\\`))
}

// quoted leaves a name that needs no quotes bare.
func quoted(program string) string {
	if program == programName {
		return program
	}
	return shellwords.Quote(program)
}

// fishQuoted returns the same for fish, in whose quotes a backslash escapes (fish-language(1), Quotes).
func fishQuoted(program string) string {
	if program == programName {
		return program
	}
	return "'" + strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(program) + "'"
}
