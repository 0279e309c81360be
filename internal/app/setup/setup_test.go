package setup

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
)

// house is a home directory of a test, with agents that are installed.
type house struct {
	t    *testing.T
	home string
	o    Options
}

func newHouse(t *testing.T, files map[string]string) *house {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("there is no shell of these here")
	}
	h := &house{t: t, home: filepath.Join(t.TempDir(), "home")}
	bin := filepath.Join(t.TempDir(), "bin")
	for _, name := range []string{"claude", "codex"} {
		h.write(filepath.Join(bin, name), "#!/bin/sh\n", 0o755)
	}
	t.Setenv("PATH", bin)
	for name, text := range files {
		h.write(filepath.Join(h.home, name), text, 0o640)
	}
	if err := os.MkdirAll(h.home, 0o700); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"HOME": h.home, "SHELL": "/bin/bash", "PLIMSOLL_STATE_DIR": filepath.Join(t.TempDir(), "state")}
	h.o = Options{Yes: true, Shell: "bash", Getenv: func(name string) string { return env[name] }}
	return h
}

func (h *house) write(path, text string, mode os.FileMode) {
	h.t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		h.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		h.t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		h.t.Fatal(err)
	}
}

// everything below the home: names, modes, links and contents.
func (h *house) everything() map[string]string {
	h.t.Helper()
	all := map[string]string{}
	err := filepath.Walk(h.home, func(path string, info os.FileInfo, err error) error {
		if err != nil {
			return err
		}
		text := info.Mode().String() + " "
		switch {
		case info.Mode()&os.ModeSymlink != 0:
			to, _ := os.Readlink(path)
			text += to
		case info.Mode().IsRegular():
			body, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text += string(body)
		}
		all[strings.TrimPrefix(path, h.home)] = text
		return nil
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return all
}

func (h *house) same(what string, before map[string]string) {
	h.t.Helper()
	now := h.everything()
	for name, text := range before {
		if now[name] != text {
			h.t.Errorf("%s: %s is %q, was %q", what, name, now[name], text)
		}
	}
	for name := range now {
		if _, was := before[name]; !was {
			h.t.Errorf("%s: %s is new", what, name)
		}
	}
}

func (h *house) do() Result {
	h.t.Helper()
	r, err := Do(h.t.Context(), h.o)
	if err != nil {
		h.t.Fatal(err)
	}
	return r
}

func (h *house) undo() Result {
	h.t.Helper()
	r, err := Undo(h.t.Context(), h.o)
	if err != nil {
		h.t.Fatal(err)
	}
	return r
}

func (r Result) of(what string) (found Change) {
	for _, c := range r.Changes {
		if c.What == what {
			found = c
		}
	}
	return found
}

const cursor = `{"mcpServers": {"files": {"command": "npx", "args": ["-y", "x"]}}}`

// Undoing gives back every file, byte for byte and with its mode, whatever stood in it or did not.
func TestUndoGivesBackEveryByte(t *testing.T) {
	for name, files := range map[string]map[string]string{
		"nothing":      {},
		"empty":        {".bashrc": "", ".claude/settings.json": "", ".config/plimsoll/config.toml": "", ".cursor/mcp.json": cursor},
		"no line end":  {".bashrc": "a=1", ".claude/settings.json": "{}", ".config/plimsoll/config.toml": "[watch]", ".cursor/mcp.json": cursor},
		"usual":        {".bashrc": "a=1\n", ".claude/settings.json": "{\n  \"a\": 1\n}\n", ".config/plimsoll/config.toml": "[watch]\nruns = true\n[resources]\nmin_free = \"1G\"\n"},
		"odd":          {".bashrc": "\xff\x00\r\n", ".claude/settings.json": " {\r\n\t}\r\n", ".config/plimsoll/config.toml": "# [watch]\n[ watch ] # mine\r\nruns = false\r\n"},
		"other shells": {".bashrc": "x # >>> plimsoll >>>\n", ".claude/settings.json": "{ \"statusLines\": {}}", ".config/plimsoll/config.toml": "[tools.x]\nmemory_max = \"1G\""},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t, files)
			before := h.everything()
			h.o.DryRun = true
			if r := h.do(); len(r.Changes) < 3 {
				t.Errorf("%+v", r)
			}
			h.same("a dry run", before)
			h.o.DryRun = false
			r := h.do()
			for _, c := range r.Changes {
				if c.Action != Changed || c.Diff == "" {
					t.Errorf("%+v", c)
				}
			}
			after := h.everything()
			for _, c := range h.do().Changes {
				if c.Action != Already {
					t.Errorf("a second time: %+v", c)
				}
			}
			h.same("a second time", after)
			var settings map[string]any
			if text, err := os.ReadFile(filepath.Join(h.home, ".claude/settings.json")); err != nil || json.Unmarshal(text, &settings) != nil || settings["statusLine"] == nil {
				t.Errorf("%v: %s", err, text)
			}
			var own struct{ Watch map[string]any }
			if text, err := os.ReadFile(filepath.Join(h.home, ".config/plimsoll/config.toml")); err != nil || toml.Unmarshal(text, &own) != nil || own.Watch["notify"] != "desktop" {
				t.Errorf("%v: %s", err, text)
			}
			for _, c := range h.undo().Changes {
				if c.Action != Undone || !c.Exact {
					t.Errorf("undone: %+v", c)
				}
			}
			h.same("undone", before)
			if r := h.undo(); len(r.Changes) != 0 {
				t.Errorf("undone twice: %+v", r)
			}
		})
	}
}

