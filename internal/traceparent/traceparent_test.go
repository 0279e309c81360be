package traceparent_test

import (
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/traceparent"
)

const example = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

func TestParse(t *testing.T) {
	for _, c := range []struct {
		text, want string // want "": it is none
	}{
		{example, example},
		{"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"},
		{"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-ff", example},      // unknown flags mean nothing
		{"cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more", example}, // a version to come
		{"cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01.more", ""},
		{example + "-more", ""},
		{example + "-", ""},
		{"ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", ""},
		{"00-00000000000000000000000000000000-00f067aa0ba902b7-01", ""},
		{"00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01", ""},
		{strings.ToUpper(example), ""},
		{"00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", ""},
		{example[:54], ""},
		{"", ""},
	} {
		p, ok := traceparent.Parse(c.text)
		if ok != (c.want != "") || ok && p.String() != c.want {
			t.Errorf("Parse(%q) = %v, %v; want %q", c.text, p, ok, c.want)
		}
	}
}

// FuzzParse: what is taken for a parent says the same when it is written and read again.
func FuzzParse(f *testing.F) {
	f.Add(example)
	f.Add("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-03-x")
	f.Add("00-00000000000000000000000000000000-0000000000000000-00")
	f.Fuzz(func(t *testing.T, text string) {
		p, ok := traceparent.Parse(text)
		if !ok {
			if p != (traceparent.Parent{}) {
				t.Errorf("%q is no parent and gives %v", text, p)
			}
			return
		}
		if again, ok := traceparent.Parse(p.String()); !ok || again != p {
			t.Errorf("%q: %v is read again as %v, %v", text, p, again, ok)
		}
		if !strings.HasPrefix(text[2:], p.String()[2:53]) {
			t.Errorf("%q gives the ids %s", text, p)
		}
	})
}
