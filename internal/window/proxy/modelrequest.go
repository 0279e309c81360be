package proxy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/window/wire"
)

// A modelRequest is one request to a model, its client and its outcome. It belongs to the goroutine of its handler.
type modelRequest struct {
	p    *Proxy
	r    *http.Request
	rt   *route
	body *requestBody

	upstream string // as package models knows it
	model    string
	betas    []string
	stream   bool
	received *wire.Request // decoded, as it came; nil when it could not be read
	readAt   time.Time     // when the whole body had been read
}

// requestBody is the handler's own reference to a heldBody. done releases it, once only.
type requestBody struct {
	*heldBody
	gone bool
}

// done releases the handler's use of the body. A second call does nothing.
func (b *requestBody) done() {
	if !b.gone {
		b.gone = true
		b.releaseUse()
	}
}

// serveModel handles a request to a model: reads and parses it, makes it fit, sends it, recovers from refusals, and relays the answer.
func (p *Proxy) serveModel(w http.ResponseWriter, r *http.Request, rt *route) {
	rt.request = p.requests.Add(1)
	if r.ContentLength > p.o.MaxBody {
		p.answerRefusal(w, rt, p.tooLarge())
		return
	}
	held, err := p.readBody(w, r)
	body := &requestBody{heldBody: held}
	defer body.done()
	switch {
	case errors.Is(err, errTooLargeToHold), errors.Is(err, errGiants):
		reason := "size"
		if errors.Is(err, errGiants) {
			reason = "giants"
		}
		p.journalPassed(rt, reason, "")
		cost, ok := p.holdUnread(w, r, rt, max(r.ContentLength, int64(len(held.bytes))))
		if !ok {
			return
		}
		rest := &resumedBody{held: held.reader(held.bytes), rest: r.Body}
		body.done()
		defer cost.SettleHeld() // nothing tells what it cost
		p.passBody(w, r, rt, rest)
		return
	case err != nil:
		p.answerBodyError(w, r, rt, err)
		return
	}
	m := &modelRequest{p: p, r: r, rt: rt, body: body, readAt: time.Now(), stream: rt.stream}
	if err := m.readRequest(); err != nil {
		p.answerError(w, r, rt, err)
		return
	}
	rt.asked = m.model
	t := newConversation(m)
	if m.received != nil {
		if err := t.prepareRequest(); err != nil {
			p.answerError(w, r, rt, err)
			return
		}
	}
	t.endLook()
	e := &exchange{conversation: t}
	e.sendUntilAnswered(w)
}

// answerError answers a request that failed with err: as a refusal if err is a *refusal, else as a failed upstream.
func (p *Proxy) answerError(w http.ResponseWriter, r *http.Request, rt *route, err error) {
	if e, ok := errors.AsType[*refusal](err); ok {
		p.answerRefusal(w, rt, e)
		return
	}
	p.upstreamFailed(w, r, rt, err)
}

// firstRoom is the number of bytes charged for a body of unknown length before its first byte is read.
const firstRoom = 16 << 10

// bodyIdle bounds each pause in a body that is held. Its memory is charged when it is announced: clients that hang would keep it from others.
const bodyIdle = time.Minute

// readBody reads the whole body into memory. With errTooLargeToHold the result has the part that was read, and the rest is still in r.Body;
// with errGiants nothing was read, or a part. A *refusal means that there was no memory, or that the body stopped coming. The result is
// never nil; the caller releases it.
func (p *Proxy) readBody(w http.ResponseWriter, r *http.Request) (*heldBody, error) {
	b := &heldBody{room: hold{b: p.budget}, pooled: true}
	b.refs.Store(1)
	if r.ContentLength > p.o.MaxHeld {
		return b, errTooLargeToHold
	}
	size := r.ContentLength
	if size < 0 {
		size = firstRoom
	}
	// What comes as text is looked into as it is: most of what that takes is charged at once, so that nobody
	// who waits to look waits for memory too.
	copies := int64(1)
	if isIdentity(r.Header.Get("Content-Encoding")) {
		copies = 2
	}
	if !b.room.growTo(r.Context(), copies*size) {
		return b, p.noRoomError(r.Context(), size)
	}
	// One byte more than announced lets the last read see the end without growing.
	b.bytes = newBuffer(int(size) + 1)
	// A writer that knows no deadlines (of a test, or behind another handler) has none.
	connection := http.NewResponseController(w)
	defer func() { _ = connection.SetReadDeadline(time.Time{}) }()
	for {
		if len(b.bytes) == cap(b.bytes) {
			if err := p.enlarge(r.Context(), b, copies); err != nil {
				return b, err
			}
		}
		_ = connection.SetReadDeadline(time.Now().Add(p.bodyIdle))
		n, err := r.Body.Read(b.bytes[len(b.bytes):min(cap(b.bytes), int(p.o.MaxHeld)+1)])
		b.bytes = b.bytes[:len(b.bytes)+n]
		switch {
		case int64(len(b.bytes)) > p.o.MaxHeld:
			return b, errTooLargeToHold
		case errors.Is(err, io.EOF):
			b.room.shrinkTo(copies * int64(len(b.bytes)))
			return b, nil
		case errors.Is(err, os.ErrDeadlineExceeded):
			return b, &refusal{
				status: http.StatusRequestTimeout, reason: "stalled",
				text: fmt.Sprintf("the body stopped coming after %d bytes, for %v: send the request again", len(b.bytes), p.bodyIdle),
			}
		case err != nil:
			return b, err
		}
	}
}

