package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/plimsoll/plimsoll/window/wire"
)

// codingKinds are the kinds of facts that a coding agent needs when its older turns are gone.
var codingKinds = []string{"user", "decision", "edited file", "todo", "test error"}

// A codingFact is a text of one of these kinds; it survives when one of anyOf is in a text of the
// request.
type codingFact struct {
	kind  string
	anyOf []string
}

// coding is a synthetic session of a coding agent: mostly files that are read and commands that
// pass, with what matters said once. It is what the extractor was developed on; sessions of others are
// behind `--heldout`.
type coding struct {
	session
	d     wire.Dialect
	b     *body
	facts []codingFact
	todos []string
	done  int // of the todos
}

const (
	codingSteps     = 300
	codingFiles     = 75
	codingTodos     = 10
	codingErrors    = 15
	codingDecisions = 20
	codingUser      = 15
)

func newCoding(d wire.Dialect, seed uint64) *coding {
	return &coding{session: session{r: rand.New(rand.NewPCG(seed, 14))}, d: d, b: &body{d: d}}
}

func (c *coding) fact(kind string, anyOf ...string) {
	c.facts = append(c.facts, codingFact{kind, anyOf})
}

func (c *coding) one(list ...string) string { return list[c.r.IntN(len(list))] }

// build plays the session: every kind of fact spread evenly over it.
func (c *coding) build() ([]byte, []codingFact) {
	c.b.user("The nightly import of the ledger loses rows. Find out why, mend it, and bring the test suites to green.")
	for i := range codingTodos {
		c.todos = append(c.todos, fmt.Sprintf("%s the %s %s behind %s-%d", c.one("wire up", "document", "rewrite", "measure", "delete"), c.word(), c.word(), c.word(), 100*i+c.r.IntN(99)))
	}
	due := func(n, of int) bool { return n*of/codingSteps != (n+1)*of/codingSteps }
	for n := range codingSteps {
		switch {
		case due(n, codingUser):
			c.userSays()
		case due(n, 2*codingTodos) && n < codingSteps*2/3:
			c.plan()
		}
		words := c.chatter()
		if due(n, codingDecisions) {
			words = c.decides(words)
		}
		if due(n, codingFiles) {
			c.edits(c.chatter())
		}
		switch {
		case due(n, codingErrors):
			c.fails(words, n)
		default:
			c.looks(words)
		}
	}
	for _, todo := range c.todos {
		c.fact("todo", todo)
	}
	c.b.user("Go on, please.")
	return c.b.bytes(), c.facts
}

func (c *coding) userSays() {
	port := 10_000 + c.r.IntN(50_000)
	host := fmt.Sprintf("https://%s-%d.example.com/%s", c.word(), c.r.IntN(900), c.word())
	name := c.word() + "_" + c.word()
	pick := []struct{ line, key string }{
		{fmt.Sprintf("by the way the staging listener is on port %d", port), fmt.Sprintf("port %d", port)},
		{fmt.Sprintf("The contract is at %s and it is the truth, not the wiki.", host), host},
		{fmt.Sprintf("Please do not touch %s, payroll reads it.", name), "not touch " + name},
		{fmt.Sprintf("Bitte nie gegen %s-%d laufen lassen, das ist Produktion.", name, port), fmt.Sprintf("nie gegen %s-%d", name, port)},
		{fmt.Sprintf("El límite son %d filas por lote, no más.", port), fmt.Sprintf("%d filas", port)},
		{fmt.Sprintf("超时设为 %d 毫秒，不要改 %s。", port, name), fmt.Sprintf("超时设为 %d 毫秒", port)},
		{fmt.Sprintf("Ask %s%s from the %s team before you merge.", strings.ToUpper(name[:1]), name[1:4], name), "from the " + name + " team"},
	}[c.r.IntN(7)]
	text := pick.line
	if c.r.IntN(2) == 0 {
		text = "That looks right so far.\n" + text + "\nOtherwise go on as you planned."
	}
	c.b.user(text)
	c.fact("user", pick.key)
}

