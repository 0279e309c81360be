package proxy

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/spend"
	"github.com/plimsoll/plimsoll/internal/window/mend"
	"github.com/plimsoll/plimsoll/internal/window/overflow"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/window/wire"
)

// The names of the headers that are added to answers of model requests.
const (
	TokensHeader  = "Plimsoll-Tokens"  // input as it was sent, best estimate
	LimitHeader   = "Plimsoll-Limit"   // the window in force
	ActionsHeader = "Plimsoll-Actions" // what was done, comma-separated
)

// maxTries bounds the times a request is made smaller when the provider names no limit. With
// the default factor of 0.6 the last has 13 % of the first.
const maxTries = 4

// An exchange sends a conversation until it is answered: a request that is refused for its length, its reasoning or its contents is sent anew.
type exchange struct {
	*conversation

	firstSize   int           // tokens of the request that was refused first, by our count
	refusedSize int           // the same of the one refused last
	unnamed     bool          // that refusal named no limit
	unbinds     int           // how often reasoning was taken out after a refusal
	mends       int           // how often contents were mended after one
	lesson      *mend.Options // what the last of those refusals has taught; nil if there was none
	form        string        // form of the last refusal, as package overflow names it
	queued      queued

	held *spend.Hold // nil where nothing bounds what is spent
}

// sendUntilAnswered sends the request, sends it again made smaller or mended when the provider refuses it, and relays the last answer to w.
// It learns limits from what it sees, and may start a summary in the background.
func (t *exchange) sendUntilAnswered(w http.ResponseWriter) {
	held, err := t.holdCost(t.expectedTokens())
	if err != nil {
		t.p.answerError(w, t.r, t.rt, err)
		return
	}
	t.held = held
	defer held.Release()
	for try := 1; ; try++ {
		a, err := t.sendOnce(w)
		if err != nil {
			t.p.upstreamFailed(w, t.r, t.rt, err)
			return
		}
		if t.mayRetry(a) {
			a.close()
			try--
			continue
		}
		if a.refused {
			if t.shrinkAndRetry(a, try) {
				a.close()
				continue
			}
		} else if a.thoughts && t.dropBoundReasoning(a) {
			a.close()
			try--
			continue
		} else if len(a.failure) > 0 && t.mendRefused(a) {
			a.close()
			try--
			continue
		}
		if a.accepted() {
			if try > 1 {
				t.journalOverflow(t.form, 0, try-1, "recovered")
			}
			if try > 1 || t.unbinds > 0 || t.mends > 0 {
				t.storeRecovered()
			}
			if t.lesson != nil {
				t.p.lessons.Put(t.lessonKey(), t.lesson.Lasting())
			}
			t.noteAccepted(nil)
			t.shareSent(0)
			t.startSummary()
		}
		t.relayAndLearn(w, a)
		return
	}
}

// expectedTokens returns the input tokens of the request, estimated from its bytes if it was not counted, and the output that it asks for,
// 0 if it names none.
func (t *exchange) expectedTokens() (input, asked int) {
	if t.received != nil {
		asked = t.received.MaxOutput
	}
	if t.In.Best == 0 {
		return len(t.content) / bytesPerToken, asked
	}
	return t.In.Best, asked
}

// sendOnce waits for the provider's rate limit, sends the request as it is now, and reads the answer until it is clear whether that is a
// refusal. An error means that there was no answer.
func (t *exchange) sendOnce(w http.ResponseWriter) (*answer, error) {
	if err := t.waitForRate(); err != nil {
		return nil, err
	}
	req, err := t.p.outgoingRequest(t.r, t.rt)
	if err != nil {
		t.endTurn(nil, err)
		return nil, err
	}
	if beta := t.header["Anthropic-Beta"]; beta != nil {
		req.Header["Anthropic-Beta"] = beta
	}
	t.body.attachTo(req, t.content, t.r.ContentLength < 0 && !t.edited)
	if t.edited {
		for _, name := range []string{"Content-Md5", "Digest", "Content-Digest", "Repr-Digest"} {
			delete(req.Header, name) // they speak of the body that the client sent
		}
		if encoding := req.Header.Get("Content-Encoding"); wire.EditedEncoding(encoding) != encoding {
			delete(req.Header, "Content-Encoding")
		}
	}
	if !t.edited && req.ContentLength < 0 {
		req.Trailer = t.r.Trailer // which the server has filled in with the end of the body
	}
	if err := t.p.sign(req, t.rt, t.content); err != nil {
		_ = req.Body.Close()
		t.endTurn(nil, err)
		return nil, err
	}
	res, err := t.p.sendSigned(w, req, t.rt, t.content)
	t.endTurn(res, err)
	if err != nil {
		return nil, err
	}
	t.journalPlan(res.Header)
	a := &answer{res: res, body: &heldReads{ReadCloser: res.Body}}
	// An answer of an endless kind must be looked at before its first byte is sent; where
	// nothing can be done about a refusal there is no need to hold it.
	if t.mayRecover() || res.StatusCode != http.StatusOK {
		a.readBeginning(t.rt.dialect)
	}
	return a, nil
}

// close closes an answer's body; it may be called before all is read.
func (a *answer) close() { _ = a.body.Close() }

// relayAndLearn relays the answer to the client, reads its usage as it passes, learns from it, and journals how it ended. It closes the
// answer, and panics with http.ErrAbortHandler after one that was cut off.
func (t *exchange) relayAndLearn(w http.ResponseWriter, a *answer) {
	defer a.close()
	t.body.done() // nothing is sent again: the memory is free once the transport has sent it
	encoding := a.res.Header.Get("Content-Encoding")
	kind := mediaType(a.res.Header)
	var along *tap
	watch := t.p.watchStall(t.rt, a.res, a.body, t.upstream+"\x00"+t.model, isReadable(encoding, kind), t.received != nil && t.received.Thinking)
	defer watch.stop()
	if a.res.StatusCode == http.StatusOK && isReadable(encoding, kind) {
		if a.reader == nil || !isIdentity(encoding) {
			a.reader = newReader(t.rt.dialect, a.res.Header)
			along = newTap(encoding, a.reader, t.canSkim(kind), watch)
			along.see(a.held)
		} else {
			along = newTap(encoding, a.reader, t.canSkim(kind), watch)
		}
	}
	t.addHeaders(w.Header())
	writeHead(w, a.res)
	first := time.Since(t.readAt)
	res := *a.res
	res.Body = a.body
	seen := int64(len(a.held))
	e := relayBody(w, &res, a.held, watch, func(p []byte) {
		switch {
		case watch == nil:
		case along != nil && along.pipe != nil:
			watch.seePacked(p)
		default:
			watch.see(p)
		}
		if seen > 0 { // the held bytes were shown before
			seen -= int64(len(p))
			return
		}
		if along != nil {
			along.see(p)
		}
	})
	if along != nil {
		along.close()
	}
	if errors.Is(e.err, errStalled) {
		watch.end(t.p, w, a.res, t.rt, &e)
	}
	t.finishAnswer(a, e, first)
	abortIfCut(e)
}

// canSkim reports whether most events of an answer of this media type need not be parsed: an event stream with its usage in few of them.
func (t *exchange) canSkim(kind string) bool {
	return kind == "text/event-stream" && !t.rt.dialect.Rules().UsageInEach
}

// addHeaders adds the Plimsoll headers whose values are known to h, the headers of the answer.
func (t *exchange) addHeaders(h http.Header) {
	if t.In.Best > 0 {
		h[TokensHeader] = []string{strconv.Itoa(t.In.Best)}
	}
	if t.Window.Context > 0 {
		h[LimitHeader] = []string{strconv.Itoa(t.Window.Context)}
	}
	if len(t.actions) > 0 {
		h[ActionsHeader] = []string{strings.Join(t.actions, ", ")}
	}
}

// finishAnswer journals an answer that ended as e says, learns from its usage, and settles its cost. first is the time to its head.
func (t *exchange) finishAnswer(a *answer, e ending, first time.Duration) {
	ev := journal.WindowResponse{
		Upstream: t.rt.up.Name, Dialect: t.rt.dialect.String(), Model: t.model, Request: t.rt.request, Status: a.res.StatusCode, Stream: a.stream || t.stream,
		FirstByte: first, Duration: time.Since(t.readAt), Bytes: e.bytes, Ended: e.how, Server: t.rt.up.server(),
	}
	if !t.providerHoldsHistory() {
		ev.Estimated = int64(t.In.Best)
	}
	if r := a.reader; r != nil && a.res.StatusCode == http.StatusOK {
		ev.TokensIn, ev.TokensOut, ev.CacheRead = int64(r.Usage.Input), int64(r.Usage.Output), int64(r.Usage.CacheRead)
		ev.CacheWrite, ev.Reasoning = int64(r.Usage.CacheWrite), int64(r.Usage.Reasoning)
		if ev.ID, ev.Finish = r.ID, r.StopReason; r.Model != t.model {
			ev.AnsweredBy = r.Model
		}
		ev.EndsTurn = e.how == "complete" && !a.refused && r.EndsTurn()
		if r.Usage.Input > 0 && !a.refused {
			t.learnUsage(r.Usage.Input)
			t.noteAccepted(&r.Usage)
			if !t.providerHoldsHistory() {
				t.shareSent(r.Usage.Input)
			}
			t.p.sizes.learn(t.queued.key, &r.Usage, t.rt.up.Provider == Anthropic)
		}
		if !a.refused {
			t.learnLate(r)
		}
		t.journalChanges(r.Changes)
		t.addCost(&ev, r)
	} else if ev.Status == http.StatusOK {
		t.addCost(&ev, nil)
	}
	t.settleCost(&ev)
	t.p.journalEvent(ev)
}

// learnLate learns a limit from a refusal for length that came after part of the answer was sent to the client. Nothing can be sent again,
// but the next request will be smaller. Any other answer teaches nothing.
func (t *exchange) learnLate(r *wire.Answer) {
	o, ok := overflow.StopReason(r.StopReason)
	if !ok && len(r.ErrorBody) > 0 {
		o, ok = overflow.Event(r.ErrorBody)
	}
	if !ok {
		return
	}
	limit := 0
	if o.Limit > 0 && t.Refused(o.Limit) {
		limit = o.Limit
	} else if o.Limit == 0 && r.Usage.Input > 0 {
		// The window was full with what went in and what came out.
		full := r.Usage.Input + r.Usage.Output
		if ok, _ := t.p.o.Resolver.Learn(t.upstream, t.model, t.betas, full, false); ok {
			limit = full
		}
	}
	t.journalBreaker(t.p.o.Breaker.Overflow(t.upstream, t.model))
	t.journalOverflow(o.Form, limit, 1, "learned")
}

// providerHoldsHistory reports whether the provider reads more than the request contains, because it stores a part of the conversation
// itself. Its token counts then cannot be compared with ours.
func (t *exchange) providerHoldsHistory() bool {
	return t.received != nil && !t.received.Bypass.Whole()
}

// learnUsage compares input, the provider's count of the input tokens, with ours, and corrects estimates and the assumed window.
func (t *exchange) learnUsage(input int) {
	if t.request == nil || t.providerHoldsHistory() {
		return
	}
	if silent, learned := t.Counted(input); silent {
		if learned {
			t.journalOverflow("silent_truncation", input, 1, "learned")
		}
		return
	}
	if t.firstSize > 0 && t.unnamed && t.In.Best > 0 {
		// Between what was refused last and what went through lies the limit.
		refused := float64(t.refusedSize) * float64(input) / float64(t.In.Best)
		t.Windows.Learn(t.upstream, t.model, t.betas, (input+int(refused))/2, false)
	}
}

var errNoGain = errors.New("nothing could be made smaller")
