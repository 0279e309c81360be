package scripted

import (
	"fmt"
	"maps"
	"net/http"
	"slices"

	"github.com/plimsoll/plimsoll/internal/modelserver"
	"github.com/plimsoll/plimsoll/window/wire"
)

// excess is an input that does not fit, with the numbers the refusals name.
type excess struct {
	form                 string
	input, output, limit int
}

// A form is one provider's way of saying that a request is too long.
type form struct {
	dialects []wire.Dialect // that it is spoken with; none means any
	write    func(s *stream, p *Provider, r *Request, o excess)
	silent   bool // the input is cut without a word, and the answer comes as always
}

// The default forms, when Options.Form names none.
var native = map[wire.Dialect]string{
	wire.Chat: "openai.configured", wire.Responses: "responses", wire.Messages: "anthropic", wire.Gemini: "gemini", wire.Converse: "converse",
}

// Forms returns the names for Options.Form, sorted. "silent" is Ollama's: no refusal at all.
func Forms() []string { return slices.Sorted(maps.Keys(forms)) }

// FormsOf returns the names of the forms that a dialect's providers use.
func FormsOf(d wire.Dialect) []string {
	return slices.DeleteFunc(Forms(), func(name string) bool {
		return len(forms[name].dialects) > 0 && !slices.Contains(forms[name].dialects, d)
	})
}

func (p *Provider) form(d wire.Dialect) string {
	if f := p.o.Form; f != "" && (len(forms[f].dialects) == 0 || slices.Contains(forms[f].dialects, d)) {
		return f
	}
	return native[d]
}

// overflow returns what is wrong with a request's size, or nil.
func (p *Provider) overflow(r *Request) *excess {
	if p.o.Window <= 0 {
		return nil
	}
	o := &excess{form: p.form(r.Dialect), input: r.Input, output: r.MaxOutput, limit: p.o.Window}
	if forms[o.form].silent {
		return nil
	}
	switch {
	case r.Input > p.o.Window:
		return o
	case p.o.WithOutput && r.Input+r.MaxOutput > p.o.Window:
		if o.form == "anthropic" {
			o.form = "anthropic.max_tokens"
		}
		return o
	}
	return nil
}

// answer writes the refusal and returns its status.
func (o *excess) answer(s *stream, p *Provider, r *Request) int {
	forms[o.form].write(s, p, r, *o)
	s.close()
	return s.Status
}

// text makes a form out of a status and a body that is built from the numbers.
func text(status int, body func(o excess) any, dialects ...wire.Dialect) form {
	return form{dialects: dialects, write: func(s *stream, _ *Provider, _ *Request, o excess) {
		s.JSON(status, body(o))
	}}
}

// openai returns the error object of OpenAI and those who took it over.
func openai(kind, param, code any, format string, numbers func(o excess) []any) func(excess) any {
	return func(o excess) any {
		return m{"error": m{"message": fmt.Sprintf(format, numbers(o)...), "type": kind, "param": param, "code": code}}
	}
}

func limitInput(o excess) []any { return []any{o.limit, o.input} }
func inputLimit(o excess) []any { return []any{o.input, o.limit} }
func noNumbers(excess) []any    { return nil }
func requested(o excess) []any  { return []any{o.limit, o.input + o.output, o.input, o.output} }
func functioned(o excess) []any { return []any{o.limit, o.input, o.input - o.input/4, o.input / 4} }
func sumOverLim(o excess) []any { return []any{o.input, o.output, o.limit} }
func anthropic(kind, words string) any {
	return m{"type": "error", "error": m{"type": kind, "message": words}, "request_id": "req_scripted"}
}

func google(words string) any {
	return m{"error": m{"code": http.StatusBadRequest, "message": words, "status": "INVALID_ARGUMENT"}}
}

const (
	maximum    = "This model's maximum context length is %d tokens. However, you requested %d tokens (%d in the messages, %d in the completion). Please reduce the length of the messages or completion."
	geminiLong = "The input token count (%d) exceeds the maximum number of tokens allowed (%d)."
	tooLong    = "prompt is too long: %d tokens > %d maximum"
	windowFull = "Your input exceeds the context window of this model. Please adjust your input and try again."
)

var openaiLike = []wire.Dialect{wire.Chat, wire.Responses}

// forms is filled by init: some forms fall back on others.
var forms map[string]form

