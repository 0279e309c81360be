package inventory

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/plimsoll/plimsoll/internal/argocd"
)

// Whatever a server sends as an object: the row is JSON on one line, the fields have
// names, and nothing panics.
func FuzzObject(f *testing.F) {
	// Small ones: the fuzzer spends its time on making large ones shorter.
	for _, kind := range []argocd.Kind{narrowed, argocd.Clusters} {
		for i, item := range recorded(f, kind) {
			if len(item) < 900 && i%7 == 0 {
				f.Add(string(item))
			}
		}
	}
	f.Add(`{"metadata":{"name":"p"},"spec":{"description":"d","roles":[{"name":"ci"}],"sourceRepos":["*"],"destinations":[{"server":"*","namespace":"n"}],"syncWindows":[{}]}}`)
	f.Add(`{"metadata":{"name":"s"},"spec":{"generators":[{"git":{"repoURL":"r"}}],"template":{"metadata":{"name":"{{n}}"},"spec":{"project":"p","source":{"path":"x"}}}},"status":{"conditions":[{"type":"ErrorOccurred","status":"True","message":"m"}]}}`)
	f.Add(`{"metadata":null,"spec":[],"status":"x"}`)
	f.Add(`{"spec":{"sources":[1,{"repoURL":"https://a:b@c"},null],"generators":` + strings.Repeat(`[{"matrix":{"generators":`, 500) + `1` + strings.Repeat("}}]", 500) + `}}`)
	f.Add(`{"metadata":{"name":"\ud800\u0000\n","labels":{"\"":7}},"name":5}`)
	f.Add(`{"status":{"resourcesCount":99999999999999999999,"conditions":[{}]},"info":{"applicationsCount":1e9}}`)
	f.Add("{\"name\":\"\xff\xfe\"")
	f.Fuzz(func(t *testing.T, item string) {
		p, err := compilePattern("e", false, false)
		if err != nil {
			t.Fatal(err)
		}
		for _, kind := range argocd.Kinds() {
			e, err := readEntry(kind, []byte(item))
			if err != nil {
				if json.Valid([]byte(item)) && strings.HasPrefix(strings.TrimLeft(item, " \t\r\n"), "{") {
					t.Fatalf("%s: %v", kind, err)
				}
				continue
			}
			row := e.row()
			if !json.Valid(row) || !utf8.Valid(row) || strings.ContainsAny(string(row), "\n\r") {
				t.Fatalf("%s: the row is no JSON on a line: %q", kind, row)
			}
			if names := e.matchedFields(p); len(names) > maxMatched {
				t.Fatalf("%s: %q", kind, names)
			}
			_ = e.key()
		}
	})
}

// The quick ways find what the expression finds.
func FuzzPattern(f *testing.F) {
	f.Add("prod", "My-PROD-app", true, false)
	f.Add("k", "\u212a", true, false)
	f.Add("a.c", "abc", false, true)
	f.Add("*-prod", "x", false, false)
	f.Add("S", "\u017f", false, false)
	f.Add(`\Qa.b`, "A.B", false, false)
	f.Fuzz(func(t *testing.T, text, in string, literal, caseSensitive bool) {
		p, err := compilePattern(text, literal, caseSensitive)
		expression := text
		if literal {
			expression = regexp.QuoteMeta(text)
		}
		if !caseSensitive {
			expression = "(?i)" + expression
		}
		if err != nil {
			if _, plain := regexp.Compile(text); plain == nil && text != "" && len(text) <= MaxPattern && utf8.ValidString(text) {
				if _, with := regexp.Compile(expression); with == nil {
					t.Fatalf("%q is refused: %v", text, err)
				}
			}
			return
		}
		if got, want := p.foundIn([]byte(in)), regexp.MustCompile(expression).MatchString(in); got != want {
			t.Fatalf("%q in %q: %t, want %t", text, in, got, want)
		}
	})
}
