package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/night"
	"github.com/plimsoll/plimsoll/internal/testing/testfile"
)

// A walk is a section of docs/architecture.md: the files that a reader opens to follow one pass through the program, and
// the functions that run there, in order.
type walk struct {
	title string
	most  int // files
	steps []walkStep
}

type walkStep struct {
	file  string   // below the module
	funcs []string // "name", or "Type.name" of a method
}

// where names a function in the trace.
func (s walkStep) where(f string) string { return s.file + " " + f }

var (
	walkTitle = regexp.MustCompile(`^## (.*) in (\d+) files$`)
	walkLine  = regexp.MustCompile("^\\d+\\. \\[([^\\]]+)\\]\\(\\.\\./([^)]+)\\) ((?:`[A-Za-z0-9_.]+`(?:, )?)+):")
	walkFunc  = regexp.MustCompile("`([A-Za-z0-9_.]+)`")
)

// mostFiles is how many files a reader may have to open for each pass. It only ever gets smaller.
var mostFiles = map[string]int{"A run": 13, "A model request": 10, "A large tool result": 13, "An agent's question": 15}

func readWalks(t *testing.T) []walk {
	t.Helper()
	text := testfile.Read(t, "../docs/architecture.md")
	var walks []walk
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if m := walkTitle.FindStringSubmatch(line); m != nil {
			walks = append(walks, walk{title: m[1]})
			if _, err := fmt.Sscan(m[2], &walks[len(walks)-1].most); err != nil {
				t.Fatal(err)
			}
			continue
		}
		m := walkLine.FindStringSubmatch(line)
		switch {
		case m == nil && len(walks) > 0 && regexp.MustCompile(`^\d+\. `).MatchString(line):
			t.Errorf("docs/architecture.md: %q is not like \"1. [dir/file.go](../dir/file.go) `function`: what it does\"", line)
		case m == nil:
		case m[1] != m[2]:
			t.Errorf("docs/architecture.md: [%s] links to %s", m[1], m[2])
		default:
			s := walkStep{file: m[1]}
			for _, f := range walkFunc.FindAllStringSubmatch(m[3], -1) {
				s.funcs = append(s.funcs, f[1])
			}
			w := &walks[len(walks)-1]
			w.steps = append(w.steps, s)
		}
	}
	return walks
}

// TestArchitectureWalks makes one real pass for each walk of docs/architecture.md, with a plimsoll that notes when each
// of the functions named there begins, and compares the order. That plimsoll takes a minute to build: by day, unless it is named, the
// test only looks whether there are these files and functions.
func TestArchitectureWalks(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("go"); err != nil {
		t.Skipf("the sources are built with marks in them: %v", err)
	}
	if _, err := os.Stat("../go.mod"); err != nil {
		t.Skipf("the sources are not here: %v", err)
	}
	passes := map[string]func(*testing.T, *world, string){
		"A run": passRun, "A model request": passModelRequest, "A large tool result": passToolResult, "An agent's question": passQuestion,
	}
	walks := readWalks(t)
	overlay := markWalks(t, walks)
	marked := ""
	if night.Else(true, isNamed()) {
		marked = buildMarked(t, overlay)
	}
	for _, w := range walks {
		t.Run(w.title, func(t *testing.T) {
			pass := passes[w.title]
			if pass == nil {
				t.Fatal("no test makes this pass")
			}
			delete(passes, w.title)
			var files, want []string
			for _, s := range w.steps {
				if !slices.Contains(files, s.file) {
					files = append(files, s.file)
				}
				for _, f := range s.funcs {
					want = append(want, s.where(f))
				}
			}
			if len(files) != w.most || len(files) > mostFiles[w.title] {
				t.Errorf("%d files; the title says %d, and %d are the most that a reader should have to open", len(files), w.most, mostFiles[w.title])
			}
			if marked == "" {
				return
			}
			trace := filepath.Join(t.TempDir(), "trace")
			pass(t, markedWorld(t, trace), marked)
			text := testfile.Read(t, trace)
			var got []string
			for line := range strings.Lines(string(text)) {
				if line = strings.TrimSpace(line); slices.Contains(want, line) && !slices.Contains(got, line) {
					got = append(got, line)
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("these ran, in this order:\n\t%s\ndocs/architecture.md has:\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
			}
		})
	}
	for title := range passes {
		t.Errorf("docs/architecture.md has no section %q that ends in \"in N files\"", title)
	}
}

// traceVariable names the file that a marked plimsoll writes to.
const traceVariable = "ARCHITECTURE_TRACE"

func markedWorld(t *testing.T, trace string) *world {
	w := newWorld(t)
	w.variables = append(w.variables, traceVariable+"="+trace)
	return w
}

// marker is a package that exists only in this build.
const marker = `package walktrace

import (
	"os"
	"sync"
)

var seen sync.Map

func Enter(where string) {
	name := os.Getenv("` + traceVariable + `")
	if name == "" {
		return
	}
	if _, again := seen.LoadOrStore(where, true); again {
		return
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	defer f.Close()
	if _, err := f.WriteString(where + "\n"); err != nil {
		panic(err)
	}
}
`

// markWalks returns the file with the replacements for a build in which each function of the walks notes that it began. A function that is not
// there is a failure.
func markWalks(t *testing.T, walks []walk) string {
	t.Helper()
	dir := t.TempDir()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	funcs := map[string][]string{}
	for _, w := range walks {
		for _, s := range w.steps {
			for _, f := range s.funcs {
				if !slices.Contains(funcs[s.file], f) {
					funcs[s.file] = append(funcs[s.file], f)
				}
			}
		}
	}
	var overlay struct{ Replace map[string]string }
	overlay.Replace = map[string]string{}
	put := func(name string, text []byte) {
		to := filepath.Join(dir, fmt.Sprintf("%d.go", len(overlay.Replace)))
		testfile.Write(t, to, text)
		overlay.Replace[filepath.Join(root, filepath.FromSlash(name))] = to
	}
	put("internal/walktrace/walktrace.go", []byte(marker))
	for file, names := range funcs {
		put(file, mark(t, root, file, names))
	}
	text, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	list := filepath.Join(dir, "overlay.json")
	testfile.Write(t, list, text)
	return list
}

// buildMarked builds a plimsoll with the replacements of an overlay.
func buildMarked(t *testing.T, overlay string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "plimsoll")
	build := exec.CommandContext(t.Context(), "go", "build", "-overlay", overlay, "-o", out, "./cmd/plimsoll")
	build.Dir = ".."
	if said, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", build.Args, err, said)
	}
	return out
}

