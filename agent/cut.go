package agent

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/plimsoll/plimsoll/limit"
)

// cutMarker ends a stored result that was cut.
const cutMarker = "[truncated]"

// noOutput stands for an empty result in the words for the model: some providers refuse a
// message without any.
const noOutput = "(no output)"

// capText cuts text to n bytes, the marker included. The result does not keep the memory of the rest alive.
func capText(text string, n int) (capped string, truncated bool) {
	if len(text) <= n {
		return text, false
	}
	return limit.Clip(text, n-len(cutMarker)) + cutMarker, true
}

// legible returns text as a model and a terminal can take it: valid UTF-8, or words about what is
// no text at all.
func legible(text string) string {
	if binary(text) {
		return fmt.Sprintf("(binary, %d bytes, beginning with % x)", len(text), text[:min(len(text), 16)])
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}

// binary reports whether text is no text. A zero byte settles it. A few other wrong bytes may be another encoding; many are an
// image or an archive.
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

// pieces splits text into at most maxPiece bytes each, between runes.
func pieces(text string, yield func(string)) {
	for len(text) > 0 {
		piece := text[:limit.Boundary(text, min(len(text), int(maxPiece)))]
		yield(piece)
		text = text[len(piece):]
	}
}

// clip returns a name for an event.
func clip(name string) string { return limit.Clip(name, 64) }

// forModel cuts a result to maxBytes: its head and its tail stay.
func forModel(text string, maxBytes int) string {
	if text == "" {
		return noOutput
	}
	return limit.Cut(text, maxBytes, func(cut int) string {
		return fmt.Sprintf("\n[%d bytes left out here: the result is too large for one message]\n", cut)
	})
}
