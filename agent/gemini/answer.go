package gemini

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/internal/agent/modelapi"
	"github.com/plimsoll/plimsoll/limit"
)

// chunk is a GenerateContentResponse: a whole answer, or an event of a stream. Only the members that are used are read.
type chunk struct {
	Candidates []struct {
		Content struct {
			Parts []receivedPart `json:"parts"`
		} `json:"content"`
		FinishReason  string `json:"finishReason"`
		FinishMessage string `json:"finishMessage"`
	} `json:"candidates"`
	Feedback struct {
		BlockReason string `json:"blockReason"`
	} `json:"promptFeedback"`
	Usage struct {
		Prompt     modelapi.Count `json:"promptTokenCount"`
		ToolPrompt modelapi.Count `json:"toolUsePromptTokenCount"`
		Cached     modelapi.Count `json:"cachedContentTokenCount"`
		Candidates modelapi.Count `json:"candidatesTokenCount"`
		Thoughts   modelapi.Count `json:"thoughtsTokenCount"`
	} `json:"usageMetadata"`
}

// receivedPart is a part of a content.
type receivedPart struct {
	Text      string `json:"text"`
	Thought   bool   `json:"thought"`
	Signature string `json:"thoughtSignature"`
	Call      *struct {
		ID   string          `json:"id"`
		Name string          `json:"name"`
		Args json.RawMessage `json:"args"`
	} `json:"functionCall"`
}

// answer assembles an answer.
type answer struct {
	x     *modelapi.Exchange
	names *modelapi.Names
	text  func(string)

	words   strings.Builder
	calls   []agent.Call
	parts   []keptPart
	signed  bool // a part has a signature
	begun   bool
	finish  string
	message string // finishMessage
	blocked string // why the question was
	input   int64
	cached  int64
	output  int64
}

// Stream reads an answer that comes as events. The end of the stream is the end of the answer: no event marks it.
func (a *answer) Stream(body *modelapi.Answer) error {
	for e, err := range body.Events() {
		if err != nil {
			return err
		}
		if err := a.handleEvent(e); err != nil {
			return err
		}
	}
	// No event says that it is the last: some services name a finishReason in each.
	a.x.End()
	return a.check()
}

// handleEvent decodes one event and adds it to the answer. An event that is an error is returned as one.
func (a *answer) handleEvent(e modelapi.Event) error {
	var v chunk
	if err := a.x.Decode(e, &v); err != nil {
		return err
	}
	return a.addChunk(&v)
}

// Whole reads an answer that is not a stream of events: one object, or an array of what would be the events.
func (a *answer) Whole(body *modelapi.Answer) error {
	raw, err := body.Bytes()
	if err != nil {
		return err
	}
	if err := a.x.EventError(modelapi.Event{Data: raw}); err != nil {
		return err
	}
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		list = []json.RawMessage{raw}
	}
	for _, one := range list {
		if err := a.handleEvent(modelapi.Event{Data: one}); err != nil {
			return err
		}
	}
	return a.check()
}

// check returns an error if the answer is not complete: it has no candidate or no reason for its end, or it ended because of a call or text
// that the service could not read. A blocked prompt is no error here.
func (a *answer) check() error {
	switch {
	case a.blocked != "":
		return nil
	case !a.begun:
		return a.x.Broken("the answer has no candidate", nil)
	case a.finish == "":
		return a.x.Broken("the answer broke off before its end", nil)
	}
	switch a.finish {
	// What the model wrote could not be read, or it called what nobody declared. Another try often goes well.
	case "MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "MALFORMED_RESPONSE", "TOO_MANY_TOOL_CALLS", "MISSING_THOUGHT_SIGNATURE":
		what := "the answer ended with " + a.finish
		if a.message != "" {
			what += ": " + a.message
		}
		return a.x.Broken(what, nil)
	}
	return nil
}

