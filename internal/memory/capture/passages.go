package capture

import (
	"strings"
	"unicode/utf8"
)

// Passages cuts a text into pieces of at most size bytes, each a part of the text without the space around it: between
// paragraphs where it can, else between lines, sentences, words, and at last runes.
func Passages(text string, size int) []string {
	var out []string
	size = max(size, utf8.UTFMax)
	for {
		text = strings.TrimSpace(text)
		if text == "" {
			return out
		}
		if len(text) <= size {
			return append(out, text)
		}
		at := pieceEnd(text, size)
		if piece := strings.TrimSpace(text[:at]); piece != "" {
			out = append(out, piece)
		}
		text = text[at:]
	}
}

// pieceEnd returns where to cut a text that is longer than size: at most size bytes in, if possible not in the first third.
func pieceEnd(text string, size int) int {
	end := size
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	if end == 0 {
		return size // no UTF-8
	}
	room, least := text[:end], size/3
	for _, mark := range []string{"\n\n", "\n"} {
		if at := strings.LastIndex(room, mark); at > least {
			return at + len(mark)
		}
	}
	if at := sentenceEnd(room); at > least {
		return at
	}
	if at := strings.LastIndexAny(room, " \t"); at > least {
		return at + 1
	}
	return end
}

// sentenceEnd returns the offset behind the last sentence of a text that ends in it, 0 if none does.
func sentenceEnd(text string) int {
	for at := len(text) - 1; at > 0; at-- {
		switch text[at] {
		case ' ', '\t', '\n':
			if strings.IndexByte(".!?:;", text[at-1]) >= 0 {
				return at + 1
			}
		}
	}
	// Chinese and Japanese put no space behind a full stop.
	for _, mark := range []string{"。", "！", "？"} {
		if at := strings.LastIndex(text, mark); at >= 0 {
			return at + len(mark)
		}
	}
	return 0
}
