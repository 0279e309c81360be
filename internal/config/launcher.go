package config

import (
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/internal/config/profile"
)

// inner is one command or package that a launcher may start.
type inner struct {
	argv   []string
	pkg    string // package that holds it, without version
	script bool   // argv[0] is a file for an interpreter, not a command
	line   bool   // argv is one of several commands in a line for a shell
}

// launcher returns what a program that starts others would start, given its arguments.
type launcher func(t *tracer, args []string) []inner

// launchers holds the launchers by base name. They list the options that take a value, because the word after such an option is not the command.
var launchers map[string]launcher

func init() {
	launchers = map[string]launcher{
		"env": envCommand, "sh": shell, "cmd": windowsShell,
		"node": interpreter("-r --require --import --loader --experimental-loader -C --conditions --env-file --inspect-port --title -e --eval -p --print", "-e --eval -p --print"),
		"deno": afterWord(interpreter("-c --config --import-map -L --log-level", ""), "run"),
		"bun":  bun,
		"npx":  packageRunner("-p --package -w --workspace --loglevel --registry --cache --prefix", "-c --call", "-p --package"),
		"bunx": packageRunner("-p --package", "", "-p --package"),
		"npm":  afterWord(packageRunner("-p --package -w --workspace --loglevel --registry --prefix", "-c --call", "-p --package"), "exec", "x"),
		"pnpm": afterWord(packageRunner("--package -C --dir -F --filter --reporter", "-c --shell-mode", "--package"), "dlx", "exec"),
		"yarn": afterWord(packageRunner("-p --package --cwd", "", "-p --package"), "dlx", "exec"),
		"uvx":  packageRunner("--from --with -p --python --index-url --index -w --with-editable --directory", "", "--from"),
		"uv":   uv,
		"pipx": afterWord(packageRunner("--spec --python --pip-args --index-url", "", "--spec"), "run"),

		"python": python,
		"nice":   plainLauncher("-n --adjustment", 0), "ionice": plainLauncher("-c --class -n --classdata", 0), "nohup": plainLauncher("", 0),
		"setsid": plainLauncher("", 0), "stdbuf": plainLauncher("-i --input -o --output -e --error", 0), "time": plainLauncher("-f --format -o --output", 0),
		"timeout": plainLauncher("-k --kill-after -s --signal", 1), "taskset": plainLauncher("", 1), "chrt": plainLauncher("-T -P -D", 1),
		"sudo": plainLauncher("-u --user -g --group -C -D --chdir -h --host -p --prompt -r -t -R", 0), "doas": plainLauncher("-u -C", 0),
		"exec": plainLauncher("-a", 0), "command": plainLauncher("", 0), "unbuffer": plainLauncher("", 0), "winpty": plainLauncher("", 0),
		"caffeinate": plainLauncher("-t -w", 0), "xvfb-run": plainLauncher("-n --server-num -s --server-args -f --auth-file -e --error-file", 0),
		"dumb-init": plainLauncher("-r --rewrite", 0), "tini": plainLauncher("-e -p", 0), "firejail": plainLauncher("", 0),
	}
	for name, same := range map[string]string{
		"bash": "sh", "dash": "sh", "zsh": "sh", "ksh": "sh", "ash": "sh", "nodejs": "node", "pnpx": "bunx", "pypy": "python", "gtimeout": "timeout",
	} {
		launchers[name] = launchers[same]
	}
}

// launcherName returns a base name in lower case, and python3.12 or pypy3 without the version.
func launcherName(base string) string {
	name := strings.ToLower(base)
	if stem := strings.TrimRight(name, "0123456789."); stem == "python" || stem == "pypy" {
		return stem
	}
	return name
}

// skipOptions skips the options at the front of args, and returns in rest the first other word with all after it, or what follows "--". withValue
// lists the options that take a value, with blanks between. values are the values of those that are also in want, in order.
func skipOptions(args []string, withValue, want string) (values, rest []string) {
	valued, wanted := " "+withValue+" ", " "+want+" "
	for len(args) > 0 {
		arg := args[0]
		if arg == "--" {
			return values, args[1:]
		}
		if len(arg) < 2 || arg[0] != '-' {
			return values, args
		}
		args = args[1:]
		name, value, attached := strings.Cut(arg, "=")
		if strings.ContainsRune(name, ' ') || !strings.Contains(valued, " "+name+" ") {
			continue
		}
		if !attached {
			if len(args) == 0 {
				return values, nil
			}
			value, args = args[0], args[1:]
		}
		if strings.Contains(wanted, " "+name+" ") {
			values = append(values, value)
		}
	}
	return values, nil
}

// plainLauncher returns a launcher for programs such as nice or timeout. It skips their options (withValue lists those that take a value),
// assignments and this number of operands; the words after those are the command that is started.
func plainLauncher(withValue string, operands int) launcher {
	return func(_ *tracer, args []string) []inner {
		_, rest := skipOptions(args, withValue, "")
		rest = assignments(rest)
		if len(rest) <= operands {
			return nil
		}
		return []inner{{argv: rest[operands:]}}
	}
}

// assignments returns args without the words NAME=VALUE at the front.
func assignments(args []string) []string {
	for len(args) > 0 && strings.IndexByte(args[0], '=') > 0 {
		args = args[1:]
	}
	return args
}

