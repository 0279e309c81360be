//go:build linux || darwin

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/testfile"
)

// A hookShell is a shell that `plimsoll shellenv` writes for.
type hookShell struct {
	name string
	// interactive starts it in a terminal without the files of anybody; script runs a text without.
	interactive, script []string
	status              string // what holds the last command's status
	alias               string // how an alias gives claude an argument; "" where aliases are functions
	own                 string // a function of the user's
	eval                string // reads the hook
}

var hookShells = []hookShell{
	{
		"dash",
		[]string{"dash", "-i"},
		[]string{"dash", "-c"},
		"$?", "alias claude='claude args one'",
		"claude() { echo mine; }", `eval "$(plimsoll shellenv%s)"`,
	},
	{
		"bash",
		[]string{"bash", "--norc", "--noprofile", "--noediting", "-i"},
		[]string{"bash", "-c"},
		"$?", "alias claude='claude args one'",
		"claude() { echo mine; }", `eval "$(plimsoll shellenv%s)"`,
	},
	{
		"zsh",
		[]string{"zsh", "-f", "-i", "+Z", "-o", "no_prompt_cr", "-o", "no_prompt_sp"},
		[]string{"zsh", "-f", "-c"},
		"$?", "alias claude='claude args one'",
		"function claude { echo mine; }", `eval "$(plimsoll shellenv%s)"`,
	},
	{
		"fish",
		[]string{"fish", "--no-config", "--interactive"},
		[]string{"fish", "--no-config", "-c"},
		"$status", "",
		"function claude; echo mine; end", `plimsoll shellenv%s | source`,
	},
}

