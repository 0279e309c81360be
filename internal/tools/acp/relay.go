// Package acp stands between an editor and an agent that speak the Agent Client Protocol over pipes
// (https://agentclientprotocol.com/protocol/overview, version 1).
//
// A [Relay] passes the bytes of both on as they come, and keeps two small tables: the open requests of the editor, to answer for an agent that was
// ended ([Relay.Fail]), and the sessions, to say what goes on ([Relay.State]). It changes nothing but the commands of MCP servers in session/new,
// session/load and session/resume, which it puts behind the gateway. [Spoken] reports by a command's words whether it may speak the protocol; the
// first line decides.
//
// A line is held up to 1 MiB on its way to the agent and up to 64 KiB on its way back; a longer one passes in pieces, and only its id is looked for.
// At most 256 open requests and 128 sessions are known at once; what is beyond passes and is counted.
package acp

import (
	"bytes"
	"encoding/json"
	"io"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
)

// Options configure a relay.
type Options struct {
	// In and Out are the streams of the editor.
	In  io.Reader
	Out io.Writer
	// Gateway returns the command by which an MCP server is put behind the gateway; nil leaves all servers as they are.
	Gateway Gateway
	// Changed is called when a session begins or ends, by the goroutine that passes messages on; it may be nil. It must not call the relay.
	Changed func(State)
}

// Relay passes messages on between an editor and an agent. Its methods are safe for concurrent use.
type Relay struct {
	o       Options
	asked   chan struct{} // closed when the first request has come
	begun   chan struct{} // closed when the first line was processed, or there is none
	linked  chan struct{} // closed by Connect
	passed  chan struct{} // closed when everything the agent wrote was passed on
	toAgent io.WriteCloser

	mu   sync.Mutex
	book book

	out     sync.Mutex // of Options.Out
	midLine bool       // a line to the editor has not ended
	over    bool       // Fail has answered: nothing more of the agent is passed on
}

// New returns a relay that reads what the editor sends. It passes nothing on before [Relay.Connect].
func New(o Options) *Relay {
	r := &Relay{o: o, asked: make(chan struct{}), begun: make(chan struct{}), linked: make(chan struct{}), passed: make(chan struct{})}
	go r.passToAgent()
	return r
}

// Asked returns a channel that is closed when the editor has sent initialize.
func (r *Relay) Asked() <-chan struct{} { return r.asked }

// Connect gives the relay the streams of the agent; it is called once. The relay closes toAgent when the editor has closed its stream.
func (r *Relay) Connect(toAgent io.WriteCloser, fromAgent io.Reader) {
	r.toAgent = toAgent
	close(r.linked)
	go r.passToEditor(fromAgent)
}

// Passed returns a channel that is closed when everything the agent wrote was passed on.
func (r *Relay) Passed() <-chan struct{} { return r.passed }

// State returns a snapshot of the relay.
func (r *Relay) State() State {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.book.state
	s.Sessions = slices.Clone(s.Sessions)
	return s
}

// passToAgent passes on what the editor sends, and records it, until the editor or the agent has ended. It writes nothing before r.linked is
// closed. At the end it closes the agent's input and discards what the editor still sends.
func (r *Relay) passToAgent() {
	in := lines{src: r.o.In, hold: holdToAgent}
	w := recorder{relay: r, take: r.fromEditor}
	for begun := false; ; begun = true {
		piece, first, last, err := in.nextPiece()
		if err == nil && !begun {
			r.confirm(piece, last)
		}
		if err == nil {
			piece = w.record(piece, first, last)
		}
		if !begun {
			close(r.begun)
		}
		<-r.linked
		if err == nil {
			_, err = r.toAgent.Write(piece)
		}
		if err != nil {
			_ = r.toAgent.Close()
			_, _ = io.Copy(io.Discard, r.o.In) // so that the editor does not block on writing to an agent that has ended
			return
		}
	}
}

// confirm sets State.Confirmed and closes asked if the first line is an initialize of the protocol.
func (r *Relay) confirm(line []byte, whole bool) {
	if !whole {
		return
	}
	h, err := jsonrpc.Scan(line)
	if err != nil || h.Kind != jsonrpc.Request || h.Method != "initialize" || rawjson.Get(h.Params.Of(line), "protocolVersion").IsZero() {
		return
	}
	r.mu.Lock()
	r.book.state.Confirmed = true
	r.mu.Unlock()
	close(r.asked)
}

