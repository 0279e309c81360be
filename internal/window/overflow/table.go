package overflow

import (
	"slices"

	"github.com/plimsoll/plimsoll/internal/window/refusal"
)

// The table of forms. Rows with more words come before those whose words they contain;
// the general ones are last. Texts are as [refusal.Normal] leaves them.
var table = [...]row{
	// OpenAI's sentence, which DeepSeek, Azure, vLLM and many gateways share word for word.
	{
		form: "openai.messages", provider: "openai", servers: true,
		phrases: []phrase{
			"maximum context length is {limit} tokens*you requested {_} tokens ({actual} in the messages, {extra} in the functions, and {output} in the completion",
			"maximum context length is {limit} tokens*you requested {_} tokens ({actual} in the messages, {extra} in the functions, {output} in the completion",
			"maximum context length is {limit} tokens*you requested {_} tokens ({actual} in the messages, {output} in the completion",
			"maximum context length is {limit} tokens*you requested {_} tokens ({actual} in your prompt; {output} for the completion",
			"maximum context length is {limit} tokens*your messages resulted in {_} tokens ({actual} in the messages, {extra} in the functions",
			"maximum context length is {limit} tokens*your messages resulted in {actual} tokens",
		},
	},
	{
		form: "openai.configured", provider: "openai",
		phrases: []phrase{
			"input tokens exceed the configured limit of {limit} tokens*your messages resulted in {actual} tokens",
			"input tokens exceed the configured limit of {limit} tokens",
		},
	},
	{
		form: "openai.window", provider: "openai",
		phrases: []phrase{
			"your input exceeds the context window of this model",
			// Since September 2026 (senpi#1466, 2026-09-07).
			"exceeds the model's context window",
			"exceeds this model's context window",
		},
	},
	{
		form: "openrouter.endpoint", provider: "openrouter",
		phrases: []phrase{
			"endpoint's maximum context length is {limit} tokens*you requested about {_} tokens ({actual} of text input, {extra} of tool input, {output} in the output",
			"endpoint's maximum context length is {limit} tokens*you requested about {_} tokens ({actual} of text input, {output} in the output",
			"endpoint's maximum context length is {limit} tokens*you requested about {_} tokens ({actual} of text input, {extra} of tool input",
			"endpoint's maximum context length is {limit} tokens*you requested about {actual} tokens",
			"endpoint's maximum context length is {limit} tokens",
		},
	},
	{
		form: "vllm.output", provider: "vllm",
		phrases: []phrase{
			"is too large: {output}. this model's maximum context length is {limit} tokens and your request has {actual} input tokens",
			"maximum context length is {limit} tokens*you requested {output} output tokens and your prompt contains at least {least} input tokens",
			"maximum context length is {limit} tokens*you requested {output} output tokens and your prompt contains {actual} input tokens",
			"you passed {actual} input tokens and requested {output} output tokens*context length is only {limit} tokens",
			"you passed {_} input characters and requested {output} output tokens*context length is only {limit} tokens",
		},
	},
	{
		form: "vllm.input", provider: "vllm", servers: true,
		phrases: []phrase{
			"maximum context length is {limit} tokens*your request has {actual} input tokens",
			"decoder prompt (length {actual}) is longer than the maximum model length of {limit}",
			"prompt (length {actual}) is longer than the maximum model length of {limit}",
			"prompt (total length {actual}) is too long to fit into the model (context length {limit}",
		},
	},
	{
		form: "sglang.total", provider: "sglang",
		phrases: []phrase{
			"requested token count exceeds the model's maximum context length of {limit} tokens*you requested a total of {_} tokens: {actual} tokens from the input messages and {output} tokens for the completion",
			"requested token count exceeds the model's maximum context length of {limit} tokens",
		},
	},
	{
		form: "sglang.input", provider: "sglang", servers: true, // Together serves with it too
		phrases: []phrase{
			"input ({actual} tokens) is longer than the model's context length ({limit} tokens)",
			"input length ({actual} tokens) exceeds the maximum allowed length ({limit} tokens)",
			"input length ({actual}) exceeds model's maximum context length ({limit})",
		},
	},
	{
		form: "tgi.sum", provider: "tgi",
		phrases: []phrase{"inputs tokens + max_new_tokens must be <= {limit}. given: {actual} inputs tokens and {output} max_new_tokens"},
	},
	{
		form: "tgi.inputs", provider: "tgi",
		phrases: []phrase{"inputs must have less than {limit} tokens. given: {actual}"},
	},
	{
		form: "llamacpp.context", provider: "llama.cpp", servers: true,
		codes: []string{"exceed_context_size_error"},
		phrases: []phrase{
			"request ({actual} tokens) exceeds the available context size ({limit} tokens)",
			"request exceeds the available context size",
			"context size has been exceeded",
		},
		limitMember: "n_ctx", actualMember: "n_prompt_tokens",
	},
	{
		form: "lmstudio.keep", provider: "lmstudio", servers: true,
		phrases: []phrase{
			"trying to keep the first {actual} tokens when context the overflows*context length of only {limit} tokens",
			"tokens to keep from the initial prompt is greater than the context length (n_keep: {actual}>= n_ctx: {limit})",
			"tokens to keep from the initial prompt is greater than the context length",
			"reached context length of {limit} tokens with model",
			"input does not fit in context length. the input has {actual} tokens, but the context length only supports {limit} tokens",
			"input does not fit in context length",
		},
	},
	{
		form: "ollama.input", provider: "ollama", servers: true,
		phrases: []phrase{
			"input length ({actual} tokens) exceeds the model's maximum context length ({limit} tokens)",
			"prompt too long; exceeded max context length by {_} tokens",
			"prompt too long; exceeded context length by {_} tokens",
			"input length exceeds the context length",
		},
	},
	{
		form: "fireworks.prompt", provider: "fireworks",
		phrases: []phrase{"prompt is too long: {actual}, model maximum context length: {limit}"},
	},
	{
		form: "anthropic.output", provider: "anthropic", // Bedrock and Vertex pass it on
		phrases: []phrase{
			"input length and max_tokens exceed context limit: {actual} + {output} > {limit}",
			"input length and max_tokens exceed context limit: {actual} {output} > {limit}", // the plus lost in form decoding
			"input length and max_tokens exceed context limit",
		},
	},
	{
		form: "anthropic.prompt", provider: "anthropic",
		phrases: []phrase{
			"prompt is too long: {actual} tokens > {limit}",
			"prompt is too long",
		},
	},
	{
		// 32 MB by the API's front door, less on Vertex. The numbers are bytes.
		form: "anthropic.bytes", provider: "anthropic",
		codes: []string{"request_too_large"},
	},
	{
		// Bedrock's address that speaks OpenAI, and OpenAI for a customer's model; never said of the requested output
		// (strands-agents/harness-sdk#3718 and #3722, litellm#37862, 2026-08).
		form: "bedrock.mantle", provider: "bedrock",
		phrases: []phrase{
			"prompt tokens ({actual}) exceed model maximum ({limit})",
			"prompt tokens ({actual}) exceed customer model maximum ({limit})",
			"input tokens ({actual}) exceed model maximum ({limit})",
			"prompt tokens*exceed model maximum",
			"prompt tokens*exceed customer model maximum",
			"input tokens*exceed model maximum",
		},
	},
	{
		form: "bedrock.input", provider: "bedrock",
		phrases: []phrase{
			"too many input tokens. max input tokens: {limit}, request input token count: {actual}",
			"input is too long",
			"input tokens exceeded",
			"too many input tokens",
		},
	},
	{
		// Bytes and characters: what is too long is known, the window is not.
		form: "bedrock.bytes", provider: "bedrock",
		phrases: []phrase{
			"too many total text bytes",
			"malformed input request: expected maxlength: {_}, actual: {_}",
		},
	},
	{
		form: "bedrock.length", provider: "bedrock",
		phrases: []phrase{
			"maximum context length is {limit} tokens. please reduce the length of the prompt",
			"maximum context length*please reduce the length of the prompt",
			"number of input tokens ({actual}) exceeds the maximum ({limit})",
			"number of input tokens exceeds the maximum",
			"input exceeds the maximum",
			"prompt exceeds the maximum",
		},
	},
	{
		form: "gemini.input", provider: "gemini", // the API and Vertex AI
		phrases: []phrase{
			"input token count ({actual}) exceeds the maximum number of tokens allowed ({limit})",
			"input token count ({actual}) exceeds the maximum number of tokens allowed {limit}",
			"input token count exceeds the maximum number of tokens allowed ({limit})",
			"input token count exceeds the maximum number of tokens allowed {limit}",
			"input token count is {actual} but model only supports up to {limit}",
			"input token count*exceeds the maximum",
		},
	},
	{
		form: "xai.prompt", provider: "xai",
		phrases: []phrase{"maximum prompt length is {limit} but the request contains {actual} tokens", "maximum prompt length is {limit}"},
	},
	{
		form: "copilot.prompt", provider: "copilot",
		codes: []string{"model_max_prompt_tokens_exceeded"},
		phrases: []phrase{
			"prompt token count of {actual} exceeds the limit of {limit}",
		},
	},
	{
		form: "mistral.prompt", provider: "mistral",
		phrases: []phrase{
			"prompt contains {actual} tokens*too large for model with {limit} maximum context length",
			"too large for model with {limit} maximum context length",
		},
	},
	{
		form: "kimi.limit", provider: "kimi",
		phrases: []phrase{
			"exceeded model token limit: {limit} (requested: {actual})",
			"exceeded model token limit",
			"model max length exceeded, max length:{limit}",
		},
	},
	{
		// The size of all messages in bytes (kimi-code#1862): the window is not known by it.
		form: "kimi.bytes", provider: "kimi",
		phrases: []phrase{"total message size {_} exceeds limit {_}"},
	},
	{
		form: "minimax.window", provider: "minimax",
		phrases: []phrase{"context window exceeds limit"},
	},
	{
		form: "cerebras.length", provider: "cerebras",
		phrases: []phrase{"current length is {actual} while limit is {limit}"},
	},
	{
		form: "groq.messages", provider: "groq",
		phrases: []phrase{"please reduce the length of the messages or completion"},
	},
	{
		form: "qwen.range", provider: "qwen",
		phrases: []phrase{"range of input length should be [1, {limit}]"},
	},
	{
		// 1210 is any parameter that is not taken, so the words alone tell (opencode#27629).
		form: "glm.prompt", provider: "glm",
		codes:   []string{"1261", "model_context_window_exceeded"},
		phrases: []phrase{"prompt exceeds max length", "model_context_window_exceeded", "tokens in request more than max tokens allowed"},
	},
	{
		form: "cohere.tokens", provider: "cohere",
		phrases: []phrase{
			"too many tokens: total number of tokens in the prompt cannot exceed {limit} - received {actual}",
			"too many tokens: total number of tokens (prompt and prediction) cannot exceed {limit} - received {actual}",
			"too many tokens: size limit exceeded by {_} tokens*limit for this model is {limit} tokens",
			"too many tokens: size limit exceeded",
		},
	},
	{
		form: "poolside.input", provider: "poolside",
		phrases: []phrase{"input length {actual} exceeds the maximum allowed input length of {limit} tokens"},
	},
	{
		form: "ds4.prompt", provider: "ds4",
		phrases: []phrase{"prompt has {actual} tokens, but the configured context size is {limit} tokens"},
	},

	// What servers without a form of their own say.
	{
		form: "any.length", provider: "any", servers: true,
		phrases: []phrase{
			"maximum context length is {limit} tokens*you requested {actual} tokens",
			"maximum context length is {limit}",
			"maximum context length of {limit} tokens",
			"context length is only {limit} tokens",
			"exceeds maximum context length",
			"exceeds the maximum context length",
			"exceeds the model's maximum context length",
			"longer than the model's context length",
			"exceeds the context window",
			"exceeds context window",
			"exceeds the model's context window",
			"context length exceeded",
			"context window exceeded",
			"exceeded the context window",
		},
	},
	{
		form: "any.code", provider: "any", servers: true,
		codes:   []string{"context_length_exceeded", "context_window_exceeded", "contextwindowexceedederror", "max_prompt_tokens_exceeded"},
		phrases: []phrase{"context_length_exceeded", "contextwindowexceedederror"},
	},
}

