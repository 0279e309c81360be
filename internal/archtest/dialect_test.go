package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strings"
	"testing"
)

const dialectTable = "window/wire/dialect.go"

// dialectNames are the constants of wire.Dialect.
func dialectNames(t *testing.T) (names []string) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), dialectTable, read(t, dialectTable), parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, decl := range file.Decls {
		group, ok := decl.(*ast.GenDecl)
		if !ok || group.Tok != token.CONST {
			continue
		}
		if kind, ok := group.Specs[0].(*ast.ValueSpec).Type.(*ast.Ident); !ok || kind.Name != "Dialect" {
			continue
		}
		for _, spec := range group.Specs {
			names = append(names, spec.(*ast.ValueSpec).Names[0].Name)
		}
	}
	if len(names) < 4 {
		t.Fatalf("%s names %d dialects: this test would hold nothing", dialectTable, len(names))
	}
	return names
}

// dialectQuestions are the places at which a file asks which dialect it has before it: a case, a comparison, a table by dialect.
func dialectQuestions(file *ast.File, names []string) (found []token.Pos) {
	own := file.Name.Name == "wire"
	isDialect := func(e ast.Expr) bool {
		switch e := e.(type) {
		case *ast.SelectorExpr:
			x, ok := e.X.(*ast.Ident)
			return ok && x.Name == "wire" && slices.Contains(names, e.Sel.Name)
		case *ast.Ident:
			return own && slices.Contains(names, e.Name)
		}
		return false
	}
	ask := func(e ast.Expr) {
		if isDialect(e) {
			found = append(found, e.Pos())
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CaseClause:
			for _, e := range n.List {
				ask(e)
			}
		case *ast.BinaryExpr:
			ask(n.X)
			ask(n.Y)
		case *ast.IndexExpr:
			ask(n.Index)
		case *ast.CompositeLit:
			switch n.Type.(type) {
			case *ast.ArrayType, *ast.MapType: // the keys of others are fields
				for _, e := range n.Elts {
					if pair, ok := e.(*ast.KeyValueExpr); ok {
						ask(pair.Key)
					}
				}
			}
		}
		return true
	})
	return found
}

// TestDialectsAreNotTold: what differs between dialects stands in wire.Rules. Whoever needs to know one thing of a dialect asks for that
// thing, so that a new one is a row and its own files, not a look at every package.
func TestDialectsAreNotTold(t *testing.T) {
	names := dialectNames(t)
	for _, name := range files(t, ".go") {
		if strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "bench/") || strings.HasPrefix(name, "internal/testing/") || name == dialectTable {
			continue
		}
		if folder, base := path.Split(name); folder == "window/wire/" && slices.ContainsFunc(names, func(d string) bool { return strings.HasPrefix(base, strings.ToLower(d)) }) {
			continue
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, name, read(t, name), parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, pos := range dialectQuestions(file, names) {
			t.Errorf("%s asks which dialect it has: say in wire.Rules what is different, and ask for that", fset.Position(pos))
		}
	}
}

func TestDialectQuestionsAreFound(t *testing.T) {
	names := dialectNames(t)
	for source, want := range map[string]int{
		"package p\nfunc f(d wire.Dialect) bool { return d == wire.Chat || wire.Gemini != d }":              2,
		"package p\nfunc f(d wire.Dialect) { switch d { case wire.Chat, wire.Messages: } }":                 2,
		"package p\nfunc f(r *wire.Request) { switch { case r.Dialect == wire.Responses: } }":               1,
		"package p\nvar t = map[wire.Dialect]int{wire.Chat: 1}":                                             1,
		"package wire\nvar t = [...]string{Chat: `a`, Gemini: `b`}":                                         2,
		"package wire\nfunc f(d Dialect) bool { return d != Messages }":                                     1,
		"package wire\nvar t = Excerpt{Messages: 1}":                                                        0,
		"package p\nfunc f(p Provider) bool { return p == Gemini }":                                         0,
		"package p\nvar t = map[string]wire.Dialect{`x`: wire.Chat}\nvar r, e = wire.Parse(wire.Chat, nil)": 0,
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "p.go", source, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		if found := dialectQuestions(file, names); len(found) != want {
			t.Errorf("%d found, want %d, in\n%s", len(found), want, source)
		}
	}
}
