package transcripts

import (
	"strings"

	"github.com/plimsoll/plimsoll/window/wire"
)

// A Kind is a kind of content block or item that a dialect's public schema has, in the messages of a turn that it may
// stand in: behind a user's message and before the model's last words.
type Kind struct {
	Name string
	turn []string // # is an id of the turn, $ some words; what holds DECL declares tools or settings
	// Declares is true when the messages with a declaration are to stay; Replaced when only the newest of them are.
	Declares, Replaced bool
}

// Turn makes the messages of a turn; those that declare something come a second time in declares.
func (k Kind) Turn(id, words string) (messages, declares []string) {
	literal := wire.Quote(nil, words)
	words = string(literal[1 : len(literal)-1])
	for _, m := range k.turn {
		made := strings.NewReplacer("#", id, "$", words).Replace(m)
		messages = append(messages, made)
		if strings.Contains(m, "DECL") {
			declares = append(declares, made)
		}
	}
	return messages, declares
}

// Kinds returns all kinds of a dialect, and some that nobody knows yet: Anthropic's BetaContentBlockParam and OpenAI's
// ResponseInputItem, with its beta, as their Python SDKs had them in August 2026, and what their pages named since; Google's
// Part as its SDK had it in November 2026.
// Left out are those that hand the history to the provider: compaction, compaction_trigger, item_reference.
func Kinds(d wire.Dialect) []Kind {
	switch d {
	case wire.Messages:
		return blockKinds
	case wire.Responses:
		return itemKinds
	case wire.Gemini:
		return partKinds
	}
	return nil
}

func served(name, result string) []string {
	return []string{`{"role":"assistant","content":[{"type":"server_tool_use","id":"srv_#","name":"` + name + `","input":{"query":"$"}},{"type":"` + result + `","tool_use_id":"srv_#","content":{"type":"` + result + `_error","error_code":"unavailable"}}]}`}
}

