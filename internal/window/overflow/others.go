package overflow

// What sounds like a request that is too long and is something else. These are looked for
// first: a request that only had to wait must not be cut, and a cut doesn't help where one
// field is at fault.
var others = [...]other{
	{
		what:  "rate limit in tokens: waiting helps, and clients wait (Groq sends it with 413)",
		codes: []string{"rate_limit_exceeded", "rate_limit_error", "rate_limit_reached", "tokens_per_minute", "throttlingexception", "too_many_requests", "resource_exhausted"},
		all:   []phrase{"tokens per min"},
	},
	{what: "the same in a day", all: []phrase{"tokens per day"}},
	{what: "rate limit in other words", all: []phrase{"rate limit"}},
	{what: "Bedrock's throttling", all: []phrase{"too many tokens, please wait"}},
	{what: "too many requests", all: []phrase{"too many requests"}},
	{what: "a day's quota", all: []phrase{"too many tokens per day"}},
	{
		what:  "quota or money",
		codes: []string{"insufficient_quota", "quota_exceeded", "billing_error", "billing_hard_limit_reached"},
		all:   []phrase{"credit balance is too low"},
	},
	{what: "the plan does not include long contexts", all: []phrase{"long context beta is not yet available"}},
	{what: "the same, newer", all: []phrase{"extra usage is required for long context"}},

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
	{what: "pages of a PDF", all: []phrase{"maximum of {_} pdf pages"}},
	{what: "one file", codes: []string{"image_too_large", "file_too_large"}},
}
