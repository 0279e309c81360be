package delegate

import (
	"io"
	"os"

	"github.com/plimsoll/plimsoll/limit"
)

const (
	// heldPile bounds the part of a pile in memory, and maxPile all of it.
	heldPile = 256 * limit.KiB
	maxPile  = 256 * limit.MiB
	// maxPieces bounds the pieces of an artifact; adjacent ones are joined.
	maxPieces = 1 << 16
)

// piece is the place of a part of an artifact in a pile.
type piece struct{ at, n int64 }

// pile stores the texts of artifacts as they come, in memory up to heldPile and beyond that in a file without a name. Several artifacts may
// grow at once; the pieces of one that is replaced stay where they are.
type pile struct {
	dir     string
	held    []byte   // while there is no file
	file    *os.File // nil until held is full
	size    int64
	dropped int   // pieces for which there was no room
	err     error // of the file
}

// add stores a text and returns the pieces with its place appended. When there is no room, or the file fails, it only counts the text as
// dropped.
func (p *pile) add(to []piece, text string) []piece {
	switch {
	case text == "":
		return to
	case p.err != nil || p.size+int64(len(text)) > int64(maxPile) || len(to) == maxPieces:
		p.dropped++
		return to
	}
	if p.file == nil && len(p.held)+len(text) > int(heldPile) {
		if p.file, p.err = os.CreateTemp(p.dir, "plimsoll-answer-"); p.err == nil {
			_ = os.Remove(p.file.Name()) // where that cannot be yet, close does it
			_, p.err = p.file.Write(p.held)
			p.held = nil
		}
	}
	switch {
	case p.err != nil:
	case p.file == nil:
		p.held = append(p.held, text...)
	default:
		_, p.err = io.WriteString(p.file, text)
	}
	if p.err != nil {
		p.dropped++
		return to
	}
	at, n := p.size, int64(len(text))
	p.size += n
	if last := len(to) - 1; last >= 0 && to[last].at+to[last].n == at {
		to[last].n += n
		return to
	}
	return append(to, piece{at, n})
}

// write writes the texts of pieces to w.
func (p *pile) write(w io.Writer, pieces []piece) error {
	for _, of := range pieces {
		var err error
		if p.file == nil {
			_, err = w.Write(p.held[of.at : of.at+of.n])
		} else {
			_, err = io.Copy(w, io.NewSectionReader(p.file, of.at, of.n))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// reset drops all stored texts.
func (p *pile) reset() {
	p.held, p.size, p.dropped = p.held[:0], 0, 0
	if p.file != nil && p.err == nil {
		if p.err = p.file.Truncate(0); p.err == nil {
			_, p.err = p.file.Seek(0, io.SeekStart)
		}
	}
}

func (p *pile) close() {
	if p.file != nil {
		_ = p.file.Close()
		_ = os.Remove(p.file.Name()) // there is none, but on Windows
		p.file = nil
	}
}
