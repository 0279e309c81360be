package wire

import (
	"bytes"
	"slices"

	"github.com/plimsoll/plimsoll/internal/eventstream"
)

const (
	// pulseHeld is the number of bytes of an event that are examined; the members that matter stand near its beginning.
	pulseHeld = 8 << 10
	// pulsePing bounds an event that only keeps a connection open, in bytes. A longer one is of the answer, also before its end has come.
	pulsePing = 256
	// progressHead is the number of leading bytes in which OpenAI names the kind of an event; the response so far follows.
	progressHead = 64
)

// Pulse tells apart the parts of a streamed answer from bytes that only keep its connection open: comments, and events named ping or
// keepalive. It reads event streams and Gemini's array of JSON values in pieces cut anywhere, never fails, and keeps at most 8 KiB of an
// event. It does not parse: it looks for words with their quotes, which inside a text would be escaped.
type Pulse struct {
	// Reasoning means that the newest event is reasoning by the provider's own name for it: models are silent for long there.
	Reasoning bool
	// BlockEnded means that a content block of Anthropic's has come whole.
	BlockEnded bool

	rules  *pulseRules
	frames *eventstream.Reader // of a stream of event frames
	inner  []byte
	events bool
	thinks bool
	held   []byte // of the line or value at hand
	within bool   // an event of which a line has come

	depth           int // in the array
	quoted, escaped bool
	counted         int // values of the array
}

// NewPulse returns a Pulse for an answer: an event stream with stream, else an array. thinks means that the request asked for reasoning:
// then the answer begins with reasoning, whether or not it is shown.
func NewPulse(d Dialect, stream, thinks bool) *Pulse {
	return &Pulse{rules: &d.Rules().pulse, events: stream, thinks: thinks}
}

// NewFramedPulse returns a Pulse for a stream of [eventstream.Type].
func NewFramedPulse(d Dialect, thinks bool) *Pulse {
	p := NewPulse(d, true, thinks)
	p.frames = &eventstream.Reader{Most: frameHeld}
	return p
}

// aliveFrames is Alive for bytes of Amazon's event frames. It is true also for a frame too large to be read, and after a damaged one.
func (p *Pulse) aliveFrames(b []byte) (alive bool) {
	p.frames.Feed(b, func(e *eventstream.Frame) {
		event := frameOutput(e, &p.inner)
		event = event[:min(len(event), pulseHeld)]
		if len(event) == 0 || len(event) <= pulsePing && hasAny(event, pings) {
			return
		}
		alive = true
		p.BlockEnded = p.BlockEnded || hasAny(event, p.rules.blockEnds)
		p.classify(event)
	})
	return alive || p.frames.Skipping() || p.frames.Broken()
}

// Alive reads the next bytes, and reports whether any of them are part of the answer.
func (p *Pulse) Alive(b []byte) bool {
	switch {
	case p.frames != nil:
		return p.aliveFrames(b)
	case !p.events:
		return p.aliveArray(b)
	}
	alive := false
	var newest []byte // of the events: it lies in b, or in held, which is not written again before it is sorted
	for len(b) > 0 {
		end := bytes.IndexByte(b, '\n')
		if end < 0 {
			if newest != nil {
				p.classify(newest)
				newest = nil
			}
			p.keep(b)
			break
		}
		line := b[:end]
		b = b[end+1:]
		if len(p.held) > 0 {
			p.keep(line)
			line = p.held
		}
		of, phase := p.readLine(line[:min(len(line), pulseHeld)])
		alive = alive || of
		if phase {
			newest = line[:min(len(line), pulseHeld)]
		}
		p.held = p.held[:0]
	}
	if newest != nil {
		p.classify(newest)
	}
	if data, ok := bytes.CutPrefix(p.held, dataField); ok && len(data) > pulsePing {
		alive = alive || len(bytes.TrimSpace(data)) > pulsePing
	}
	return alive
}

// keep adds bytes of an incomplete line or value to held, up to pulseHeld bytes.
func (p *Pulse) keep(b []byte) {
	room := pulseHeld - len(p.held)
	p.held = append(p.held, b[:min(len(b), room)]...)
}