// passToEditor passes on what the agent sends, and records it, until the stream ends. If the editor cannot be written to, the rest is discarded.
func (r *Relay) passToEditor(from io.Reader) {
	defer close(r.passed)
	in := lines{src: from, hold: holdToClient}
	w := recorder{relay: r, take: r.fromAgent}
	for {
		piece, first, last, err := in.nextPiece()
		if err != nil {
			return
		}
		w.record(piece, first, last)
		if !r.write(piece, last) {
			_, _ = io.Copy(io.Discard, from)
			return
		}
	}
}

// write writes a piece to the editor; last says that a line ends with it. It returns false if that fails, or if Fail was called.
func (r *Relay) write(piece []byte, last bool) bool {
	r.out.Lock()
	defer r.out.Unlock()
	if r.over {
		return false
	}
	_, err := r.o.Out.Write(piece)
	r.midLine = !last
	return err == nil
}

// A recorder records the lines of one direction. Of a line that comes in pieces only the head is parsed.
type recorder struct {
	relay  *Relay
	take   func(h jsonrpc.Head, line []byte) []byte
	finder *jsonrpc.Finder
	size   int64
}

// record records a piece of a line; first and last report whether the line begins and ends with it. It returns the bytes to pass on: piece
// itself, unless it is a whole line that the take function has changed.
func (w *recorder) record(piece []byte, first, last bool) []byte {
	r := w.relay
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.book.state.Confirmed {
		return piece
	}
	if first {
		w.size = 0
	}
	w.size += int64(len(piece))
	r.book.state.LongestLine = max(r.book.state.LongestLine, w.size)
	if first && last {
		h, err := jsonrpc.Scan(piece)
		if err == nil {
			return w.take(h, piece)
		}
		if len(piece) > 2 {
			r.book.state.Missed++
		}
		return piece
	}
	if first {
		w.finder = &jsonrpc.Finder{}
	}
	_, _ = w.finder.Write(piece)
	if last {
		if h, _ := w.finder.Head(); h.Kind != jsonrpc.Invalid {
			h.Params = jsonrpc.Span{} // the line's bytes are gone
			w.take(h, nil)
		} else {
			r.book.state.Missed++
		}
		w.finder = nil
	}
	return piece
}

// fromEditor records a message of the editor, and returns the line to pass on. The caller holds r.mu, as for fromAgent.
func (r *Relay) fromEditor(h jsonrpc.Head, line []byte) []byte {
	r.book.recordSent(h, line, time.Now())
	changed, wrapped := behindGateway(line, h, r.o.Gateway)
	r.book.state.Wrapped += wrapped
	return changed
}

// fromAgent records a message of the agent, calls Changed with the lock held if sessions have begun or ended, and returns it.
func (r *Relay) fromAgent(h jsonrpc.Head, line []byte) []byte {
	switch h.Kind {
	case jsonrpc.Response:
		if r.book.recordAnswer(h, line, time.Now()) && r.o.Changed != nil {
			s := r.book.state
			s.Sessions = slices.Clone(s.Sessions)
			r.o.Changed(s)
		}
	case jsonrpc.Notification, jsonrpc.Request:
		r.book.recordUpdate(h, line, time.Now())
	}
	return line
}

// Failure says why an agent does not answer; it is the data of the error that the editor gets.
type Failure struct {
	// Reason is the outcome of the run, as in its report.
	Reason string `json:"reason"`
	// Limit and Peak are memory in bytes; 0 if not known.
	Limit int64 `json:"limit"`
	Peak  int64 `json:"peak"`
	// Killed names the processes that were ended for it.
	Killed []string `json:"killed"`
}

const (
	// failWait bounds the wait until the editor has read the errors.
	failWait = 2 * time.Second
	// beginWait bounds the wait for the editor's first line, for a run that is refused as soon as it was started.
	beginWait = 2 * time.Second
)

