package config

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// maxVariant bounds a variant, in bytes, and maxVariantWord one word of it, the name of a target or script: longer words are not names.
const (
	maxVariant     = 80
	maxVariantWord = 40
)

// generic describes how to read the arguments of a program whose purpose depends on a subcommand, target or script. Options are separated
// by blanks.
//
// A variant is stored and shown, so it holds nothing that could be a secret: known subcommands, names of targets and scripts, and digests,
// but no value of an option.
type generic struct {
	// words are the known subcommands; the first of them among the arguments counts.
	words string
	// named are those of words that are followed by the name of a script, task or package.
	named string
	// targets is the number of words that count although they are not in words, because the user invents them, as in a makefile.
	targets int
	// valued are options whose value is the next word, which then is not a target; flags those without a
	// value. With strict an option that is neither ends the search: its value must not count.
	valued, flags string
	strict        bool
	// code are options whose value is the text of a program, whose digest is the variant.
	code string
}

// genericOf returns the rules for a program by its base name; false if it is not a generic one. It is a switch because a map of them would
// be made at every start.
func genericOf(program string) (g generic, ok bool) {
	const lifecycle = "validate compile test package verify install deploy clean site"
	makefile := generic{targets: 3, valued: "-C --directory -f --file --makefile -I --include-dir -o --old-file --assume-old -W --what-if --new-file --assume-new --eval -E -j -l"}
	node := generic{
		words: "run run-script test start install ci build publish pack update audit rebuild link dlx exec", named: "run run-script exec dlx", targets: 1, strict: true,
		valued: "--prefix -C --dir --cwd -w --workspace -F --filter", flags: "-s --silent -r --recursive -ws --workspaces --if-present -q --quiet --verbose",
	}
	npm := node
	npm.targets = 0
	npm.words += " t i add remove outdated prune dedupe version x"
	shell := generic{code: "-c"}
	tasks := generic{targets: 1, strict: true, valued: "-f --justfile -d --working-directory --dir -t --taskfile -C -j --jobs", flags: "-s --silent -q --quiet -v --verbose -n --dry-run -p --parallel"}
	containers := generic{words: "build run compose pull push exec buildx up down"}
	switch program {
	case "make", "remake", "gmake":
		return makefile, true
	case "ninja":
		return generic{targets: 3, valued: "-C -f -j -k -l -d -t -w"}, true
	case "cmake":
		return generic{words: "--build --install --open -E -P"}, true
	case "ctest":
		return generic{words: "--build-and-test"}, true
	case "meson":
		return generic{words: "setup compile test install configure dist"}, true
	case "bazel":
		return generic{words: "build test run query coverage fetch sync clean"}, true
	case "mvn", "mvnw":
		return generic{words: lifecycle}, true
	case "gradle", "gradlew":
		return generic{targets: 3, strict: true, valued: "-b --build-file -p --project-dir -x --exclude-task -I --init-script -g --gradle-user-home -c --settings-file", flags: "-q --quiet -i --info -d --debug -s --stacktrace -S --full-stacktrace --no-daemon --daemon --parallel --offline --continue --rerun-tasks --build-cache --no-build-cache --scan --no-scan --refresh-dependencies"}, true
	case "ant":
		return generic{targets: 3, strict: true, valued: "-f -file -buildfile -lib -logfile", flags: "-q -quiet -v -verbose -d -debug"}, true
	case "sbt":
		return generic{words: "compile test run package assembly publish clean"}, true
	case "go":
		return generic{words: "build run test vet generate install get mod tool fmt list work clean fix", named: "run tool mod work"}, true
	case "cargo":
		return generic{words: "build b check c test t run r bench doc install clippy fmt update publish package clean nextest fetch"}, true
	case "rustup":
		return generic{words: "update install toolchain component"}, true
	case "dotnet":
		return generic{words: "build run test publish restore pack clean tool"}, true
	case "swift":
		return generic{words: "build test run package"}, true
	case "zig":
		return generic{words: "build test run fmt build-exe build-lib"}, true
	case "mix":
		return generic{words: "compile test deps.get run release format"}, true
	case "stack":
		return generic{words: "build test run exec install"}, true
	case "cabal":
		return generic{words: "build test run install"}, true
	case "npm":
		return npm, true
	case "pnpm", "yarn", "bun":
		return node, true
	case "deno":
		return generic{words: "run test task compile bench check cache install", named: "task run"}, true
	case "just", "task", "rake", "invoke":
		return tasks, true
	case "tox":
		return generic{words: "run run-parallel"}, true
	case "pip", "pip3":
		return generic{words: "install download wheel uninstall"}, true
	case "uv":
		return generic{words: "sync run pip lock build publish add tool venv"}, true
	case "poetry":
		return generic{words: "install run build update lock add publish", named: "run"}, true
	case "pipenv":
		return generic{words: "install run sync lock"}, true
	case "bundle":
		return generic{words: "install exec update", named: "exec"}, true
	case "composer":
		return generic{words: "install update require"}, true
	case "rails":
		return generic{words: "test server console db:migrate runner"}, true
	case "conda":
		return generic{words: "install create env update run"}, true
	case "git":
		return generic{words: "clone fetch pull push gc repack checkout merge rebase log diff grep status commit add blame"}, true
	case "docker", "podman", "nerdctl":
		return containers, true
	case "terraform", "tofu":
		return generic{words: "init plan apply destroy validate"}, true
	case "helm":
		return generic{words: "install upgrade template lint package"}, true
	case "nextflow":
		return generic{words: "run pull"}, true
	case "dvc":
		return generic{words: "repro run pull push"}, true
	case "sh", "bash", "dash", "zsh", "ksh", "ash":
		return shell, true
	case "cmd":
		return generic{code: "/c /C /k /K"}, true
	case "python", "pypy":
		return generic{code: "-c"}, true
	case "node", "nodejs":
		return generic{code: "-e --eval -p --print -pe"}, true
	case "perl":
		return generic{code: "-e -E"}, true
	case "ruby", "r", "rscript":
		return generic{code: "-e"}, true
	case "php":
		return generic{code: "-r"}, true
	}
	return generic{}, false
}

