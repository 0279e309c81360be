package refusal

import (
	"slices"
	"testing"
)

// What a validator says of a place is kept with the place, and apart from the texts: a name in it may be the client's.
func TestPlaces(t *testing.T) {
	for body, want := range map[string][]string{
		`{"detail":[{"type":"extra_forbidden","loc":["body","messages",31,"assistant","reasoning_content"],"msg":"Extra inputs are not permitted","input":"\n"}]}`: {
			"messages.31.assistant.reasoning_content: extra inputs are not permitted",
		},
		`{"object":"error","message":{"detail":[{"msg":"Extra inputs are not permitted","loc":["body","messages",0,"user","a"]},{"loc":["body","tools"],"msg":"Extra inputs are not permitted"}]}}`: {
			"messages.0.user.a: extra inputs are not permitted", "tools: extra inputs are not permitted",
		},
		`{"detail":[{"loc":["body","messages","does not support image input"],"msg":"Extra inputs are not permitted"}]}`: nil,
		`{"detail":[{"loc":["body","messages",0],"input":"x"},{"msg":"Field required"}]}`:                                nil,
		`{"detail":[{"loc":"body","msg":"Field required"},{"loc":[],"msg":"Field required"}]}`:                           nil,
		`{"detail":[{"loc":[["body"],{"a":1}],"msg":"Field required"}]}`:                                                 nil,
		`["a","b"]`: nil, `"loc"`: nil, `{"loc":["body"`: nil,
	} {
		w := Read([]byte(body), false)
		if !slices.Equal(w.Places, want) {
			t.Errorf("%s names %q, want %q", body, w.Places, want)
		}
		if slices.ContainsFunc(w.Texts, func(text string) bool { return slices.Contains(w.Places, text) }) || w.Counts["loc"] > 0 {
			t.Errorf("of a place in %s there is more: %+v", body, w)
		}
	}
	if w := Read([]byte(`{"loc":["body","a"],"msg":"no error"}`), true); len(w.Places) > 0 {
		t.Errorf("an answer names %q", w.Places)
	}
}