// chatter returns what an agent says between calls.
func (c *coding) chatter() string {
	if c.r.IntN(4) == 0 {
		return ""
	}
	return []string{
		fmt.Sprintf("Let me look at how %s calls the %s.", c.camel(), c.word()),
		fmt.Sprintf("I'll check the %s next.", c.word()),
		fmt.Sprintf("Now the tests of the %s.", c.word()),
		fmt.Sprintf("The %s is built in %s, and the %s reads it back. I want to see the other side of that before I touch anything.", c.word(), c.camel(), c.word()),
		fmt.Sprintf("Good. %s compiles again; on to the %s.", c.camel(), c.word()),
		fmt.Sprintf("Interesting: there are two kinds of %s here.", c.word()),
		fmt.Sprintf("Ich sehe mir jetzt %s an.", c.camel()),
	}[c.r.IntN(7)]
}

func (c *coding) decides(words string) string {
	a, b, k := c.word()+"_"+c.word(), c.camel(), c.r.IntN(10_000)
	sentence := []string{
		fmt.Sprintf("I'm going with %s rather than %s, because it survives a restart (see #%d).", a, b, k),
		fmt.Sprintf("Decision: %s stays synchronous; a queue of %d would only hide the loss.", b, k),
		fmt.Sprintf("We drop %s altogether and let %s do the retries, which saves %d lines.", a, b, k),
		fmt.Sprintf("Ich bleibe bei %s statt %s, weil sonst %d Zeilen doppelt gelesen würden.", a, b, k),
		fmt.Sprintf("Me quedo con %s en vez de %s porque así no hacen falta %d bloqueos.", a, b, k),
		fmt.Sprintf("On garde %s plutôt que %s, donc la limite reste à %d.", a, b, k),
		fmt.Sprintf("我决定用 %s 而不是 %s，因为它能处理 %d 行。", a, b, k),
		fmt.Sprintf("No new dependency for this: %s from the standard library is enough for %d rows, so %s goes.", b, k, a),
		fmt.Sprintf("The %s cache moves out of %s and into its own package; having both behind one lock was the reason for the %d ms stalls.", a, b, k),
	}[c.r.IntN(9)]
	c.fact("decision", sentence)
	switch c.r.IntN(3) {
	case 0:
		return sentence
	case 1:
		return strings.TrimSpace(words + " " + sentence)
	}
	return sentence + " " + c.chatter()
}

// plan sends the list with one more item done.
func (c *coding) plan() {
	c.done = min(c.done+1, codingTodos/2)
	state := func(i int, names ...string) string {
		switch {
		case i < c.done:
			return names[2]
		case i == c.done:
			return names[1]
		}
		return names[0]
	}
	var list []any
	for i, todo := range c.todos {
		switch c.d {
		case wire.Messages:
			list = append(list, map[string]any{"content": todo, "status": state(i, "pending", "in_progress", "completed"), "activeForm": "Working on it"})
		case wire.Responses:
			list = append(list, map[string]any{"step": todo, "status": state(i, "pending", "in_progress", "completed")})
		case wire.Gemini:
			list = append(list, map[string]any{"description": todo, "status": state(i, "pending", "in_progress", "completed")})
		default:
			list = append(list, state(i, "- [ ] ", "- [-] ", "- [x] ")+todo)
		}
	}
	switch c.d {
	case wire.Messages:
		c.b.call("", "TodoWrite", map[string]any{"todos": list}, "Todos have been modified successfully.", false)
	case wire.Responses:
		c.b.call("", "update_plan", map[string]any{"plan": list}, "Plan updated", false)
	case wire.Gemini:
		c.b.call("", "write_todos", map[string]any{"todos": list}, "Successfully updated the todo list.", false)
	default:
		var b strings.Builder
		for _, row := range list {
			b.WriteString(row.(string) + "\n")
		}
		c.b.call("", "update_todo_list", map[string]any{"todos": b.String()}, "ok", false)
	}
}

func (c *coding) code(lines int) string {
	var b strings.Builder
	for range lines {
		b.WriteString([]string{
			fmt.Sprintf("func (x *%s) %s(ctx context.Context, n int) error {", c.camel(), c.camel()),
			fmt.Sprintf("\tif err := x.%s.%s(%s, %d); err != nil {", c.word(), c.camel(), c.word(), c.r.IntN(100)),
			fmt.Sprintf("\t\treturn fmt.Errorf(\"%s %s failed: %%w\", err)", c.word(), c.word()),
			"\t}", "\treturn nil", "}", "",
			fmt.Sprintf("\t// %s must not be empty because the %s expects it", c.camel(), c.word()),
			fmt.Sprintf("\t%s := make(map[string]%s, %d)", c.word(), c.camel(), c.r.IntN(64)),
		}[c.r.IntN(9)])
		b.WriteByte('\n')
	}
	return b.String()
}

