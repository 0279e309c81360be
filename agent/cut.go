package agent

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/plimsoll/plimsoll/limit"
)

// cutMarker is appended to a stored result that was cut.
const cutMarker = "[truncated]"

// noOutput is sent to the model in place of an empty result: some providers refuse a message without text.
const noOutput = "(no output)"

// capText cuts a text to n bytes, the marker included, and reports whether it did. A cut text does not keep the memory of the rest alive.
func capText(text string, n int) (capped string, truncated bool) {
	if len(text) <= n {
		return text, false
	}
	return limit.Clip(text, n-len(cutMarker)) + cutMarker, true
}

// legible returns a text as valid UTF-8; for binary data a note with its size and first bytes.
func legible(text string) string {
	if binary(text) {
		return fmt.Sprintf("(binary, %d bytes, beginning with % x)", len(text), text[:min(len(text), 16)])
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

// binary reports whether a text is binary data: its first 8 KiB hold a zero byte, or more than an eighth of them are control characters or
// invalid UTF-8. Fewer may be another encoding of text.
func binary(text string) bool {
	const looked = 8 << 10
	head := text[:min(len(text), looked)]
	odd := 0
	for i, w := 0, 0; i < len(head); i += w {
		var r rune
		r, w = utf8.DecodeRuneInString(head[i:])
		switch {
		case r == 0:
			return true
		case r == utf8.RuneError && w == 1 && len(head)-i >= utf8.UTFMax:
			odd++
		case r < ' ' && !strings.ContainsRune("\t\n\r\v\f\b\x1b\x07", r):
			odd++
		}
	}
	return odd*8 > len(head)
}

// pieces calls yield with successive pieces of a text, of at most maxPiece bytes each, cut between runes.
func pieces(text string, yield func(string)) {
	for len(text) > 0 {
		piece := text[:limit.Boundary(text, min(len(text), int(maxPiece)))]
		yield(piece)
		text = text[len(piece):]
	}
}

// clip returns a name shortened to 64 bytes, for an event.
func clip(name string) string { return limit.Clip(name, 64) }

// forModel returns a result for the model: at most maxBytes with its head and tail, and a note about what is left out between; noOutput for
// "".
func forModel(text string, maxBytes int) string {
	if text == "" {
		return noOutput
	}
	return limit.Cut(text, maxBytes, func(cut int) string {
		return fmt.Sprintf("\n[%d bytes left out here: the result is too large for one message]\n", cut)
	})
}
