package app_test

import (
	"testing"

	"github.com/plimsoll/plimsoll/app"
)

func TestNothingOfATextMovesTheTerminal(t *testing.T) {
	for text, want := range map[string]string{
		"plain, ÄÖ, 日本, שלום, 👩\u200d💻": "plain, ÄÖ, 日本, שלום, 👩\u200d💻",
		"a\x1b[31mred\x07\x00\x7f":      "a�[31mred���",
		"c1 \u009b31m\u0085":            "c1 �31m�",
		"bidi \u202egpj.exe\u2066 x":    "bidi �gpj.exe� x",
		"lines \u2028 \u2029":           "lines � �",
		"broken \xff\xc0":               "broken ��",
	} {
		if got := app.PrintableText(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
		if got := app.Printable(text + "\n\tx"); got != want+"��x" {
			t.Errorf("in a cell %q became %q", text, got)
		}
	}
}
