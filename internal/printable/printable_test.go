package printable_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"testing"

	"github.com/plimsoll/plimsoll/internal/printable"
)

func TestJSONOnATerminalMovesNothing(t *testing.T) {
	in := map[string]string{"c1": "\u009b31m\u007f", "bidi": "\u202egpj\u200f\u2066", "plain": "ÄÖ 日本 שלום"}
	var out bytes.Buffer
	if err := printable.WriteJSON(&out, in, "  "); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); got != printable.Text(got) {
		t.Errorf("what would move a terminal is in %q", got)
	}
	var back map[string]string
	if err := json.Unmarshal(out.Bytes(), &back); err != nil || !maps.Equal(in, back) {
		t.Errorf("read back: %v, %v", back, err)
	}
}

// What a page shows moves nothing either, whether it was written as it is or as an escape; all else is as it was.
func TestJSONForAPage(t *testing.T) {
	for text, want := range map[string]string{
		`{"a\u202eb":"x\u001b[31m\r\b\u2066"}`:           "a�b=x�[31m���",
		"{\"a\":\"\u202egpj\u200f\u009b\u007f\"}":        "a=�gpj���",
		`{"a":"\\u202e \"\\\\u001b \n\t\u000a\u0009 é"}`: `a=\u202e "\\u001b ` + "\n\t\n\t é",
		"{\n\t\"a\" :\r\n\"\\ud83d\\ude00 日本 שלום\"}":    "a=😀 日本 שלום",
	} {
		var got map[string]string
		if err := json.Unmarshal(printable.SafeJSON([]byte(text)), &got); err != nil {
			t.Errorf("%q: %v", text, err)
		}
		for k, v := range got {
			if k+"="+v != want {
				t.Errorf("%q became %q, want %q", text, k+"="+v, want)
			}
		}
	}
}

func FuzzJSON(f *testing.F) {
	f.Add([]byte(`{"a\u202e":["\u001b","\\",{"b":null}]}`))
	f.Add([]byte(`"\u20`))
	f.Fuzz(func(t *testing.T, text []byte) {
		safe := printable.SafeJSON(text)
		if !json.Valid(text) {
			return
		}
		var before, after any
		if json.Unmarshal(text, &before) != nil {
			return
		}
		if err := json.Unmarshal(safe, &after); err != nil {
			t.Fatalf("%q became %q: %v", text, safe, err)
		}
		if s, is := before.(string); is && after != printable.Text(s) {
			t.Errorf("%q is shown as %q, on a terminal %q", s, after, printable.Text(s))
		}
		if escaped := printable.EscapeJSON(text); !json.Valid(escaped) {
			t.Errorf("%q became %q", text, escaped)
		}
	})
}

func TestAWriterLetsNothingPassInPieces(t *testing.T) {
	var out bytes.Buffer
	w := printable.NewWriter(&out)
	for _, c := range []byte("a\u009b31m \u202eb 日本\x1b[K") {
		if _, err := w.Write([]byte{c}); err != nil {
			t.Fatal(err)
		}
	}
	if got := out.String(); got != "a�31m �b 日本�[K" {
		t.Errorf("%q", got)
	}
}

func TestNothingOfATextMovesTheTerminal(t *testing.T) {
	for text, want := range map[string]string{
		"plain, ÄÖ, 日本, שלום, 👩\u200d💻": "plain, ÄÖ, 日本, שלום, 👩\u200d💻",
		"a\x1b[31mred\x07\x00\x7f":      "a�[31mred���",
		"c1 \u009b31m\u0085":            "c1 �31m�",
		"bidi \u202egpj.exe\u2066 x":    "bidi �gpj.exe� x",
		"lines \u2028 \u2029":           "lines � �",
		"broken \xff\xc0":               "broken ��",
	} {
		if got := printable.Text(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
		if got := printable.Name(text + "\n\tx"); got != want+"��x" {
			t.Errorf("in a cell %q became %q", text, got)
		}
	}
}
