package archtest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// public are the packages that programs of others may import. docs/embed.md says what is promised of them.
var public = []string{
	"agent", "agent/a2a", "agent/anthropic", "agent/conversation", "agent/gemini", "agent/openai", "agent/prompt", "agent/standin",
	"agent/toolbox", "journal", "limit", "process/admission", "process/guard", "process/sandbox", "tools/mcp/builtin", "tools/spool",
	"window/models", "window/repair", "window/tokens", "window/wire",
}

func TestWhatMayBeImported(t *testing.T) {
	var found []string
	for _, p := range graph(t) {
		if p.name != "main" && p.name != "" && !strings.Contains(p.path, "internal/") && !below(p.path, "e2e", "examples", "bench") {
			found = append(found, p.path)
		}
	}
	if !slices.Equal(found, public) {
		t.Errorf("these packages can be imported from outside:\n%q\nand these are promised in docs/embed.md:\n%q\nput the others below internal", found, public)
	}
	page := string(read(t, "docs/embed.md"))
	for _, p := range public {
		if !strings.Contains(page, "| `"+p+"`") && !strings.Contains(page, ", `"+p+"`") {
			t.Errorf("docs/embed.md has no row for %s", p)
		}
	}
}

// hiddenOnPurpose are types below internal that public declarations speak of, and why nobody outside has to name them.
var hiddenOnPurpose = map[string]string{
	"internal/window/breaker.Breaker":   "set by plimsoll alone, which restarts agents that ran out of memory; nil for everybody else",
	"internal/agent/a2a/tasklog.Stats":  "counts that are only read",
	"internal/tools/gateway.Server":     "the gateway of plimsoll's own configuration; others describe a server by command, address or Peer",
	"internal/tools/gateway.Settings":   "a field whose own fields are set; the zero value works",
	"internal/tools/mcp/transport.Peer": "handed on from builtin.Server.Dial, never implemented outside",
	"internal/process/headroom.Reading": "how plimsoll reads a machine that tests describe; nil reads this one",
	"internal/rawjson.Edit":             "an alias, so that edits are made with the same type inside and outside",
	"internal/rawjson.Span":             "an alias, as Edit",
	"internal/rawjson.SyntaxError":      "an alias, so that errors.As finds it",
}

// TestPublicNamesArePublic looks at what the packages that may be imported declare: a parameter or a field of a type that nobody outside
// can name is one that nobody outside can fill in.
func TestPublicNamesArePublic(t *testing.T) {
	folders, used := goFolders(t), map[string]bool{}
	for _, folder := range public {
		for _, name := range folders[folder] {
			set := token.NewFileSet()
			file, err := parser.ParseFile(set, name, read(t, name), parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			hidden := map[string]string{}
			for _, spec := range file.Imports {
				full, _ := strconv.Unquote(spec.Path.Value)
				if !strings.HasPrefix(full, module+"/internal/") {
					continue
				}
				as := path.Base(full)
				if spec.Name != nil {
					as = spec.Name.Name
				}
				hidden[as] = strings.TrimPrefix(full, module+"/")
			}
			for _, decl := range file.Decls {
				mentions := map[string]bool{}
				for _, node := range signature(decl) {
					ast.Inspect(node, func(n ast.Node) bool {
						if f, ok := n.(*ast.Field); ok && len(f.Names) > 0 && !slices.ContainsFunc(f.Names, func(i *ast.Ident) bool { return i.IsExported() }) {
							_, inStruct := node.(*ast.StructType)
							return !inStruct
						}
						if s, ok := n.(*ast.SelectorExpr); ok {
							if x, ok := s.X.(*ast.Ident); ok && hidden[x.Name] != "" {
								mentions[hidden[x.Name]+"."+s.Sel.Name] = true
							}
						}
						return true
					})
				}
				for _, m := range slices.Sorted(maps.Keys(mentions)) {
					if hiddenOnPurpose[m] != "" {
						used[m] = true
						continue
					}
					t.Errorf("%s: an exported declaration speaks of %s", set.Position(decl.Pos()), m)
				}
			}
		}
	}
	for m := range hiddenOnPurpose {
		if !used[m] {
			t.Errorf("no public declaration speaks of %s any more: take it out of hiddenOnPurpose", m)
		}
	}
}

// signature returns what others see of an exported declaration: parameters and results of a function, types, values of constants.
func signature(decl ast.Decl) (nodes []ast.Node) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Name.IsExported() && (d.Recv == nil || receiverIsExported(d.Recv)) {
			nodes = append(nodes, d.Type)
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				if s.Name.IsExported() {
					nodes = append(nodes, s.Type)
				}
			case *ast.ValueSpec:
				if s.Type != nil && slices.ContainsFunc(s.Names, func(i *ast.Ident) bool { return i.IsExported() }) {
					nodes = append(nodes, s.Type)
				}
			}
		}
	}
	return nodes
}

func receiverIsExported(list *ast.FieldList) bool {
	kind := list.List[0].Type
	if star, ok := kind.(*ast.StarExpr); ok {
		kind = star.X
	}
	name, ok := kind.(*ast.Ident)
	return ok && name.IsExported()
}