// What was written behind the piece of text stays, and other answers take the place of the first ones.
func TestFilesThatChangeMeanwhile(t *testing.T) {
	h := newHouse(t, map[string]string{".bashrc": "a=1", ".claude/settings.json": `{"a": 1}`})
	h.do()
	h.o.Agents = "codex"
	if c := h.do().of(whatHook); c.Action != Changed || !strings.Contains(c.Diff, "--shell bash codex") {
		t.Errorf("%+v", c)
	}
	rc := filepath.Join(h.home, ".bashrc")
	h.o.Agents = "none" // takes nothing out, and says so
	if c := h.do().of(whatHook); c.Action != Left || !strings.Contains(c.Why, "--undo") {
		t.Errorf("%+v", c)
	}
	text, _ := os.ReadFile(rc)
	if bytes.Count(text, []byte(openMark)) != 1 || !bytes.HasPrefix(text, []byte("a=1\n# >>>")) {
		t.Errorf("%q", text)
	}
	h.write(rc, "first\n"+string(text)+"last\n", 0o600)
	h.write(filepath.Join(h.home, ".claude/settings.json"), `{"a":2,"statusLine":{"type":"command"}}`, 0o600)
	r := h.undo()
	if c := r.of(whatHook); c.Action != Undone || c.Exact || c.Why == "" {
		t.Errorf("%+v", c)
	}
	if text, _ := os.ReadFile(rc); string(text) != "first\na=1last\n" { // the line end was ours
		t.Errorf("%q", text)
	}
	if c := r.of(whatLine); c.Action != Left || !strings.Contains(c.Why, "look for plimsoll") {
		t.Errorf("%+v", c)
	}
}

// The marks are enough where the record is lost.
func TestALostRecord(t *testing.T) {
	h := newHouse(t, map[string]string{".bashrc": "a=1\n"})
	h.do()
	if err := os.RemoveAll(h.o.Getenv("PLIMSOLL_STATE_DIR")); err != nil {
		t.Fatal(err)
	}
	for _, c := range h.do().Changes {
		if c.Action != Already {
			t.Errorf("%+v", c)
		}
	}
}

