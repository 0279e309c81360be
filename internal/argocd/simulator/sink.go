package simulator

import (
	"compress/gzip"
	"net/http"
)

// sink writes an answer in pieces of about 64 KiB, and plays the faults of lists.
type sink struct {
	c     *call
	b     []byte
	sent  int
	items int
	list  bool // faults of lists are played
}

const full = 64 << 10

// sink sets the headers of a JSON answer, and returns a buffer that writes the answer.
func (c *call) sink() *sink {
	h := c.w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Grpc-Metadata-Content-Type", "application/grpc")
	return &sink{c: c, b: make([]byte, 0, full+16<<10)}
}

// array writes the items that all writes, or null if there are none.
func (s *sink) array(all func()) {
	s.b = append(s.b, '[')
	if all(); s.items == 0 {
		s.b = append(s.b[:len(s.b)-1], "null"...)
		return
	}
	s.b = append(s.b, ']')
}

// beginItem begins an object of a list: it waits as long as the faults say, and writes out the buffer if it is full.
func (s *sink) beginItem() {
	if s.items > 0 {
		s.b = append(s.b, ',')
	}
	s.items++
	if len(s.b) >= full {
		s.flush()
	}
	if s.c.faults.PerItem > 0 {
		s.push()
		pauseFor(s.c.r.Context(), s.c.faults.PerItem)
	}
}

// flush writes out what there is. When the client has gone, or a fault cuts the connection, the request ends here.
func (s *sink) flush() {
	cut := s.c.faults.CutAfter
	if s.list && cut > 0 && s.sent+len(s.b) > cut {
		_, _ = s.c.w.Write(s.b[:max(cut-s.sent, 0)]) // the connection is closed anyway
		_ = http.NewResponseController(s.c.w).Flush()
		panic(http.ErrAbortHandler)
	}
	n, err := s.c.w.Write(s.b)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	s.sent += n
	s.b = s.b[:0]
}

// push gets what there is to the client.
func (s *sink) push() {
	s.flush()
	// A writer that cannot flush, as of a test, has nothing to push.
	_ = http.NewResponseController(s.c.w).Flush()
}

// answer writes one whole answer.
func (c *call) answer(body []byte) {
	s := c.sink()
	s.b = append(s.b, body...)
	s.flush()
}

// compressed is a writer that begins to compress with the first byte, so that an error before is plain.
type compressed struct {
	http.ResponseWriter

	z *gzip.Writer
}

func (c *compressed) WriteHeader(status int) {
	c.Header().Set("Content-Encoding", "gzip")
	c.ResponseWriter.WriteHeader(status)
}

// Write compresses p. The first call sets the header Content-Encoding and begins the gzip stream.
func (c *compressed) Write(p []byte) (int, error) {
	if c.z == nil {
		c.Header().Set("Content-Encoding", "gzip")
		z, err := gzip.NewWriterLevel(c.ResponseWriter, gzip.BestSpeed)
		if err != nil {
			return 0, err
		}
		c.z = z
	}
	return c.z.Write(p)
}

// FlushError sends what was compressed so far to the client.
func (c *compressed) FlushError() error {
	if c.z != nil {
		if err := c.z.Flush(); err != nil {
			return err
		}
	}
	return http.NewResponseController(c.ResponseWriter).Flush()
}
