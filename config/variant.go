package config

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// maxVariant bounds a variant, in bytes, and maxVariantWord one word of it: the name of a target or
// script. What is longer is no name.
const (
	maxVariant     = 80
	maxVariantWord = 40
)

// generic says how to read the arguments of a program that does another thing with each
// subcommand, target or script. Options are separated by blanks.
//
// A variant is stored and shown, so it holds nothing that could be a secret: known subcommands, names
// of targets and scripts, and digests. No value of an option gets into it.
type generic struct {
	// words are the known subcommands; the first of them among the arguments counts.
	words string
	// named are those of words after which a script, task or package is named.
	named string
	// targets is how many free words count, where the user invents them, as in a makefile.
	targets int
	// valued are options whose value is the next word, which is no target then; flags those without a
	// value. With strict an option that is neither ends the search: its value must not count.
	valued, flags string
	strict        bool
	// code are options whose value is a program's text: its digest is the variant.
	code string
}

// generics by base name of the program.
var generics = func() map[string]generic {
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
	m := map[string]generic{
		"make": makefile, "gmake": makefile,
		"ninja":  {targets: 3, valued: "-C -f -j -k -l -d -t -w"},
		"cmake":  {words: "--build --install --open -E -P"},
		"ctest":  {words: "--build-and-test"},
		"meson":  {words: "setup compile test install configure dist"},
		"bazel":  {words: "build test run query coverage fetch sync clean"},
		"mvn":    {words: lifecycle},
		"gradle": {targets: 3, strict: true, valued: "-b --build-file -p --project-dir -x --exclude-task -I --init-script -g --gradle-user-home -c --settings-file", flags: "-q --quiet -i --info -d --debug -s --stacktrace -S --full-stacktrace --no-daemon --daemon --parallel --offline --continue --rerun-tasks --build-cache --no-build-cache --scan --no-scan --refresh-dependencies"},
		"ant":    {targets: 3, strict: true, valued: "-f -file -buildfile -lib -logfile", flags: "-q -quiet -v -verbose -d -debug"},
		"sbt":    {words: "compile test run package assembly publish clean"},
		"go":     {words: "build run test vet generate install get mod tool fmt list work clean fix", named: "run tool mod work"},
		"cargo":  {words: "build b check c test t run r bench doc install clippy fmt update publish package clean nextest fetch"},
		"rustup": {words: "update install toolchain component"},
		"dotnet": {words: "build run test publish restore pack clean tool"},
		"swift":  {words: "build test run package"}, "zig": {words: "build test run fmt build-exe build-lib"},
		"mix": {words: "compile test deps.get run release format"}, "stack": {words: "build test run exec install"}, "cabal": {words: "build test run install"},
		"npm": npm, "pnpm": node, "yarn": node, "bun": node,
		"deno": {words: "run test task compile bench check cache install", named: "task run"},
		"just": tasks, "task": tasks, "rake": tasks, "invoke": tasks, "tox": {words: "run run-parallel"},
		"pip": {words: "install download wheel uninstall"}, "pip3": {words: "install download wheel uninstall"},
		"uv": {words: "sync run pip lock build publish add tool venv"}, "poetry": {words: "install run build update lock add publish", named: "run"},
		"pipenv": {words: "install run sync lock"}, "bundle": {words: "install exec update", named: "exec"}, "composer": {words: "install update require"},
		"rails": {words: "test server console db:migrate runner"}, "conda": {words: "install create env update run"},
		"git":    {words: "clone fetch pull push gc repack checkout merge rebase log diff grep status commit add blame"},
		"docker": containers, "podman": containers, "nerdctl": containers,
		"terraform": {words: "init plan apply destroy validate"}, "tofu": {words: "init plan apply destroy validate"}, "helm": {words: "install upgrade template lint package"},
		"nextflow": {words: "run pull"}, "dvc": {words: "repro run pull push"},
		"sh": shell, "cmd": {code: "/c /C /k /K"}, "python": {code: "-c"}, "node": {code: "-e --eval -p --print -pe"}, "perl": {code: "-e -E"}, "ruby": {code: "-e"}, "php": {code: "-r"}, "r": {code: "-e"},
	}
	for name, same := range map[string]string{
		"bash": "sh", "dash": "sh", "zsh": "sh", "ksh": "sh", "ash": "sh", "nodejs": "node", "gradlew": "gradle", "mvnw": "mvn", "pypy": "python", "rscript": "r", "remake": "make",
	} {
		m[name] = m[same]
	}
	return m
}()

// variantOf says which of a generic tool's uses a command line is: "test" of make test, "run build"
// of npm run build, "code-1f0a93c2" of sh -c with that text; "" for every other program, and where the arguments
// name no subcommand.
func variantOf(argv []string) string {
	if len(argv) < 2 {
		return ""
	}
	g, ok := generics[launcherName(baseName(argv[0]))]
	if !ok {
		return ""
	}
	args := argv[1:]
	if text, ok := codeIn(args, g.code); ok {
		sum := sha256.Sum256([]byte(text))
		// 32 bits tell a project's scripts apart and are too few to find a text by.
		return "code-" + hex.EncodeToString(sum[:4])
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

// freeWords are the targets among the arguments.
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

// optionalNumber is of make's -j and -l, whose value may be left out.
func optionalNumber(option string) bool { return option == "-j" || option == "-l" }

func isNumber(s string) bool {
	return s != "" && strings.Trim(s, "0123456789.") == ""
}

// codeIn finds the program text among the options at the front of args. Shells take letters together: -lc.
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

// scriptName is the first of args, when it is a name; options before it may have values that nobody
// knows, so nothing behind one counts.
func scriptName(args []string) string {
	if len(args) == 0 || !plainWord(args[0]) {
		return ""
	}
	return lastElement(args[0])
}

func lastElement(word string) string {
	word = strings.TrimRight(word, "/")
	return word[strings.LastIndexByte(word, '/')+1:]
}

// plainWord tells a name of a target, script or package from text, assignments and numbers.
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

func joinWords(words ...string) string {
	out := strings.TrimSpace(strings.Join(words, " "))
	if len(out) > maxVariant {
		return ""
	}
	return out
}