// A row is one form of refusal. It matches when the status is among its statuses and one
// of its phrases is found in a text, or, when none is, when one of its codes is there:
// the words carry the numbers, the code is the surer sign.
type row struct {
	form     string // "provider.what", the name in events and metrics
	provider string
	// codes are values of code, type or status in the error object, in lower case.
	codes []string
	// phrases are tried in order, so those with more numbers come first.
	phrases []phrase
	// servers is true where a 500 is used for it too; else 200 (inside), 400, 413 and 422.
	servers bool
	// limitMember and actualMember are numeric members of the error object, in lower case.
	limitMember, actualMember string
}

// matchRow returns the overflow if a refusal has one of the row's phrases or codes, with the numbers that it names; false if it has none.
func (r *row) matchRow(status int, w refusal.Words) (Overflow, bool) {
	if status == 500 && !r.servers {
		return Overflow{}, false
	}
	n, found := r.matchPhrase(w)
	if !found && !slices.ContainsFunc(r.codes, func(code string) bool { return slices.Contains(w.Codes, code) }) {
		return Overflow{}, false
	}
	if r.limitMember != "" {
		if limit := w.Counts[r.limitMember]; limit > 0 {
			n.limit = limit
		}
		if actual := w.Counts[r.actualMember]; actual > 0 {
			n.actual = actual
		}
	}
	o := Overflow{Form: r.form, Provider: r.provider, Limit: n.limit, Actual: n.actual, Output: n.output, AtLeast: n.least}
	// One token of room is asked for, so that there is something to lower the output to.
	o.LowerOutput = o.Output > 0 && o.Actual > 0 && o.Actual < o.Limit
	return o, true
}

