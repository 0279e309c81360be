package delegate

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"strings"

	"github.com/plimsoll/plimsoll/agent/a2a"
	"github.com/plimsoll/plimsoll/limit"
)

// maxBody bounds an answer that is not a stream of events and is held in memory. The SDK bounds each event by itself.
const maxBody = 16 * limit.MiB

// gate is a RoundTripper that sends requests to the agent's own origin with its header and transport, and all others only to addresses that
// are allowed.
type gate struct {
	home           *url.URL
	header         http.Header
	own, elsewhere http.RoundTripper
}

func newGate(home *url.URL, o *Options) *gate {
	g := &gate{home: home, header: o.Header, own: o.Transport, elsewhere: a2a.PublicTransport(o.Allow, o.Hosts)}
	if g.own == nil {
		g.own = http.DefaultTransport
	}
	return g
}

// isOwnOrigin reports whether a URL has the scheme, host and port of the agent's own URL.
func (g *gate) isOwnOrigin(u *url.URL) bool {
	return u.Scheme == g.home.Scheme && strings.EqualFold(u.Hostname(), g.home.Hostname()) && portOf(u) == portOf(g.home)
}

// portOf returns the port of a URL, the scheme's own if it names none.
func portOf(u *url.URL) string {
	switch port := u.Port(); {
	case port != "":
		return port
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}

// RoundTrip implements http.RoundTripper. A status that asks for a credential, and a redirect, are errors.
func (g *gate) RoundTrip(r *http.Request) (*http.Response, error) {
	way := g.elsewhere
	if g.isOwnOrigin(r.URL) {
		way = g.own
		r = r.Clone(r.Context())
		maps.Copy(r.Header, g.header)
	}
	resp, err := way.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	switch code := resp.StatusCode; {
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		_ = resp.Body.Close()
		return nil, fmt.Errorf("the agent wants another credential (%s): token names the variable that holds it", resp.Status)
	case code >= 300 && code < 400:
		_ = resp.Body.Close()
		return nil, fmt.Errorf("the agent is somewhere else (%s), and redirects are not followed: write its new address", resp.Status)
	}
	if !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		resp.Body = &boundedBody{ReadCloser: resp.Body, left: int64(maxBody)}
	}
	return resp, nil
}

func (g *gate) closeIdleConnections() {
	if t, ok := g.elsewhere.(*http.Transport); ok {
		t.CloseIdleConnections()
	}
}

// boundedBody is a body whose Read fails with errTooLarge after left bytes.
type boundedBody struct {
	io.ReadCloser
	left int64
}

var errTooLarge = errors.New("the agent's answer is larger than " + maxBody.Human())

// Read reads from the body. Its error is errTooLarge once the body is longer than its bound.
func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left+1)])
	if int64(n) > b.left {
		return int(b.left), errTooLarge
	}
	b.left -= int64(n)
	return n, err
}

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

// store stores a text and appends its place to the pieces. Beyond heldPile the texts move to a temporary file. If there is no room or the
// file fails, the text is only counted as dropped.
func (p *pile) store(to []piece, text string) []piece {
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

func (p *pile) closeFile() {
	if p.file != nil {
		_ = p.file.Close()
		_ = os.Remove(p.file.Name()) // there is none, but on Windows
		p.file = nil
	}
}
