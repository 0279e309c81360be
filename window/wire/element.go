package wire

// textType is the name of a block of text in a message of that role.
func textType(d Dialect, role Role) string {
	switch {
	case d != Responses:
		return "text"
	case role == RoleAssistant:
		return "output_text"
	}
	return "input_text"
}

// TextMessage makes a message of one text in the dialect's own JSON. A role that the
// dialect has no message for becomes the user's: RoleTool and RoleOther everywhere,
// RoleSystem in Gemini.
func TextMessage(d Dialect, role Role, text string) []byte {
	name := "user"
	switch {
	case role == RoleAssistant && d == Gemini:
		name = "model"
	case role == RoleAssistant:
		name = "assistant"
	case role == RoleSystem && d != Gemini:
		name = "system"
	}
	out := make([]byte, 0, len(text)+len(text)/8+96)
	out = append(out, `{"role":"`...)
	out = append(out, name...)
	if d == Gemini {
		return append(Quote(append(out, `","parts":[{"text":`...), text), `}]}`...)
	}
	// In Responses too: the short form is taken for every role.
	return append(Quote(append(out, `","content":`...), text), '}')
}

// TextElement makes a content block (a Gemini part) of one text.
func TextElement(d Dialect, role Role, text string) []byte {
	out := make([]byte, 0, len(text)+len(text)/8+48)
	if d == Gemini {
		return append(Quote(append(out, `{"text":`...), text), '}')
	}
	out = append(append(append(out, `{"type":"`...), textType(d, role)...), `","text":`...)
	return append(Quote(out, text), '}')
}

// ResultElement makes the result of a call: a tool message in Chat, an item in Responses,
// a tool_result block in Messages, a functionResponse part in Gemini. It returns nil for
// calls whose result is no text (a computer's screen).
func ResultElement(d Dialect, call Part, text string, failed bool) []byte {
	out := make([]byte, 0, len(text)+len(text)/8+len(call.CallID)+128)
	switch d {
	case Chat:
		out = Quote(append(out, `{"role":"tool","tool_call_id":`...), call.CallID)
		out = Quote(append(out, `,"content":`...), text)
	case Messages:
		out = Quote(append(out, `{"type":"tool_result","tool_use_id":`...), call.CallID)
		out = Quote(append(out, `,"content":`...), text)
		if failed {
			out = append(out, `,"is_error":true`...)
		}
	case Gemini:
		out = append(out, `{"functionResponse":{`...)
		if call.CallID != "" {
			out = append(Quote(append(out, `"id":`...), call.CallID), ',')
		}
		out = Quote(append(out, `"name":`...), call.Name)
		if failed {
			out = append(out, `,"response":{"error":`...)
		} else {
			out = append(out, `,"response":{"output":`...)
		}
		return append(Quote(out, text), "}}}"...)
	case Responses:
		return resultItem(out, call, text, failed)
	default:
		return nil
	}
	return append(out, '}')
}

// resultItem makes the output item that belongs to the type of the call.
func resultItem(out []byte, call Part, text string, failed bool) []byte {
	switch call.Type {
	case "", "function_call", "custom_tool_call", "local_shell_call":
		kind := "function_call_output"
		// Codex answers a local_shell_call with a function_call_output as well, and the
		// provider pairs both by call_id.
		if call.Type == "custom_tool_call" {
			kind = "custom_tool_call_output"
		}
		out = append(append(append(out, `{"type":"`...), kind...), `","call_id":`...)
		out = Quote(append(Quote(out, call.CallID), `,"output":`...), text)
		return append(out, '}')
	case "shell_call":
		out = Quote(append(out, `{"type":"shell_call_output","call_id":`...), call.CallID)
		out = append(out, `,"output":[{"stdout":"","stderr":`...)
		code := byte('0')
		if failed {
			code = '1'
		}
		out = append(Quote(out, text), `,"outcome":{"type":"exit","exit_code":`...)
		return append(append(out, code), "}}]}"...)
	case "apply_patch_call":
		out = Quote(append(out, `{"type":"apply_patch_call_output","call_id":`...), call.CallID)
		status := "completed"
		if failed {
			status = "failed"
		}
		out = append(append(append(out, `,"status":"`...), status...), `","output":`...)
		return append(Quote(out, text), '}')
	case "tool_search_call":
		out = Quote(append(out, `{"type":"tool_search_output","call_id":`...), call.CallID)
		return append(out, `,"status":"completed","execution":"client","tools":[]}`...)
	}
	return nil
}
