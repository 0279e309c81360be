package archtest

import (
	"bytes"
	"go/parser"
	"go/token"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	// A file is one noun. Past about 400 lines it is two; the test leaves some room so
	// that it asks for a split and not for shorter comments.
	maxLines = 450
	// A package comment of less says only what the name says.
	minCommentLines = 4
)

// goFolders maps the folders of the module to their Go files that are no tests.
func goFolders(t *testing.T) map[string][]string {
	t.Helper()
	folders := map[string][]string{}
	for _, name := range files(t, ".go") {
		if !strings.HasSuffix(name, "_test.go") && !strings.Contains(name, "testdata/") {
			folders[path.Dir(name)] = append(folders[path.Dir(name)], name)
		}
	}
	return folders
}

func TestEveryPackageHasAComment(t *testing.T) {
	folders := goFolders(t)
	for _, folder := range slices.Sorted(maps.Keys(folders)) {
		comments := map[string]string{}
		name := ""
		for _, file := range folders[folder] {
			tree, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, file), nil, parser.PackageClauseOnly|parser.ParseComments)
			if err != nil {
				t.Errorf("%v", err)
				continue
			}
			name = tree.Name.Name
			if text := strings.TrimSpace(tree.Doc.Text()); text != "" {
				comments[path.Base(file)] = text
			}
		}
		switch text, inDoc := comments["doc.go"]; {
		case len(comments) == 0:
			t.Errorf("%s has no package comment: say what it is for, how it is used and what to expect", folder)
		case len(comments) > 1:
			t.Errorf("%s has package comments in %v: go doc would string them together; keep one", folder, slices.Sorted(maps.Keys(comments)))
		case !inDoc && name != "main" && len(folders[folder]) > 1 && !strings.HasPrefix(folder, "internal/"):
			t.Errorf("%s has its package comment in %v: readers look for it in doc.go", folder, slices.Sorted(maps.Keys(comments)))
		default:
			for _, one := range comments {
				text = one
			}
			if n := strings.Count(text, "\n") + 1; n < minCommentLines {
				t.Errorf("%s has a package comment of %d lines; say in at least %d what it is for, how it is used and what to expect", folder, n, minCommentLines)
			}
		}
	}
}

func TestFilesAreShort(t *testing.T) {
	for _, names := range goFolders(t) {
		for _, name := range names {
			if n := bytes.Count(read(t, name), []byte("\n")); n > maxLines {
				t.Errorf("%s has %d lines, more than %d: split it by noun", name, n, maxLines)
			}
		}
	}
}

// A secret is text that no tracked file may hold. The patterns are put together from
// pieces, so that this file does not hold what it forbids.
type secret struct {
	what  string
	words []string // one of them is in all that the expression matches, in lower case
	re    *regexp.Regexp
}

// in reports whether the expression matches. It takes ten times as long to find nothing as a look for the words.
func (s *secret) in(text, lower []byte) bool {
	return slices.ContainsFunc(s.words, func(w string) bool { return bytes.Contains(lower, []byte(w)) }) && s.re.Match(text)
}

func secrets() []secret {
	host := func(labels ...string) string { return regexp.QuoteMeta(strings.Join(labels, ".")) }
	registries := []string{
		host("proxy", "golang", "org"), host("sum", "golang", "org"),
		host("registry", "npmjs", "org"), host("registry", "yarnpkg", "com"), host("npm", "pkg", "github", "com"),
		host("pypi", "org"), host("pythonhosted", "org"), host("crates", "io"), host("rubygems", "org"),
		host("maven", "org"), host("deb", "debian", "org"), host("security", "debian", "org"), host("archive", "ubuntu", "com"),
	}
	plain := make([]string, len(registries))
	for i, r := range registries {
		plain[i] = strings.ReplaceAll(r, `\`, "")
	}
	return []secret{
		{
			"a path of one developer's machine; write it relative to the repository, or take it from the environment",
			[]string{"work" + "/"},
			regexp.MustCompile(`(^|[^\w.~/)}-])/` + `work/`),
		},
		{
			"the host of a package registry; where packages come from is for the machine to say (GOPROXY, .npmrc, apt)",
			plain,
			regexp.MustCompile(`(?i)(^|[^\w-])([\w-]+\.)*(` + strings.Join(registries, "|") + `)\b`),
		},
		{
			"a private note; write the reason or the measurement itself",
			[]string{"fa" + "cts", "orig" + "inals", "design", "style"},
			regexp.MustCompile(`\b(FA` + `CTS|ORIG` + `INALS)\b|\b(DESIGN|STYLE)(\.md|\s+\d)`),
		},
	}
}

func TestNothingPrivateIsNamed(t *testing.T) {
	forbidden := secrets()
	for _, name := range files(t, "") {
		text := read(t, name)
		if bytes.IndexByte(text[:min(len(text), 8000)], 0) >= 0 {
			continue // not text
		}
		lower := bytes.ToLower(text)
		for _, s := range forbidden {
			if s.re.MatchString(name) {
				t.Errorf("the name of %s holds %s", name, s.what)
			}
			if !s.in(text, lower) {
				continue
			}
			for i, line := range bytes.Split(text, []byte("\n")) {
				if found := s.re.Find(line); found != nil {
					t.Errorf("%s:%d names %q: %s", name, i+1, found, s.what)
				}
			}
		}
	}
}

// The patterns must find what they are for, and leave alone what only looks like it.
func TestSecretPatterns(t *testing.T) {
	forbidden := secrets()
	matches := func(text string) bool {
		return slices.ContainsFunc(forbidden, func(s secret) bool { return s.in([]byte(text), bytes.ToLower([]byte(text))) })
	}
	for _, bad := range []string{
		"cd /wo" + "rk/main", `"/wo` + `rk/x"`, "https://registry." + "npmjs.org/x", "GOPROXY=https://proxy." + "golang.org",
		"see FACT" + "S 3", "ORIGINAL" + "S C", "in DESIGN" + ".md", "DESIGN" + " 4", "files.python" + "hosted.org",
	} {
		if !matches(bad) {
			t.Errorf("nothing forbids %q", bad)
		}
	}
	for _, good := range []string{"~/work/x", "$HOME/work/", "/home/me/work/a", "pkg.go.dev/golang.org/x/sys", "facts", "DESIGN", "golang.org/x/term", "artifacts/work/a"} {
		if matches(good) {
			t.Errorf("%q is forbidden, which is too much", good)
		}
	}
}
