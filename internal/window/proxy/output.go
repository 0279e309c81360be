package proxy

import (
	"bytes"
	"strconv"

	"github.com/plimsoll/plimsoll/window/wire"
)

// fitOutput lowers the requested output when it does not fit beside the input, for providers that add the two up and refuse.
func (t *conversation) fitOutput() {
	if !t.rt.dialect.Rules().SharedWindow || t.Whole.Guessed() {
		return
	}
	free := t.Whole.Context - t.In.High
	if asked := t.request.MaxOutput; asked > 0 && asked > free && free > 0 {
		_ = t.lowerOutput(free)
	}
}

// lowerOutput changes the request to ask for at most n tokens of output, less a margin of 2 %. It returns errNoGain if it asks for no more
// already, n is below minOutput, or a thinking budget would no longer fit.
func (t *conversation) lowerOutput(n int) error {
	n -= n / 50
	if n < minOutput || t.request.MaxOutput <= n || n <= thinkingBudget(t.request) {
		return errNoGain
	}
	d := t.request.Draft()
	d.SetMaxOutput(n)
	next, err := d.Build()
	if err != nil {
		return err
	}
	t.edited = true
	t.request = next
	t.body.pooled = false
	t.actions = append(t.actions, "output-lowered")
	return t.pack()
}

// minOutput is the least output worth asking for, in tokens: less cuts a tool call in two.
const minOutput = 1024

var budgetName = []byte(`"budget_tokens"`)

// thinkingBudget returns thinking.budget_tokens of a Messages request, which max_tokens must exceed; 0 when there is none. It is searched
// for outside the messages.
func thinkingBudget(r *wire.Request) int {
	for _, part := range [][]byte{r.Body[:r.List.Start], r.Body[r.List.End:]} {
		_, after, ok := bytes.Cut(part, budgetName)
		if !ok {
			continue
		}
		rest := bytes.TrimLeft(after, " \t\r\n:")
		end := 0
		for end < len(rest) && end < 9 && rest[end] >= '0' && rest[end] <= '9' {
			end++
		}
		if n, err := strconv.Atoi(string(rest[:end])); err == nil {
			return n
		}
	}
	return 0
}