// readLine reads a whole line of an event stream. alive means that it is part of the answer and no ping or comment; phase means that it may
// begin or end reasoning.
func (p *Pulse) readLine(line []byte) (alive, phase bool) {
	line = bytes.TrimSuffix(line, carriage)
	switch {
	case len(line) == 0:
		p.within = false
		return false, false
	case line[0] == ':':
		return false, false
	}
	p.within = true
	data, ok := bytes.CutPrefix(line, dataField)
	data = bytes.TrimSpace(data)
	if !ok || len(data) == 0 || len(data) <= pulsePing && hasAny(data, pings) {
		return false, false
	}
	p.BlockEnded = p.BlockEnded || hasAny(data, p.rules.blockEnds)
	return true, !hasAny(data[:min(len(data), progressHead)], p.rules.progress)
}

// classify sets Reasoning by the newest event.
func (p *Pulse) classify(event []byte) { p.Reasoning = p.rules.reasons(p, event) }

// pulseRules are the words by which the events of a dialect are recognised.
type pulseRules struct {
	blockEnds [][]byte // words of an event that ends a block
	progress  [][]byte // words of an event that neither begins nor ends reasoning
	reasons   func(*Pulse, []byte) bool
}

// saysReasoning reports whether an event is reasoning, for providers that write it into Chat's deltas.
func saysReasoning(_ *Pulse, event []byte) bool {
	return hasAny(event, reasoned) && !hasAny(event, unreasoned)
}

// aliveArray is Alive for bytes of an array, which Gemini sends in place of a stream.
func (p *Pulse) aliveArray(b []byte) bool {
	alive := false
	from := 0
	for i, c := range b {
		switch {
		case p.quoted:
			switch {
			case p.escaped:
				p.escaped = false
			case c == '\\':
				p.escaped = true
			case c == '"':
				p.quoted = false
			}
		case c == '"':
			p.quoted = true
		case c == '{' || c == '[' && p.depth > 0:
			if p.depth == 0 {
				from = i
			}
			p.depth++
		case (c == '}' || c == ']') && p.depth > 0:
			if p.depth--; p.depth == 0 {
				p.keep(b[from : i+1])
				p.classify(p.held)
				p.held = p.held[:0]
				p.counted++
			}
			alive = true
		}
		alive = alive || p.depth > 0 && c > ' '
	}
	if p.depth > 0 {
		p.keep(b[from:])
	}
	return alive
}

// Between reports whether an event has just ended and none begun, so that another one can be written here. comma means that the events are
// elements of an array and a comma has to come first.
func (p *Pulse) Between() (ok, comma bool) {
	if p.frames != nil {
		return p.frames.Between(), false
	}
	if p.events {
		return len(p.held) == 0 && !p.within, false
	}
	return p.depth == 0 && !p.quoted, p.counted > 0
}

func hasAny(event []byte, words [][]byte) bool {
	return slices.ContainsFunc(words, func(word []byte) bool { return bytes.Contains(event, word) })
}

// spelled returns the spellings of a member whose value is one of values, or begins with one that has no closing quote.
func spelled(key string, values ...string) (words [][]byte) {
	for _, v := range values {
		words = append(words, []byte(`"`+key+`":`+v), []byte(`"`+key+`": `+v))
	}
	return words
}

// The words that tell, looked up in the schemas of the official SDKs on 2026-11-26 and, for Chat, at those who serve reasoning there
// (DeepSeek and vLLM: reasoning_content; OpenRouter, Groq and Ollama: reasoning).
var (
	carriage = []byte{'\r'}

	pings = spelled("type", `"ping"`, `"keepalive"`, `"keep-alive"`, `"heartbeat"`)

	thinkings     = spelled("type", `"thinking`, `"redacted_thinking"`, `"signature_delta"`)
	messageStarts = spelled("type", `"message_start"`)
	blockEnds     = spelled("type", `"content_block_stop"`)

	progress       = spelled("type", `"response.in_progress"`, `"response.queued"`)
	itemsAdded     = spelled("type", `"response.output_item.added"`)
	reasoningItems = spelled("type", `"reasoning"`)
	reasonings     = spelled("type", `"response.reasoning`)

	thoughts = spelled("thought", "true")

	reasoningContents = [][]byte{[]byte(`"reasoningContent"`)}

	reasoned   = slices.Concat(spelled("reasoning_content", `"`), spelled("reasoning", `"`))
	unreasoned = slices.Concat(spelled("reasoning_content", `""`), spelled("reasoning", `""`))
)
