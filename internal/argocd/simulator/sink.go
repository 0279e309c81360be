package simulator

import (
	"net/http"
)

// sink writes an answer in pieces of about 64 KiB, and plays the faults of lists.
type sink struct {
	c     *call
	b     []byte
	sent  int64
	items int
	list  bool // faults of lists are played
	err   error
}

const piece = 64 << 10

func (c *call) sink() *sink {
	h := c.w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Grpc-Metadata-Content-Type", "application/grpc")
	return &sink{c: c, b: make([]byte, 0, piece+16<<10)}
}

// item begins an object of a list: it waits and writes out what is full.
func (s *sink) item() bool {
	if s.items > 0 {
		s.b = append(s.b, ',')
	}
	s.items++
	if len(s.b) >= piece {
		s.flush()
	}
	if s.c.faults.PerItem > 0 && s.err == nil {
		s.flush()
		s.push()
		if !wait(s.c.r.Context(), s.c.faults.PerItem) {
			s.err = s.c.r.Context().Err()
		}
	}
	return s.err == nil
}

func (s *sink) flush() {
	if s.err != nil {
		return
	}
	cut := s.c.faults.CutAfter
	if s.list && cut > 0 && s.sent+int64(len(s.b)) > cut {
		s.b = s.b[:max(cut-s.sent, 0)]
		_, _ = s.c.out.Write(s.b) // the connection is closed anyway
		s.push()
		panic(http.ErrAbortHandler)
	}
	n, err := s.c.out.Write(s.b)
	s.sent += int64(n)
	s.b, s.err = s.b[:0], err
}

// push gets what was written to the client.
func (s *sink) push() {
	if z, ok := s.c.out.(*compressed); ok && s.err == nil {
		s.err = z.flush()
	}
	// A writer that cannot flush, as of a test, has nothing to push.
	_ = http.NewResponseController(s.c.w).Flush()
}

// end writes the rest.
func (s *sink) end() error {
	s.flush()
	return s.err
}

// answer writes one whole answer.
func (c *call) answer(body []byte) error {
	s := c.sink()
	s.b = append(s.b, body...)
	return s.end()
}
