package mend

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// Arguments cut at any byte are closed, and what is kept is what was there.
func TestClosedAtEveryByte(t *testing.T) {
	whole := `{"path":"src/a.go","n":-12.5e3,"ok":true,"none":null,"list":[1,[],{"k":"v"},"x"],"text":"a \"quoted\" line\n\u00e9 \ud83d\ude00 ü 漢 end","deep":{"a":{"b":[{"c":1}]}}}`
	var want map[string]any
	if err := json.Unmarshal([]byte(whole), &want); err != nil {
		t.Fatal(err)
	}
	for n := 1; n < len(whole); n++ {
		object, ok := closeObject([]byte(whole[:n]))
		if !ok || !json.Valid(object) {
			t.Fatalf("cut at %d: %s gives %s, %v", n, whole[:n], object, ok)
		}
		var got map[string]any
		if err := json.Unmarshal(object, &got); err != nil || !within(got, want) {
			t.Fatalf("cut at %d: %s gives %s, which was not there", n, whole[:n], object)
		}
		if strings.Contains(string(object), "\ufffd") {
			t.Fatalf("cut at %d: half a character is left in %s", n, object)
		}
	}
	if _, ok := closeObject([]byte(whole)); ok {
		t.Error("what is whole ends not too early")
	}
}

// within tells whether a value is a beginning of another one.
func within(got, want any) bool {
	switch got := got.(type) {
	case map[string]any:
		w, ok := want.(map[string]any)
		for k, v := range got {
			ok = ok && within(v, w[k])
		}
		return ok
	case []any:
		w, ok := want.([]any)
		ok = ok && len(got) <= len(w)
		for i, v := range got {
			ok = ok && within(v, w[i])
		}
		return ok
	case string:
		w, ok := want.(string)
		return ok && strings.HasPrefix(w, got)
	}
	return reflect.DeepEqual(got, want)
}

func TestWhatIsNoBeginning(t *testing.T) {
	for _, text := range []string{"", "ls -l", `"a`, "[1", `{"a" 1`, `{"a":}`, `{"a":1,,`, `{"a":1}}`, `{"a":1} x`, `{]`, `{"a":[}`, `{,`, `{1`, "{\"a\":\"b\nc", `{"a":tru,`, `{"a":1 2`} {
		if object, ok := closeObject([]byte(text)); ok {
			t.Errorf("%q was closed to %s", text, object)
		}
		object, kind := asObject([]byte(text))
		if !json.Valid(object) || object[0] != '{' || text != "" && kind != Wrapped {
			t.Errorf("%q became %s, %q", text, object, kind)
		}
	}
}

func FuzzClosed(f *testing.F) {
	f.Add([]byte(`{"a":[1,{"b":"c\u00`))
	f.Add([]byte(`{"a":"\ud83d\u`))
	f.Add(bytes.Repeat([]byte(`{"a":[`), 6000))
	f.Fuzz(func(t *testing.T, text []byte) {
		if object, ok := closeObject(text); ok != json.Valid(object) && ok {
			t.Fatalf("%q was closed to %q", text, object)
		}
		object, _ := asObject(text)
		if !json.Valid(object) || object[0] != '{' {
			t.Fatalf("%q became %q", text, object)
		}
		if again, kind := asObject(object); kind != "" || !bytes.Equal(again, bytes.TrimSpace(object)) {
			t.Fatalf("%q is mended again to %q, %q", object, again, kind)
		}
	})
}
