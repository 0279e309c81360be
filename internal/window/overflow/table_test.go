package overflow

import (
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/window/refusal"
)

// A seen is a literal refusal, as a provider or server sent it, and what is in it.
type seen struct {
	form   string
	status int
	body   string
	want   Overflow // Form and Provider are filled in from form
}

var refusals = []seen{
	{"openai.messages", 400, `{"error":{"message":"This model's maximum context length is 4097 tokens. However, you requested 4120 tokens (3120 in the messages, 1000 in the completion). Please reduce the length of the messages or completion.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, Overflow{Limit: 4097, Actual: 3120, Output: 1000, LowerOutput: true}},
	{"openai.messages", 400, `{"error":{"message":"This model's maximum context length is 16385 tokens. However, you requested 29130 tokens (25001 in the messages, 129 in the functions, and 4000 in the completion). Please reduce the length of the messages, functions, or completion.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, Overflow{Limit: 16385, Actual: 25130, Output: 4000}},
	{"openai.messages", 400, `{"error":{"message":"This model's maximum context length is 16385 tokens. However, your messages resulted in 19311 tokens (19166 in the messages, 145 in the functions). Please reduce the length of the messages or functions.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, Overflow{Limit: 16385, Actual: 19311}},
	{"openai.messages", 400, `{"error":{"message":"This model's maximum context length is 128000 tokens. However, your messages resulted in 204308 tokens. Please reduce the length of the messages.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, Overflow{Limit: 128000, Actual: 204308}},
	{"openai.messages", 400, `{"error":{"message":"This model's maximum context length is 8192 tokens, however you requested 8977 tokens (8000 in your prompt; 977 for the completion). Please reduce your prompt; or completion length.","type":"invalid_request_error","param":null,"code":null}}`, Overflow{Limit: 8192, Actual: 8000, Output: 977, LowerOutput: true}},
	// DeepSeek and vLLM, the same sentence with their own types.
	{"openai.messages", 400, `{"error":{"message":"This model's maximum context length is 65536 tokens. However, you requested 66794 tokens (58602 in the messages, 8192 in the completion). Please reduce the length of the messages or completion.","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}`, Overflow{Limit: 65536, Actual: 58602, Output: 8192, LowerOutput: true}},
	{"openai.messages", 400, `{"object":"error","message":"This model's maximum context length is 16384 tokens. However, you requested 122946 tokens (112946 in the messages, 10000 in the completion). Please reduce the length of the messages or completion.","type":"BadRequestError","param":null,"code":400}`, Overflow{Limit: 16384, Actual: 112946, Output: 10000}},
	{"openai.configured", 400, `{"error":{"message":"Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300123 tokens. Please reduce the length of the messages.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, Overflow{Limit: 272000, Actual: 300123}},
	{"openai.window", 400, `{"error":{"message":"Your input exceeds the context window of this model. Please adjust your input and try again.","type":"invalid_request_error","param":"input","code":"context_length_exceeded"}}`, Overflow{}},
	{"openai.window", 400, `{"error":{"message":"Your input exceeds the model's context window. Please adjust your input and try again.","type":"invalid_request_error","param":"input","code":"context_length_exceeded"}}`, Overflow{}},
	{"openai.window", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"Your input exceeds this model's context window."}}`, Overflow{}},
	{"bedrock.mantle", 400, `{"error":{"code":"validation_error","message":"prompt tokens (1200008) exceed model maximum (1050000) for openai.gpt-5.6-terra","type":"invalid_request_error"}}`, Overflow{Limit: 1050000, Actual: 1200008}},
	{"bedrock.mantle", 400, `{"error":{"code":"validation_error","message":"Prompt tokens exceed customer model maximum"}}`, Overflow{}},
	{"bedrock.input", 400, `{"message":"The model returned the following errors: Input Tokens Exceeded: Number of input tokens exceeds maximum length. Please update the input to try again."}`, Overflow{}},
	{"vllm.output", 400, `{"message":"Mantle streaming error for requestId r: \"This model's maximum context length is 202752 tokens. However, you requested 65536 output tokens and your prompt contains at least 137217 input tokens, for a total of at least 202753 tokens. (parameter=input_tokens, value=137217)\""}`, Overflow{Limit: 202752, Actual: 137217, Output: 65536, AtLeast: true, LowerOutput: true}},
	// Azure.
	{"openai.messages", 400, `{"error":{"code":"context_length_exceeded","message":"This model's maximum context length is 1,048,576 tokens. However, your messages resulted in 1,200,001 tokens. Please reduce the length of the messages.","param":"messages","type":"invalid_request_error","innererror":{"code":"x"}}}`, Overflow{Limit: 1048576, Actual: 1200001}},
	// Through LiteLLM.
	{"openai.messages", 400, `{"error":{"message":"litellm.ContextWindowExceededError: litellm.BadRequestError: OpenAIException - This model's maximum context length is 128000 tokens. However, your messages resulted in 204308 tokens. Please reduce the length of the messages.. Received Model Group=gpt-4o","type":null,"param":null,"code":"400"}}`, Overflow{Limit: 128000, Actual: 204308}},

	{"openrouter.endpoint", 400, `{"error":{"message":"This endpoint's maximum context length is 131072 tokens. However, you requested about 141607 tokens (10535 of text input, 131072 in the output). Please reduce the length of either one, or use the \"middle-out\" transform to compress your prompt automatically.","code":400,"metadata":{"provider_name":"Chutes"}}}`, Overflow{Limit: 131072, Actual: 10535, Output: 131072, LowerOutput: true}},
	{"openrouter.endpoint", 400, `{"error":{"message":"This endpoint's maximum context length is 32768 tokens. However, you requested about 42832 tokens (42832 of text input). Please reduce the length of either one, or use the \"middle-out\" transform to compress your prompt automatically.","code":400}}`, Overflow{Limit: 32768, Actual: 42832}},
	{"openrouter.endpoint", 200, `{"error":{"message":"This endpoint's maximum context length is 200000 tokens. However, you requested about 251000 tokens (180000 of text input, 7000 of tool input, 64000 in the output). Please reduce the length of either one.","code":400}}`, Overflow{Limit: 200000, Actual: 187000, Output: 64000, LowerOutput: true}},
	// OpenRouter wraps a provider's own body into a string.
	{"anthropic.prompt", 400, `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"prompt is too long: 201130 tokens > 200000 maximum\"}}","provider_name":"Anthropic"}}}`, Overflow{Limit: 200000, Actual: 201130}},

	{"vllm.output", 400, `{"error":{"message":"'max_tokens' or 'max_completion_tokens' is too large: 32000. This model's maximum context length is 32768 tokens and your request has 5000 input tokens (32000 > 32768 - 5000). None","type":"BadRequestError","param":null,"code":400}}`, Overflow{Limit: 32768, Actual: 5000, Output: 32000, LowerOutput: true}},
	{"vllm.output", 400, `{"error":{"message":"This model's maximum context length is 262144 tokens. However, you requested 128000 output tokens and your prompt contains at least 134145 input tokens, for a total of at least 262145 tokens. Please reduce the length of the input prompt or the number of requested output tokens. (parameter=input_tokens, value=134145)","type":"BadRequestError","param":"input_tokens","code":400}}`, Overflow{Limit: 262144, Actual: 134145, Output: 128000, AtLeast: true, LowerOutput: true}},
	{"vllm.output", 400, `{"error":{"message":"You passed 32769 input tokens and requested 0 output tokens. However, the model's context length is only 32768 tokens, resulting in a maximum input length of 32768 tokens. Please reduce the length of the input prompt.","type":"BadRequestError","param":"input_tokens","code":400}}`, Overflow{Limit: 32768, Actual: 32769}},
	{"vllm.input", 400, `{"object":"error","message":"This model's maximum context length is 32768 tokens. However, your request has 40960 input tokens. Please reduce the length of the input messages. None","type":"BadRequestError","param":null,"code":400}`, Overflow{Limit: 32768, Actual: 40960}},
	{"vllm.input", 400, `{"object":"error","message":"The decoder prompt (length 44000) is longer than the maximum model length of 32768. Make sure that ` + "`max_model_len`" + ` is no smaller than the number of text tokens.","type":"BadRequestError","param":null,"code":400}`, Overflow{Limit: 32768, Actual: 44000}},
	// The bug that named 3: it is reported as it stands, learning refuses it.
	{"openai.messages", 400, `{"object":"error","message":"This model's maximum context length is 3 tokens. However, you requested 4120 tokens (3120 in the messages, 1000 in the completion).","type":"BadRequestError","code":400}`, Overflow{Limit: 3, Actual: 3120, Output: 1000}},
	{"any.length", 400, `{"object":"error","message":"This model's maximum context length is 8192 tokens. However, you requested 254457 tokens. Please reduce it.","type":"BadRequestError","code":400}`, Overflow{Limit: 8192, Actual: 254457}},

	{"sglang.total", 400, `{"object":"error","message":"Requested token count exceeds the model's maximum context length of 131072 tokens. You requested a total of 136000 tokens: 128000 tokens from the input messages and 8000 tokens for the completion. Please reduce the number of tokens in the input messages or the completion to fit within the limit.","type":"BadRequestError","param":null,"code":400}`, Overflow{Limit: 131072, Actual: 128000, Output: 8000, LowerOutput: true}},
	{"sglang.input", 400, `{"object":"error","message":"The input (140000 tokens) is longer than the model's context length (131072 tokens).","type":"BadRequestError","param":null,"code":400}`, Overflow{Limit: 131072, Actual: 140000}},
	{"sglang.input", 400, `{"object":"error","message":"Input length (265330) exceeds model's maximum context length (262144).","type":"BadRequestError"}`, Overflow{Limit: 262144, Actual: 265330}},
	{"sglang.input", 400, `{"object":"error","message":"Input length (140000 tokens) exceeds the maximum allowed length (131067 tokens). Use a shorter input or enable --allow-auto-truncate.","type":"BadRequestError"}`, Overflow{Limit: 131067, Actual: 140000}},
	// Together.
	{"sglang.input", 400, `{"id":"o8Zd","error":{"message":"The input (131074 tokens) is longer than the model's context length (131072 tokens).","type":"invalid_request_error","param":null,"code":null}}`, Overflow{Limit: 131072, Actual: 131074}},
	{"tgi.sum", 422, `{"id":"o8Zd","error":{"message":"Input validation error: ` + "`inputs` tokens + `max_new_tokens` must be <= 8193. Given: 7000 `inputs` tokens and 4096 `max_new_tokens`" + `","type":"invalid_request_error","param":null,"code":null}}`, Overflow{Limit: 8193, Actual: 7000, Output: 4096, LowerOutput: true}},
	{"tgi.inputs", 422, `{"error":"Input validation error: ` + "`inputs` must have less than 2048 tokens. Given: 2222" + `","error_type":"validation"}`, Overflow{Limit: 2048, Actual: 2222}},

	{"llamacpp.context", 400, `{"error":{"code":400,"message":"the request exceeds the available context size. try increasing the context size or enable context shift","type":"exceed_context_size_error","n_prompt_tokens":13392,"n_ctx":8192}}`, Overflow{Limit: 8192, Actual: 13392}},
	{"llamacpp.context", 400, `{"error":{"code":400,"message":"request (13392 tokens) exceeds the available context size (8192 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":13392,"n_ctx":8192}}`, Overflow{Limit: 8192, Actual: 13392}},
	{"llamacpp.context", 500, `{"error":{"code":500,"message":"the request exceeds the available context size, try increasing it","type":"server_error"}}`, Overflow{}},
	{"llamacpp.context", 500, `{"error":{"code":500,"message":"Context size has been exceeded.","type":"server_error"}}`, Overflow{}},
	{"lmstudio.keep", 400, `{"error":"The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 13055>= n_ctx: 4096). Try to load the model with a larger context length, or provide a shorter input."}`, Overflow{Limit: 4096, Actual: 13055}},
	{"lmstudio.keep", 400, `{"error":{"message":"Trying to keep the first 111490 tokens when context the overflows. However, the model is loaded with context length of only 32768 tokens, which is not enough. Try to load the model with a larger context length, or provide a shorter input"}}`, Overflow{Limit: 32768, Actual: 111490}},
	{"lmstudio.keep", 400, `{"error":"Reached context length of 4096 tokens with model (arch: qwen3vlmoe) that does not currently support mid-generation context overflow. Try reloading with a larger context length or shortening the prompt/chat."}`, Overflow{Limit: 4096}},
	{"lmstudio.keep", 400, `{"error":"Input does not fit in context length. The input has 31430 tokens, but the context length only supports 30000 tokens."}`, Overflow{Limit: 30000, Actual: 31430}},
	{"ollama.input", 400, `{"error":"prompt too long; exceeded max context length by 1200 tokens"}`, Overflow{}},
	{"ollama.input", 500, `{"error":"input length (9000 tokens) exceeds the model's maximum context length (8192 tokens)"}`, Overflow{Limit: 8192, Actual: 9000}},

	{"fireworks.prompt", 400, `{"error":{"object":"error","type":"invalid_request_error","code":"invalid_request_error","message":"The prompt is too long: 40177, model maximum context length: 32767"}}`, Overflow{Limit: 32767, Actual: 40177}},
	{"anthropic.output", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"input length and ` + "`max_tokens`" + ` exceed context limit: \n     189136 + 20000 > 204648, decrease input length or ` + "`max_tokens`" + ` and try again"}}`, Overflow{Limit: 204648, Actual: 189136, Output: 20000, LowerOutput: true}},
	{"anthropic.output", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"input length and max_tokens exceed context limit: 198981 + 21333 > 200000, decrease input length or max_tokens and try again"},"request_id":"req_011CSMpBih64Gz42SHKqX8mZ"}`, Overflow{Limit: 200000, Actual: 198981, Output: 21333, LowerOutput: true}},
	{"anthropic.output", 400, `{"type":"invalid_request_error","message":"input length and ` + "`max_tokens`" + ` exceed context limit: 242251   64000 > 200000, decrease input length"}`, Overflow{Limit: 200000, Actual: 242251, Output: 64000}},
	{"anthropic.prompt", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 201130 tokens > 200000 maximum"},"request_id":"req_011CUxvgPsLcjkyzm6NHj17F"}`, Overflow{Limit: 200000, Actual: 201130}},
	{"anthropic.prompt", 413, `{"error":{"message":"{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"Prompt is too long\"}}","type":"None","param":"None","code":"413"}}`, Overflow{}},
	{"anthropic.bytes", 413, `{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`, Overflow{}},

	{"bedrock.input", 400, `{"message":"Input is too long for requested model."}`, Overflow{}},
	{"bedrock.input", 400, `{"__type":"ValidationException","message":"Input is too long for requested model."}`, Overflow{}},
	{"bedrock.input", 400, `{"message":"The model returned the following errors: Input Tokens Exceeded: Number of input tokens exceeds maximum length. Please update the input to try again."}`, Overflow{}},
	{"bedrock.input", 400, `{"message":"400 Bad Request: Too many input tokens. Max input tokens: 8192, request input token count: 9134 "}`, Overflow{Limit: 8192, Actual: 9134}},
	{"anthropic.prompt", 400, `{"message":"The model returned the following errors: prompt is too long: 903884 tokens > 200000 maximum"}`, Overflow{Limit: 200000, Actual: 903884}},
	{"anthropic.output", 400, `{"message":"The model returned the following errors: input length and ` + "`max_tokens`" + ` exceed context limit: 142422 + 64000 > 204658, decrease input length or ` + "`max_tokens`" + ` and try again"}`, Overflow{Limit: 204658, Actual: 142422, Output: 64000, LowerOutput: true}},
	{"bedrock.bytes", 400, `{"message":"The model returned the following errors: messages: too many total text bytes: 29837430 > 9000000"}`, Overflow{}},
	{"bedrock.bytes", 400, `{"message":"Malformed input request: expected maxLength: 42000, actual: 46735, please reformat your input and try again."}`, Overflow{}},
	{"bedrock.length", 400, `{"message":"This model's maximum context length is 8192 tokens. Please reduce the length of the prompt"}`, Overflow{Limit: 8192}},
	{"bedrock.length", 400, `{"message":"The model returned the following errors: the number of input tokens (140000) exceeds the maximum (131072)"}`, Overflow{Limit: 131072, Actual: 140000}},

	{"gemini.input", 400, `{"error":{"code":400,"message":"The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}`, Overflow{Limit: 1048576, Actual: 1200293}},
	{"gemini.input", 400, `[{"error":{"code":400,"message":"The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).","errors":[{"message":"The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).","domain":"global","reason":"badRequest"}],"status":"INVALID_ARGUMENT"}}]`, Overflow{Limit: 1048576, Actual: 1200293}},
	{"gemini.input", 400, `{"error":{"code":400,"message":"The input token count exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}`, Overflow{Limit: 1048576}},
	{"gemini.input", 400, `{"error":{"code":400,"message":"The input token count exceeds the maximum number of tokens allowed 1048576.","status":"INVALID_ARGUMENT"}}`, Overflow{Limit: 1048576}},
	{"gemini.input", 400, `{"error":{"code":400,"message":"Unable to submit request because the input token count is 40000 but model only supports up to 32768. Reduce the input token count and try again. You can also use the CountTokens API to calculate prompt token count and billable characters.","status":"INVALID_ARGUMENT"}}`, Overflow{Limit: 32768, Actual: 40000}},

	{"xai.prompt", 400, `{"code":"Client specified an invalid argument","error":"This model's maximum prompt length is 131072 but the request contains 537812 tokens."}`, Overflow{Limit: 131072, Actual: 537812}},
	{"copilot.prompt", 400, `{"error":{"message":"prompt token count of 391491 exceeds the limit of 128000","code":"model_max_prompt_tokens_exceeded"}}`, Overflow{Limit: 128000, Actual: 391491}},
	{"mistral.prompt", 400, `{"object":"error","message":"Prompt contains 40016 tokens and 0 draft tokens, too large for model with 32768 maximum context length","type":"invalid_request_prompt","param":null,"code":"3051"}`, Overflow{Limit: 32768, Actual: 40016}},
	{"kimi.limit", 400, `{"error":{"message":"Invalid request: Your request exceeded model token limit: 262144 (requested: 269030)","type":"invalid_request_error"}}`, Overflow{Limit: 262144, Actual: 269030}},
	{"kimi.bytes", 400, `{"error":{"message":"Invalid request: total message size 2100954 exceeds limit 2097152","type":"invalid_request_error"}}`, Overflow{}},
	{"minimax.window", 400, `{"type":"error","error":{"type":"bad_request_error","message":"invalid params, context window exceeds limit (2013)","http_code":"400"},"request_id":"0517"}`, Overflow{}},
	{"minimax.window", 200, `{"id":"0517","choices":null,"base_resp":{"status_code":2013,"status_msg":"invalid params, context window exceeds limit"}}`, Overflow{}},
	{"cerebras.length", 400, `{"message":"Please reduce the length of the messages or completion. Current length is 42328 while limit is 40000","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}`, Overflow{Limit: 40000, Actual: 42328}},
	{"groq.messages", 400, `{"error":{"message":"Please reduce the length of the messages or completion.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, Overflow{}},
	{"qwen.range", 400, `{"error":{"message":"<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]","type":"invalid_request_error","param":null,"code":"invalid_parameter_error"}}`, Overflow{Limit: 129024}},
	{"glm.prompt", 400, `{"error":{"code":"1261","message":"Prompt exceeds max length"}}`, Overflow{}},
	{"glm.prompt", 400, `{"error":{"code":"1210","message":"tokens in request more than max tokens allowed"}}`, Overflow{}},
	{"cohere.tokens", 400, `{"message":"too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 4292. Try using a shorter prompt."}`, Overflow{Limit: 4081, Actual: 4292}},
	{"cohere.tokens", 400, `{"message":"too many tokens: size limit exceeded by 11326 tokens. Try using shorter or fewer inputs. The limit for this model is 128000 tokens."}`, Overflow{Limit: 128000}},
	{"poolside.input", 400, `{"error":{"message":"Input length 140000 exceeds the maximum allowed input length of 131072 tokens."}}`, Overflow{Limit: 131072, Actual: 140000}},
	{"ds4.prompt", 400, `{"error":{"message":"Prompt has 300,000 tokens, but the configured context size is 131,072 tokens"}}`, Overflow{Limit: 131072, Actual: 300000}},

	{"any.length", 400, `{"error":{"message":"Prompt exceeds maximum context length"}}`, Overflow{}},
	{"any.length", 400, `Error: the request exceeds the context window`, Overflow{}},
	{"any.code", 400, `{"error":{"message":"nothing we know","code":"context_length_exceeded"}}`, Overflow{}},
	// What broke off still has its words.
	{"any.code", 400, `{"error":{"code":"context_length_exceeded","message":"Your inp`, Overflow{}},
	{"http.413", 413, `<html><head><title>413 Request Entity Too Large</title></head></html>`, Overflow{}},
	{"http.413", 413, `{"error":{"message":"no such words","code":"x"}}`, Overflow{}},
	{"http.no_body", 413, ``, Overflow{}},
	{"http.no_body", 400, "\r\n", Overflow{}},
}

func TestRefusals(t *testing.T) {
	rows := map[string]bool{}
	for _, s := range refusals {
		rows[s.form] = true
		got, ok := Classify(s.status, "application/json; charset=utf-8", []byte(s.body))
		if s.want.Form, s.want.Provider = s.form, got.Provider; !ok || got != s.want {
			t.Errorf("%d %s\n got %+v, %v\nwant %+v", s.status, s.body, got, ok, s.want)
		}
		if got.Provider == "" {
			t.Errorf("%s names no provider", got.Form)
		}
	}
	for _, r := range table {
		if !rows[r.form] {
			t.Errorf("no literal body tests the row %s", r.form)
		}
	}
}

func TestStreams(t *testing.T) {
	const event = "text/event-stream"
	for _, s := range []seen{
		{"openai.window", 200, "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"code\":\"context_length_exceeded\",\"message\":\"Your input exceeds the context window of this model. Please adjust your input and try again.\",\"param\":\"input\"},\"sequence_number\":2}\n\n", Overflow{}},
		{"openai.window", 200, "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"id\":\"r\",\"status\":\"in_progress\",\"error\":null}}\n\nevent: response.failed\r\ndata: {\"type\":\"response.failed\",\"response\":{\"id\":\"r\",\"status\":\"failed\",\"error\":{\"code\":\"context_length_exceeded\",\"message\":\"Your input exceeds the context window of this model.\"}}}\r\n\r\n", Overflow{}},
		{"any.code", 200, "data: {\"type\":\"error\",\"code\":\"context_length_exceeded\",\"message\":\"too much\",\"param\":null}\n\n", Overflow{}},
		{"sglang.input", 200, "data: {\"error\":{\"object\":\"error\",\"message\":\"The input (140000 tokens) is longer than the model's context length (131072 tokens).\",\"type\":\"BadRequestError\",\"code\":400}}\n\ndata: [DONE]\n\n", Overflow{Limit: 131072, Actual: 140000}},
		{"anthropic.prompt", 200, "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"prompt is too long: 201130 tokens > 200000 maximum\"}}", Overflow{Limit: 200000, Actual: 201130}},
		{"gemini.input", 200, "data: [{\"error\":{\"code\":400,\"message\":\"The input token count (1200293) exceeds the maximum number of tokens allowed (1048576).\",\ndata: \"status\":\"INVALID_ARGUMENT\"}}]\n\n", Overflow{Limit: 1048576, Actual: 1200293}},
		{"lmstudio.keep", 200, "event: error\ndata: {\"error\":{\"message\":\"The number of tokens to keep from the initial prompt is greater than the context length. Try to load the model with a larger context length, or provide a shorter input\"}}\n\n", Overflow{}},
		{"lmstudio.keep", 200, "event: error\ndata: {\"error\":{\"message\":\"Input does not fit in context length. The input has 31430 tokens, but the context length only supports 30000 tokens.\"}}\n\n", Overflow{Limit: 30000, Actual: 31430}},
	} {
		got, ok := Classify(s.status, event+"; charset=utf-8", []byte(s.body))
		if s.want.Form, s.want.Provider = s.form, got.Provider; !ok || got != s.want {
			t.Errorf("%s\n got %+v, %v\nwant %+v", s.body, got, ok, s.want)
		}
	}
	if got, ok := Event([]byte(`{"error":{"code":"context_length_exceeded","message":"x"}}`)); !ok || got.Form != "any.code" {
		t.Errorf("Event: %+v, %v", got, ok)
	}
}

func TestOthersNeverMatch(t *testing.T) {
	for _, s := range []struct {
		status int
		body   string
	}{
		{429, `{"error":{"message":"Request too large for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Requested 40000. The input or output tokens must be reduced in order to run successfully.","type":"tokens","param":null,"code":"rate_limit_exceeded"}}`},
		{413, "{\"error\":{\"message\":\"Request too large for model `moonshotai/kimi-k2-instruct` in organization `org_01` service tier `on_demand` on tokens per minute (TPM): Limit 10000, Requested 21247, please reduce your message size and try again.\",\"type\":\"tokens\",\"code\":\"rate_limit_exceeded\"}}"},
		{400, `{"error":{"message":"Request too large for x on tokens per min (TPM): Limit 30000, Requested 40000"}}`},
		{429, `{"type":"error","error":{"type":"rate_limit_error","message":"This request would exceed your organization's rate limit of 40,000 input tokens per minute. prompt is too long: 5 tokens > 4 maximum"}}`},
		{400, `{"message":"ThrottlingException: Too many tokens, please wait before trying again."}`},
		{400, `{"message":"Too many tokens per day, please wait before trying again."}`},
		{400, `{"error":{"code":429,"message":"Resource has been exhausted: input token count exceeds the maximum","status":"RESOURCE_EXHAUSTED"}}`},
		{200, `{"error":{"code":503,"message":"maximum context length is 5000 tokens"}}`},
		{503, `{"error":{"message":"prompt is too long: 201130 tokens > 200000 maximum"}}`},
		{529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`},
		{500, `{"error":{"message":"prompt is too long: 201130 tokens > 200000 maximum"}}`},
		{401, `{"error":{"message":"prompt is too long"}}`},

		{400, `{"error":{"message":"max_tokens is too large: 100000. This model supports at most 16384 completion tokens, whereas you provided 100000.","type":"invalid_request_error","param":"max_tokens","code":"invalid_value"}}`},
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"max_tokens: 200000 > 64000, which is the maximum allowed number of output tokens for claude-sonnet-4-5"}}`},
		{400, `{"message":"The maximum tokens you requested exceeds the model limit of 4096. Try again with a maximum tokens value that is lower than 4096."}`},
		{400, "{\"error\":{\"message\":\"`max_tokens` must be less than or equal to `16384`, the maximum value for `max_tokens` is less than the `context_window` for this model\",\"type\":\"invalid_request_error\",\"param\":\"max_tokens\"}}"},
		{400, `{"error":{"code":400,"message":"Unable to submit request because it has a maxOutputTokens value of 100000 but the supported range is from 1 (inclusive) to 65537 (exclusive). Update the value and try again.","status":"INVALID_ARGUMENT"}}`},
		{400, "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"`max_tokens` must be greater than `thinking.budget_tokens`\"}}"},

		{400, `{"error":{"message":"Invalid 'messages[0].content': string too long. Expected a string with maximum length 1048576, but got a string with length 1540820 instead.","type":"invalid_request_error","param":"messages[0].content","code":"string_above_max_length"}}`},
		{400, `{"error":{"message":"Invalid 'tools': array too long. Expected an array with maximum length 128, but got an array with length 200 instead.","type":"invalid_request_error","param":"tools","code":"array_above_max_length"}}`},
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"tools.3.custom.name: String should have at most 64 characters"}}`},
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 6543210 bytes > 5242880 bytes"}}`},
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"messages.4.content.20.image.source.base64.data: At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels"}}`},
		{413, `{"error":{"message":"too many URL images in request (max 20)","code":"invalid_request_body"}}`},
		{413, `{"error":{"message":"request contains 52 images, exceeding the maximum of 50 allowed per request","type":"invalid_request_error"}}`},
		{413, `{"type":"error","error":{"type":"invalid_request_error","message":"A maximum of 100 PDF pages may be provided."}}`},
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}`},
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"The long context beta is not yet available for this subscription."}}`},

		{400, `{"error":{"message":"An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.","type":"invalid_request_error"}}`},
		{400, `{"error":{"message":"Invalid value: 'foo'"}}`},
		{400, `{"error":{"code":"1210","message":"Invalid API parameter, please check the documentation."}}`},
		// The echo of a request is not read.
		{422, `{"detail":[{"loc":["body","messages"],"msg":"field required","input":{"content":"prompt is too long: 201130 tokens > 200000 maximum"}}]}`},
		// Nor is what a model writes.
		{200, `{"id":"x","choices":[{"message":{"role":"assistant","content":"This model's maximum context length is 4097 tokens."},"finish_reason":"stop"}],"usage":{"prompt_tokens":5}}`},
		{200, `{"type":"message","content":[{"type":"text","text":"prompt is too long: 201130 tokens > 200000 maximum"}],"stop_reason":"end_turn"}`},
		{200, `{"id":"r","status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"error":null}`},
		{200, ``},
	} {
		if got, ok := Classify(s.status, "application/json", []byte(s.body)); ok {
			t.Errorf("%d %s\nis taken for %+v", s.status, s.body, got)
		}
	}
	if got, ok := Classify(200, "text/event-stream", []byte("data: {\"type\":\"response.incomplete\",\"response\":{\"status\":\"incomplete\",\"incomplete_details\":{\"reason\":\"max_output_tokens\"}}}\n\ndata: {\"choices\":[{\"delta\":{\"content\":\"prompt is too long\"}}]}\n\n")); ok {
		t.Errorf("a stream without an error is taken for %+v", got)
	}
}

func TestStopReasons(t *testing.T) {
	if o, ok := StopReason("model_context_window_exceeded"); !ok || o.Form != "stop.model_context_window_exceeded" {
		t.Errorf("got %+v, %v", o, ok)
	}
	for _, reason := range []string{"", "end_turn", "max_tokens", "length", "MAX_TOKENS", "max_output_tokens", "incomplete", "tool_use", "refusal"} {
		if o, ok := StopReason(reason); ok {
			t.Errorf("%q is taken for %+v", reason, o)
		}
	}
}

func TestSilentTruncation(t *testing.T) {
	for _, c := range []struct {
		low, reported int
		want          bool
	}{
		{40_000, 4096, true},
		{8000, 4096, true},
		{4500, 4096, false}, // within the error of an estimate
		{40_000, 0, false},  // no report
		{1000, 100, false},  // too little to judge
		{1024, 700, true},
	} {
		if got := SilentTruncation(c.low, c.reported); got != c.want {
			t.Errorf("SilentTruncation(%d, %d) = %v", c.low, c.reported, got)
		}
	}
}

func TestNumbers(t *testing.T) {
	for _, c := range []struct {
		text        string
		value, size int
	}{
		{"200000 maximum", 200000, 6},
		{"200000.", 200000, 6},
		{"1,048,576)", 1048576, 9},
		{"1_048_576", 1048576, 9},
		{"131.072 tokens", 131072, 7},
		{"3.5", 3, 1},
		{"10,20", 10, 2},
		{"", 0, 0},
		{"x", 0, 0},
		{",123", 0, 0},
		{"999999999999999", 0, 15},
		{strings.Repeat("9", 100) + "x", 0, 100},
		{"1000000000000", 1_000_000_000_000, 13},
	} {
		if value, size := readNumber(c.text); value != c.value || size != c.size {
			t.Errorf("number(%q) = %d, %d; want %d, %d", c.text, value, size, c.value, c.size)
		}
	}
}

// A phrase that is not in normal form, or a group that begins with a number, never matches.
func TestPhrasesAreWellFormed(t *testing.T) {
	names := []string{"limit", "actual", "output", "extra", "least", "_"}
	check := func(where string, p phrase) {
		if p == "" {
			t.Errorf("%s: an empty phrase matches everything", where)
		}
		for group := range strings.SplitSeq(string(p), "*") {
			if group == "" || group[0] == '{' {
				t.Errorf("%s: %q has a group that does not begin with text", where, p)
			}
			literal := group
			for {
				i := strings.IndexByte(literal, '{')
				if i < 0 {
					break
				}
				name, rest, ok := strings.Cut(literal[i+1:], "}")
				if !ok || !slices.Contains(names, name) {
					t.Errorf("%s: %q names no number that is known", where, p)
				}
				literal = literal[:i] + "1" + rest
			}
			if n := refusal.Normal("." + literal + "."); n != "."+literal+"." {
				t.Errorf("%s: %q is not in normal form", where, p)
			}
		}
	}
	forms := map[string]bool{}
	for _, r := range table {
		if forms[r.form] || r.provider == "" {
			t.Errorf("%s is there twice, or has no provider", r.form)
		}
		forms[r.form] = true
		for _, p := range r.phrases {
			check(r.form, p)
		}
		for _, code := range r.codes {
			if code != strings.ToLower(code) {
				t.Errorf("%s: code %q is not in lower case", r.form, code)
			}
		}
	}
	for _, o := range others {
		for _, p := range o.all {
			check(o.what, p)
		}
	}
}
