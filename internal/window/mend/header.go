package mend

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
)

// headerBytes is the number of bytes of an image decoded to find its size: more than the fonts, previews and profiles in front of it take.
const headerBytes = 768 << 10

// header is the information read from the first bytes of an image.
type header struct {
	kind          string // its media type: one of the four that providers take, image/heic, or "" for any other
	width, height int    // in pixels; 0 when it cannot be told
	late          bool   // the size comes after the headerBytes that were read
	deep          bool   // two bytes for a colour, or decoded in several passes: it needs more memory than others
}

// isBase64 reports whether a text is base64, whatever it encodes.
func isBase64(text []byte) bool {
	if len(text) == 0 || len(text)%4 == 1 {
		return false
	}
	var is [256]bool
	for i := range 256 {
		c := byte(i)
		is[i] = isNameByte(c) && c != '-' && c != '_' || c == '+' || c == '/' || c == '='
	}
	for _, c := range text {
		if !is[c] {
			return false
		}
	}
	return true
}

// parseHeader reads the header of an image in base64; the zero header if it is of no known format. For all formats but JPEG it decodes only a few
// bytes. The size is 0 where the header has none.
func parseHeader(text []byte) header {
	var first [48]byte
	n, _ := base64.StdEncoding.Decode(first[:], text[:min(len(text), 64)/4*4])
	b := first[:n]
	switch {
	case bytes.HasPrefix(b, []byte("\x89PNG\r\n\x1a\n")):
		h := header{kind: "image/png"}
		if len(b) >= 26 && string(b[12:16]) == "IHDR" {
			h.width, h.height, h.deep = bigEndianSize(b[16:]), bigEndianSize(b[20:]), b[24] > 8
		}
		return h
	case bytes.HasPrefix(b, []byte("GIF87a")), bytes.HasPrefix(b, []byte("GIF89a")):
		h := header{kind: "image/gif"}
		if len(b) >= 10 {
			h.width, h.height = int(binary.LittleEndian.Uint16(b[6:])), int(binary.LittleEndian.Uint16(b[8:]))
		}
		return h
	case len(b) >= 12 && string(b[:4]) == "RIFF" && string(b[8:12]) == "WEBP":
		return webpHeader(b)
	case bytes.HasPrefix(b, []byte("\xff\xd8\xff")):
		limit := min(headerBytes, len(text)/4*3)
		for size := min(12<<10, limit); ; size = min(size*8, limit) {
			raw := make([]byte, size)
			n, _ := base64.StdEncoding.Decode(raw, text[:size/3*4])
			h, more := jpegHeader(raw[:n])
			if !more || size == limit {
				h.late = more && limit == headerBytes
				return h
			}
		}
	case len(b) >= 12 && string(b[4:8]) == "ftyp":
		switch string(b[8:12]) {
		case "heic", "heix", "mif1", "msf1", "heim", "heis", "hevc":
			return header{kind: "image/heic"}
		}
	}
	return header{}
}

// bigEndianSize reads a 32-bit big-endian size; at most 1<<30.
func bigEndianSize(b []byte) int { return int(min(binary.BigEndian.Uint32(b), 1<<30)) }

// webpHeader reads the header of one of the three kinds of WebP (RFC 9649). The size is 0 if b is too short.
func webpHeader(b []byte) header {
	h := header{kind: "image/webp"}
	if len(b) < 30 {
		return h
	}
	switch string(b[12:16]) {
	case "VP8 ":
		h.width, h.height = int(binary.LittleEndian.Uint16(b[26:]))&0x3fff, int(binary.LittleEndian.Uint16(b[28:]))&0x3fff
	case "VP8L":
		bits := binary.LittleEndian.Uint32(b[21:])
		h.width, h.height = int(bits&0x3fff)+1, int(bits>>14&0x3fff)+1
	case "VP8X":
		h.width = 1 + int(b[24]) + int(b[25])<<8 + int(b[26])<<16
		h.height = 1 + int(b[27]) + int(b[28])<<8 + int(b[29])<<16
	}
	return h
}

// jpegHeader reads the header of a JPEG up to the segment with the size. more means that b ended before that.
func jpegHeader(b []byte) (h header, more bool) {
	h = header{kind: "image/jpeg"}
	at := 2
	for {
		for at < len(b) && b[at] == 0xff && at+1 < len(b) && b[at+1] == 0xff {
			at++ // fill bytes
		}
		if at+9 > len(b) {
			return h, true
		}
		if b[at] != 0xff {
			return h, false
		}
		marker := b[at+1]
		switch {
		case marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc:
			h.height, h.width = int(binary.BigEndian.Uint16(b[at+5:])), int(binary.BigEndian.Uint16(b[at+7:]))
			h.deep = marker != 0xc0 && marker != 0xc1
			return h, false
		case marker == 0x01 || marker >= 0xd0 && marker <= 0xd8:
			at += 2
		case marker == 0xd9 || marker == 0xda:
			return h, false
		default:
			at += 2 + int(binary.BigEndian.Uint16(b[at+2:]))
		}
	}
}