// looks adds a step without a fact: a file, a search, or tests that pass.
func (c *coding) looks(words string) {
	switch c.r.IntN(4) {
	case 0, 1:
		c.read(words, c.path(), c.code(12+c.r.IntN(40)))
	case 2:
		lines := make([]string, 10+c.r.IntN(30))
		for i := range lines {
			lines[i] = fmt.Sprintf("%s:%d:\t%s.%s(errors.New(\"%s failed\"))", c.path(), 1+c.r.IntN(900), c.word(), c.camel(), c.word())
		}
		c.shell(words, fmt.Sprintf("grep -rn %s internal", c.camel()), strings.Join(lines, "\n"), 0)
	default:
		lines := make([]string, 10+c.r.IntN(30))
		for i := range lines {
			lines[i] = fmt.Sprintf("ok  \texample.com/ledger/%s/%s\t%d.%03ds", c.word(), c.word(), c.r.IntN(9), c.r.IntN(999))
		}
		c.shell(words, fmt.Sprintf("go test ./internal/%s/%s_%d/...", c.word(), c.word(), c.r.IntN(1000)), strings.Join(lines, "\n"), 0)
	}
}

func (c *coding) edits(words string) {
	path := fmt.Sprintf("%s/%s/%s_%s%d.%s", c.one("internal", "cmd", "web/src", "deploy", "lib"), c.word(), c.word(), c.word(), c.r.IntN(999), c.one("go", "ts", "py", "yaml", "rs", "md"))
	c.fact("edited file", path)
	old, text := c.code(4), c.code(8+c.r.IntN(20))
	patch := "*** Begin Patch\n*** Update File: " + path + "\n@@\n-" + strings.TrimSpace(old) + "\n+" + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n+") + "\n*** End Patch"
	switch n := c.r.IntN(5); {
	case n == 0:
		command := c.one("sed -i 's/retry/again/g' ", "gofmt -w ", "cat > ", "git mv old.txt ") + path
		if strings.HasPrefix(command, "cat") {
			command += " <<'EOF'\n" + text + "EOF"
		}
		c.shell(words, command, "", 0)
	case c.d == wire.Messages && n == 1:
		c.b.call(words, "Write", map[string]any{"file_path": "/repo/" + path, "content": text}, "File created successfully at: /repo/"+path, false)
	case c.d == wire.Messages:
		c.b.call(words, "Edit", map[string]any{"file_path": "/repo/" + path, "old_string": old, "new_string": text}, "The file has been updated. Here's a snippet of it:\n"+text, false)
	case c.d == wire.Responses && n < 4:
		c.b.custom(words, "apply_patch", patch, "Success. Updated the following files")
	case c.d == wire.Responses:
		c.shell(words, "apply_patch <<'EOF'\n"+patch+"\nEOF", "Done!", 0)
	case c.d == wire.Gemini && n == 1:
		c.b.call(words, "write_file", map[string]any{"file_path": path, "content": text}, "Successfully created and wrote to new file.", false)
	case c.d == wire.Gemini:
		c.b.call(words, "replace", map[string]any{"file_path": path, "instruction": "Close the branch", "old_string": old, "new_string": text}, "Successfully modified file.", false)
	case n == 1:
		c.b.call(words, "write", map[string]any{"filePath": path, "content": text}, "", false)
	case n == 2:
		c.b.call(words, "patch", map[string]any{"patchText": patch}, "ok", false)
	default:
		c.b.call(words, "edit", map[string]any{"filePath": path, "oldString": old, "newString": text}, "", false)
	}
}

