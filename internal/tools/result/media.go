package result

import "github.com/plimsoll/plimsoll/tools/spool"

// mediaPiece keeps media for delivery as long as they are within maxMedia; a value that exceeds it goes to the spool instead.
func (s *spoolWriter) mediaPiece(p []byte) {
	if s.over {
		s.putQuoted(p)
		s.block.media += int64(len(p))
		return
	}
	if s.heldMedia += int64(len(p)); s.heldMedia <= int64(s.o.maxMedia()) {
		if err := s.kept.write(p); err != nil {
			s.stop = err
		}
		return
	}
	s.over = true
	s.block.media = s.kept.size - s.from + int64(len(p))
	s.heldMedia -= s.block.media // smaller ones behind it have their room
	s.mediaToSpool(s.from, s.kept.size)
	s.kept.size = s.from
	s.kept.mem = s.kept.mem[:min(int64(len(s.kept.mem)), s.from)]
	s.putQuoted(p)
}

// mediaToSpool begins a part in the spool with the media in the range from-to of kept.
func (s *spoolWriter) mediaToSpool(from, to int64) {
	s.startPart(spool.Media, s.mime())
	s.quotes.Reset()
	s.tooLarge = false
	held := make([]byte, ChunkBytes)
	for r := s.kept.reader(from, to); ; {
		n, err := r.Read(held)
		s.putQuoted(held[:n])
		if err != nil {
			break
		}
	}
}

// putQuoted writes the unescaped text of a JSON string into the spool. The string comes in pieces, the first with its opening quote.
func (s *spoolWriter) putQuoted(p []byte) {
	if !s.tooLarge && len(p) > 0 {
		s.tooLarge = true // the opening quote
		p = p[1:]
	}
	for len(p) > 0 {
		text, n, closed := s.quotes.Feed(p)
		s.put(text)
		if p = p[n:]; closed {
			return
		}
	}
}