// mark returns the text of a file with a call at the beginning of each named function.
func mark(t *testing.T, root, file string, names []string) []byte {
	t.Helper()
	text := testfile.Read(t, filepath.Join(root, filepath.FromSlash(file)))
	fset := token.NewFileSet()
	tree, err := parser.ParseFile(fset, file, text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	at := map[int]string{fset.Position(tree.Name.End()).Offset: `; import walktrace_ "github.com/plimsoll/plimsoll/internal/walktrace"`}
	for _, name := range names {
		found := false
		for _, d := range tree.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && funcName(f) == name && f.Body != nil {
				found = true
				at[fset.Position(f.Body.Lbrace).Offset+1] = fmt.Sprintf("walktrace_.Enter(%q);", walkStep{file: file}.where(name))
			}
		}
		if !found {
			t.Errorf("docs/architecture.md: %s has no function %s", file, name)
		}
	}
	var out bytes.Buffer
	for i, c := range text {
		out.WriteString(at[i])
		out.WriteByte(c)
	}
	return out.Bytes()
}

// funcName is "name", or "Type.name" of a method.
func funcName(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	of := f.Recv.List[0].Type
	if star, ok := of.(*ast.StarExpr); ok {
		of = star.X
	}
	switch x := of.(type) {
	case *ast.IndexExpr:
		of = x.X
	case *ast.IndexListExpr:
		of = x.X
	}
	id, ok := of.(*ast.Ident)
	if !ok {
		return ""
	}
	return id.Name + "." + f.Name.Name
}

// passRun is `plimsoll run -- testtool exit 3`.
func passRun(t *testing.T, w *world, marked string) {
	report := filepath.Join(w.state, "report.json")
	got := w.run(nil, marked, "run", "--quiet", "--report", report, "--", testtool, "exit", "3")
	if got.status != 3 {
		t.Fatalf("status %d\n%s", got.status, got.stderr)
	}
	if _, err := os.Stat(report); err != nil {
		t.Error(err)
	}
}

// passModelRequest sends a conversation that is over the window through `plimsoll serve`.
func passModelRequest(t *testing.T, w *world, marked string) {
	sent := 0
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		sent = len(body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"choices":[{"message":{"role":"assistant","content":"ok"}}],"usage":{"prompt_tokens":3,"completion_tokens":1}}`)
	}))
	t.Cleanup(provider.Close)
	plain := plimsoll
	plimsoll = marked
	base := serve(t, w, provider.URL)
	plimsoll = plain
	var body strings.Builder
	body.WriteString(`{"model":"gpt-4o","messages":[{"role":"system","content":"be brief"}`)
	for i := range 200 {
		fmt.Fprintf(&body, `,{"role":"user","content":"question %d"},{"role":"assistant","content":%q}`, i, strings.Repeat("all work and no play ", 300))
	}
	body.WriteString(`,{"role":"user","content":"go on"}]}`)
	res, err := http.Post(base+"/openai/v1/chat/completions", "application/json", strings.NewReader(body.String()))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != http.StatusOK || sent == 0 || sent >= body.Len() {
		t.Fatalf("status %d, %v; %d of %d bytes were sent", res.StatusCode, err, sent, body.Len())
	}
}

// passToolResult asks an MCP server through `plimsoll mcp` for a result that is kept and told in pages.
func passToolResult(t *testing.T, w *world, marked string) {
	c := w.dial(marked, "mcp", "--", misbehaving(t)).begin()
	r := c.call("big", `{"bytes":4000000,"kind":"lines","needle":"NEEDLE-XYZ"}`)
	if k := r.kept(t); !k.Complete || k.Bytes < 4_000_000 {
		t.Errorf("kept: %+v", k)
	}
	c.end()
}

// passQuestion asks the built-in agent for Argo CD, which calls a tool and answers.
func passQuestion(t *testing.T, w *world, marked string) {
	if got := w.run(func(cmd *exec.Cmd) { cmd.Env = append(cmd.Env, simulated) }, marked, "ask", "--model", "standin", "list all applications"); got.status != 0 || !strings.Contains(got.stdout, "PAGE 1 of") {
		t.Fatalf("status %d\n%s\n%s", got.status, got.stdout, got.stderr)
	}
}
