package wire

import (
	"math/rand/v2"
	"strings"
	"testing"
)

var pulses = []struct {
	name      string
	dialect   Dialect
	array     bool
	thinks    bool
	text      string
	alive     bool
	reasoning bool
	ended     bool // a block
	between   bool
}{
	{name: "nothing", between: true},
	{name: "comments", text: ": OPENROUTER PROCESSING\n\n:\n\n: keep-alive\r\n\r\n", between: true},
	{name: "an empty event", text: "data:\n\nevent: x\n\nid: 4\n\n", between: true},
	{name: "Anthropic's ping", dialect: Messages, text: "event: ping\ndata: {\"type\": \"ping\"}\n\n", between: true},
	{name: "a ping with the field last", dialect: Messages, text: "data: {\"type\":\"ping\"}\nevent: ping\n\n", between: true},
	{name: "OpenAI's keepalive", dialect: Responses, text: "data: {\"type\":\"keepalive\",\"sequence_number\":12}\n\n", between: true},
	{name: "half a ping", dialect: Messages, text: "event: ping\ndata: {\"type\": \"pi"},
	{name: "a ping without its empty line", dialect: Messages, text: "event: ping\ndata: {\"type\": \"ping\"}\n"},
	{name: "a text that says ping", dialect: Messages, text: `data: {"type":"content_block_delta","delta":{"type":"text_delta","text":"{\"type\":\"ping\"}"}}` + "\n\n", alive: true, between: true},
	{name: "the beginning of something long", dialect: Responses, text: "data: " + strings.Repeat("x", 300), alive: true},
	{name: "a long comment", text: ": " + strings.Repeat("x", 3*pulseHeld) + "\n\n", between: true},
	{name: "a long event", dialect: Chat, text: "data: {\"x\":\"" + strings.Repeat("x", 3*pulseHeld) + "\"}\n\n", alive: true, between: true},

	{name: "message_start", dialect: Messages, text: events(`{"type":"message_start","message":{}}`), alive: true, between: true},
	{name: "message_start of a model that thinks", dialect: Messages, thinks: true, text: events(`{"type":"message_start","message":{}}`), alive: true, reasoning: true, between: true},
	{name: "text after message_start", dialect: Messages, thinks: true, text: events(`{"type":"message_start","message":{}}`, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`), alive: true, between: true},
	{name: "a thinking block", dialect: Messages, text: events(`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":""}}`, `{"type": "ping"}`), alive: true, reasoning: true, between: true},
	{name: "thinking", dialect: Messages, text: events(`{"type": "content_block_delta", "delta": {"type": "thinking_delta", "thinking": "a"}}`), alive: true, reasoning: true, between: true},
	{name: "a thinking block that ended", dialect: Messages, text: events(`{"type":"content_block_delta","delta":{"type":"thinking_delta"}}`, `{"type":"content_block_stop","index":0}`), alive: true, ended: true, between: true},
	{name: "a text about thinking", dialect: Messages, text: events(`{"type":"content_block_delta","delta":{"type":"text_delta","text":"\"type\":\"thinking\", \"type\":\"content_block_stop\""}}`), alive: true, between: true},

	{name: "a reasoning item", dialect: Responses, text: events(`{"type":"response.in_progress"}`, `{"type":"response.output_item.added","item":{"type":"reasoning","summary":[]}}`, `{"type":"response.in_progress","response":{}}`), alive: true, reasoning: true, between: true},
	{name: "a summary", dialect: Responses, text: events(`{"type":"response.reasoning_summary_text.delta","delta":"x"}`), alive: true, reasoning: true, between: true},
	{name: "a reasoning item that is done", dialect: Responses, text: events(`{"type":"response.output_item.added","item":{"type":"reasoning"}}`, `{"type":"response.output_item.done","item":{"type":"reasoning"}}`), alive: true, between: true},
	{name: "a message after reasoning", dialect: Responses, text: events(`{"type":"response.output_item.added","item":{"type":"reasoning"}}`, `{"type":"response.output_item.added","item":{"type":"message"}}`), alive: true, between: true},

	{name: "DeepSeek's reasoning", dialect: Chat, text: events(`{"choices":[{"delta":{"content":null,"reasoning_content":"a"}}]}`), alive: true, reasoning: true, between: true},
	{name: "OpenRouter's reasoning", dialect: Chat, text: events(`{"choices": [{"delta": {"content": "", "reasoning": "a"}}]}`), alive: true, reasoning: true, between: true},
	{name: "no reasoning any more", dialect: Chat, text: events(`{"choices":[{"delta":{"reasoning":"a"}}]}`, `{"choices":[{"delta":{"content":"b","reasoning_content":null,"reasoning":""}}]}`), alive: true, between: true},

	{name: "a thought", dialect: Gemini, text: events(`{"candidates":[{"content":{"parts":[{"text":"a","thought":true}]}}]}`), alive: true, reasoning: true, between: true},
	{name: "no thought", dialect: Gemini, text: events(`{"candidates":[{"content":{"parts":[{"text":"a, \"thought\":true"}]}}]}`), alive: true, between: true},
	{name: "an array that began", dialect: Gemini, array: true, text: " [ \n", between: true},
	{name: "an array with a thought", dialect: Gemini, array: true, text: "[{\"candidates\": [{\"content\": {\"parts\": [{\"thought\": true, \"text\": \"}]\\\"\"}]}}]}\n", alive: true, reasoning: true, between: true},
	{name: "an array with a text", dialect: Gemini, array: true, text: "[{\"thought\": true}\n,\r\n{\"candidates\": []}", alive: true, between: true},
	{name: "an array within a value", dialect: Gemini, array: true, text: "[{\"candidates\": [{", alive: true},
	{name: "an array within a string", dialect: Gemini, array: true, text: "[{\"candidates\": \"}", alive: true},
	{name: "an array that ended", dialect: Gemini, array: true, text: "[{\"a\":1}\n]\n", alive: true, between: true},
}

func TestPulse(t *testing.T) {
	for _, c := range pulses {
		t.Run(c.name, func(t *testing.T) {
			for _, size := range []int{len(c.text) + 1, 1, 2, 3, 7, 50} {
				p := NewPulse(c.dialect, !c.array, c.thinks)
				alive := false
				for rest := c.text; len(rest) > 0; {
					n := min(size, len(rest))
					alive = p.Alive([]byte(rest[:n])) || alive
					rest = rest[n:]
				}
				between, _ := p.Between()
				if alive != c.alive || p.Reasoning != c.reasoning || p.BlockEnded != c.ended || between != c.between {
					t.Errorf("in pieces of %d: alive %t, reasoning %t, block ended %t, between %t", size, alive, p.Reasoning, p.BlockEnded, between)
				}
			}
		})
	}
}

// FuzzPulse: however an answer is cut, the same is found in it, and little is kept.
func FuzzPulse(f *testing.F) {
	for _, c := range pulses {
		if len(c.text) < 1000 {
			f.Add(uint8(c.dialect), c.array, []byte(c.text), uint64(3))
		}
	}
	f.Fuzz(func(t *testing.T, d uint8, array bool, text []byte, seed uint64) {
		whole, pieces := NewPulse(Dialect(d), !array, true), NewPulse(Dialect(d), !array, true)
		alive, anyAlive := whole.Alive(text), false
		r := rand.New(rand.NewPCG(seed, 1))
		for rest := text; len(rest) > 0; {
			n := 1 + r.IntN(min(len(rest), 300))
			anyAlive = pieces.Alive(rest[:n]) || anyAlive
			rest = rest[n:]
		}
		a, _ := whole.Between()
		b, _ := pieces.Between()
		if alive != anyAlive || whole.Reasoning != pieces.Reasoning || whole.BlockEnded != pieces.BlockEnded || a != b {
			t.Errorf("at once %t %+v, in pieces %t %+v", alive, whole, anyAlive, pieces)
		}
		if len(pieces.held) > pulseHeld {
			t.Errorf("%d bytes are kept", len(pieces.held))
		}
	})
}
