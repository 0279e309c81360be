package reasoning

import "testing"

// refusals are literal, from the pages and reports that form.go names.
var refusals = []struct {
	form   string
	cause  Cause
	status int
	body   string
	msg    int
	part   int
	item   string
}{
	{"anthropic.prefix", Changed, 400, `{"type":"error","error":{"type":"invalid_request_error","message":"messages.1.content.0: Invalid ` + "`signature` in `thinking`" + ` block. The block is bound to a different conversation. Remove the block, or set ` + "`thinking.block_binding.prefix_mismatch_behavior`" + ` to \"drop_block\"."},"request_id":"req_1"}`, 1, 0, ""},
	{"anthropic.prefix", Changed, 400, `{"message":"The model returned the following errors: messages.23.content.11: Invalid signature in thinking block. The block is bound to a different conversation."}`, 23, 11, ""},
	{"anthropic.signature", Foreign, 400, `{"type":"error","error":{"type":"invalid_request_error","message":"messages.7.content.0: Invalid ` + "`signature` in `thinking`" + ` block"}}`, 7, 0, ""},
	{"anthropic.signature", Foreign, 400, `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"messages.3.content.2: Invalid ` + "`signature` in `thinking`" + ` block\"}}"}}}`, 3, 2, ""},
	{"anthropic.data", Foreign, 400, `{"type":"error","error":{"type":"invalid_request_error","message":"messages.1.content.0: Invalid ` + "`data` in `redacted_thinking`" + ` block"}}`, 1, 0, ""},
	{"anthropic.unsigned", Missing, 400, `{"type":"error","error":{"type":"invalid_request_error","message":"messages.1.content.0.thinking.signature: Field required"}}`, 1, 0, ""},
	{"anthropic.modified", Changed, 400, `{"type":"error","error":{"type":"invalid_request_error","message":"messages.43.content.7: ` + "`thinking` or `redacted_thinking`" + ` blocks in the latest assistant message cannot be modified. These blocks must remain as they were in the original response."}}`, 43, 7, ""},
	{"anthropic.first", Wanted, 400, `{"type":"error","error":{"type":"invalid_request_error","message":"messages.47.content.0.type: Expected ` + "`thinking` or `redacted_thinking`, but found `text`" + `. When ` + "`thinking`" + ` is enabled, a final assistant message must start with a thinking block."}}`, 47, 0, ""},
	{"anthropic.last", Changed, 400, `{"type":"error","error":{"type":"invalid_request_error","message":"messages.1: The final block in an assistant message cannot be ` + "`thinking`" + `."}}`, 1, -1, ""},
	{"anthropic.off", Changed, 400, `{"type":"error","error":{"type":"invalid_request_error","message":"messages.11.content.0: When thinking is disabled, an ` + "`assistant`" + ` message in the final position cannot contain ` + "`thinking`" + `."}}`, 11, 0, ""},
	{"openai.encrypted", Foreign, 400, `{"error":{"message":"The encrypted content gAAA...5bw= could not be verified.","type":"invalid_request_error","param":null,"code":"invalid_encrypted_content"}}`, -1, -1, ""},
	{"openai.encrypted", Foreign, 400, `{"error":{"message":"The encrypted content for item rs_0a1b2c could not be verified. Reason: Encrypted content organization_id did not match the target organization.","type":"invalid_request_error","param":"input[4].encrypted_content","code":"invalid_encrypted_content"}}`, 4, -1, "rs_0a1b2c"},
	{"openai.encrypted", Foreign, 400, `{"error":{"message":"no words that are known","code":"invalid_encrypted_content"}}`, -1, -1, ""},
	{"openai.encrypted", Foreign, 400, `{"error":{"message":"reasoning ` + "`encrypted_content`" + ` was not issued to this caller","type":"invalid_request_error"}}`, -1, -1, ""},
	{"openai.encrypted", Foreign, 400, `{"code":"invalid-argument","error":"Could not decrypt the provided encrypted_content. Ensure the value is the unmodified encrypted_content from a previous response."}`, -1, -1, ""},
	{"openai.not_kept", Missing, 404, `{"error":{"message":"Item with id 'rs_68582a79cb90819a' not found. Items are not persisted when ` + "`store`" + ` is set to false. Try again with ` + "`store`" + ` set to true, or remove this item from your input.","type":"invalid_request_error","param":"input","code":null}}`, -1, -1, "rs_68582a79cb90819a"},
	{"openai.alone", Changed, 400, `{"error":{"message":"Item 'rs_1' of type 'reasoning' was provided without its required following item.","type":"invalid_request_error","param":"input","code":null}}`, -1, -1, "rs_1"},
	{"openai.wanted", Wanted, 400, `{"error":{"message":"Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: 'rs_2'.","type":"invalid_request_error"}}`, -1, -1, "rs_2"},
	{"gemini.wanted", Wanted, 400, `[{"error":{"code":400,"message":"Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing thought_signature may lead to degraded model performance. Additional data, function call ` + "`default_api:sh`" + ` , position 2.","status":"INVALID_ARGUMENT"}}]`, -1, -1, ""},
	{"gemini.signature", Foreign, 400, `{"error":{"code":400,"message":"Corrupted thought signature.","status":"INVALID_ARGUMENT"}}`, -1, -1, ""},
	{"gemini.signature", Foreign, 400, `{"error":{"code":400,"message":"Unable to submit request because Thought signature is not valid.. Learn more: https://cloud.google.com/x","status":"INVALID_ARGUMENT"}}`, -1, -1, ""},
	{"gemini.signature", Foreign, 400, `{"error":{"code":400,"message":"Invalid value at 'contents[2].parts[0].thought_signature' (TYPE_BYTES), Base64 decoding failed for \"Es4D\"","status":"INVALID_ARGUMENT"}}`, 2, 0, ""},
}

