package wire

import (
	"bytes"
	"encoding/base64"

	"github.com/plimsoll/plimsoll/internal/rawjson"
)

// Bytes is the type of a [MediaSource] of which nothing is known but that it is base64: an image of an unknown kind, or encrypted words.
const Bytes = "application/octet-stream"

const (
	// blobFrom is the least length of a string that is taken for bytes, in characters. Ids, digests and keys are shorter, and what is
	// shorter costs little, whatever it is.
	blobFrom = 1 << 10
	// blobLine is the least length of a line of base64: MIME has 76, PEM 64. A list of words has shorter ones.
	blobLine = 60
)

// isBase64 are the characters of base64 and of its form for addresses.
var isBase64 = func() (is [256]bool) {
	for _, c := range "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/-_=" {
		is[c] = true
	}
	return is
}()

// gatherBlob gathers a string in an unknown value as media if it is a data URL or long base64, and reports whether it did. Such a string is
// never cut, and costs what its kind costs.
func (p *parser) gatherBlob(lit Span) bool {
	if lit.Len() < blobFrom {
		return false
	}
	text := p.Text[lit.Start+1 : lit.End-1]
	if bytes.HasPrefix(text, []byte("data:")) {
		n := len(p.media)
		p.gatherMedia(lit, "", false)
		if !p.media[n].URL {
			return true
		}
		p.media = p.media[:n]
		return false
	}
	if !allBase64(text) {
		return false
	}
	p.gatherMedia(lit, sniffType(text), true)
	return true
}

// allBase64 reports whether a JSON string without its quotes is base64, perhaps in lines of equal length and with escapes.
func allBase64(text []byte) bool {
	line := 0
	for i := 0; i < len(text); i++ {
		c := text[i]
		if isBase64[c] {
			line++
			continue
		}
		if c != '\\' || i+1 == len(text) {
			return false
		}
		i++
		switch text[i] {
		case '/': // some write it so
		case 'u':
			r, ok := rawjson.Hex4(text[i+1:])
			if !ok || r > 0x7f || !isBase64[r] {
				return false
			}
			i += 4
		case 'n', 'r':
			if line > 0 && line < blobLine && i+1 < len(text) {
				return false
			}
			line = 0
		default:
			return false
		}
	}
	return true
}

// magics maps the first bytes of a file, at an offset, to its kind.
var magics = []struct {
	at    int
	begin string
	kind  string
}{
	{0, "\x89PNG\r\n", "image/png"},
	{0, "\xff\xd8\xff", "image/jpeg"},
	{0, "GIF8", "image/gif"},
	{8, "WEBP", "image/webp"},
	{4, "ftypavif", "image/avif"},
	{4, "ftyphei", "image/heic"},
	{0, "II*\x00", "image/tiff"},
	{0, "MM\x00*", "image/tiff"},
	{0, "%PDF-", "application/pdf"},
	{8, "WAVE", "audio/wav"},
	{0, "ID3", "audio/mpeg"},
	{0, "OggS", "audio/ogg"},
	{0, "fLaC", "audio/flac"},
	{4, "ftyp", "video/mp4"},
	{0, "\x1aE\xdf\xa3", "video/webm"},
}

// sniffType returns the media type of a file in base64 by its first bytes, Bytes if they are unknown.
func sniffType(text []byte) string {
	var head, raw [24]byte
	copy(head[:], text)
	for i, c := range head {
		switch c {
		case '-':
			head[i] = '+'
		case '_':
			head[i] = '/'
		}
	}
	n, _ := base64.StdEncoding.Decode(raw[:], head[:])
	for _, m := range magics {
		if m.at+len(m.begin) <= n && string(raw[m.at:m.at+len(m.begin)]) == m.begin {
			return m.kind
		}
	}
	return Bytes
}

// gatherStrings skips an unknown value and gathers every string in it: as a text that the model may read, or as media.
func (p *parser) gatherStrings() {
	from := len(p.texts)
	p.texts = p.appendStrings(p.texts)
	at := p.At
	kept := p.texts[:from]
	for _, lit := range p.texts[from:] {
		if !p.gatherBlob(lit) {
			kept = append(kept, lit)
		}
	}
	p.texts, p.At = kept, at
}

// findBlobs returns the media in an unknown value that was skipped before. The parser's state stays as it is.
func (p *parser) findBlobs(value Span) (found []MediaSource) {
	if value.Len() < blobFrom || p.Err != nil {
		return nil
	}
	at, texts, media := p.At, len(p.texts), len(p.media)
	p.At = value.Start
	p.gatherStrings()
	found = p.media[media:]
	p.At, p.texts, p.media = max(p.At, at), p.texts[:texts], p.media[:media]
	return found
}
