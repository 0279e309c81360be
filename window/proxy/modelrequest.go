package proxy

import (
	"errors"
	"net/http"
	"time"

	"github.com/plimsoll/plimsoll/window/compact"
	"github.com/plimsoll/plimsoll/window/compact/checkpoint"
	"github.com/plimsoll/plimsoll/window/models"
	"github.com/plimsoll/plimsoll/window/repair"
	"github.com/plimsoll/plimsoll/window/tokens"
	"github.com/plimsoll/plimsoll/window/wire"
)

// A turn is one model request on its way through. It belongs to the goroutine of its
// handler.
type turn struct {
	p    *Proxy
	r    *http.Request
	rt   *route
	body *turnBody

	upstream string // as package models knows it
	model    string
	betas    []string
	stream   bool
	family   tokens.Family
	scope    checkpoint.Scope
	ledger   string // scope, upstream and model in one

	received *wire.Request // decoded, as it came; nil when it could not be read
	view     *compact.View // repaired, with the checkpoint put in
	chain    []tokens.Digest
	talk     string // names the conversation
	request  *wire.Request
	tally    tokens.Tally
	in       tokens.Estimate // input of request, in the provider's tokens
	how      tokens.Counted
	window   models.Window // in force
	whole    models.Window // before the breaker
	strict   bool

	content    []byte        // what is sent: request's body, packed as the client packed it
	packed     *wire.Request // that content was made of, when it was edited
	edited     bool
	result     *compact.Result // of the newest compaction, until it is kept
	generation int             // of the checkpoint that was put in
	replayed   replayed        // names it where the client's calls were in order; else zero
	repairs    []repair.Action
	actions    []string

	readAt      time.Time // the body had been read
	firstSize   int       // of what was refused first, by our count
	refusedSize int       // of what was refused last
	unnamed     bool      // without naming a limit
	lastForm    string
}

// turnBody is the turn's own hold on its body, which ends once.
type turnBody struct {
	*heldBody
	gone bool
}

func (b *turnBody) done() {
	if !b.gone {
		b.gone = true
		b.release()
	}
}

// modelRequest handles a request to a model: read, looked into, sent, recovered.
func (p *Proxy) modelRequest(w http.ResponseWriter, r *http.Request, rt *route) {
	if r.ContentLength > p.o.MaxBody {
		p.refuse(w, rt, p.tooLarge())
		return
	}
	held, err := p.readBody(w, r)
	body := &turnBody{heldBody: held}
	defer body.done()
	switch {
	case errors.Is(err, errTooLargeToHold), errors.Is(err, errGiants):
		reason := "size"
		if errors.Is(err, errGiants) {
			reason = "giants"
		}
		p.passed(rt, reason, "")
		rest := &resumedBody{held: held.reader(held.bytes), rest: r.Body}
		body.done()
		p.passBody(w, r, rt, rest)
		return
	case err != nil:
		p.bodyFailed(w, r, rt, err)
		return
	}
	t := &turn{p: p, r: r, rt: rt, body: body, content: held.bytes, readAt: time.Now(), stream: rt.stream}
	if err := t.read(); err != nil {
		p.refusedTurn(w, r, rt, err)
		return
	}
	if t.received != nil {
		if err := t.prepare(); err != nil {
			p.refusedTurn(w, r, rt, err)
			return
		}
	}
	t.looked()
	t.exchange(w)
}

func (p *Proxy) refusedTurn(w http.ResponseWriter, r *http.Request, rt *route, err error) {
	if e, ok := errors.AsType[*refusal](err); ok {
		p.refuse(w, rt, e)
		return
	}
	p.upstreamFailed(w, r, rt, err)
}

// read decodes and parses the body. A body that cannot be read goes on as it came: the
// provider says what is wrong with it.
func (t *turn) read() error {
	t.model = t.rt.name
	t.upstream = string(t.rt.up.Provider) + "+" + t.rt.up.base.String()
	encoding := t.r.Header.Get("Content-Encoding")
	text, err := t.look(encoding)
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
		} else if errors.Is(err, wire.ErrEncoding) {
			reason = "encoding"
		}
		t.p.passed(t.rt, reason, "")
		return nil
	}
	if err := t.r.Context().Err(); err != nil {
		return err // nobody waits for the answer
	}
	req, err := wire.Parse(t.rt.dialect, text)
	if err != nil {
		t.p.passed(t.rt, "unreadable", err.Error())
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

// look unpacks the body and waits for its turn to be looked into, with all that a look takes charged to the budget before it
// is made: first by what the packed form says of itself, or a guess. errGiants says that it goes on as it came.
func (t *turn) look(encoding string) ([]byte, error) {
	packed := t.body.bytes
	if isIdentity(encoding) {
		return packed, t.mayLook(packed, 0)
	}
	held := int64(len(packed))
	most := t.p.o.MaxHeld - held
	for size := min(unpackedSize(encoding, packed), most); ; size = min(8*size, most) {
		if err := t.turnFor(size, held+2*size); err != nil {
			return nil, err
		}
		text, err := wire.Decode(encoding, packed, size)
		if _, large := errors.AsType[*wire.TooLargeError](err); large && size < most {
			continue
		} else if err != nil {
			return nil, err
		}
		return text, t.mayLook(text, held)
	}
}

// mayLook charges what a look into text takes, beside what is held anyhow.
func (t *turn) mayLook(text []byte, held int64) error {
	look := lookCost(text)
	cost := int64(len(text)) + look
	err := t.turnFor(giantSize(int64(len(text)), look), held+cost)
	t.body.room.shrink(held + cost)
	return err
}

// turnFor waits for memory, cost bytes of it, and then for a turn to look into size bytes.
func (t *turn) turnFor(size, cost int64) error {
	ctx, room := t.r.Context(), &t.body.room
	if cost > room.n {
		room.endTurn() // nobody waits for memory in its turn
	}
	if size >= giantBody && !room.beGiant(ctx) {
		return t.p.noRoom(ctx, size)
	}
	if !room.grow(ctx, cost) || !room.takeTurn(ctx, size) {
		return t.p.noRoom(ctx, size)
	}
	return nil
}

// looked gives back what only the look took.
func (t *turn) looked() {
	room := &t.body.room
	room.endTurn()
	switch {
	case t.received == nil: // nothing was looked into
		room.shrink(int64(len(t.body.bytes)))
	case !t.edited: // no copy was made
		room.shrink(room.n - int64(len(t.received.Body)))
	}
}

// unpackedSize is what a packed body says it holds, with some room; a guess where it says
// nothing. It is only believed as far as memory goes.
func unpackedSize(encoding string, packed []byte) int64 {
	if n, ok := wire.DecodedSize(encoding, packed); ok {
		return n + 4<<10
	}
	return 10*int64(len(packed)) + 4<<10
}