// scriptPrefix begins the variant of a program that was given its text on the command line.
const scriptPrefix = "code-"

// NameTool returns the name of a tool with its variant as a person would write it: "make test", and "sh -c" for a text of its own.
func NameTool(tool, variant string) string {
	if !strings.HasPrefix(variant, scriptPrefix) {
		return strings.TrimSpace(tool + " " + variant)
	}
	if g, ok := genericOf(tool); ok && g.code != "" {
		return tool + " " + strings.Fields(g.code)[0]
	}
	return tool
}

// variantOf returns the use of a generic tool in a command line: "test" for make test, "run build" for npm run build, "code-1f0a93c2" for
// sh -c with that text. It returns "" for every other program, and if the arguments name no subcommand.
func variantOf(argv []string) string {
	if len(argv) < 2 {
		return ""
	}
	g, ok := genericOf(launcherName(baseName(argv[0])))
	if !ok {
		return ""
	}
	args := argv[1:]
	if text, ok := codeIn(args, g.code); ok {
		sum := sha256.Sum256([]byte(text))
		// 32 bits tell a project's scripts apart and are too few to find a text by.
		return scriptPrefix + hex.EncodeToString(sum[:4])
	}
	for i, arg := range args {
		if arg == "--" {
			break
		}
		if listed(g.words, arg) {
			if listed(g.named, arg) {
				return joinWords(arg, scriptName(args[i+1:]))
			}
			return arg
		}
	}
	return joinWords(g.freeWords(args)...)
}

// freeWords returns the targets among the arguments, at most g.targets; none behind "--", and none at all if g is strict and there is an option
// that it does not know.
func (g generic) freeWords(args []string) []string {
	var found []string
	for i := 0; i < len(args) && len(found) < g.targets; i++ {
		arg := args[i]
		switch {
		case arg == "--":
			return found
		case strings.HasPrefix(arg, "-"):
			name, _, attached := strings.Cut(arg, "=")
			switch {
			case attached || listed(g.flags, name):
			case listed(g.valued, name):
				if !optionalNumber(name) || i+1 < len(args) && isNumber(args[i+1]) {
					i++
				}
			case g.strict:
				return nil
			}
		case plainWord(arg):
			found = append(found, lastElement(arg))
		}
	}
	return found
}

// optionalNumber reports whether an option is make's -j or -l, whose value may be left out.
func optionalNumber(option string) bool { return option == "-j" || option == "-l" }

func isNumber(s string) bool {
	return s != "" && strings.Trim(s, "0123456789.") == ""
}

// codeIn returns the text of a program that one of the options has as its value, at the front of args; false if there is none. Shells
// accept letters together: -lc.
func codeIn(args []string, options string) (string, bool) {
	for i, arg := range args {
		if options == "" || arg == "--" || arg == "" || arg[0] != options[0] { // "-", for cmd.exe "/"
			return "", false
		}
		together := strings.HasSuffix(options, "-c") && !strings.HasPrefix(arg, "--") && strings.HasSuffix(arg, "c")
		if (listed(options, arg) || together) && i+1 < len(args) {
			if options[0] == '/' {
				return strings.Join(args[i+1:], " "), true
			}
			return args[i+1], true
		}
	}
	return "", false
}

// scriptName returns the name in args[0], "" if that is not a name. An option there may have a value that is not known, so nothing behind
// it counts.
func scriptName(args []string) string {
	if len(args) == 0 || !plainWord(args[0]) {
		return ""
	}
	return lastElement(args[0])
}

// lastElement returns the text after the last slash, not counting slashes at the end.
func lastElement(word string) string {
	word = strings.TrimRight(word, "/")
	return word[strings.LastIndexByte(word, '/')+1:]
}

// plainWord reports whether a word is the name of a target, script or package, and not text, an assignment or a number.
func plainWord(word string) bool {
	last := lastElement(word)
	if last == "" || len(last) > maxVariantWord || strings.ContainsAny(word, "=@\\") {
		return false
	}
	letters := false
	for _, c := range []byte(last) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
		letters = letters || letter
		if !letter && (c < '0' || c > '9') && !strings.ContainsRune("._:-+", rune(c)) {
			return false
		}
	}
	return letters && last[0] != '-'
}

func listed(list, word string) bool {
	return word != "" && list != "" && strings.Contains(" "+list+" ", " "+word+" ") && !strings.ContainsRune(word, ' ')
}

// joinWords returns the words with blanks between, "" if that is longer than maxVariant.
func joinWords(words ...string) string {
	out := strings.TrimSpace(strings.Join(words, " "))
	if len(out) > maxVariant {
		return ""
	}
	return out
}
