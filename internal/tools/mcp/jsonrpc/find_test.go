package jsonrpc

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestFinderFindsTheIDBehindTheResult(t *testing.T) {
	message := `{ "result" : {"id":3,"a":["}\"",{"id":[4]}]} , "jsonrpc":"2.0", "id" : "x\"y" }`
	var f Finder
	for i := range len(message) {
		_, _ = f.Write([]byte(message[i : i+1]))
	}
	h, at := f.Head()
	if h.Kind != Response || h.ID != `"x\"y"` || message[at.Start:at.End] != `"x\"y"` {
		t.Errorf("%+v at %v", h, at)
	}
}

// FuzzFinder holds it against Scan.
func FuzzFinder(f *testing.F) {
	f.Add(`{"result":{"id":1},"id":2}`, uint8(3))
	f.Add(`{"method":"\u0061\\","params":[{}, "]"],"id":"\"}"}`, uint8(1))
	f.Add(`{"id":1e400,"error":{}}x`, uint8(9))
	f.Fuzz(func(t *testing.T, message string, size uint8) {
		var find Finder
		for text := message; text != ""; {
			n := min(len(text), 1+int(size))
			_, _ = find.Write([]byte(text[:n]))
			text = text[n:]
		}
		got, at := find.Head()
		want, err := Scan([]byte(message))
		if err != nil || !json.Valid([]byte(message)) || strings.Contains(message, `\`) && want.Kind != Response {
			return
		}
		if got.Kind != want.Kind || got.ID != want.ID || got.Method != want.Method && len(want.Method) < MaxIDBytes {
			t.Fatalf("%q: %+v, want %+v", message, got, want)
		}
		if got.ID != "" && message[at.Start:at.End] != string(got.ID) {
			t.Fatalf("%q: the id is at %v", message, at)
		}
	})
}

func TestAnIDIsJSONToTheLetter(t *testing.T) {
	for raw, good := range map[string]bool{
		`0`: true, `-1`: true, `1.5e3`: true, `"a"`: true, `"\u00e9"`: true,
		`00`: false, `1e`: false, `-`: false, `"\q"`: false, `true`: false, `{}`: false, `[1]`: false,
	} {
		head, err := Scan([]byte(`{"jsonrpc":"2.0","method":"m","id":` + raw + `}`))
		if good != (err == nil) || good && string(head.ID) != raw {
			t.Errorf("%s: id %q, %v", raw, head.ID, err)
		}
	}
}