// Fail answers every open request with an error whose message is sentence, and returns how many there were. Afterwards nothing of the agent
// is passed on. It waits at most beginWait for the editor's first line, and failWait for the editor to read the errors.
func (r *Relay) Fail(sentence string, f Failure) int {
	if f.Killed == nil {
		f.Killed = []string{}
	}
	data, err := json.Marshal(f)
	if err != nil {
		return 0
	}
	select {
	case <-r.begun:
	case <-time.After(beginWait):
	}
	r.mu.Lock()
	open := r.book.open
	r.book.open, r.book.state.Open = nil, 0
	r.mu.Unlock()
	told := make(chan struct{})
	go func() {
		defer close(told)
		r.out.Lock()
		defer r.out.Unlock()
		r.over = true
		if r.midLine && len(open) > 0 {
			_, _ = r.o.Out.Write([]byte{'\n'}) // ends the line in which the agent died
		}
		for _, q := range open {
			if _, err := r.o.Out.Write(append(jsonrpc.ErrorResponse(q.id, jsonrpc.CodeInternal, sentence, data), '\n')); err != nil {
				return
			}
		}
	}()
	select {
	case <-told:
	case <-time.After(failWait):
	}
	return len(open)
}

const (
	firstBuffer = 4 << 10
	// holdToAgent and holdToClient bound the part of one line that is in memory, in bytes, for each direction.
	holdToAgent  = 1 << 20
	holdToClient = 64 << 10
)

// lines reads a stream of lines without losing a byte: a line that fits into hold bytes is returned whole, a longer one in pieces.
type lines struct {
	src  io.Reader
	hold int
	buf  []byte
	r, w int
	err  error
	open bool // a line has begun and not ended
}

// nextPiece reads until a line is complete and returns it with its line break; a line that is longer than l.hold comes in pieces. first says
// that the line begins with the piece, last that it ends with it. The piece is valid until the next call.
func (l *lines) nextPiece() (piece []byte, first, last bool, err error) {
	seen := 0
	for {
		if n := bytes.IndexByte(l.buf[l.r+seen:l.w], '\n'); n >= 0 {
			return l.take(seen + n + 1)
		}
		seen = l.w - l.r
		switch {
		case seen >= l.hold || l.err != nil && seen > 0:
			return l.take(seen)
		case l.err != nil:
			return nil, false, false, l.err
		}
		l.fill()
	}
}

// take returns the next n bytes of the buffer as a piece of a line.
func (l *lines) take(n int) ([]byte, bool, bool, error) {
	piece := l.buf[l.r : l.r+n]
	l.r += n
	first := !l.open
	l.open = piece[n-1] != '\n'
	return piece, first, !l.open, nil
}

// fill reads once, after making room. A buffer that has grown is released when it is empty.
func (l *lines) fill() {
	if l.r == l.w {
		l.r, l.w = 0, 0
		if len(l.buf) > holdToClient {
			l.buf = nil
		}
	}
	if l.r > 0 {
		l.w = copy(l.buf, l.buf[l.r:l.w])
		l.r = 0
	}
	if l.w == len(l.buf) {
		grown := make([]byte, min(max(2*len(l.buf), firstBuffer), l.hold))
		l.w = copy(grown, l.buf[:l.w])
		l.buf = grown
	}
	n, err := l.src.Read(l.buf[l.w:])
	l.w += n
	l.err = err
}

// Spoken reports whether a command probably speaks the protocol on its streams: an argument asks for it (acp, --acp, --experimental-acp),
// or one of its first words is named like an adapter (claude-agent-acp, @agentclientprotocol/codex-acp@2,
// …/claude-agent-acp/dist/index.js).
func Spoken(argv []string) bool {
	for i, word := range argv {
		switch word {
		case "--acp", "--experimental-acp":
			return i > 0
		case "acp":
			if i > 0 {
				return true
			}
		}
		if i < 8 && isAdapter(word) {
			return true
		}
	}
	return false
}

// isAdapter reports whether a word is the path or the package of an adapter, by its name.
func isAdapter(word string) bool {
	if len(word) > 4096 || strings.HasPrefix(word, "-") || strings.ContainsAny(word, " \n") {
		return false
	}
	for element := range strings.SplitSeq(strings.ReplaceAll(word, `\`, "/"), "/") {
		name, _, _ := strings.Cut(element, "@")
		if strings.HasSuffix(strings.TrimSuffix(name, path.Ext(name)), "-acp") {
			return true
		}
	}
	return false
}
