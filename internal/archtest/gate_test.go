package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// gate asks .ci/run what it would do, as lines.
func gate(t *testing.T, question string) []string {
	t.Helper()
	if _, err := exec.LookPath("bash"); err != nil || runtime.GOOS == "windows" {
		t.Skipf("the gate is a bash script: %v", err)
	}
	return strings.Split(strings.TrimSpace(run(t, nil, "bash", ".ci/run", question)), "\n")
}

func TestGateRunsEveryFuzzTarget(t *testing.T) {
	var want []string
	for _, name := range files(t, "_test.go") {
		tree, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		for _, decl := range tree.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil && strings.HasPrefix(f.Name.Name, "Fuzz") {
				want = append(want, "./"+path.Dir(name)+" "+f.Name.Name)
			}
		}
	}
	if len(want) == 0 {
		t.Fatal("no fuzz target in the whole module: this test would hold nothing")
	}
	run := gate(t, "--list-fuzz")
	for _, target := range want {
		if !slices.Contains(run, target) {
			t.Errorf("%s: the gate does not run it (`.ci/run --list-fuzz` shows what it runs)", target)
		}
	}
	for _, target := range run {
		if !slices.Contains(want, target) {
			t.Errorf("the gate runs %s, which does not exist", target)
		}
	}
}

// The README promises that its first two commands work with nothing but Go. The gate
// runs them as they stand there, so the promise cannot rot.
func TestGateRunsTheReadme(t *testing.T) {
	var want []string
	code := false
	for line := range strings.Lines(string(read(t, "README.md"))) {
		switch line = strings.TrimSpace(line); {
		case strings.HasPrefix(line, "```"):
			code = !code
		case code && line != "" && !strings.HasPrefix(line, "#") && len(want) < 2:
			want = append(want, strings.TrimSpace(strings.TrimPrefix(line, "$ ")))
		}
	}
	if len(want) != 2 {
		t.Fatalf("README.md has %d commands in its code blocks, want at least 2", len(want))
	}
	for _, command := range want {
		if !strings.HasPrefix(command, "go ") {
			t.Errorf("README.md starts with %q: the first two commands need nothing but Go", command)
		}
	}
	if got := gate(t, "--list-readme"); !slices.Equal(got, want) {
		t.Errorf("the gate runs %q, README.md starts with %q", got, want)
	}
}
