package lineedit

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/plimsoll/plimsoll/internal/testing/streams"
)

// typed is what the editor gets of what a terminal sends, and the line as it is in the end.
func typed(t *testing.T, in io.Reader) (editor, whole string) {
	t.Helper()
	k := &keys{in: in, out: io.Discard}
	got, err := io.ReadAll(k)
	if err != nil {
		t.Fatal(err)
	}
	return string(got), k.restore(string(got))
}

func TestWhatIsPastedIsOneText(t *testing.T) {
	long := strings.Repeat("line of a file\r\n", 320)
	for _, c := range []struct{ sent, editor, whole string }{
		{"abc\r", "abc\r", "abc\r"},
		{"a\nb\r", "a\uE00Ab\r", "a\nb\r"},
		{"a\x1b\rb\r", "a\uE00Ab\r", "a\nb\r"},
		{"x\x1b[200~one\rtwo\tthree\x03\x1b[201~y\r", "xone\uE00Atwo threey\r", "xone\ntwo threey\r"},
		{"\x1b[200~" + long + "\x1b[201~ why?\r", "[pasted 1: 320 lines] why?\r", strings.ReplaceAll(long, "\r\n", "\n") + " why?\r"},
		{"\x1b[200~" + strings.Repeat("a", 500) + "\x1b[201~\x1b[200~" + strings.Repeat("b", 500) + "\x1b[201~\r", "[pasted 1: 1 line][pasted 2: 1 line]\r", strings.Repeat("a", 500) + strings.Repeat("b", 500) + "\r"},
		{"\x1b[A\x1b[200x\x1b", "\x1b[A\x1b[200x\x1b", "\x1b[A\x1b[200x\x1b"},
		{"\x1b[200~never ends", "never ends", "never ends"},
		{"\x1b[200~\xff\xfe\x1b[201~\r", "\uFFFD\r", "\uFFFD\r"},
	} {
		for name, in := range map[string]io.Reader{"whole": strings.NewReader(c.sent), "by the byte": iotest.OneByteReader(strings.NewReader(c.sent))} {
			if editor, whole := typed(t, in); editor != c.editor || whole != c.whole {
				t.Errorf("%s %.60q:\n got %.60q, %.60q\nwant %.60q, %.60q", name, c.sent, editor, whole, c.editor, c.whole)
			}
		}
	}
}

func TestAPasteBeyondTheBoundIsSaid(t *testing.T) {
	k := &keys{in: io.MultiReader(strings.NewReader(pasteBegin), streams.Repeat("z", 3<<20), strings.NewReader(pasteEnd+"\r")), out: io.Discard}
	if _, err := io.ReadAll(k); err != nil {
		t.Fatal(err)
	}
	if k.bytes > maxPasted || cap(k.paste) > 2*maxPasted {
		t.Errorf("kept %d bytes", k.bytes)
	}
	if named, lost := k.reset(); !named || lost != 1<<20 {
		t.Errorf("%v, %d bytes lost, want 1 MiB", named, lost)
	}
}

// A terminal that does not say where its cursor is costs nothing: the question does not reach it.
func TestTheQuestionForTheCursorIsAnsweredHere(t *testing.T) {
	var shown bytes.Buffer
	k := &keys{in: strings.NewReader("x"), out: &shown}
	if n, err := io.WriteString(k, "> \x1b[6n"); n != 6 || err != nil || shown.String() != "> " {
		t.Errorf("%d, %v, shown %q", n, err, shown.String())
	}
	if got, _ := io.ReadAll(k); string(got) != "\x1b[1;1Rx" {
		t.Errorf("%q", got)
	}
}

// In raw mode nobody puts the cursor to the left edge at a line break: what the editor shows would go down in stairs.
func TestLineBreaksOfTheEditorBeginAtTheLeftEdge(t *testing.T) {
	var shown bytes.Buffer
	k := &keys{in: strings.NewReader(""), out: &shown}
	for _, text := range []string{"a\n", "b\r\nc\n\n", "\x1b[6n\nd"} {
		if n, err := io.WriteString(k, text); n != len(text) || err != nil {
			t.Errorf("%q: %d, %v", text, n, err)
		}
	}
	if got := shown.String(); got != "a\r\nb\r\nc\r\n\r\n\r\nd" {
		t.Errorf("shown %q", got)
	}
}

func FuzzKeys(f *testing.F) {
	f.Add([]byte("a\x1b[200~b\r\nc\x1b[201~\n"), uint8(3))
	f.Add([]byte("\x1b\x1b[\x1b[20\x1b[200~\x1b[201"), uint8(1))
	f.Fuzz(func(t *testing.T, data []byte, size uint8) {
		at, whole := typed(t, bytes.NewReader(data))
		parts, wholeParts := typed(t, streams.Equal(data, 1+int(size)%16))
		if at != parts || whole != wholeParts {
			t.Fatalf("%q in one: %q; in pieces: %q", data, at, parts)
		}
		if strings.Contains(at, "\n") {
			t.Fatalf("a line break reaches the editor: %q", at)
		}
	})
}

func TestLinesOfAPipe(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	go func() {
		defer w.Close()
		_, _ = io.WriteString(w, "one\r\ntwo \\\nthree\n\"\"\"\nfour\n\nfive\n\"\"\"\n\"\"\"six\"\"\"\n"+strings.Repeat("x", MaxText+10)+"\nlast \\")
	}()
	lines, err := New(r, os.Stderr, Options{Prompt: "> "})
	if err != nil {
		t.Fatal(err)
	}
	defer lines.Close()
	for _, want := range []string{"one", "two \nthree", "four\n\nfive", "six"} {
		if got, err := lines.Read(t.Context()); got != want || err != nil {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
	}
	if got, err := lines.Read(t.Context()); !errors.Is(err, ErrTooLong) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if got, err := lines.Read(t.Context()); got != "last \n" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := lines.Read(t.Context()); err != io.EOF {
		t.Errorf("%v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	idle, w2, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w2.Close()
	defer idle.Close()
	silent, err := New(idle, os.Stderr, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := silent.Read(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}