func TestRefused(t *testing.T) {
	for _, tt := range refusals {
		ways := map[string]func() (Refusal, bool){
			"the body": func() (Refusal, bool) { return Refused(tt.status, "application/json", []byte(tt.body)) },
		}
		if tt.body[0] == '{' && tt.status == 400 && tt.body[2:9] != "message" {
			ways["an event"] = func() (Refusal, bool) { return Event([]byte(tt.body)) }
			ways["a stream"] = func() (Refusal, bool) {
				return Refused(200, "text/event-stream; charset=utf-8", []byte("event: ping\ndata: {}\n\nevent: error\ndata: "+tt.body+"\n\n"))
			}
		}
		for way, ask := range ways {
			no, ok := ask()
			want := Refusal{Form: tt.form, Cause: tt.cause, Message: tt.msg, Part: tt.part, Item: tt.item}
			if !ok || no != want {
				t.Errorf("%s as %s is %+v (%v), want %+v", tt.body, way, no, ok, want)
			}
		}
		for _, status := range []int{401, 429, 500, 529} {
			if no, ok := Refused(status, "application/json", []byte(tt.body)); ok {
				t.Errorf("%s with %d is %+v", tt.body, status, no)
			}
		}
	}
}

func TestNotRefused(t *testing.T) {
	for _, body := range []string{
		``, `{`, `{}`, `not JSON`, `[[[[[[`,
		`{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 200001 tokens > 200000 maximum"}}`,
		`{"type":"error","error":{"type":"invalid_request_error","message":"` + "`max_tokens` must be greater than `thinking.budget_tokens`" + `."}}`,
		`{"error":{"message":"Item with id 'msg_1' not found. Items are not persisted when store is set to false.","type":"invalid_request_error"}}`,
		`{"error":{"message":"No tool output found for function call call_1.","type":"invalid_request_error","param":"input"}}`,
		`{"type":"error","error":{"type":"rate_limit_error","message":"too many requests"}}`,
		`{"detail":[{"msg":"field required","input":"Invalid signature in thinking block"}]}`,
	} {
		if no, ok := Refused(400, "application/json", []byte(body)); ok {
			t.Errorf("%s is taken for %+v", body, no)
		}
	}
	// A model that writes about it is none that refused.
	if no, ok := Event([]byte(`{"type":"content_block_delta","delta":{"text":"Invalid signature in thinking block"}}`)); ok {
		t.Errorf("words of an answer are taken for %+v", no)
	}
}
