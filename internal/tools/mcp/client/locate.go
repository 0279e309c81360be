package client

import (
	"io"
	"os"
	"strings"

	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/transport"
)

// locate writes a message to a file to find out whom it is for: its id comes behind a part that is too large for memory. Then it dispatches
// the message; one that is too large or invalid is dropped.
func (s *Server) locate(g *generation, f *transport.Frame) {
	file, err := os.CreateTemp(s.o.TempDir, "plimsoll-frame-*")
	if err != nil {
		s.discard("too_large", f)
		return
	}
	// At once, so that nothing is left when we are killed. Windows removes it only closed.
	removed := os.Remove(file.Name()) == nil
	defer func() {
		_ = file.Close()
		if !removed {
			_ = os.Remove(file.Name())
		}
	}()
	var find jsonrpc.Finder
	n, err := io.Copy(io.MultiWriter(file, &find), io.LimitReader(f.Reader(), s.o.MaxFrame+1))
	if err != nil || n > s.o.MaxFrame {
		s.noise.add("too_large", n)
		s.discard("too_large", &transport.Frame{Rest: f.Rest})
		return
	}
	h, id := find.Head()
	if h.Kind == jsonrpc.Invalid {
		s.noise.add("text", n)
		return
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		s.noise.add("too_large", n)
		return
	}
	rest := io.Reader(file)
	if c := s.owner(h.ID); h.Kind == jsonrpc.Response && c != nil && c.id != c.original {
		// The client's own id takes the place of ours, in the stream.
		tail := io.NewSectionReader(file, id.End, n-id.End)
		rest = io.MultiReader(io.NewSectionReader(file, 0, id.Start), strings.NewReader(string(c.original)), tail)
	}
	head := make([]byte, min(int64(jsonrpc.Hold), n))
	read, err := io.ReadFull(rest, head)
	if err != nil && err != io.ErrUnexpectedEOF {
		s.noise.add("too_large", n)
		return
	}
	h.IDAt = jsonrpc.Span{Start: 1, End: 1 << 62} // the id is replaced already
	s.dispatch(g, &transport.Frame{Head: head[:read], Rest: rest}, h)
}

func (s *Server) owner(id jsonrpc.ID) *call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open[id]
}
