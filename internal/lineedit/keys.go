package lineedit

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode/utf8"
)

// What a terminal sends and is sent. Bracketed paste is xterm's: https://invisible-island.net/xterm/ctlseqs/ctlseqs.html
const (
	pasteOn    = "\x1b[?2004h"
	pasteOff   = "\x1b[?2004l"
	pasteBegin = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
	altEnter   = "\x1b\r"
	// whereQuery asks a terminal where its cursor is. Some never answer, and a prompt would wait for them: it is answered here, for
	// prompts begin at the left edge.
	whereQuery, whereAnswer = "\x1b[6n", "\x1b[1;1R"
)

// lineBreak stands for a line break within the line that is edited: a rune of the private use area, shown as [shownBreak].
const (
	lineBreak  = '\uE00A'
	shownBreak = '⏎'
)

// Bounds of what is pasted, in bytes: what is shown as it is, and all that is kept of one prompt.
const (
	maxShownPaste = 400
	maxPasted     = 2 << 20
)

// keys stand between the terminal and the editor: pasted text and line breaks become what the editor takes for letters. The methods may
// be called from several goroutines.
type keys struct {
	in  io.Reader
	out io.Writer

	mu     sync.Mutex
	ready  []byte // for the editor
	raw    []byte // the beginning of a sequence whose rest has not come
	paste  []byte // of a paste that has not ended
	inside bool
	pasted []string // since reset
	bytes  int
	lost   int // bytes beyond maxPasted
	buf    [4096]byte
}

// Write implements [io.Writer]: it passes to the terminal what the editor draws. Line feeds become CR LF, as a terminal in raw mode needs,
// and the editor's question for the position of the cursor is answered here instead.
func (k *keys) Write(p []byte) (int, error) {
	q := p
	if bytes.IndexByte(p, '\n') >= 0 {
		q = bytes.ReplaceAll(bytes.ReplaceAll(p, []byte("\r\n"), []byte("\n")), []byte("\n"), []byte("\r\n"))
	}
	if bytes.Contains(p, []byte(whereQuery)) {
		q = bytes.ReplaceAll(q, []byte(whereQuery), nil)
		k.mu.Lock()
		k.ready = append(k.ready, whereAnswer...)
		k.mu.Unlock()
	}
	if _, err := k.out.Write(q); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Read implements [io.Reader]: it returns what was typed, with pastes replaced by their names.
func (k *keys) Read(p []byte) (int, error) {
	for {
		k.mu.Lock()
		if n := copy(p, k.ready); n > 0 {
			k.ready = k.ready[n:]
			k.mu.Unlock()
			return n, nil
		}
		k.mu.Unlock()
		n, err := k.in.Read(k.buf[:])
		k.mu.Lock()
		k.handle(k.buf[:n])
		if err != nil {
			k.finish()
		}
		empty := len(k.ready) == 0
		k.mu.Unlock()
		if err != nil && empty {
			return 0, err
		}
	}
}

// handle translates what the terminal sent. The caller holds mu.
func (k *keys) handle(p []byte) {
	p = append(k.raw, p...)
	k.raw = nil
	for len(p) > 0 {
		if k.inside {
			i := bytes.Index(p, []byte(pasteEnd))
			if i < 0 {
				hold := partialLength(p, pasteEnd)
				k.keepPaste(p[:len(p)-hold])
				k.raw = bytes.Clone(p[len(p)-hold:])
				return
			}
			k.keepPaste(p[:i])
			p = p[i+len(pasteEnd):]
			k.endPaste()
			continue
		}
		switch {
		case bytes.HasPrefix(p, []byte(pasteBegin)):
			k.inside = true
			p = p[len(pasteBegin):]
		case bytes.HasPrefix(p, []byte(altEnter)):
			k.ready = utf8.AppendRune(k.ready, lineBreak)
			p = p[len(altEnter):]
		case strings.HasPrefix(pasteBegin, string(p)): // the rest comes: the editor, too, waits for what stands behind an ESC
			k.raw = bytes.Clone(p)
			return
		case p[0] == '\n': // Ctrl-J: the key Enter sends \r
			k.ready = utf8.AppendRune(k.ready, lineBreak)
			p = p[1:]
		default:
			k.ready = append(k.ready, p[0])
			p = p[1:]
		}
	}
}

// partialLength returns the number of bytes at the end of p that may be the beginning of a sequence.
func partialLength(p []byte, sequence string) int {
	for n := min(len(p), len(sequence)-1); n > 0; n-- {
		if strings.HasPrefix(sequence, string(p[len(p)-n:])) {
			return n
		}
	}
	return 0
}

// keepPaste adds bytes to the current paste. What would make all pastes larger than maxPasted is dropped and counted as lost.
func (k *keys) keepPaste(p []byte) {
	room := max(maxPasted-k.bytes-len(k.paste), 0)
	if len(p) > room {
		k.lost += len(p) - room
		p = p[:room]
	}
	k.paste = append(k.paste, p...)
}

// endPaste gives the editor a paste: where it is short its text, without control characters, else a name for it.
func (k *keys) endPaste() {
	text := strings.ToValidUTF8(string(k.paste), "\uFFFD")
	k.paste, k.inside = nil, false
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	lines := 1 + strings.Count(strings.TrimRight(text, "\n"), "\n")
	if len(text) <= maxShownPaste && lines <= 4 {
		for _, r := range text {
			switch {
			case r == '\n':
				r = lineBreak
			case r == '\t':
				r = ' '
			case r < ' ' || r == 0x7f: // would be a key
				continue
			}
			k.ready = utf8.AppendRune(k.ready, r)
		}
		return
	}
	k.pasted = append(k.pasted, text)
	k.bytes += len(text)
	k.ready = append(k.ready, pasteName(len(k.pasted), lines)...)
}

func pasteName(n, lines int) string {
	if lines == 1 {
		return fmt.Sprintf("[pasted %d: 1 line]", n)
	}
	return fmt.Sprintf("[pasted %d: %d lines]", n, lines)
}

// finish hands over what is incomplete, because nothing more will come (the caller holds mu): an open paste, or the beginning of a sequence.
func (k *keys) finish() {
	if k.inside {
		k.keepPaste(k.raw)
		k.endPaste()
	} else {
		k.ready = append(k.ready, k.raw...)
	}
	k.raw = nil
}

// restore puts what was pasted and the line breaks back into a line that was edited. A name of a paste that was changed stays.
func (k *keys) restore(line string) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	line = strings.ReplaceAll(line, string(lineBreak), "\n")
	for i, text := range k.pasted {
		lines := 1 + strings.Count(strings.TrimRight(text, "\n"), "\n")
		line = strings.Replace(line, pasteName(i+1, lines), text, 1)
	}
	return line
}

// reset forgets what was pasted, and reports whether a text had a name, and how many bytes did not fit.
func (k *keys) reset() (named bool, lost int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	named, lost = len(k.pasted) > 0, k.lost
	k.pasted, k.bytes, k.lost = nil, 0, 0
	return named, lost
}