// envCommand is the launcher of env, whose option -S holds a whole command line in one word.
func envCommand(_ *tracer, args []string) []inner {
	for len(args) > 0 && args[0] == "-" {
		args = args[1:]
	}
	split, rest := skipOptions(args, "-u --unset -C --chdir -S --split-string -a --argv0", "-S --split-string")
	for _, arg := range args[:len(args)-len(rest)] {
		if text, ok := strings.CutPrefix(arg, "-S"); ok && text != "" {
			split = append(split, text)
		}
	}
	if len(split) > 0 {
		rest = append(strings.Fields(split[0]), rest...)
		_, rest = skipOptions(rest, "-u --unset -C --chdir", "")
	}
	return []inner{{argv: assignments(rest)}}
}

// afterWord returns a launcher that calls l with the arguments after one of the words, as in "npm exec". It starts nothing if another word
// comes first.
func afterWord(l launcher, words ...string) launcher {
	return func(t *tracer, args []string) []inner {
		for i, arg := range args {
			if slices.Contains(words, arg) {
				return l(t, args[i+1:])
			}
			if !strings.HasPrefix(arg, "-") {
				return nil
			}
		}
		return nil
	}
}

// packageRunner returns a launcher for programs that fetch a package and run a command of it. calls lists options whose value is a line for a
// shell, pkgs those that name the package apart from the command.
func packageRunner(withValue, calls, pkgs string) launcher {
	return func(_ *tracer, args []string) []inner {
		lines, _ := skipOptions(args, withValue+" "+calls, calls)
		specs, rest := skipOptions(args, withValue+" "+calls, pkgs)
		// npm exec takes options after "--" of its own as well as before.
		if len(rest) > 0 && rest[0] == "--" {
			rest = rest[1:]
		}
		var out []inner
		for _, s := range specs {
			out = append(out, inner{pkg: profile.Package(s)})
		}
		for _, line := range lines {
			for _, argv := range shellCommands(line, "") {
				out = append(out, inner{argv: argv})
			}
		}
		if len(rest) == 0 {
			return out
		}
		name := profile.Package(rest[0])
		command := name[strings.LastIndexByte(name, '/')+1:]
		return append(out, inner{pkg: name}, inner{argv: append([]string{command}, rest[1:]...)})
	}
}

// interpreter returns a launcher for programs that run a script file. code lists options that give them code instead, with which they start
// nothing.
func interpreter(withValue, code string) launcher {
	return func(_ *tracer, args []string) []inner {
		given, rest := skipOptions(args, withValue, code)
		if len(given) > 0 || len(rest) == 0 {
			return nil
		}
		return []inner{{argv: rest, script: true}}
	}
}

// bun is the launcher of bun: bun x PACKAGE works as bunx, and bun SCRIPT and bun run SCRIPT run a file.
func bun(t *tracer, args []string) []inner {
	_, rest := skipOptions(args, "-r --preload --cwd -c --config --env-file", "")
	if len(rest) > 0 && rest[0] == "x" {
		return launchers["bunx"](t, rest[1:])
	}
	if len(rest) > 0 && rest[0] == "run" {
		_, rest = skipOptions(rest[1:], "-r --preload --cwd -c --config --env-file", "")
	}
	if len(rest) == 0 {
		return nil
	}
	return []inner{{argv: rest, script: true}}
}

// uv is the launcher of uv: uv tool run works as uvx, and uv run starts a command, a module (-m) or a file that ends in .py.
func uv(t *tracer, args []string) []inner {
	const withValue = "--directory --project --config-file --with -p --python --extra --group --env-file --with-requirements --package --index"
	_, rest := skipOptions(args, withValue, "")
	switch {
	case len(rest) > 1 && rest[0] == "tool" && rest[1] == "run":
		return launchers["uvx"](t, rest[2:])
	case len(rest) > 1 && rest[0] == "run":
		modules, command := skipOptions(rest[1:], withValue+" -m --module", "-m --module")
		if len(modules) > 0 {
			return []inner{{argv: append(modules[:1], command...)}}
		}
		if len(command) > 0 && strings.HasSuffix(command[0], ".py") {
			return []inner{{argv: command, script: true}}
		}
		return []inner{{argv: command}}
	}
	return nil
}

// python is the launcher of Python: -m MODULE or a file; code of -c or of the standard input starts nothing.
func python(_ *tracer, args []string) []inner {
	for i := 0; i < len(args); i++ {
		arg := args[i]
		switch {
		case arg == "-m" && i+1 < len(args):
			return []inner{{argv: append([]string{moduleName(args[i+1])}, args[i+2:]...), script: true}}
		case strings.HasPrefix(arg, "-m") && len(arg) > 2:
			return []inner{{argv: append([]string{moduleName(arg[2:])}, args[i+1:]...), script: true}}
		case strings.HasPrefix(arg, "-c") || arg == "-":
			return nil
		case arg == "-W" || arg == "-X" || arg == "--check-hash-based-pycs":
			i++
		case strings.HasPrefix(arg, "-"):
		default:
			return []inner{{argv: args[i:], script: true}}
		}
	}
	return nil
}

// moduleName returns the command name of a Python module: aider for aider and aider.__main__.
func moduleName(module string) string {
	name, _, _ := strings.Cut(module, ".")
	return name
}
