package limit_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/limit"
)

func TestHead(t *testing.T) {
	for words, want := range map[string]string{"": "", "abc": "abc", "abcdef": "abcd"} {
		h := limit.Head{Max: 4}
		for _, c := range []byte(words) {
			if n, err := h.Write([]byte{c}); n != 1 || err != nil {
				t.Fatal(n, err)
			}
		}
		if h.String() != want || h.Len() != len(want) || h.Cut() != (len(words) > 4) {
			t.Errorf("%q of %q, cut %t", h.String(), words, h.Cut())
		}
	}
	var none limit.Head
	if n, err := none.Write([]byte("x")); n != 1 || err != nil || none.Len() != 0 || !none.Cut() {
		t.Error(n, err, none)
	}
}

// What a program prints is bounded whichever way it is copied.
func TestHeadOfAProgram(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip(err)
	}
	for _, in := range []string{"", strings.Repeat("x", 300_000)} {
		out, said := &limit.Head{Max: 1000}, &limit.Head{Max: 10}
		cmd := exec.Command(sh, "-c", `i=0; while [ $i -lt 3000 ]; do printf '%0100d' $i; i=$((i+1)); done; echo a long complaint >&2`)
		cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(in), out, said
		if err := cmd.Run(); err != nil {
			t.Fatal(err)
		}
		if out.Len() != 1000 || !out.Cut() || said.String() != "a long com" {
			t.Errorf("%d bytes, %q", out.Len(), said)
		}
	}
}