// hooked is a world with an agent called claude, which is testtool, and plimsoll in PATH.
func hooked(t *testing.T, shell hookShell) (w *world, path string) {
	t.Helper()
	if _, err := exec.LookPath(shell.name); err != nil {
		if os.Getenv("CI") == "true" && shell.name == "bash" {
			t.Fatal(err)
		}
		t.Skipf("%s is not installed (apt-get install dash zsh fish)", shell.name)
	}
	w = newWorld(t)
	agents := filepath.Join(w.home, "agents with spaces")
	if err := os.MkdirAll(agents, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(testtool, filepath.Join(agents, "claude")); err != nil {
		t.Fatal(err)
	}
	write(t, "[tools.claude]\nreservation = \"20M\"\n[window]\nmode = \"off\"\n[mcp]\nwrap = \"off\"\n", w.state, "config.toml")
	return w, agents + ":" + bin + ":" + os.Getenv("PATH")
}

// session opens the shell in a terminal with the hook in it.
func (s hookShell) session(t *testing.T, before string) (*world, *console) {
	t.Helper()
	w, path := hooked(t, s)
	c := w.open([]string{"PATH=" + path, "PS1=prompt> ", "PROMPT=prompt> ", "HISTFILE=/dev/null", "TERM=dumb", "SHELL=" + s.name, "ENV="}, s.interactive...)
	s.say(c, before+"\n"+fmt.Sprintf(s.eval, ""))
	return w, c
}

// say types lines and waits until all of them have been run.
func (s hookShell) say(c *console, lines string) {
	c.t.Helper()
	for line := range strings.SplitSeq(lines, "\n") {
		if line != "" {
			c.press(line + enter)
		}
	}
	s.done(c)
}

// done waits for the prompt: what is typed does not hold what is answered.
func (s hookShell) done(c *console) {
	c.t.Helper()
	c.press("echo mark''er-said" + enter)
	c.expect("marker-said")
}

// gives runs a line and returns what it has written into a file.
func (s hookShell) gives(w *world, c *console, line string) string {
	w.t.Helper()
	file := filepath.Join(w.home, "out")
	_ = os.Remove(file)
	s.say(c, line+" >"+file)
	text, err := os.ReadFile(file)
	if err != nil {
		w.t.Fatalf("%s: %v; the terminal shows\n%s", line, err, c.shows())
	}
	return string(text)
}

func eachHookShell(t *testing.T, test func(t *testing.T, s hookShell)) {
	t.Helper()
	for _, s := range hookShells {
		t.Run(s.name, func(t *testing.T) { t.Parallel(); test(t, s) })
	}
}

func inARun(environment string) bool { return strings.Contains(environment, "\x00PLIMSOLL_RUN_ID=") }

// An agent that is called by its name runs in its limits, as itself.
func TestTerminalShellHookRunsAgentsInRuns(t *testing.T) {
	eachHookShell(t, func(t *testing.T, s hookShell) {
		w, c := s.session(t, "")
		if got := s.gives(w, c, "claude env"); !inARun("\x00" + got) {
			t.Fatalf("it is not in a run: %q; the terminal shows\n%s", clip(got), c.shows())
		}
		if got := s.gives(w, c, "command claude env"); inARun("\x00" + got) {
			t.Error("command claude is in a run")
		}
		// Arguments byte for byte: the digest of the bare call is the same.
		args := ` args '' 'a b' "*" '$HOME' -- -x --flag=1 'ü' "\\\\" "it's" '~'`
		if bare, hook := s.gives(w, c, "command claude"+args), s.gives(w, c, "claude"+args); bare != hook || !strings.HasPrefix(bare, "11 ") {
			t.Errorf("arguments: bare %q, by the hook %q", bare, hook)
		}
		for line, want := range map[string]string{"exit 3": "3", "die 9": "137", "exit 0": "0"} {
			c.press("claude " + line + enter)
			c.press("echo status=" + s.status + "=" + enter)
			c.expect("status=" + want + "=")
		}
		if got := s.gives(w, c, "echo hello | claude args"); !strings.HasPrefix(got, "0 ") { // in a pipe
			t.Errorf("in a pipe: %q", got)
		}
		c.press("exit" + enter)
		c.wait()
		if n := strings.Count(c.shows(), "plimsoll: claude is a function"); n != 0 {
			t.Errorf("it speaks of a function of the user's:\n%s", c.shows())
		}
	})
}

// Ctrl-Z stops an agent, fg lets it go on, Ctrl-C ends it.
func TestTerminalShellHookKeepsJobControl(t *testing.T) {
	eachHookShell(t, func(t *testing.T, s hookShell) {
		w, c := s.session(t, "")
		c.press("claude suspended" + enter)
		c.expect("waiting for Ctrl-Z")
		c.press(ctrlZ)
		s.done(c)
		c.press("fg" + enter)
		c.expect("went on")
		s.done(c)
		counts := filepath.Join(w.home, "counts")
		c.press("claude interrupted " + counts + enter)
		c.expect("waiting for Ctrl-C")
		c.press(ctrlC)
		s.done(c)
		if got, err := os.ReadFile(counts); err != nil || string(got) != "1\n" {
			t.Errorf("one Ctrl-C brought %q, %v", got, err)
		}
	})
}

// Aliases go on working, and read twice the text changes nothing.
func TestTerminalShellHookAndAliases(t *testing.T) {
	eachHookShell(t, func(t *testing.T, s hookShell) {
		if s.alias == "" {
			t.Skip("its aliases are functions")
		}
		w, c := s.session(t, s.alias)
		s.say(c, fmt.Sprintf(s.eval, ""))
		want := s.gives(w, c, `command claude args one two`)
		if got := s.gives(w, c, "claude two"); got != want || !strings.HasPrefix(got, "2 ") {
			t.Errorf("with an alias: %q, want %q; the terminal shows\n%s", got, want, c.shows())
		}
		s.say(c, fmt.Sprintf(s.eval, " --undo"))
		if got := s.gives(w, c, "claude two"); got != want {
			t.Errorf("the alias is gone after the undo: %q; the terminal shows\n%s", got, c.shows())
		}
	})
}

// A function of the user's stays, also after the undo, and that is said; ours goes.
func TestTerminalShellHookUndone(t *testing.T) {
	eachHookShell(t, func(t *testing.T, s hookShell) {
		w, c := s.session(t, "")
		s.say(c, fmt.Sprintf(s.eval, " --undo"))
		if got := s.gives(w, c, "claude env"); inARun("\x00"+got) || got == "" {
			t.Errorf("after the undo it is in a run; the terminal shows\n%s", c.shows())
		}
		s.say(c, s.own+"\n"+fmt.Sprintf(s.eval, ""))
		if got := s.gives(w, c, "claude"); got != "mine\n" || !strings.Contains(squeezed(c.shows()), squeezed("plimsoll: claude is a function of yours already")) {
			t.Errorf("%q; the terminal shows\n%s", got, c.shows())
		}
		s.say(c, fmt.Sprintf(s.eval, " --undo"))
		if got := s.gives(w, c, "claude"); got != "mine\n" {
			t.Errorf("the undo took the user's function: %q", got)
		}
	})
}

// A program that is not in PATH is called by its path, whatever is in that.
func TestTerminalShellHookWithAnOddPath(t *testing.T) {
	eachHookShell(t, func(t *testing.T, s hookShell) {
		w, _ := hooked(t, s)
		program := filepath.Join(w.home, `it's "$HOME" \ here`, "plimsoll")
		text := testfile.Read(t, plimsoll)
		syscall.ForkLock.RLock() // what another test starts while this is written would keep it from being run: "text file busy"
		write(t, string(text), program)
		syscall.ForkLock.RUnlock()
		if err := os.Chmod(program, 0o700); err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(w.home, "agents with spaces") + ":" + os.Getenv("PATH")
		c := w.open([]string{"PATH=" + path, "PROGRAM=" + program, "PS1=prompt> ", "HISTFILE=/dev/null", "TERM=dumb", "ENV="}, s.interactive...)
		s.say(c, strings.Replace(fmt.Sprintf(s.eval, ""), "plimsoll", `"$PROGRAM"`, 1))
		if s.name == "fish" { // a command's name is no string to be expanded there
			s.say(c, `command $PROGRAM shellenv | source`)
		}
		if got := s.gives(w, c, "claude env"); !inARun("\x00" + got) {
			t.Errorf("it is not in a run; the terminal shows\n%s", c.shows())
		}
	})
}

// Scripts are untouched, whatever of the hook they see; and a run in a run ends.
func TestShellHookLeavesScriptsAlone(t *testing.T) {
	eachHookShell(t, func(t *testing.T, s hookShell) {
		w, path := hooked(t, s)
		script := func(text string) string {
			t.Helper()
			got := w.run(func(cmd *exec.Cmd) { cmd.Env = append(cmd.Env, "PATH="+path, "SHELL=/bin/"+s.name) }, append(s.script, text)...)
			if got.status != 0 || got.stderr != "" {
				t.Errorf("%s: status %d, %q", text, got.status, got.stderr)
			}
			return got.stdout
		}
		hook := fmt.Sprintf(s.eval, "") + "\n"
		if got := script(hook + "claude env"); inARun("\x00" + got) {
			t.Error("in a script claude is in a run")
		}
		if got := script(hook + "plimsoll run --quiet -- claude env"); strings.Count("\x00"+got, "\x00PLIMSOLL_RUN_ID=") != 1 {
			t.Errorf("%q", clip(got))
		}
		if s.name == "bash" { // functions can be exported to scripts
			text := `eval "$(bash --norc -ic 'eval "$(plimsoll shellenv --shell bash)"; declare -f claude' 2>/dev/null)"; export -f claude; bash -c 'declare -F claude >&2; claude env'`
			got := w.run(func(cmd *exec.Cmd) { cmd.Env = append(cmd.Env, "PATH="+path) }, "bash", "-c", text)
			if got.status != 0 || !strings.Contains(got.stderr, "claude") || inARun("\x00"+got.stdout) {
				t.Errorf("an exported function: %d %q, in a run: %v", got.status, got.stderr, inARun("\x00"+got.stdout))
			}
		}
	})
}

// The real agents are themselves behind the hook: what they print is the same bytes.
func TestAgentBehindTheShellHook(t *testing.T) {
	for _, tool := range clis {
		t.Run(tool.name, func(t *testing.T) {
			folder := filepath.Dir(installed(t, tool.name))
			s := hookShells[1]
			w, _ := hooked(t, s)
			write(t, "[tools."+tool.name+"]\nreservation = \"20M\"\n", w.state, "config.toml")
			c := w.open(append([]string{"PATH=" + folder + ":" + bin + ":" + os.Getenv("PATH"), "PS1=prompt> ", "HISTFILE=/dev/null"}, alone...), s.interactive...)
			s.say(c, fmt.Sprintf(s.eval, ""))
			bare, hook := s.gives(w, c, "command "+tool.name+" --version </dev/null"), s.gives(w, c, tool.name+" --version </dev/null") // gemini reads what is typed ahead
			if bare == "" || hook != bare || !strings.Contains(squeezed(c.shows()), squeezed("plimsoll "+tool.name)) {
				t.Errorf("bare %q, behind the hook %q; the terminal shows\n%s", bare, hook, c.shows())
			}
		})
	}
}