func init() {
	forms = map[string]form{
		"openai.configured": text(400, openai("invalid_request_error", "messages", "context_length_exceeded",
			"Input tokens exceed the configured limit of %d tokens. Your messages resulted in %d tokens. Please reduce the length of the messages.", limitInput), openaiLike...),
		"openai.maximum": text(400, openai("invalid_request_error", "messages", "context_length_exceeded", maximum, requested), openaiLike...),
		"openai.functions": text(400, openai("invalid_request_error", "messages", "context_length_exceeded",
			"This model's maximum context length is %d tokens. However, your messages resulted in %d tokens (%d in the messages, %d in the functions). Please reduce the length of the messages or functions.", functioned), openaiLike...),
		"responses":        text(400, openai("invalid_request_error", "input", "context_length_exceeded", windowFull, noNumbers), wire.Responses),
		"responses.error":  {dialects: []wire.Dialect{wire.Responses}, write: responsesError},
		"responses.failed": {dialects: []wire.Dialect{wire.Responses}, write: responsesFailed},

		"anthropic": text(400, func(o excess) any { return anthropic("invalid_request_error", fmt.Sprintf(tooLong, o.input, o.limit)) }, wire.Messages),
		"anthropic.max_tokens": text(400, func(o excess) any {
			return anthropic("invalid_request_error", fmt.Sprintf("input length and `max_tokens` exceed context limit: %d + %d > %d, decrease input length or `max_tokens` and try again", sumOverLim(o)...))
		}, wire.Messages),
		"anthropic.413":    text(413, func(excess) any { return anthropic("request_too_large", "Request exceeds the maximum size") }, wire.Messages),
		"anthropic.stream": {dialects: []wire.Dialect{wire.Messages}, write: anthropicStream},
		"anthropic.stop":   {dialects: []wire.Dialect{wire.Messages}, write: anthropicStop},

		"bedrock":       bedrock("Input is too long for requested model."),
		"bedrock.model": bedrock("The model returned the following errors: Input is too long for requested model."),
		"bedrock.prompt": {dialects: []wire.Dialect{wire.Messages}, write: func(s *stream, p *Provider, r *Request, o excess) {
			bedrock(fmt.Sprintf(tooLong, o.input, o.limit)).write(s, p, r, o)
		}},

		"converse":         converseForm("Input is too long for requested model.", false),
		"converse.stream":  converseForm("Input is too long for requested model.", true),
		"converse.nova":    converseForm("Input Tokens Exceeded: Number of input tokens exceeds maximum length. Please update the input to try again.", true),
		"converse.claude":  converseForm("The model returned the following errors: prompt is too long", false),
		"converse.maximum": converseForm("This model's maximum context length is smaller. Please reduce the length of the prompt.", true),
		"converse.many":    converseForm("Too many input tokens. Please reduce the input.", true),
		"converse.stop":    {dialects: []wire.Dialect{wire.Converse}, write: converseStop},

		"gemini": text(400, func(o excess) any { return google(fmt.Sprintf(geminiLong, inputLimit(o)...)) }, wire.Gemini),
		"gemini.unnumbered": text(400, func(o excess) any {
			return google(fmt.Sprintf("The input token count exceeds the maximum number of tokens allowed (%d).", o.limit))
		}, wire.Gemini),
		"gemini.array": text(400, func(o excess) any { return []any{google(fmt.Sprintf(geminiLong, inputLimit(o)...))} }, wire.Gemini),
		"vertex": text(400, func(o excess) any {
			return google(fmt.Sprintf("Unable to submit request because the input token count is %d but model only supports up to %d. Reduce the input token count and try again. You can also use the CountTokens API to calculate prompt token count and billable characters.", inputLimit(o)...))
		}, wire.Gemini),

		"vllm": text(400, func(o excess) any {
			return m{"object": "error", "message": fmt.Sprintf(maximum, requested(o)...), "type": "BadRequestError", "param": nil, "code": 400}
		}, openaiLike...),
		"vllm.nested": text(400, func(o excess) any {
			return m{"error": m{"message": fmt.Sprintf("This model's maximum context length is %d tokens. However, your request has %d input tokens. Please reduce the length of the input messages.", limitInput(o)...), "type": "BadRequestError", "param": "input_tokens", "code": 400}}
		}, openaiLike...),
		"vllm.bug": text(400, func(o excess) any { // the limit it names is nonsense
			return m{"object": "error", "message": fmt.Sprintf(maximum, 3, o.input+o.output, o.input, o.output), "type": "BadRequestError", "param": nil, "code": 400}
		}, openaiLike...),
		"sglang": text(400, func(o excess) any { return sglang(o) }, openaiLike...),
		"sglang.stream": {dialects: []wire.Dialect{wire.Chat}, write: func(s *stream, _ *Provider, r *Request, o excess) {
			if !r.Stream {
				s.JSON(400, sglang(o))
				return
			}
			s.OpenEvents()
			s.Event("", m{"error": sglang(o)})
			s.Event("", "[DONE]")
		}},
		"llamacpp": text(400, func(o excess) any {
			return m{"error": m{"code": 400, "message": fmt.Sprintf("request (%d tokens) exceeds the available context size (%d tokens), try increasing it", inputLimit(o)...), "type": "exceed_context_size_error", "n_prompt_tokens": o.input, "n_ctx": o.limit}}
		}, wire.Chat, wire.Messages),
		"silent": {silent: true, write: func(*stream, *Provider, *Request, excess) {}},

		"lmstudio": text(400, func(o excess) any {
			return m{"error": fmt.Sprintf("Trying to keep the first %d tokens when context the overflows. However, the model is loaded with context length of only %d tokens, which is not enough. Try to load the model with a larger context length, or provide a shorter input", inputLimit(o)...)}
		}, openaiLike...),
		"xai": text(400, func(o excess) any {
			return m{"code": "Client specified an invalid argument", "error": fmt.Sprintf("This model's maximum prompt length is %d but the request contains %d tokens.", limitInput(o)...)}
		}, openaiLike...),
		"groq": text(400, openai("invalid_request_error", "messages", "context_length_exceeded", "Please reduce the length of the messages or completion.", noNumbers), openaiLike...),
		"openrouter": text(400, func(o excess) any {
			return m{"error": m{"message": fmt.Sprintf("This endpoint's maximum context length is %d tokens. However, you requested about %d tokens (%d of text input, %d in the output). Please reduce the length of either one, or use the \"middle-out\" transform to compress your prompt automatically.", requested(o)...), "code": 400, "metadata": m{"provider_name": nil}}}
		}, wire.Chat, wire.Responses, wire.Messages),
		"copilot": text(400, openai("", nil, "model_max_prompt_tokens_exceeded", "prompt token count of %d exceeds the limit of %d", inputLimit), openaiLike...),
		"mistral": text(400, func(o excess) any {
			return m{"object": "error", "message": fmt.Sprintf("Prompt contains %d tokens and 0 draft tokens, too large for model with %d maximum context length", inputLimit(o)...), "type": "invalid_request_prompt", "param": nil, "code": "3051"}
		}, wire.Chat),
		"kimi": text(400, openai("invalid_request_error", nil, nil, "Invalid request: Your request exceeded model token limit: %d (requested: %d)", limitInput), wire.Chat),
		"minimax": text(400, func(excess) any {
			return anthropic("invalid_request_error", "invalid params, context window exceeds limit (2013)")
		}, wire.Chat, wire.Messages),
		"deepseek":     text(400, openai("invalid_request_error", nil, "invalid_request_error", "This model's maximum context length is %d tokens. However, you requested %d tokens (%d in the messages, %d in the completion). Please reduce the length of the messages or completion.", requested), wire.Chat),
		"cerebras":     withoutBody(400),
		"bodyless.413": withoutBody(413),
	}
}

