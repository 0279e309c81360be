package main

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/testfile"
)

// A guide is a page of the documentation, taken apart.
type guide struct {
	name   string // below the top folder
	blocks []block
	spans  []span // of code inside the text
	links  []span
	heads  []string // anchors
}

// A block is what stands between two fences.
type block struct {
	info  string // behind the opening fence: "console", "toml"
	line  int    // of its first line
	lines []string
}

type span struct {
	text string
	line int
}

var (
	codeSpan = regexp.MustCompile("`([^`]+)`")
	linkSpan = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	notSlug  = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

func guides(t *testing.T) []guide {
	t.Helper()
	const top = "../.."
	names, err := filepath.Glob(top + "/docs/*.md")
	if err != nil || len(names) < 5 {
		t.Fatalf("the guides are %q, %v", names, err)
	}
	var list []guide
	for _, name := range append(names, top+"/README.md", top+"/CONTRIBUTING.md", top+"/CHANGELOG.md") {
		text := testfile.Read(t, name)
		rel, err := filepath.Rel(top, name)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, parseGuide(filepath.ToSlash(rel), string(text)))
	}
	return list
}

func parseGuide(name, text string) guide {
	g := guide{name: name}
	var in *block
	for i, line := range strings.Split(text, "\n") {
		info, fence := strings.CutPrefix(strings.TrimSpace(line), "```")
		switch {
		case fence && in == nil:
			in = &block{info: info, line: i + 2}
		case fence:
			g.blocks = append(g.blocks, *in)
			in = nil
		case in != nil:
			in.lines = append(in.lines, line)
		case strings.HasPrefix(line, "#"):
			head := strings.ToLower(strings.TrimSpace(strings.TrimLeft(line, "#")))
			g.heads = append(g.heads, strings.ReplaceAll(notSlug.ReplaceAllString(head, ""), " ", "-"))
			fallthrough
		default:
			if strings.HasPrefix(line, "    ") { // an indented block is code too
				g.spans = append(g.spans, span{strings.TrimSpace(line), i + 1})
			}
			for _, m := range codeSpan.FindAllStringSubmatch(line, -1) {
				g.spans = append(g.spans, span{m[1], i + 1})
			}
			for _, m := range linkSpan.FindAllStringSubmatch(line, -1) {
				g.links = append(g.links, span{m[1], i + 1})
			}
		}
	}
	return g
}

// code is everything of a guide that is set as code, but not what a console prints.
func (g guide) code() []span {
	list := slices.Clone(g.spans)
	for _, b := range g.blocks {
		console := strings.HasPrefix(b.info, "console")
		for i, line := range b.lines {
			if console && !strings.HasPrefix(line, "$ ") {
				continue
			}
			list = append(list, span{line, b.line + i})
		}
	}
	return list
}

// The page of plimsoll run has every flag that sets something: its help shows some and names the page.
func TestRunPageHasEveryFlag(t *testing.T) {
	list := guides(t)
	page := list[slices.IndexFunc(list, func(g guide) bool { return g.name == "docs/run.md" })]
	run, _, err := newRootCommand(nil).Find([]string{"run"})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range flagsOf(run) {
		if name == "--help" || name == "--all" || !strings.HasPrefix(name, "--") {
			continue
		}
		named := func(s span) bool {
			return strings.HasPrefix(s.text+" ", name+" ") || strings.HasPrefix(s.text, name+"=")
		}
		if !slices.ContainsFunc(page.spans, named) {
			t.Errorf("docs/run.md does not say what %s of plimsoll run does", name)
		}
	}
}
