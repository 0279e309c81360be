package toolserver

import (
	"bufio"
	"context"
	"errors"
	"io"
	"sync"

	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
)

// maxMessage bounds a message of a client, in bytes.
const maxMessage = 32 << 20

// Piped is a server on pipes, in the place of a process that a client starts.
type Piped struct {
	Stdin  io.WriteCloser
	Stdout io.ReadCloser
	Kill   context.CancelFunc
	ended  chan struct{}
	fault  error
}

// Pipe serves one client until Stdin is closed, a fault ends it or it is killed; then Stdout ends.
func (s *Server) Pipe() *Piped {
	in, stdin := io.Pipe()
	stdout, out := io.Pipe()
	ctx, kill := context.WithCancel(context.Background())
	p := &Piped{Stdin: stdin, Stdout: stdout, Kill: kill, ended: make(chan struct{})}
	go func() {
		defer close(p.ended)
		p.fault = s.ServeStdio(ctx, in, out)
		_ = out.Close()
		_ = in.Close()
		kill()
	}()
	return p
}

// Wait returns when the server has ended, with the error of ServeStdio.
func (p *Piped) Wait() error {
	<-p.ended
	return p.fault
}

// ServeStdio serves one client on in and out until in ends, and then returns nil; ErrCut
// and ErrDied say that a fault ended it, whereupon its caller closes out.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	c := s.newSession(ctx)
	defer c.end()
	k := &lines{w: bufio.NewWriterSize(out, 32<<10), fault: make(chan error, 1)}
	c.standing = k
	s.mu.Lock()
	s.standing[c] = true
	s.mu.Unlock()
	var open sync.WaitGroup
	read := make(chan error, 1)
	go func() {
		r := bufio.NewScanner(in)
		r.Buffer(make([]byte, 64<<10), maxMessage)
		for r.Scan() {
			raw := append([]byte(nil), r.Bytes()...)
			if len(raw) == 0 {
				continue
			}
			h, err := jsonrpc.Scan(raw)
			switch {
			case err != nil:
				_ = k.message(jsonrpc.ErrorResponse("", jsonrpc.CodeParse, err.Error(), nil))
			case h.Kind != jsonrpc.Request:
				c.receive(h, raw)
			case h.Method == "initialize":
				c.start(c.ctx, h, raw, nil, k) // what follows must find it done
			default:
				open.Go(func() { c.start(c.ctx, h, raw, nil, k) })
			}
		}
		read <- r.Err()
	}()
	var err error
	select {
	case err = <-read:
	case err = <-k.fault:
	case <-ctx.Done():
		err = ctx.Err()
	}
	c.cancel()
	if errors.Is(err, ErrCut) || errors.Is(err, ErrDied) {
		return err
	}
	open.Wait()
	return err
}

// lines is the sink of standard output.
type lines struct {
	mu    sync.Mutex
	w     *bufio.Writer
	fault chan error
	dead  bool
}

// write writes one message as a line. After a fault nothing is written any more, and the error is io.ErrClosedPipe.
func (k *lines) write(write func(w *bufio.Writer) error) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.dead {
		return io.ErrClosedPipe
	}
	err := write(k.w)
	if errors.Is(err, ErrCut) || errors.Is(err, ErrDied) {
		k.w.Flush()
		k.dead = true
		return err
	}
	k.w.WriteByte('\n')
	return errors.Join(err, k.w.Flush())
}

func (k *lines) message(m []byte) error {
	return k.write(func(w *bufio.Writer) error {
		_, err := w.Write(m)
		return err
	})
}

func (k *lines) response(_ int, write func(w *bufio.Writer) error) error { return k.write(write) }
func (k *lines) noise(write func(w *bufio.Writer) error) error           { return k.write(write) }
func (k *lines) drop()                                                   {}

// abort ends the connection with a fault: nothing is written any more, and ServeStdio returns err.
func (k *lines) abort(err error) {
	k.mu.Lock()
	k.dead = true
	k.mu.Unlock()
	select {
	case k.fault <- err:
	default:
	}
}
