package archive

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/store"
)

// FuzzRead holds that reading any bytes ends, that every line is an entry or told as damaged, and that what was read is written the
// same way again.
func FuzzRead(f *testing.F) {
	first, err := headLine("project/x")
	if err != nil {
		f.Fatal(err)
	}
	whole := appendLine(bytes.Clone(first), Line{Key: Key{1}, Shared: []byte(`{"a":{"b":"}"}}`), Body: []byte(`{"x":"y"}`)}, true)
	whole = appendLine(whole, Line{Key: Key{2}, Shared: []byte(`{"a":{"b":"}"}}`), Body: []byte(`{}`)}, false)
	f.Add(whole, false)
	f.Add(whole[:len(whole)-4], false)
	f.Add(append(bytes.Clone(whole), make([]byte, 100)...), false)
	f.Add([]byte("00000002 00000000 {}\n\n\nffffffff ffffffff \n"), false)
	f.Add([]byte(`{"k":"AQAAAAAAAAA","r":"AAAAAAAA","s":{"a":1},"b":{"x":1}}`+"\n"+strings.Repeat("[", 9000)+"\n{\"b\":{}}\n{\"s\":{\n{\"b\":{\n"), true)
	f.Fuzz(func(t *testing.T, data []byte, framed bool) {
		if framed { // a checksum is not guessed: here every line has a right one
			var sound []byte
			for text := range bytes.Lines(data) {
				sound = store.AppendLine(sound, bytes.TrimSuffix(text, []byte("\n")))
			}
			data = sound
		}
		r := lineReader{in: bufio.NewReader(bytes.NewReader(data)), shared: map[ref][]byte{}}
		for lines := 0; ; lines++ {
			if lines > len(data)+1 {
				t.Fatal("it does not end")
			}
			_, l, err := r.nextLine()
			if errors.Is(err, io.EOF) || r.err != nil {
				break
			}
			if err != nil || l.Body == nil {
				continue
			}
			if !bytes.HasPrefix(l.Body, []byte("{")) || !bytes.HasSuffix(l.Body, []byte("}")) {
				t.Fatalf("no object: %q", l.Body)
			}
			if !json.Valid(l.Body) || l.Shared != nil && !json.Valid(l.Shared) {
				continue // a right checksum on what nobody wrote: whoever decodes it says so
			}
			again := appendLine(nil, l.Line, l.Shared != nil)
			text, err := store.Text(again[:len(again)-1])
			if err != nil {
				t.Fatal(err)
			}
			p, err := parseText(text)
			if err != nil || p.Key != l.Key || !bytes.Equal(p.Body, l.Body) || !bytes.Equal(p.Shared, l.Shared) {
				t.Fatalf("%q became %q: %v", l.Body, p.Body, err)
			}
		}
	})
}
