package jsonrpc

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/plimsoll/plimsoll/internal/testing/streams"
)

// readLines gives all lines; those that are not whole end with "…".
func readLines(t *testing.T, r *LineReader, hold int) []string {
	t.Helper()
	var lines []string
	for {
		head, rest, err := r.Next()
		if err != nil {
			if err != io.EOF {
				t.Fatalf("Next: %v", err)
			}
			return lines
		}
		if len(head) > hold {
			t.Fatalf("a head of %d bytes, want at most %d", len(head), hold)
		}
		line := string(head)
		if rest != nil {
			more, err := io.ReadAll(rest)
			if string(head) != line {
				t.Fatalf("the head became %q while its rest was read, was %q", head, line)
			}
			line += string(more)
			if err != nil {
				if !errors.Is(err, io.ErrUnexpectedEOF) {
					t.Fatalf("rest: %v", err)
				}
				line += "…"
			}
		}
		lines = append(lines, line)
	}
}

func TestLinesOfAnySize(t *testing.T) {
	long := strings.Repeat("x", 300<<10)
	text := "{\"a\":1}\r\n\n \t\n" + long + "\n[2]\n" + long + "\r\n3"
	want := []string{`{"a":1}`, long, `[2]`, long, `3`}
	for name, src := range map[string]io.Reader{
		"whole": strings.NewReader(text), "bytes": iotest.OneByteReader(strings.NewReader(text)),
		"halves": iotest.HalfReader(strings.NewReader(text)), "error with bytes": iotest.DataErrReader(strings.NewReader(text)),
	} {
		got := readLines(t, NewLineReader(src, 0), Hold)
		if len(got) != len(want) {
			t.Fatalf("%s: %d lines, want %d", name, len(got), len(want))
		}
		for i := range want {
			if got[i] != want[i] {
				t.Errorf("%s: line %d has %d bytes, want %d", name, i, len(got[i]), len(want[i]))
			}
		}
	}
}

func TestLineThatIsNotReadIsSkipped(t *testing.T) {
	r := NewLineReader(strings.NewReader(strings.Repeat("y", 1<<20)+"\n{}\n"), 100)
	if _, rest, err := r.Next(); err != nil || rest == nil {
		t.Fatalf("Next = %v, %v", rest, err)
	}
	if head, rest, err := r.Next(); err != nil || rest != nil || string(head) != "{}" {
		t.Fatalf("Next = %q, %v, %v", head, rest, err)
	}
}

func TestLastLineWithoutNewline(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":1}`: `{"a":1}`, `{"a":`: `{"a":…`, `7`: `7`, "{}\nfoo": `{}|foo…`, "{}\n  ": `{}`,
	} {
		got := strings.Join(readLines(t, NewLineReader(strings.NewReader(text), 0), Hold), "|")
		if got != want {
			t.Errorf("%q gives %q, want %q", text, got, want)
		}
	}
}

func TestErrorOfTheStreamIsTold(t *testing.T) {
	broken := errors.New("cable cut")
	r := NewLineReader(io.MultiReader(strings.NewReader("{}\n{\"id\""), iotest.ErrReader(broken)), 0)
	if head, _, err := r.Next(); err != nil || string(head) != "{}" {
		t.Fatalf("Next = %q, %v", head, err)
	}
	_, rest, err := r.Next()
	if err != nil || rest == nil {
		t.Fatalf("Next = %v, %v, want a rest", rest, err)
	}
	if _, err := io.ReadAll(rest); !errors.Is(err, broken) {
		t.Errorf("rest: %v, want %v", err, broken)
	}
	if _, _, err := r.Next(); !errors.Is(err, broken) {
		t.Errorf("Next: %v, want %v", err, broken)
	}
}

// A line of 256 MiB is held in two buffers: 64 KiB of head and 32 KiB of rest.
func TestLongLineTakesTheBuffersAlone(t *testing.T) {
	per := testing.AllocsPerRun(1, func() {
		r := NewLineReader(io.MultiReader(streams.Repeat("z", 256<<20), strings.NewReader("\n")), 0)
		if _, _, err := r.Next(); err != nil {
			t.Fatalf("Next: %v", err)
		}
		if _, _, err := r.Next(); err != io.EOF {
			t.Fatalf("Next: %v, want the end", err)
		}
		if have := cap(r.buf) + cap(r.restBuf); have > Hold+2+restBuffer {
			t.Errorf("%d bytes of buffers", have)
		}
	})
	if per > 20 {
		t.Errorf("%v allocations for one line", per)
	}
}

func TestGrownBuffersAreGivenBack(t *testing.T) {
	r := NewLineReader(strings.NewReader(strings.Repeat("a", 60<<10)+"\n"+strings.Repeat("b\n", 9000)), 0)
	for range 9001 {
		if _, _, err := r.Next(); err != nil {
			t.Fatalf("Next: %v", err)
		}
	}
	if len(r.buf) > firstBuffer {
		t.Errorf("a buffer of %d bytes after 9000 small lines", len(r.buf))
	}
}

// FuzzLines holds the reader against bytes.Split.
func FuzzLines(f *testing.F) {
	f.Add([]byte("{}\r\n\n{\"a\":1}\nrest"), uint64(1), uint8(4))
	f.Add([]byte("0\r\r"), uint64(0), uint8(9))
	f.Add([]byte("aaaaaaaa\r\r\nbb\r\ncccccccccccc"), uint64(2), uint8(7))
	f.Fuzz(func(t *testing.T, text []byte, seed uint64, small uint8) {
		hold := 1 + int(small)
		var want []string
		parts := bytes.Split(text, []byte("\n"))
		for i, part := range parts {
			last := i == len(parts)-1
			if !last {
				part = bytes.TrimSuffix(part, []byte("\r"))
			}
			if len(bytes.TrimLeft(part, " \t\r")) == 0 && len(part) <= hold {
				continue
			}
			want = append(want, string(part))
		}
		got := readLines(t, NewLineReader(streams.Pieces(text, seed), hold), hold)
		if len(got) != len(want) {
			t.Fatalf("%q: lines %q, want %q", text, got, want)
		}
		for i := range want {
			// What of \r at the end of the text belongs to the line is held by TestLastLineWithoutNewline.
			if i == len(want)-1 {
				got[i], want[i] = strings.TrimRight(strings.TrimSuffix(got[i], "…"), "\r"), strings.TrimRight(want[i], "\r")
			}
			if got[i] != want[i] {
				t.Fatalf("%q: line %d is %q, want %q", text, i, got[i], want[i])
			}
		}
	})
}

func TestWriteLineHasOneNewline(t *testing.T) {
	var b bytes.Buffer
	head := []byte("{\n\"a\":1,")
	if err := WriteLine(&b, head, strings.NewReader("\r\n\"b\":2}")); err != nil {
		t.Fatal(err)
	}
	if err := WriteLine(&b, []byte(`{}`), nil); err != nil {
		t.Fatal(err)
	}
	if want := "{ \"a\":1,  \"b\":2}\n{}\n"; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
	if string(head) != "{\n\"a\":1," {
		t.Errorf("the caller's bytes were changed: %q", head)
	}
	err := WriteLine(io.Discard, []byte("{"), iotest.ErrReader(io.ErrUnexpectedEOF))
	if broken, ok := errors.AsType[*ReadError](err); !ok || broken.Err != io.ErrUnexpectedEOF {
		t.Errorf("a broken rest: %v", err)
	}
}