func TestWhatIsLeftAlone(t *testing.T) {
	h := newHouse(t, map[string]string{
		".claude/settings.json":        `{"statusLine": {"type": "command", "command": "mine"}}`,
		".config/plimsoll/config.toml": "[watch]\nnotify = \"off\"\n",
		".cursor/mcp.json":             `{"mcpServers": {`,
	})
	elsewhere := filepath.Join(t.TempDir(), "bashrc")
	h.write(elsewhere, "x=1\n", 0o644)
	if err := os.Symlink(elsewhere, filepath.Join(h.home, ".bashrc")); err != nil {
		t.Fatal(err)
	}
	before := h.everything()
	r := h.do()
	for what, why := range map[string]string{
		whatHook: "leads out of your home directory, to " + elsewhere, whatLine: "a status line of yours", whatNotices: `"off" already`,
	} {
		if c := r.of(what); c.Action != Left || !strings.Contains(c.Why, why) {
			t.Errorf("%s: %+v", what, c)
		}
	}
	h.same("nothing to do", before)
	h.o.FollowLinks = true
	if c := h.do().of(whatHook); c.Action != Changed || c.Target != elsewhere {
		t.Errorf("%+v", c)
	}
	if text, _ := os.ReadFile(elsewhere); !bytes.Contains(text, []byte(openMark)) {
		t.Errorf("%q", text)
	}
	h.same("through the link", before) // the link stays one
	h.undo()
	if text, _ := os.ReadFile(elsewhere); string(text) != "x=1\n" {
		t.Errorf("%q", text)
	}
	for name, to := range map[string]string{"nowhere": "none", "a folder": "."} {
		_ = os.Remove(filepath.Join(h.home, ".bashrc"))
		if err := os.Symlink(to, filepath.Join(h.home, ".bashrc")); err != nil {
			t.Fatal(err)
		}
		if c := h.do().of(whatHook); c.Action != Left || c.Why == "" {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

// A failure in the middle takes everything back.
func TestAllOrNothing(t *testing.T) {
	h := newHouse(t, map[string]string{".bashrc": "a=1\n", ".cursor/mcp.json": cursor})
	before := h.everything()
	s, unlock, err := open(t.Context(), h.o)
	if err != nil {
		t.Fatal(err)
	}
	s.program, s.shell = "/opt/plimsoll", "bash"
	if _, err := s.planAgents(); err != nil {
		t.Fatal(err)
	}
	if err := s.planServers(nil); err != nil {
		t.Fatal(err)
	}
	if err := s.planWatch(); err != nil || len(s.steps) != 4 {
		t.Fatalf("%v, %d steps", err, len(s.steps))
	}
	h.write(filepath.Join(h.home, ".config/plimsoll/config.toml"), "somebody = else\n", 0o600) // while a person reads
	err = s.perform()
	unlock()
	if err == nil || !strings.Contains(err.Error(), "changed meanwhile") || !strings.Contains(err.Error(), "taken back") {
		t.Errorf("%v", err)
	}
	if err := os.RemoveAll(filepath.Join(h.home, ".config")); err != nil {
		t.Fatal(err)
	}
	h.same("after a failure", before)
	if r := h.undo(); len(r.Changes) != 0 {
		t.Errorf("something stayed recorded: %+v", r)
	}
}

func TestBadInput(t *testing.T) {
	h := newHouse(t, nil)
	before := h.everything()
	for _, o := range []Options{
		{Yes: true, Agents: "a;b"},
		{Yes: true, MCP: "perhaps"},
		{Yes: true, Watch: "codex"},
		{Yes: true, Shell: "tcsh"},
		{Agents: "all", MCP: "yes"},
		{},
	} {
		o.Getenv = h.o.Getenv
		if o.Shell == "" {
			o.Shell = "bash"
		}
		h.write(filepath.Join(h.home, ".cursor/mcp.json"), cursor, 0o600)
		if _, err := Do(t.Context(), o); err == nil || strings.Contains(err.Error(), "\n") {
			t.Errorf("%+v: %v", o, err)
		}
		_ = os.RemoveAll(filepath.Join(h.home, ".cursor"))
		h.same("a refusal", before)
	}
	record := filepath.Join(h.o.Getenv("PLIMSOLL_STATE_DIR"), recordFile)
	for text, want := range map[string]string{"{": "is damaged", `{"schema": 2}`: "another version"} {
		h.write(record, text, 0o600)
		if _, err := Do(t.Context(), h.o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
		if _, err := Undo(t.Context(), h.o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
		h.same("a bad record", before)
	}
}

// A person may look at a change, be misunderstood, and choose.
func TestQuestions(t *testing.T) {
	h := newHouse(t, map[string]string{".cursor/mcp.json": cursor})
	h.o.Yes = false
	answers, said := []string{"?\n", "gemini\n", " Codex \n", "n\n", "y\n", "?\n", "n\n"}, ""
	h.o.Ask = func(q Question) (string, error) {
		said += q.Say + "\n" + q.Text + "\n"
		answer := answers[0]
		answers = answers[1:]
		return answer, nil
	}
	r := h.do()
	if len(answers) != 0 || r.of(whatServers).File != "" || r.of(whatLine).Action != Changed {
		t.Errorf("%d answers are left: %+v", len(answers), r)
	}
	for _, want := range []string{"+" + openMark, `"gemini" is not among them: claude, codex`, "~/.cursor/mcp.json?", "on = true"} {
		if !strings.Contains(said, want) {
			t.Errorf("%q is not in\n%s", want, said)
		}
	}
	if text, _ := os.ReadFile(filepath.Join(h.home, ".bashrc")); !bytes.Contains(text, []byte("--shell bash codex)")) {
		t.Errorf("%s", text)
	}
}

// Definitions are bounded by choice only, where a client has servers and gives its model all their tools.
func TestDefinitionsAreBoundedByChoice(t *testing.T) {
	const own = ".config/plimsoll/config.toml"
	bounds := func(h *house) bool {
		var config struct {
			Watch struct{ Notify string }
			MCP   struct {
				ToolsMax string `toml:"tools_max"`
				Reuse    string
			}
		}
		text, err := os.ReadFile(filepath.Join(h.home, own))
		if err != nil || toml.Unmarshal(text, &config) != nil || config.Watch.Notify != "desktop" {
			t.Errorf("%v: %s", err, text)
		}
		return config.MCP.ToolsMax == "8k"
	}
	for name, files := range map[string]map[string]string{
		"no file":        {".cursor/mcp.json": cursor},
		"its table":      {".cursor/mcp.json": cursor, own: "[mcp.servers.a]\ncommand = [\"x\"]\n[mcp]\nreuse = \"0s\"\n"},
		"a server's":     {".cursor/mcp.json": cursor, own: "[mcp.servers.a]\ncommand = [\"x\"]"},
		"in a run's own": {".gemini/settings.json": cursor},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t, files)
			before := h.everything()
			if h.do(); bounds(h) {
				t.Error("--yes bounds them")
			}
			h.o.ToolsMax = "yes"
			if c := h.do().of(whatBound); c.Action != Changed || !bounds(h) {
				t.Errorf("%+v", c)
			}
			after := h.everything()
			for _, c := range h.do().Changes {
				if c.Action != Already {
					t.Errorf("a second time: %+v", c)
				}
			}
			h.same("a second time", after)
			for _, c := range h.undo().Changes {
				if c.Action != Undone || !c.Exact {
					t.Errorf("undone: %+v", c)
				}
			}
			h.same("undone", before)
		})
	}
	asked := func(files map[string]string, answer string) (questions int, bounded bool) {
		h := newHouse(t, files)
		h.o.Yes = false
		h.o.Ask = func(q Question) (string, error) {
			if q.Flag != "tools-max" {
				return "", nil
			}
			questions++
			return answer, nil
		}
		h.do()
		return questions, bounds(h)
	}
	if n, bounded := asked(map[string]string{".cursor/mcp.json": cursor}, ""); n != 1 || bounded {
		t.Errorf("asked %d times, and no answer is %v", n, bounded)
	}
	if n, bounded := asked(map[string]string{".cursor/mcp.json": cursor}, "y"); n != 1 || !bounded {
		t.Errorf("asked %d times, and a yes is %v", n, bounded)
	}
	if n, bounded := asked(map[string]string{".claude.json": cursor, ".bashrc": ""}, "y"); n != 0 || bounded {
		t.Errorf("Claude Code defers: asked %d times, %v", n, bounded)
	}
	h := newHouse(t, map[string]string{own: "[mcp]\ntools_max = \"12k\"\n"})
	h.o.ToolsMax = "yes"
	if c := h.do().of(whatBound); c.Action != Left || !strings.Contains(c.Why, `tools_max is set to "12k" already`) {
		t.Errorf("%+v", c)
	}
}

// FuzzInsertions: whatever stands in a file, the piece of text goes in and comes out again, and means what it should.
func FuzzInsertions(f *testing.F) {
	f.Add([]byte("{}"), "/usr/bin/plimsoll")
	f.Add([]byte("[watch]\nx = '''\n[watch]\n'''\n"), "/o'o/plimsoll")
	f.Add([]byte("watch.x = 1\n"), "p")
	f.Add([]byte("[[watch]]\n"), "p")
	f.Add([]byte("[mcp.servers.a]\ncommand = ['x']\n\n[ mcp ] # here\r\nreuse = '0'"), "p")
	f.Fuzz(func(t *testing.T, base []byte, program string) {
		check := func(at int, text string) []byte {
			i := insertion{At: at, Text: text}
			after := i.apply(base)
			if back, exact, found := i.remove(after); !bytes.Equal(back, base) || !exact || !found {
				t.Errorf("%q became %q", base, back)
			}
			return after
		}
		at, text := hookText(base, hookLines("bash", program, ""))
		check(at, text)
		if at, text, err := statusLineText(base, shellWord(program)); err == nil {
			if after := check(at, text); !json.Valid(after) {
				t.Errorf("%q is no JSON", after)
			}
		}
		facts := setting{"memory", []pair{{"facts", true}, {"facts_url", "http://127.0.0.1:1/v1"}, {"facts_tokens", int64(1000)}}}
		for _, s := range []setting{notify, toolsMax, memoryOn, facts} {
			at, text, err := s.text(base)
			if err != nil {
				continue
			}
			after := check(at, text)
			var now map[string]any
			err = toml.Unmarshal(after, &now)
			for _, p := range s.pairs {
				if table, _ := now[s.table].(map[string]any); err != nil || table[p.key] != p.value {
					t.Errorf("%q: %v", after, err)
				}
			}
		}
	})
}

// What is asked depends on what is installed: a person who is asked three questions must not read "4 of 6".
func TestQuestionsAreNumberedAsTheyAreAsked(t *testing.T) {
	h := newHouse(t, map[string]string{".bashrc": ""})
	h.o.Yes, h.o.Watch, h.o.modelServers = false, "no", []modelServer{}
	var numbers []int
	var flags []string
	h.o.Ask = func(q Question) (string, error) {
		numbers, flags = append(numbers, q.Number), append(flags, q.Flag)
		if q.Flag == "agents" && len(numbers) == 1 {
			return "perhaps", nil // the same question again has the same number
		}
		return "", nil
	}
	h.do()
	if !slices.Equal(flags, []string{"agents", "agents", "memory"}) || !slices.Equal(numbers, []int{1, 1, 2}) {
		t.Errorf("%q are numbered %d", flags, numbers)
	}
}
