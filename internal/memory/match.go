package memory

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/sorting"
)

// Match describes forgotten records for other stores.
type Match struct {
	IDs           []string
	Texts         []string // all texts of the records, word for word
	Conversations []string // ids of the conversations that the records are from

	finder *Finder
}

// Finder returns a [Finder] for the texts of the match.
func (m Match) Finder() *Finder {
	if m.finder != nil {
		return m.finder
	}
	return newFinder(m.Texts)
}

// In reports whether a text holds one of the match's texts, in any of the forms that a [Finder] knows. For many texts call Finder once.
func (m Match) In(text []byte) bool { return m.Finder().In(text) }

// holds reports whether a record's text, or its fact's quote, contains one of the match's texts. Texts shorter than shortText are ignored.
func (m Match) holds(r *Record) bool {
	return slices.ContainsFunc(m.Texts, func(text string) bool {
		return len(text) >= shortText && (strings.Contains(r.Text, text) || r.Fact != nil && strings.Contains(r.Fact.Quote, text))
	})
}

// shortText is the length in bytes below which a text counts only where it stands alone, with no letter or digit beside it: "on" is not in "once".
const shortText = 16

// Finder finds texts in bytes: as they are, and as JSON strings have them (with or without escapes for HTML and for other characters than
// ASCII), also in a JSON string within a JSON string. It may be used by many goroutines.
type Finder struct {
	forms []form
	most  int // bytes of the longest form
	// With many forms each place is looked up by its first bytes: marks has a bit for a hash of four, and root is a tree over eight at a time.
	marks  []uint64
	root   *branch // nil for few forms
	little []int   // forms that are too short for that
}

// branch is a node of a tree of forms, for those with the same bytes up to here, a multiple of eight: ends are those that end within the
// next eight, the longest first, and next has the nodes by the next eight bytes.
type branch struct {
	ends []int
	next map[uint64]*branch
}

// add inserts form i into the tree, eight bytes a level; its first at bytes lead to this node.
func (b *branch) add(forms []form, i, at int) {
	rest := forms[i].bytes[at:]
	if len(rest) < 8 {
		b.ends = append(b.ends, i)
		return
	}
	if b.next == nil {
		b.next = map[uint64]*branch{}
	}
	key := binary.LittleEndian.Uint64(rest)
	if b.next[key] == nil {
		b.next[key] = &branch{}
	}
	b.next[key].add(forms, i, at+8)
}

// longest returns the length of the longest form that begins at an offset of a text, 0 for none.
func (b *branch) longest(forms []form, text []byte, at int) (size int) {
	for end := at; b != nil; end += 8 {
		for _, i := range b.ends {
			n := len(forms[i].bytes)
			if bytes.HasPrefix(text[end:], forms[i].bytes[end-at:]) && (!forms[i].alone || standsAlone(text, at, at+n)) {
				size = max(size, n)
				break
			}
		}
		if len(text)-end < 8 {
			break
		}
		b = b.next[binary.LittleEndian.Uint64(text[end:])]
	}
	return size
}

// form is one way in which a text may be written. With alone set it counts only where no letter or digit is beside it.
type form struct {
	bytes []byte
	alone bool
}

// fewForms is the number of forms up to which each is searched for by itself, which package bytes does at the speed of memory.
const fewForms = 4

// newFinder returns a Finder for texts, in all forms that they may have in files. A short text counts only where it stands alone.
func newFinder(texts []string) *Finder {
	f := &Finder{}
	have := map[string]bool{}
	for _, t := range texts {
		alone := len(t) < shortText
		for _, b := range textForms(t) {
			if len(b) > 0 && !have[string(b)] {
				have[string(b)] = true
				f.forms = append(f.forms, form{b, alone})
				f.most = max(f.most, len(b))
			}
		}
	}
	// Of two that begin at one place the longer one is meant.
	sorting.StableBy(f.forms, func(a, b form) int { return cmp.Compare(len(b.bytes), len(a.bytes)) })
	if len(f.forms) <= fewForms {
		return f
	}
	f.marks, f.root = make([]uint64, 1<<16/64), &branch{}
	for i, one := range f.forms {
		if len(one.bytes) < 8 {
			f.little = append(f.little, i)
			continue
		}
		h := hashFour(one.bytes)
		f.marks[h/64] |= 1 << (h % 64)
		f.root.add(f.forms, i, 0)
	}
	return f
}

// hashFour returns a hash of 16 bits of the first four bytes of b.
func hashFour(b []byte) uint32 { return binary.LittleEndian.Uint32(b) * 2654435761 >> 16 }

// textForms returns a text in all forms that a [Finder] looks for.
func textForms(text string) [][]byte {
	inner := func(quoted []byte) []byte { return quoted[1 : len(quoted)-1] }
	once := [][]byte{inner(rawjson.Quote(nil, text)), asciiJSON(text)}
	if short, err := marshalPlain(text); err == nil { // \f and \b in the place of \u000c and \u0008
		once = append(once, inner(short))
	}
	for _, o := range slices.Clone(once) {
		once = append(once, escapeHTML(o))
	}
	out := append([][]byte{[]byte(text)}, once...)
	for _, o := range once { // JSON within a string of JSON: the arguments of a call
		twice := inner(rawjson.Quote(nil, string(o)))
		out = append(out, twice, escapeHTML(twice))
	}
	return out
}