// addChunk adds a chunk of the answer: its usage, its reason for the end, and the parts of the first candidate.
func (a *answer) addChunk(v *chunk) error {
	if v.Feedback.BlockReason != "" {
		a.blocked = limit.Clip(v.Feedback.BlockReason, 64)
	}
	u := &v.Usage
	// Each report has the totals so far; thoughts are output that is paid for.
	if sum := int64(max(u.Prompt, 0) + max(u.ToolPrompt, 0)); sum > 0 {
		a.input = sum
	}
	a.cached = max(a.cached, int64(u.Cached))
	a.output = max(a.output, int64(max(u.Candidates, 0)+max(u.Thoughts, 0)))
	if len(v.Candidates) == 0 {
		return nil
	}
	a.begun = true
	c := &v.Candidates[0]
	if c.FinishReason != "" && c.FinishReason != "FINISH_REASON_UNSPECIFIED" {
		a.finish, a.message = limit.Clip(c.FinishReason, 64), limit.Clip(c.FinishMessage, 256)
	}
	for i := range c.Content.Parts {
		if err := a.addPart(&c.Content.Parts[i]); err != nil {
			return err
		}
	}
	return nil
}

// addPart adds a received part, which is a call, a thought or text. It is an error if the answer becomes too large.
func (a *answer) addPart(p *receivedPart) error {
	if err := a.x.Take(len(p.Text) + len(p.Signature)); err != nil {
		return err
	}
	if len(a.parts) >= modelapi.MaxCalls && (p.Call != nil || p.Signature != "") {
		return a.x.Oversized("the answer has too many parts")
	}
	if p.Signature != "" {
		a.signed = true
	}
	switch {
	case p.Call != nil:
		if err := a.x.Take(len(p.Call.ID) + len(p.Call.Name) + len(p.Call.Args)); err != nil {
			return err
		}
		a.x.Begun()
		args := string(p.Call.Args)
		if args == "null" {
			args = ""
		}
		c := agent.Call{ID: p.Call.ID, Name: a.names.Back(p.Call.Name), Arguments: modelapi.Arguments(args)}
		if c.ID == "" {
			c.ID = modelapi.NewID()
		}
		a.calls = append(a.calls, c)
		a.parts = append(a.parts, keptPart{Call: len(a.calls), Signature: p.Signature})
	case p.Thought:
		// A summary of thoughts is for people, and is not wanted back.
		if p.Text != "" {
			a.x.Begun()
		}
	case p.Text != "" || p.Signature != "":
		a.addText(p)
	}
	return nil
}

// addText adds text to the answer and passes it to the caller. It joins the text before it, unless one of the two has a signature: each
// signature has to be sent back with its own part.
func (a *answer) addText(p *receivedPart) {
	if p.Text != "" {
		a.x.Begun()
		a.words.WriteString(p.Text)
		a.text(p.Text)
	}
	if n := len(a.parts); p.Signature == "" && n > 0 && a.parts[n-1].Call == 0 && a.parts[n-1].Signature == "" {
		a.parts[n-1].Text += len(p.Text)
		return
	}
	a.parts = append(a.parts, keptPart{Text: len(p.Text), Signature: p.Signature})
}

// Reply returns the finished reply.
func (a *answer) Reply(model string) (*agent.Reply, error) {
	out := &agent.Reply{
		Message: agent.Message{Role: agent.RoleAssistant, Text: a.words.String(), Calls: a.calls},
		Stop:    a.stopReason(),
		Usage:   modelapi.Usage(a.input, a.cached, a.output),
	}
	if out.Stop == agent.StopRefused {
		out.Reason = cmp.Or(a.blocked, a.finish)
	}
	if a.signed {
		raw, err := json.Marshal(opaque{Model: model, Parts: a.parts})
		if err != nil {
			return nil, a.x.Broken("what the provider wants back is not JSON", err)
		}
		out.Message.Opaque = raw
	}
	return out, nil
}

// stopReason returns why the answer ended. https://ai.google.dev/api/generate-content#FinishReason
func (a *answer) stopReason() agent.Stop {
	if a.blocked != "" {
		return agent.StopRefused
	}
	switch a.finish {
	case "MAX_TOKENS":
		return agent.StopLength
	case "SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION":
		return agent.StopRefused
	}
	if len(a.calls) > 0 {
		return agent.StopCalls
	}
	return agent.StopEnd
}