// fails runs tests that fail, once more with other words, and now and then what failed passes.
func (c *coding) fails(words string, n int) {
	test := "Test" + strings.ToUpper(c.word()[:1]) + c.camel() + fmt.Sprint(c.r.IntN(999))
	got, want := c.r.IntN(9999), c.r.IntN(9999)
	place := fmt.Sprintf("%s_test.go:%d", c.word(), c.r.IntN(900))
	pick := []struct{ command, output, key string }{
		{"go test ./internal/%s/...", fmt.Sprintf("=== RUN   %s\n--- FAIL: %s (0.01s)\n    %s: got %d rows, want %d\nFAIL\nFAIL\texample.com/ledger/x\t0.31s", test, test, place, got, want), fmt.Sprintf("got %d rows, want %d", got, want)},
		{"pytest -q tests/%s", fmt.Sprintf("    def test_x():\n>       assert rows == %d\nE       AssertionError: assert %d == %d\n\ntests/test_x.py:12: AssertionError\nFAILED tests/test_x.py::%s - AssertionError: assert %d == %d\n1 failed, 12 passed in 0.4s", want, got, want, test, got, want), "::" + test},
		{"npx jest %s", fmt.Sprintf("FAIL src/x.test.ts\n  ● %s › keeps rows\n\n    expect(received).toBe(expected)\n\n    Expected: %d\n    Received: %d\n\n      at Object.<anonymous> (src/x.test.ts:12:3)\n\nTests: 1 failed, 30 passed, 31 total", test, want, got), fmt.Sprintf("Received: %d", got)},
		{"cargo test -p %s", fmt.Sprintf("running 9 tests\ntest %s ... FAILED\n\n---- %s stdout ----\nthread '%s' panicked at src/lib.rs:12:5:\nassertion `left == right` failed\n  left: %d\n right: %d\n\ntest result: FAILED. 8 passed; 1 failed", test, test, test, got, want), fmt.Sprintf("left: %d", got)},
		{"npx tsc --noEmit -p %s", fmt.Sprintf("src/a/%s.ts(%d,7): error TS2322: Type '%s' is not assignable to type 'Row%d'.\n", test, got, test, want), fmt.Sprintf("'Row%d'", want)},
		{"mvn -q test -pl %s", fmt.Sprintf("[ERROR] Tests run: 3, Failures: 1\n[ERROR]   %s.keepsRows:44 expected: <%d> but was: <%d>\n[INFO] BUILD FAILURE", test, want, got), fmt.Sprintf("expected: <%d> but was: <%d>", want, got)},
		{"bundle exec rspec spec/%s", fmt.Sprintf("Failures:\n\n  1) %s keeps rows\n     Failure/Error: expect(rows).to eq(%d)\n\n       expected: %d\n            got: %d\n\n4 examples, 1 failure", test, want, want, got), fmt.Sprintf("expect(rows).to eq(%d)", want)},
		{"make -C %s check", fmt.Sprintf("cc -c x.c\nx.c:%d:3: error: '%s' undeclared (first use in this function)\nmake: *** [Makefile:7: x.o] Error 2", got, test), fmt.Sprintf("'%s' undeclared", test)},
	}[n%8]
	command := fmt.Sprintf(pick.command, fmt.Sprintf("%s%d", c.word(), n))
	noise := strings.Repeat("ok  \texample.com/ledger/"+c.word()+"\t0.2s\n", c.r.IntN(40))
	c.shell(words, command, noise+strings.Replace(pick.output, test, test+"Before", 1), 1)
	c.looks("")
	c.shell(c.chatter(), command, noise+pick.output, 1)
	c.fact("test error", pick.key)
}

func (c *coding) read(words, path, text string) {
	switch c.d {
	case wire.Messages:
		c.b.call(words, "Read", map[string]any{"file_path": "/repo/" + path}, text, false)
	case wire.Responses:
		c.shell(words, "sed -n '1,200p' "+path, text, 0)
	case wire.Gemini:
		c.b.call(words, "read_file", map[string]any{"absolute_path": "/repo/" + path}, text, false)
	default:
		c.b.call(words, "read", map[string]any{"filePath": path, "offset": 1}, text, false)
	}
}

// shell runs a command as the agents of a dialect do, and says its code as they do.
func (c *coding) shell(words, command, output string, code int) {
	switch c.d {
	case wire.Messages:
		c.b.call(words, "Bash", map[string]any{"command": command, "description": "Run it"}, output, code != 0)
	case wire.Responses:
		c.b.call(words, "shell", map[string]any{"command": []string{"bash", "-lc", command}, "workdir": "/repo"}, fmt.Sprintf("Exit code: %d\nWall time: 0.4 seconds\nOutput:\n%s", code, output), false)
	case wire.Gemini:
		c.b.call(words, "run_shell_command", map[string]any{"command": command}, fmt.Sprintf("Command: %s\nDirectory: (root)\nOutput: %s\nError: (none)\nExit Code: %d\nSignal: (none)", command, output, code), false)
	default:
		data, _ := json.Marshal(map[string]any{"output": output, "metadata": map[string]any{"exit_code": code}})
		c.b.call(words, "bash", map[string]any{"command": command}, string(data), false)
	}
}