// escapeHTML returns the inside of a JSON string with <, > and & escaped, as many encoders write it.
func escapeHTML(inner []byte) []byte {
	return []byte(strings.NewReplacer("<", `\u003c`, ">", `\u003e`, "&", `\u0026`).Replace(string(inner)))
}

// asciiJSON returns a text as the inside of a JSON string, with escapes for all characters outside of ASCII, as Python writes it.
func asciiJSON(text string) []byte {
	quoted := rawjson.Quote(nil, text)
	var out []byte
	for _, r := range string(quoted[1 : len(quoted)-1]) {
		switch {
		case r < utf8.RuneSelf:
			out = append(out, byte(r))
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return out
}

// In reports whether a text holds one of the forms.
func (f *Finder) In(text []byte) bool {
	_, _, ok := f.Next(text, 0)
	return ok
}

// Next returns the first place at or after an offset that holds a form, the longest of several there. ok is false if there is none.
func (f *Finder) Next(text []byte, from int) (start, end int, ok bool) {
	best, size := -1, 0
	take := func(at, n int) {
		if best < 0 || at < best || at == best && n > size {
			best, size = at, n
		}
	}
	one := func(i int) {
		for at := from; ; {
			k := bytes.Index(text[at:], f.forms[i].bytes)
			if k < 0 || best >= 0 && at+k > best {
				return
			}
			if n := len(f.forms[i].bytes); !f.forms[i].alone || standsAlone(text, at+k, at+k+n) {
				take(at+k, n)
				return
			}
			at += k + 1
		}
	}
	if f.root == nil {
		for i := range f.forms {
			one(i)
		}
		return best, best + size, best >= 0
	}
	for _, i := range f.little {
		one(i)
	}
	last := len(text) - 8
	if best >= 0 {
		last = min(last, best)
	}
	for at := from; at <= last; at++ {
		if h := hashFour(text[at:]); f.marks[h/64]&(1<<(h%64)) == 0 {
			continue
		}
		if n := f.root.longest(f.forms, text, at); n > 0 {
			take(at, n)
			return best, best + size, true
		}
	}
	return best, best + size, best >= 0
}

// standsAlone reports whether no letter or digit is directly before start or behind end. The letter of an escape, as in \n, is none.
func standsAlone(text []byte, start, end int) bool {
	before, n := utf8.DecodeLastRune(text[:start])
	escape := n == 1 && start >= 2 && text[start-2] == '\\' && strings.IndexByte("nrtbf", text[start-1]) >= 0
	after, _ := utf8.DecodeRune(text[end:])
	word := func(r rune) bool { return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsNumber(r)) }
	return (escape || !word(before)) && !word(after)
}

// Blot overwrites each place that holds a form with asterisks, and returns the number of places. The text keeps its length.
func (f *Finder) Blot(text []byte) (places int) {
	for at := 0; ; places++ {
		start, end, ok := f.Next(text, at)
		if !ok {
			return places
		}
		for i := start; i < end; i++ {
			text[i] = '*'
		}
		at = end
	}
}

// Read reports whether the bytes from r hold one of the forms; it stops reading at the first. It takes 256 KiB and twice the longest form.
func (f *Finder) Read(r io.Reader) (bool, error) {
	if len(f.forms) == 0 {
		return false, nil
	}
	const context = utf8.UTFMax // what stands before and behind a short text counts
	overlap := f.most + 2*context
	buf := make([]byte, 0, 256<<10+2*overlap)
	from := 0
	for {
		n, err := io.ReadFull(r, buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		end := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if start, _, ok := f.Next(buf, from); ok && (end || start < len(buf)-overlap+context) {
			return true, nil
		}
		if err != nil {
			if end {
				err = nil
			}
			return false, err
		}
		buf, from = buf[:copy(buf, buf[len(buf)-overlap:])], context
	}
}

// Overwrite works like [Finder.Blot] on a file, in place, and returns the number of places. It does not disturb who appends meanwhile.
func (f *Finder) Overwrite(file interface {
	io.ReaderAt
	io.WriterAt
},
) (places int, err error) {
	if len(f.forms) == 0 {
		return 0, nil
	}
	const context = utf8.UTFMax
	overlap := f.most + 2*context
	buf := make([]byte, 256<<10+2*overlap)
	from := 0
	for at := int64(0); ; {
		n, err := file.ReadAt(buf, at)
		end := errors.Is(err, io.EOF)
		if err != nil && !end {
			return places, err
		}
		last := n - overlap + context // what begins behind it is looked at with what follows
		if end {
			last = n
		}
		for {
			start, stop, ok := f.Next(buf[:n], from)
			if !ok || start >= last {
				break
			}
			for i := start; i < stop; i++ {
				buf[i] = '*'
			}
			if _, err := file.WriteAt(buf[start:stop], at+int64(start)); err != nil {
				return places, err
			}
			places++
			from = stop
		}
		if end {
			return places, nil
		}
		step := n - overlap
		at += int64(step)
		from = max(from-step, context)
	}
}