// enlarge doubles the buffer of a body whose length was not announced, up to MaxHeld, and charges copies times that to the budget. The
// error is noRoomError's.
func (p *Proxy) enlarge(ctx context.Context, b *heldBody, copies int64) error {
	size := min(2*int64(cap(b.bytes)), p.o.MaxHeld+1)
	// While the bytes are copied both buffers exist.
	if !b.room.growTo(ctx, max(copies*size, size+int64(cap(b.bytes)))) {
		return p.noRoomError(ctx, size)
	}
	bigger := append(newBuffer(int(size)), b.bytes...)
	freeBuffer(b.bytes)
	b.bytes = bigger
	return nil
}

// readRequest decompresses and parses the body into received. A body that cannot be parsed leaves received nil and is sent as it is, so
// that the provider's answer explains the fault. The error is a *refusal or the context's.
func (t *modelRequest) readRequest() error {
	t.model = t.rt.name
	t.upstream = t.rt.up.modelsName()
	encoding := t.r.Header.Get("Content-Encoding")
	look, err := t.decodeBody(encoding)
	if err != nil {
		if e, ok := errors.AsType[*refusal](err); ok {
			return e
		}
		reason := "unreadable"
		if gone := t.r.Context().Err(); gone != nil {
			return gone
		} else if _, ok := errors.AsType[*wire.TooLargeError](err); ok {
			reason = "size"
		} else if errors.Is(err, errGiants) {
			reason = "giants"
		} else if errors.Is(err, wire.ErrEncoding) { // it would go on without any limit being held
			return &refusal{
				status: http.StatusUnsupportedMediaType, reason: "encoding",
				text: fmt.Sprintf("the request's Content-Encoding is %q, which is not read here: send it with one of %s, or with none", clip(encoding, 40), wire.Encodings),
			}
		}
		t.p.journalPassed(t.rt, reason, "")
		return nil
	}
	if err := t.r.Context().Err(); err != nil {
		return err // nobody waits for the answer
	}
	req, err := look.Parse()
	if err != nil {
		t.p.journalPassed(t.rt, "unreadable", err.Error())
		return nil
	}
	if t.rt.unnamed && rawjson.Get(req.Body, "anthropic_version").IsZero() { // which Bedrock demands of Anthropic's
		t.p.journalPassed(t.rt, "path", "")
		return nil
	}
	if t.model == "" {
		t.model = clip(req.Model, 256)
	}
	req.Model = t.model
	t.stream = t.stream || req.Stream
	t.betas = t.r.Header["Anthropic-Beta"]
	t.received = req
	return nil
}

// decodeBody decompresses the body and prepares to parse it. It waits for memory, which it takes from the budget before it is used, and for
// a turn, which the caller gives back with endLook or by releasing the body. errGiants means that the body is to be passed on unread; other
// errors are those of noRoomError and [wire.Decode].
func (t *modelRequest) decodeBody(encoding string) (*wire.Look, error) {
	packed := t.body.bytes
	if isIdentity(encoding) {
		return t.prepareLook(packed, 0)
	}
	held := int64(len(packed))
	window := wire.Window(encoding, packed)
	most := t.p.o.MaxHeld - held
	for size := min(unpackedSize(encoding, packed), most); ; size = min(8*size, most) {
		if err := t.waitForTurn(size, held+2*size+window); err != nil {
			return nil, err
		}
		text, err := wire.Decode(encoding, packed, size)
		if _, large := errors.AsType[*wire.TooLargeError](err); large && size < most {
			continue
		} else if err != nil {
			return nil, err
		}
		return t.prepareLook(text, held)
	}
}

// prepareLook prepares to parse text. It waits until the memory for that is charged, besides the held bytes, and its turn has come.
func (t *modelRequest) prepareLook(text []byte, held int64) (*wire.Look, error) {
	look := t.p.views.Look(t.rt.dialect, text)
	cost := lookCost(len(text), look.Objects())
	err := t.waitForTurn(giantSize(int64(len(text)), cost), held+cost+int64(len(text)))
	t.body.room.shrinkTo(held + cost + int64(len(text)))
	return look, err
}

// waitForTurn waits until the body's charge is cost bytes in all, and then for a turn to parse size bytes. The error is noRoomError's.
func (t *modelRequest) waitForTurn(size, cost int64) error {
	ctx, room := t.r.Context(), &t.body.room
	if cost > room.n {
		room.endTurn() // nobody waits for memory in its turn
	}
	if size >= giantBody && !room.becomeGiant(ctx) {
		return t.p.noRoomError(ctx, size)
	}
	if !room.growTo(ctx, cost) || !room.takeTurn(ctx, size) {
		return t.p.noRoomError(ctx, size)
	}
	return nil
}

// endLook gives back the turn, and the memory that was needed only for parsing the body.
func (t *conversation) endLook() {
	room := &t.body.room
	room.endTurn()
	switch {
	case t.received == nil: // nothing was looked into
		room.shrinkTo(int64(len(t.body.bytes)))
	case !t.edited: // no copy was made
		room.shrinkTo(room.n - int64(len(t.received.Body)))
	}
}

// unpackedSize returns the size that a compressed body claims to have decompressed, with some room, or a guess where it claims none. The
// claim may be false: the caller bounds it.
func unpackedSize(encoding string, packed []byte) int64 {
	if n, ok := wire.DecodedSize(encoding, packed); ok {
		return n + 4<<10
	}
	return 10*int64(len(packed)) + 4<<10
}
