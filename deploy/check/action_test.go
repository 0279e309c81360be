package check

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rhysd/actionlint"
)

// lint gives what actionlint finds in a workflow of a project that has the action of this repository.
func lint(t *testing.T, workflow string) string {
	t.Helper()
	top := t.TempDir()
	for _, dir := range []string{".git", ".github/workflows", "deploy/action"} {
		if err := os.MkdirAll(filepath.Join(top, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	action, err := os.ReadFile("../action/action.yml")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(top, ".github", "workflows", "agent.yml")
	for name, text := range map[string][]byte{filepath.Join(top, "deploy", "action", "action.yml"): action, file: []byte(workflow)} {
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	project, err := actionlint.NewProject(top)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	linter, err := actionlint.NewLinter(&out, &actionlint.LinterOptions{WorkingDir: top, Shellcheck: "shellcheck", Format: "{{range $e := .}}{{$e.Line}}: {{$e.Message}}\n{{end}}"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := linter.LintFile(file, project); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func example(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../examples/workflows/agent.yml")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The example uses the action as the action is declared.
func TestActionAndExample(t *testing.T) {
	if found := lint(t, example(t)); found != "" {
		t.Error(found)
	}
	for change, want := range map[[2]string]string{
		{"memory-max:", "memory-limit:"}:   `"memory-limit" is not defined in action`,
		{"command: |", "run-this: |"}:      `missing input "command"`,
		{"outputs.outcome", "outputs.end"}: `"end" is not defined`,
	} {
		if found := lint(t, strings.Replace(example(t), change[0], change[1], 1)); !strings.Contains(found, want) {
			t.Errorf("%q for %q: want %q, found %q", change[1], change[0], want, found)
		}
	}
}
