package jsonrpc

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/sse"
	"github.com/plimsoll/plimsoll/internal/testing/streams"
)

// FuzzEventWriter holds that what is written is read again.
func FuzzEventWriter(f *testing.F) {
	f.Add("1", "message", []byte("{\"a\":\r\n1}"), uint64(3), uint16(4))
	f.Fuzz(func(t *testing.T, id, name string, data []byte, seed uint64, at uint16) {
		var b bytes.Buffer
		flushed := 0
		w := NewEventWriter(&b, func() error { flushed++; return nil })
		n := min(int(at), len(data))
		if err := w.Write(sse.Event{ID: id, Name: name}, data[:n], streams.Pieces(data[n:], seed)); err != nil {
			t.Fatal(err)
		}
		if err := w.Comment("still here"); err != nil {
			t.Fatal(err)
		}
		want := strings.ReplaceAll(strings.ReplaceAll(string(data), "\r\n", "\n"), "\r", "\n")
		events := sse.NewReader(&b, 1<<20)
		got, head, rest, err := events.Next()
		if err != nil || rest != nil || string(head) != want || flushed != 2 {
			t.Fatalf("%q was read as %q, %v", data, head, err)
		}
		if ok := len(id)+8 < sse.MaxFieldBytes && !strings.ContainsAny(id, "\r\n\x00"); ok && got.ID != id {
			t.Fatalf("id %q was read as %q", id, got.ID)
		}
		if e, head, _, err := events.Next(); err != io.EOF {
			t.Fatalf("behind it came %+v %q, %v", e, head, err)
		}
	})
}

func TestEventOfABrokenMessageIsNotEnded(t *testing.T) {
	var b bytes.Buffer
	err := NewEventWriter(&b, nil).Write(sse.Event{}, []byte(`{"a":`), io.MultiReader(strings.NewReader("1"), &failing{}))
	if _, ok := errors.AsType[*ReadError](err); !ok {
		t.Fatalf("Write: %v", err)
	}
	if strings.HasSuffix(b.String(), "\n") {
		t.Errorf("%q ends as if it were whole", b.String())
	}
}

type failing struct{}

func (*failing) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }
