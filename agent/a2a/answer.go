package a2a

import (
	"strings"
	"time"
	"unicode/utf8"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/plimsoll/plimsoll/agent"
)

// The words of a model are collected into larger pieces before they are sent: each event has about 300
// bytes around its words.
const (
	fewWords  = 256                    // bytes
	shortWait = 100 * time.Millisecond // since the last piece
	maxPiece  = 64 << 10               // bytes of one event
	maxAnswer = 1 << 20                // bytes that are streamed; an answer is shorter
)

// answerStream streams the answer of a query as one artifact. The words of a model before it calls tools are not the answer: the first
// words after the calls replace them.
type answerStream struct {
	x   *Exchange
	id  sdk.ArtifactID
	err error // of the first event that was not taken

	text   []byte // the answer, as far as it is known
	kept   int    // its length when the step began
	sent   int    // how much of it is out
	anew   bool   // the next piece is the first of the artifact
	called bool   // a tool was called since the last words
	last   time.Time

	shown map[string]int // bytes of output that went out, by call
}

// emit sends an event, unless sending one has failed before. An error stays in err.
func (o *answerStream) emit(e sdk.Event) {
	if o.err == nil {
		o.err = o.x.Emit(e)
	}
}

// write adds a piece of the answer and sends the text so far when enough of it waits, a line ends or the last piece is old. A piece beyond
// maxAnswer is dropped here: the result of the query has the whole answer.
func (o *answerStream) write(piece string) {
	if o.called {
		o.restart()
	}
	if len(o.text)+len(piece) > maxAnswer {
		return // the result has the answer
	}
	o.text = append(o.text, piece...)
	waiting := len(o.text) - o.sent
	if o.sent == 0 || waiting >= fewWords || strings.Contains(piece, "\n") || time.Since(o.last) >= shortWait {
		o.flush(false)
	}
}

// restart empties the answer, also for the clients, who get the artifact anew.
func (o *answerStream) restart() {
	o.called = false
	o.text, o.kept = o.text[:0], 0
	o.resend()
}

// resend makes the next piece the first one again: it takes the place of all that clients have.
func (o *answerStream) resend() {
	if o.sent > 0 {
		o.anew = true
	}
	o.sent = 0
}

func (o *answerStream) step() { o.kept = len(o.text) }

// discard removes the text of the current step, also at the clients if it was sent.
func (o *answerStream) discard() {
	o.text = o.text[:min(o.kept, len(o.text))]
	if o.sent > len(o.text) {
		o.resend()
	}
}

// flush sends the text that was not sent yet. With last it marks the piece as the last one, and sends it even if it is empty.
func (o *answerStream) flush(last bool) {
	for {
		waiting := o.text[o.sent:]
		piece := waiting
		if len(piece) > maxPiece {
			piece = piece[:maxPiece]
		}
		more := len(piece) < len(waiting)
		if more || !last { // never half a character: the rest of it is to come
			piece = piece[:len(piece)-incompleteRune(piece)]
		}
		if len(piece) == 0 && !last {
			return
		}
		e := sdk.NewArtifactUpdateEvent(o.x, o.id, sdk.NewTextPart(string(piece)))
		e.Artifact.Name = "answer"
		e.Append, e.LastChunk = !o.anew, last && !more
		o.emit(e)
		o.anew, o.last = false, time.Now()
		o.sent += len(piece)
		if !more {
			return
		}
	}
}

// incompleteRune returns the number of bytes at the end of a text that begin an incomplete character.
func incompleteRune(text []byte) int {
	for n := 1; n <= min(len(text), utf8.UTFMax-1); n++ {
		if b := text[len(text)-n]; utf8.RuneStart(b) {
			if !utf8.FullRune(text[len(text)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}

// finish makes the artifact equal to the result's answer, and closes it. An artifact without text is not sent.
func (o *answerStream) finish(r agent.Result) {
	if r.Answer != "" && r.Answer != string(o.text) {
		if !strings.HasPrefix(r.Answer, string(o.text[:o.sent])) {
			o.resend()
		}
		o.text = []byte(r.Answer)
	}
	if len(o.text) > 0 {
		o.flush(true)
	}
}
