package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// A reader takes in a README that is one screen long, and leaves one that is not.
func TestReadmeIsShort(t *testing.T) {
	const most = 120
	if lines := strings.Count(string(read(t, "README.md")), "\n"); lines > most {
		t.Errorf("README.md has %d lines, more than %d: what is for reference goes into docs/", lines, most)
	}
}

// gap stands for what a message has in the place of a verb of package fmt: a name, a number.
const gap = "\x00"

var verb = regexp.MustCompile(`%%|%[-+# 0]*[0-9*]*(\.[0-9*]+)?(\[[0-9]+\])?[a-zA-Z]`)

// messages are the texts of this program's source, each with gap for what stands in it only when it runs.
func messages(t *testing.T) []string {
	t.Helper()
	var all []string
	for _, name := range files(t, ".go") {
		if strings.HasSuffix(name, "_test.go") || strings.Contains(name, "testdata/") {
			continue
		}
		tree, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		ast.Inspect(tree, func(n ast.Node) bool {
			e, is := n.(ast.Expr)
			if !is {
				return true
			}
			text, known := textOf(e)
			if !known {
				return true
			}
			all = append(all, verb.ReplaceAllStringFunc(text, func(v string) string {
				if v == "%%" {
					return "%"
				}
				return gap
			}))
			return false
		})
	}
	return all
}

// textOf returns what a string literal says, or several that are added, with gap for what else is added to them.
func textOf(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind != token.STRING {
			return "", false
		}
		text, err := strconv.Unquote(e.Value)
		return text, err == nil
	case *ast.ParenExpr:
		return textOf(e.X)
	case *ast.BinaryExpr:
		left, known := textOf(e.X)
		right, too := textOf(e.Y)
		if e.Op != token.ADD || !known && !too {
			return "", false
		}
		if !known {
			left = gap
		}
		if !too {
			right = gap
		}
		return left + right, true
	}
	return "", false
}

// said reports whether one message has the parts of a quotation, in their order.
func said(all []string, parts []string) bool {
	for _, m := range all {
		found := true
		for _, part := range parts {
			at := strings.Index(m, part)
			if found = at >= 0; !found {
				break
			}
			m = m[at+len(part):]
		}
		if found {
			return true
		}
	}
	return false
}

var quoted = regexp.MustCompile(`"([^"]+)"`)

// Who looks for a message in the guides finds it: what stands in quotes in the first column of a table about trouble is said by the
// program, word for word, with "…" for what changes.
func TestTroubleIsNamedByItsMessage(t *testing.T) {
	all := messages(t)
	seen := 0
	for _, page := range []string{"troubleshooting", "admission", "pressure"} {
		name := "docs/" + page + ".md"
		for line := range strings.Lines(string(read(t, name))) {
			if !strings.HasPrefix(line, "| ") {
				continue
			}
			cell, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
			for _, m := range quoted.FindAllStringSubmatch(cell, -1) {
				var parts []string
				for part := range strings.SplitSeq(m[1], "…") {
					if part = strings.TrimSpace(part); len(part) > 1 {
						parts = append(parts, part)
					}
				}
				if seen++; !said(all, parts) {
					t.Errorf("%s: nothing in this program says %q: take the words of the source, with … for what changes", name, m[1])
				}
			}
		}
	}
	if seen < 20 {
		t.Errorf("only %d messages were looked for: this test holds next to nothing", seen)
	}
}