func sglang(o excess) any {
	return m{"object": "error", "message": fmt.Sprintf("The input (%d tokens) is longer than the model's context length (%d tokens).", inputLimit(o)...), "type": "BadRequestError", "param": nil, "code": 400}
}

func withoutBody(status int) form {
	return form{write: func(s *stream, _ *Provider, _ *Request, _ excess) {
		s.Status = status
		s.W.WriteHeader(status)
	}}
}

func bedrock(words string) form {
	return form{dialects: []wire.Dialect{wire.Messages}, write: func(s *stream, _ *Provider, _ *Request, _ excess) {
		s.W.Header().Set("x-amzn-ErrorType", "ValidationException")
		s.JSON(400, m{"message": words})
	}}
}

func responsesError(s *stream, p *Provider, r *Request, o excess) {
	if !r.Stream {
		forms["responses"].write(s, p, r, o)
		return
	}
	n := s.begin(p, r)
	n.Send("error", m{"error": m{"type": "invalid_request_error", "code": "context_length_exceeded", "message": windowFull, "param": "input"}})
}

func responsesFailed(s *stream, p *Provider, r *Request, o excess) {
	if !r.Stream {
		forms["responses"].write(s, p, r, o)
		return
	}
	n := s.begin(p, r)
	n.Send("response.failed", m{"response": m{
		"id": "resp_scripted", "object": "response", "created_at": created, "status": "failed", "model": r.Model, "output": []any{}, "usage": nil,
		"error": m{"code": "context_length_exceeded", "message": windowFull}, "incomplete_details": nil,
	}})
}

// begin writes what a Responses stream starts with before the provider has read the input.
func (s *stream) begin(p *Provider, r *Request) *modelserver.Numbered {
	s.OpenEvents()
	n := s.Numbered()
	response := m{"id": p.id("resp_"), "object": "response", "created_at": created, "status": "in_progress", "model": r.Model, "output": []any{}, "error": nil, "usage": nil}
	n.Send("response.created", m{"response": response})
	n.Send("response.in_progress", m{"response": response})
	return n
}

func anthropicStream(s *stream, p *Provider, r *Request, o excess) {
	if !r.Stream {
		forms["anthropic"].write(s, p, r, o)
		return
	}
	s.OpenEvents()
	s.messageStart(p, r, o.input)
	s.Event("error", m{"type": "error", "error": m{"type": "invalid_request_error", "message": fmt.Sprintf(tooLong, o.input, o.limit)}})
}

// anthropicStop refuses in the newer models' way: an answer that ends because the window is full.
func anthropicStop(s *stream, p *Provider, r *Request, o excess) {
	a := p.answer(r, Reply{Stop: "model_context_window_exceeded", Output: 1})
	a.Usage = modelserver.Usage{Input: o.limit, Output: 1}
	s.Messages(a)
}

func (s *stream) messageStart(p *Provider, r *Request, input int) {
	s.Event("message_start", m{"type": "message_start", "message": m{
		"id": p.id("msg_"), "type": "message", "role": "assistant", "model": r.Model, "content": []any{}, "stop_reason": nil, "stop_sequence": nil,
		"usage": m{"input_tokens": input, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0, "output_tokens": 1},
	}})
	s.Event("ping", m{"type": "ping"})
}
