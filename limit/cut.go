package limit

import (
	"strings"
	"unicode/utf8"
)

// Cut shortens text to at most about maxBytes: its head, what marker says, and its tail. The head gets two thirds, because a result opens with
// what it is and ends with how it went.
//
// marker is given the number of bytes taken out and must not get longer for a smaller number. No rune is split: text that was valid UTF-8 stays
// valid, and where a line ends near a cut the cut is made there. The result is never longer than text, also when both are written as JSON strings:
// where what would be taken out is not at least twice as long as the marker (a line end takes two bytes in JSON), text comes back as it is. So the
// result is longer than maxBytes only for such a text, or where the marker alone is.
func Cut(text string, maxBytes int, marker func(cut int) string) string {
	if len(text) <= maxBytes {
		return text
	}
	keep := max(0, maxBytes-len(marker(len(text))))
	head := lineEnd(text, Boundary(text, keep-keep/3))
	tail := lineStart(text, runeAfter(text, len(text)-keep/3))
	note := marker(tail - head)
	if tail-head < 2*len(note) {
		return text
	}
	return text[:head] + note + text[tail:]
}

// Clip returns the beginning of text, at most maxBytes of it, as valid UTF-8: no rune is split, and bytes that are none are "\uFFFD".
func Clip(text string, maxBytes int) string {
	if len(text) > maxBytes {
		text = text[:Boundary(text, max(0, maxBytes))]
	}
	if utf8.ValidString(text) {
		return text
	}
	text = strings.ToValidUTF8(text, "\uFFFD") // three bytes for one or more
	return text[:Boundary(text, min(len(text), max(0, maxBytes)))]
}

// Ellipsis ends a text that [Short] has cut.
const Ellipsis = "…"

// Short returns text as people are shown it: [Clip], and if text was longer than maxBytes the result ends with [Ellipsis], within maxBytes but for
// the ellipsis itself.
func Short(text string, maxBytes int) string {
	if len(text) <= maxBytes {
		return Clip(text, maxBytes)
	}
	return Clip(text, maxBytes-len(Ellipsis)) + Ellipsis
}

// ClipRunes returns the beginning of text, at most maxRunes characters of it.
func ClipRunes(text string, maxRunes int) string {
	n := 0
	for at := range text {
		if n >= maxRunes {
			return text[:at]
		}
		n++
	}
	return text
}

// ShortRunes works like [Short] for a width: at most maxRunes characters, the ellipsis among them, which is there even if maxRunes is 0.
func ShortRunes(text string, maxRunes int) string {
	if len(ClipRunes(text, maxRunes)) == len(text) {
		return text
	}
	return ClipRunes(text, maxRunes-1) + Ellipsis
}

// Boundary returns the largest offset of at most i at which text can be cut: not inside a rune. Of bytes that are no UTF-8 it goes back over at
// most four. An i outside of text comes back as it is.
func Boundary[T ~string | ~[]byte](text T, i int) int {
	for back := 0; back < utf8.UTFMax && i > 0 && i < len(text) && !utf8.RuneStart(text[i]); back++ {
		i--
	}
	return i
}

// slack is the part of a kept piece that may be given up to end it at a line: 1/slack.
const slack = 8

// runeAfter returns the smallest offset of at least i that is not inside a rune.
func runeAfter(text string, i int) int {
	for on := 0; on < utf8.UTFMax && i < len(text) && !utf8.RuneStart(text[i]); on++ {
		i++
	}
	return i
}

// lineEnd returns the place after the last line end shortly before i; i if there is none that is near.
func lineEnd(text string, i int) int {
	for at := i; at > i-i/slack; at-- {
		if text[at-1] == '\n' {
			return at
		}
	}
	return i
}

// lineStart returns the offset of the first line end at i or shortly after it; i if there is none that is near.
func lineStart(text string, i int) int {
	for at := i; at < i+(len(text)-i)/slack; at++ {
		if text[at] == '\n' {
			return at
		}
	}
	return i
}

// Head keeps the first Max bytes of what is written to it, as of what a program prints, and takes the rest without keeping it. The zero value
// keeps nothing.
//
// It is no [bytes.Buffer] with a bound in its Write: [io.Copy] finds that type's ReadFrom, and os/exec copies by it.
type Head struct {
	// Max is a number of bytes.
	Max int

	kept []byte
	cut  bool
}

// Write implements [io.Writer] and never fails.
func (h *Head) Write(p []byte) (int, error) {
	n := min(len(p), max(0, h.Max-len(h.kept)))
	h.cut = h.cut || n < len(p)
	h.kept = append(h.kept, p[:n]...)
	return len(p), nil
}

// Bytes returns what is kept, until the next Write.
func (h *Head) Bytes() []byte { return h.kept }

// String returns what is kept.
func (h *Head) String() string { return string(h.kept) }

// Len returns the number of bytes kept.
func (h *Head) Len() int { return len(h.kept) }

// Cut reports whether there was more.
func (h *Head) Cut() bool { return h.cut }
