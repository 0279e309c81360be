package store

import (
	"bufio"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"io"
)

// Frame is the length of what stands before the text of a line: its length and its CRC-32C, each as eight hexadecimal digits and a space.
// Behind the text, which holds no line feed, is one.
const Frame = 8 + 1 + 8 + 1

const emptyFrame = "00000000 00000000 "

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Errors of lines.
var (
	ErrFrame  = errors.New("a line does not begin with a length and a checksum")
	ErrLength = errors.New("a line has not the length that it says")
	ErrSum    = errors.New("a line has not the checksum that it says")
	ErrLong   = errors.New("a line is longer than any record")
)

// AppendLine appends a text to buf as a line.
func AppendLine(buf, text []byte) []byte {
	start := len(buf)
	return EndLine(append(BeginLine(buf), text...), start)
}

// BeginLine appends the room for a frame to buf. The caller appends the text, and ends the line.
func BeginLine(buf []byte) []byte { return append(buf, emptyFrame...) }

// EndLine fills in the frame of the line that begins at start, and appends its line feed.
func EndLine(buf []byte, start int) []byte {
	text := buf[start+Frame:]
	putHex(buf[start:], uint32(len(text)))
	putHex(buf[start+9:], crc32.Checksum(text, castagnoli))
	return append(buf, '\n')
}

func putHex(dst []byte, n uint32) {
	hex.Encode(dst, []byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
}

func readHex(src []byte) (uint32, bool) {
	var n [4]byte
	if _, err := hex.Decode(n[:], src); err != nil {
		return 0, false
	}
	return uint32(n[0])<<24 | uint32(n[1])<<16 | uint32(n[2])<<8 | uint32(n[3]), true
}

// Text checks a line, given without its line feed, and returns its text, a part of line. The error is [ErrFrame], [ErrLength] or [ErrSum].
func Text(line []byte) ([]byte, error) {
	if len(line) < Frame || line[8] != ' ' || line[17] != ' ' {
		return nil, ErrFrame
	}
	length, ok := readHex(line[:8])
	sum, also := readHex(line[9:17])
	text := line[Frame:]
	switch {
	case !ok || !also:
		return nil, ErrFrame
	case uint32(len(text)) != length:
		return nil, ErrLength
	case crc32.Checksum(text, castagnoli) != sum:
		return nil, ErrSum
	}
	return text, nil
}

// Length returns the length that a line declares, its frame included and its line feed not, unchecked; false when it declares none.
func Length(line []byte) (int, bool) {
	if len(line) < Frame {
		return 0, false
	}
	n, ok := readHex(line[:8])
	return Frame + int(n), ok
}

// ReadLine reads one line, without its line feed, into line; of a longer line than maxBytes only the first maxBytes. size is the number of bytes
// read, with the line feed. whole is false after an error, and at the end of the file (which is none), where line may hold the beginning of an
// unfinished line.
func ReadLine(in *bufio.Reader, line *[]byte, maxBytes int64) (size int64, whole bool, err error) {
	*line = (*line)[:0]
	for {
		piece, err := in.ReadSlice('\n')
		size += int64(len(piece))
		if room := maxBytes - int64(len(*line)); room > 0 {
			*line = append(*line, piece[:min(int64(len(piece)), room)]...)
		}
		switch {
		case err == nil:
			if n := len(*line); int64(n) == size {
				*line = (*line)[:n-1]
			}
			return size, true, nil
		case errors.Is(err, io.EOF):
			return size, false, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return size, false, err
		}
	}
}