var blockKinds = []Kind{
	{Name: "text", turn: []string{`{"role":"assistant","content":[{"type":"text","text":"$"}]}`}},
	{Name: "image", turn: []string{`{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + picture + `"}}]}`}},
	{Name: "document", turn: []string{`{"role":"user","content":[{"type":"document","source":{"type":"text","media_type":"text/plain","data":"$"}}]}`}},
	{Name: "search_result", turn: []string{`{"role":"user","content":[{"type":"search_result","source":"s","title":"t","content":[{"type":"text","text":"$"}]}]}`}},
	{Name: "container_upload", turn: []string{`{"role":"user","content":[{"type":"container_upload","file_id":"file_#"}]}`}},
	{Name: "thinking", turn: []string{`{"role":"assistant","content":[{"type":"thinking","thinking":"$","signature":"s"},{"type":"text","text":"$"}]}`}},
	{Name: "redacted_thinking", turn: []string{`{"role":"assistant","content":[{"type":"redacted_thinking","data":"x"},{"type":"text","text":"$"}]}`}},
	{Name: "fallback", turn: []string{`{"role":"assistant","content":[{"type":"text","text":"$"},{"type":"fallback","from":{"model":"a"},"to":{"model":"b"}},{"type":"text","text":"$"}]}`}},
	{Name: "tool_use", turn: []string{`{"role":"assistant","content":[{"type":"tool_use","id":"toolu_#","name":"f","input":{}}]}`, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_#","content":"$"}]}`}},
	{Name: "web_search_tool_result", turn: served("web_search", "web_search_tool_result")},
	{Name: "web_fetch_tool_result", turn: served("web_fetch", "web_fetch_tool_result")},
	{Name: "advisor_tool_result", turn: served("advisor", "advisor_tool_result")},
	{Name: "code_execution_tool_result", turn: []string{
		`{"role":"assistant","content":[{"type":"server_tool_use","id":"srv_#","name":"code_execution","input":{"code":"$"}},{"type":"tool_use","id":"toolu_#","name":"f","input":{},"caller":{"type":"code_execution_20260120","tool_id":"srv_#"}}]}`,
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_#","content":"$"}]}`,
		`{"role":"assistant","content":[{"type":"tool_use","id":"toolu_#b","name":"f","input":{},"caller":{"type":"code_execution_20260120","tool_id":"srv_#"}}]}`,
		`{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_#b","content":"$"}]}`,
		`{"role":"assistant","content":[{"type":"code_execution_tool_result","tool_use_id":"srv_#","content":{"type":"code_execution_result","stdout":"$","stderr":"","return_code":0,"content":[]}}]}`,
	}},
	{Name: "bash_code_execution_tool_result", turn: served("bash_code_execution", "bash_code_execution_tool_result")},
	{Name: "text_editor_code_execution_tool_result", turn: served("text_editor_code_execution", "text_editor_code_execution_tool_result")},
	{Name: "pause_turn", turn: []string{`{"role":"assistant","content":[{"type":"server_tool_use","id":"srv_#","name":"web_search","input":{"query":"$"}}]}`, `{"role":"assistant","content":[{"type":"web_search_tool_result","tool_use_id":"srv_#","content":[{"type":"web_search_result","title":"t","url":"u","encrypted_content":"$"}]}]}`}},
	{Name: "mcp_tool_use", turn: []string{`{"role":"assistant","content":[{"type":"mcp_tool_use","id":"mcp_#","name":"n","server_name":"s","input":{}},{"type":"tool_use","id":"toolu_#","name":"f","input":{}}]}`, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_#","content":"$"}]}`, `{"role":"assistant","content":[{"type":"mcp_tool_result","tool_use_id":"mcp_#","is_error":false,"content":[{"type":"text","text":"$"}]}]}`}},
	{Name: "tool_search_tool_result", Declares: true, turn: []string{`{"role":"assistant","content":[{"type":"server_tool_use","id":"srv_#","name":"tool_search_tool_bm25","input":{"query":"$"}},{"type":"tool_search_tool_result","tool_use_id":"srv_#","content":{"type":"tool_search_tool_search_result","tool_references":[{"type":"tool_reference","tool_name":"DECL_#"}]}}]}`}},
	{Name: "tool_reference", Declares: true, turn: []string{`{"role":"assistant","content":[{"type":"tool_use","id":"toolu_#","name":"ToolSearch","input":{"query":"$"}}]}`, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_#","content":[{"type":"tool_reference","tool_name":"DECL_#"},{"type":"tool_reference","tool_name":"DECL_#b"},{"type":"tool_reference","tool_name":"DECL_#c"},{"type":"tool_reference","tool_name":"DECL_#d"}]}]}`}},
	{Name: "tool_addition", Declares: true, turn: []string{`{"role":"system","content":[{"type":"tool_addition","tool":{"type":"tool_reference","name":"DECL_#"}}]}`}},
	{Name: "tool_definition", Declares: true, turn: []string{`{"role":"system","content":[{"type":"text","text":"$"},{"type":"tool_addition","tool":{"type":"tool_definition","definition":{"name":"DECL_#","description":"$","input_schema":{"type":"object"}}}}]}`}},
	{Name: "tool_removal", Declares: true, turn: []string{`{"role":"system","content":[{"type":"tool_removal","tool":{"type":"tool_reference","name":"DECL_#"}}]}`}},
	{Name: "mid_conv_system", Declares: true, turn: []string{`{"role":"user","content":[{"type":"mid_conv_system","content":[{"type":"text","text":"DECL_#"}]}]}`}},
	{Name: "panel_use", turn: []string{`{"role":"assistant","content":[{"type":"panel_use","id":"panel_#","question":"$"},{"type":"tool_use","id":"toolu_#","name":"f","input":{}}]}`, `{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_#","content":"$"}]}`, `{"role":"assistant","content":[{"type":"panel_result","tool_use_id":"panel_#","answers":["$"]}]}`}},
}

const thoughts = `{"type":"reasoning","id":"rs_#","summary":[],"encrypted_content":"x"}`

// What a tool at the provider was asked and found stands in one content of the model, or in those before and behind what the
// client's tools returned (ai.google.dev, "tool-combination").
var partKinds = []Kind{
	{Name: "text", turn: []string{`{"role":"model","parts":[{"text":"$"}]}`}},
	{Name: "thought", turn: []string{`{"role":"model","parts":[{"text":"$","thought":true},{"text":"$","thoughtSignature":"c2ln"}]}`}},
	{Name: "inlineData", turn: []string{`{"role":"user","parts":[{"inlineData":{"mimeType":"image/png","data":"` + picture + `"}}]}`}},
	{Name: "fileData", turn: []string{`{"role":"user","parts":[{"fileData":{"mimeType":"video/mp4","fileUri":"u"}}]}`}},
	{Name: "functionCall", turn: []string{`{"role":"model","parts":[{"functionCall":{"id":"call_#","name":"f","args":{}},"thoughtSignature":"c2ln"}]}`, `{"role":"user","parts":[{"functionResponse":{"id":"call_#","name":"f","response":{"output":"$"}}}]}`}},
	{Name: "toolCall", turn: []string{`{"role":"model","parts":[{"thoughtSignature":"c2ln","toolCall":{"toolType":"GOOGLE_SEARCH_WEB","args":{"queries":["$"]},"id":"tool_#"}},{"thoughtSignature":"c2lo","toolResponse":{"toolType":"GOOGLE_SEARCH_WEB","response":{"search_suggestions":"$"},"id":"tool_#"}},{"text":"$"}]}`}},
	{Name: "toolCall over contents", turn: []string{
		`{"role":"model","parts":[{"toolCall":{"toolType":"URL_CONTEXT","args":{"urls":["$"]},"id":"tool_#"},"thoughtSignature":"c2ln"},{"functionCall":{"id":"call_#","name":"f","args":{}},"thoughtSignature":"c2ln"}]}`,
		`{"role":"user","parts":[{"functionResponse":{"id":"call_#","name":"f","response":{"output":"$"}}}]}`,
		`{"role":"model","parts":[{"toolResponse":{"toolType":"URL_CONTEXT","response":{"urls_metadata":["$"]},"id":"tool_#"},"thoughtSignature":"c2lo"},{"text":"$"}]}`,
	}},
	{Name: "toolCall in pieces", turn: []string{`{"role":"model","parts":[{"tool_call":{"tool_type":"FILE_SEARCH","id":"tool_#"},"thought_signature":"c2ln"}]}`, `{"role":"model","parts":[{"tool_response":{"tool_type":"FILE_SEARCH","id":"tool_#"},"thought_signature":"c2lo"}]}`}},
	{Name: "executableCode", turn: []string{`{"role":"model","parts":[{"executableCode":{"id":"code_#","language":"PYTHON","code":"$"},"thoughtSignature":"c2ln"},{"codeExecutionResult":{"id":"code_#","outcome":"OUTCOME_OK","output":"$"}}]}`}},
	{Name: "executableCode in pieces", turn: []string{`{"role":"model","parts":[{"executableCode":{"id":"code_#","language":"PYTHON","code":"$"}}]}`, `{"role":"model","parts":[{"codeExecutionResult":{"id":"code_#","outcome":"OUTCOME_OK","output":"$"}},{"text":"$"}]}`}},
	{Name: "panelCall", turn: []string{
		`{"role":"model","parts":[{"panelCall":{"id":"panel_#","question":"$"}},{"functionCall":{"id":"call_#","name":"f","args":{}}}]}`,
		`{"role":"user","parts":[{"functionResponse":{"id":"call_#","name":"f","response":{"output":"$"}}}]}`,
		`{"role":"model","parts":[{"panelResult":{"id":"panel_#","answers":["$"]}}]}`,
	}},
}

var itemKinds = []Kind{
	{Name: "message", turn: []string{`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"$","annotations":[]}]}`}},
	{Name: "developer", turn: []string{`{"type":"message","role":"developer","content":[{"type":"input_text","text":"$"}]}`}},
	{Name: "reasoning", turn: []string{thoughts}},
	{Name: "function_call", turn: []string{thoughts, `{"type":"function_call","call_id":"call_#","name":"f","arguments":"{}"}`, `{"type":"function_call_output","call_id":"call_#","output":"$"}`}},
	{Name: "custom_tool_call", turn: []string{`{"type":"custom_tool_call","call_id":"call_#","name":"f","input":"$"}`, `{"type":"custom_tool_call_output","call_id":"call_#","output":"$"}`}},
	{Name: "local_shell_call", turn: []string{`{"type":"local_shell_call","id":"lsh_#","call_id":"call_#","action":{"type":"exec","command":["$"],"env":{}},"status":"completed"}`, `{"type":"local_shell_call_output","id":"call_#","output":"$"}`}},
	{Name: "shell_call", turn: []string{`{"type":"shell_call","call_id":"call_#","action":{"commands":["$"]},"status":"completed"}`, `{"type":"shell_call_output","call_id":"call_#","output":[{"stdout":"$","stderr":"","outcome":{"type":"exit","exit_code":0}}]}`}},
	{Name: "apply_patch_call", turn: []string{`{"type":"apply_patch_call","call_id":"call_#","operation":{"type":"update_file","path":"p","diff":"$"},"status":"completed"}`, `{"type":"apply_patch_call_output","call_id":"call_#","status":"completed","output":"$"}`}},
	{Name: "computer_call", turn: []string{`{"type":"computer_call","call_id":"call_#","action":{"type":"screenshot"},"status":"completed"}`, `{"type":"computer_call_output","call_id":"call_#","output":{"type":"computer_screenshot","image_url":"data:image/png;base64,` + picture + `"}}`}},
	{Name: "web_search_call", turn: []string{`{"type":"web_search_call","id":"ws_#","status":"completed","action":{"type":"search","query":"$"}}`}},
	{Name: "file_search_call", turn: []string{`{"type":"file_search_call","id":"fs_#","status":"completed","queries":["$"],"results":null}`}},
	{Name: "image_generation_call", turn: []string{`{"type":"image_generation_call","id":"ig_#","status":"completed","result":"` + picture + `"}`}},
	{Name: "code_interpreter_call", turn: []string{`{"type":"code_interpreter_call","id":"ci_#","status":"completed","container_id":"c","code":"$","outputs":[{"type":"logs","logs":"$"}]}`}},
	{Name: "mcp_call", turn: []string{`{"type":"mcp_call","id":"mcp_#","server_label":"s","name":"n","arguments":"{}","output":"$"}`}},
	{Name: "mcp_approval_request", turn: []string{`{"type":"mcp_approval_request","id":"mcpr_#","server_label":"s","name":"n","arguments":"{}"}`, `{"type":"message","role":"user","content":"$"}`, `{"type":"mcp_approval_response","approval_request_id":"mcpr_#","approve":true}`, `{"type":"mcp_call","id":"mcp_#","approval_request_id":"mcpr_#","server_label":"s","name":"n","arguments":"{}","output":"$"}`}},
	{Name: "mcp_list_tools", Declares: true, turn: []string{`{"type":"mcp_list_tools","id":"mcpl_#","server_label":"s","tools":[{"name":"DECL_#","description":"$","input_schema":{"type":"object"}}]}`}},
	{Name: "tool_search_output", Declares: true, turn: []string{`{"type":"tool_search_call","call_id":"call_#","execution":"client","arguments":{"query":"$"},"status":"completed"}`, `{"type":"tool_search_output","call_id":"call_#","execution":"client","status":"completed","tools":[{"type":"namespace","name":"mcp__db","description":"$","tools":[{"type":"function","name":"DECL_#","parameters":{"type":"object"}}]}]}`}},
	{Name: "tool_search_output of the server", Declares: true, turn: []string{thoughts, `{"type":"tool_search_call","id":"tsc_#","call_id":null,"execution":"server","arguments":{"query":"$"},"status":"completed"}`, `{"type":"tool_search_output","id":"tso_#","call_id":null,"execution":"server","status":"completed","tools":[{"type":"function","name":"DECL_#","parameters":{"type":"object"}}]}`, `{"type":"function_call","call_id":"call_#","name":"DECL_#","arguments":"{}"}`, `{"type":"function_call_output","call_id":"call_#","output":"$"}`}},
	{Name: "additional_tools", Declares: true, turn: []string{`{"type":"additional_tools","role":"developer","tools":[{"type":"function","name":"DECL_#","description":"$","parameters":{"type":"object"}}]}`}},
	{Name: "configuration_update", Declares: true, Replaced: true, turn: []string{`{"type":"configuration_update","id":"DECL_#","reasoning":{"effort":"high"}}`, `{"type":"message","role":"user","content":"$"}`}},
	{Name: "program", turn: []string{
		thoughts, `{"type":"program","id":"prog_#","call_id":"call_#","code":"$","fingerprint":"x"}`,
		`{"type":"function_call","call_id":"call_#b","name":"f","arguments":"{}","caller":{"type":"program","caller_id":"call_#"}}`, `{"type":"function_call_output","call_id":"call_#b","output":"$","caller":{"type":"program","caller_id":"call_#"}}`,
		`{"type":"function_call","call_id":"call_#c","name":"f","arguments":"{}","caller":{"type":"program","caller_id":"call_#"}}`, `{"type":"function_call_output","call_id":"call_#c","output":"$","caller":{"type":"program","caller_id":"call_#"}}`,
		`{"type":"program_output","id":"po_#","call_id":"call_#","result":"$","status":"completed"}`,
	}},
	{Name: "multi_agent_call", turn: []string{`{"type":"multi_agent_call","call_id":"call_#","action":"spawn_agent","arguments":"{}"}`, `{"type":"agent_message","id":"am_#","author":"a","recipient":"b","content":[{"type":"input_text","text":"$"}]}`, `{"type":"multi_agent_call_output","call_id":"call_#","action":"spawn_agent","output":[{"type":"output_text","text":"$"}]}`}},
	{Name: "panel", turn: []string{`{"type":"panel_request","id":"panel_#","question":"$"}`, `{"type":"function_call","call_id":"call_#","name":"f","arguments":"{}"}`, `{"type":"function_call_output","call_id":"call_#","output":"$"}`, `{"type":"panel_response","call_id":"panel_#","answers":["$"]}`}},
}
