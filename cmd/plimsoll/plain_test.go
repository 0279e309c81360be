package main

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/plimsoll/plimsoll/internal/app/mcp"
	"github.com/plimsoll/plimsoll/internal/app/run"
	"github.com/plimsoll/plimsoll/internal/tools/wrap"
)

// A terminal breaks a line that is too long in the middle of a word: tables break theirs at words, within the column.
func TestTablesFitTheTerminal(t *testing.T) {
	t.Parallel()
	var some table
	some.row("SERVER", "CLIENT", "WHY")
	some.row("files", "cursor", "it is remote, and the file has no headers for it: a login may be needed that only the client can do")
	some.row("a", "b", "short")
	write := func(width int) string {
		var b strings.Builder
		if err := some.writeWithin(&b, width); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	want := `SERVER  CLIENT  WHY
files   cursor  it is remote, and the file has
                no headers for it: a login may
                be needed that only the client
                can do
a       b       short
`
	if got := write(46); got != want {
		t.Errorf("at 46 columns:\n%s", got)
	}
	want = `SERVER  CLIENT  WHY
files   cursor
    it is remote, and
    the file has no
    headers for it: a
    login may be needed
    that only the client
    can do
a       b       short
`
	if got := write(23 + 1); got != want {
		t.Errorf("at 24 columns:\n%s", got)
	}
	if got := write(0); strings.Count(got, "\n") != 3 {
		t.Errorf("for a program:\n%s", got)
	}
}

func TestWhatIsPrintedFitsTheTerminal(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("a reason that goes on ", 12)
	var d run.Doctor
	d.Layers = append(d.Layers, run.Doctor{}.Layers...)
	d.Notes = []string{"memory: " + long}
	for _, width := range []int{80, 120} {
		var b strings.Builder
		if err := printDoctor(&b, d, width); err != nil {
			t.Fatal(err)
		}
		r := mcp.WrapResult{File: "/home/ada/.config/client/mcp.json"}
		r.Servers = append(r.Servers, wrap.Server{Name: "files", Client: "cursor", Line: 3, Action: "left", Why: long})
		if err := printWrap(&b, r, false, width); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if line = strings.TrimSuffix(line, "\n"); ansi.StringWidth(line) > width {
				t.Errorf("at %d columns: %q", width, line)
			}
		}
		if n := strings.Count(b.String(), "goes on"); n != 24 {
			t.Errorf("at %d columns %d of 24 are there:\n%s", width, n, b.String())
		}
	}
}