// matchPhrase returns the numbers of the first phrase of the row that is in a refusal; false if none is.
func (r *row) matchPhrase(w refusal.Words) (numbers, bool) {
	for _, p := range r.phrases {
		for _, text := range w.Texts {
			if n, ok := p.matchText(text); ok {
				return n, true
			}
		}
	}
	return numbers{}, false
}

// An other is a refusal for another reason that sounds alike.
type other struct {
	what  string
	codes []string
	all   []phrase // every one of them is in one and the same text
	busy  bool     // nothing in the request is at fault: the account has used up a rate, a quota or its money
}

// matches reports whether a refusal is about something else than the length: by one of its codes, or because one text has all phrases.
func (o other) matches(w refusal.Words) bool {
	if slices.ContainsFunc(o.codes, func(code string) bool { return slices.Contains(w.Codes, code) }) {
		return true
	}
	return len(o.all) > 0 && slices.ContainsFunc(w.Texts, func(text string) bool {
		return !slices.ContainsFunc(o.all, func(p phrase) bool { _, ok := p.matchText(text); return !ok })
	})
}

// What sounds like a request that is too long and is something else. They come first: a request that only had to wait must not be cut, and a
// cut doesn't help where one field is at fault.
var others = [...]other{
	{
		what:  "rate limit in tokens: waiting helps, and clients wait (Groq sends it with 413)",
		codes: []string{"rate_limit_exceeded", "rate_limit_error", "rate_limit_reached", "tokens_per_minute", "throttlingexception", "too_many_requests", "resource_exhausted"},
		all:   []phrase{"tokens per min"},
		busy:  true,
	},
	{what: "the same in a day", all: []phrase{"tokens per day"}, busy: true},
	{what: "rate limit in other words", all: []phrase{"rate limit"}, busy: true},
	{what: "Bedrock's throttling", all: []phrase{"too many tokens, please wait"}, busy: true},
	{what: "too many requests", all: []phrase{"too many requests"}, busy: true},
	{what: "a day's quota", all: []phrase{"too many tokens per day"}, busy: true},
	{
		what:  "quota or money",
		codes: []string{"insufficient_quota", "quota_exceeded", "billing_error", "billing_hard_limit_reached"},
		all:   []phrase{"credit balance is too low"},
		busy:  true,
	},
	{what: "the plan does not include long contexts", all: []phrase{"long context beta is not yet available"}, busy: true},
	{what: "the same, newer", all: []phrase{"extra usage is required for long context"}, busy: true},

	{what: "OpenAI: max_tokens alone", all: []phrase{"this model supports at most {_} completion tokens"}},
	{what: "Anthropic: max_tokens alone", all: []phrase{"max_tokens: {_} > {_}", "maximum allowed number of output tokens"}},
	{what: "Bedrock: max_tokens alone", all: []phrase{"maximum tokens you requested exceed*the model limit of {_}"}},
	{what: "Groq: max_tokens alone", all: []phrase{"max_tokens must be less than or equal to"}},
	{what: "Groq: max_completion_tokens alone", all: []phrase{"max_completion_tokens must be less than or equal to"}},
	{what: "vLLM and others: max_tokens below 1", all: []phrase{"max_tokens must be at least"}},
	{what: "Gemini: maxOutputTokens alone", all: []phrase{"unable to submit request because it has a maxoutputtokens value of"}},
	{what: "Anthropic: thinking budget", all: []phrase{"max_tokens must be greater than thinking.budget_tokens"}},

	{what: "one string field", codes: []string{"string_above_max_length"}},
	{what: "one list", codes: []string{"array_above_max_length"}},
	{what: "one string field, in words", all: []phrase{"string too long. expected a string with maximum length"}},
	{what: "one list, in words", all: []phrase{"array too long. expected an array with maximum length"}},
	{what: "a name", all: []phrase{"string should have at most {_} characters"}},

	{what: "image in bytes", all: []phrase{"image exceeds {_} mb maximum"}},
	{what: "image in pixels", all: []phrase{"image dimensions exceed max allowed size"}},
	{what: "images, their number", all: []phrase{"too many images"}},
	{what: "the same, by their address", all: []phrase{"too many url images"}},
	{what: "the same, in other words", all: []phrase{"images, exceeding the maximum of {_}"}},
	{what: "pages of a PDF", all: []phrase{"maximum of {_} pdf pages"}},
	{what: "one file", codes: []string{"image_too_large", "file_too_large"}},
}
