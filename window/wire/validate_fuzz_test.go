package wire

import (
	"bytes"
	"encoding/json"
	"testing"
)

// The validators' own cutting of JSON gives what encoding/json gives, at every level.
func FuzzSplit(f *testing.F) {
	f.Add([]byte(` {"a" : [1, -2.5e+3 ,"x\\\"]", {"b":{}}, [ ] ] , "\u0061":null,"c":"\\"} `))
	f.Add([]byte(list("messages", claudeUser, claude("assistant", thinking, use("a")), claude("user", textBlock, result("a")))))
	f.Fuzz(func(t *testing.T, body []byte) {
		if json.Valid(body) {
			sameSplit(t, body)
		}
	})
}

func sameSplit(t *testing.T, raw []byte) {
	var wantObject map[string]json.RawMessage
	var wantList []json.RawMessage
	if o, ok := splitObject(raw); ok {
		if json.Unmarshal(raw, &wantObject) != nil || len(o) != len(wantObject) {
			t.Fatalf("%q has %d members, want %d", raw, len(o), len(wantObject))
		}
		for name, want := range wantObject {
			if got := o[name]; !bytes.Equal(got, bytes.TrimSpace(want)) {
				t.Fatalf("%q of %q is %q, want %q", name, raw, got, want)
			}
			sameSplit(t, o[name])
		}
	} else if l, ok := splitArray(raw); ok {
		if json.Unmarshal(raw, &wantList) != nil || len(l) != len(wantList) {
			t.Fatalf("%q has %d elements, want %d", raw, len(l), len(wantList))
		}
		for i, want := range wantList {
			if !bytes.Equal(l[i], bytes.TrimSpace(want)) {
				t.Fatalf("element %d of %q is %q, want %q", i, raw, l[i], want)
			}
			sameSplit(t, l[i])
		}
	} else {
		var want *string
		s, ok := decodeText(bytes.TrimSpace(raw))
		if err := json.Unmarshal(raw, &want); (err == nil && want != nil) != ok || ok && s != *want {
			t.Fatalf("%q is the text %q (%v)", raw, s, ok)
		}
	}
}
