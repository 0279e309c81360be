package wire

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// Pieces of histories, so that the tables below read as the order of their parts.
const (
	chatUser   = `{"role":"user","content":"do it"}`
	chatSystem = `{"role":"system","content":"be brief"}`
	chatDone   = `{"role":"assistant","content":"done"}`

	claudeUser = `{"role":"user","content":"do it"}`
	claudeDone = `{"role":"assistant","content":[{"type":"text","text":"done"}]}`
	claudeNote = `{"role":"system","content":"a note"}`
	thinking   = `{"type":"thinking","thinking":"hm","signature":"c2ln"}`
	textBlock  = `{"type":"text","text":"and then"}`

	itemUser = `{"type":"message","role":"user","content":[{"type":"input_text","text":"do it"}]}`
	itemDone = `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"done"}]}`
	itemRS   = `{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"x"}`

	gemUser = `{"role":"user","parts":[{"text":"do it"}]}`
	gemDone = `{"role":"model","parts":[{"text":"done"}]}`
)

func chatCalls(ids ...string) string {
	var calls []string
	for _, id := range ids {
		calls = append(calls, fmt.Sprintf(`{"id":%q,"type":"function","function":{"name":"ls","arguments":"{}"}}`, id))
	}
	return `{"role":"assistant","content":null,"tool_calls":[` + strings.Join(calls, ",") + `]}`
}

func chatTool(id string) string {
	return fmt.Sprintf(`{"role":"tool","tool_call_id":%q,"content":"ok"}`, id)
}

func use(id string) string {
	return fmt.Sprintf(`{"type":"tool_use","id":%q,"name":"ls","input":{}}`, id)
}

func result(id string) string {
	return fmt.Sprintf(`{"type":"tool_result","tool_use_id":%q,"content":"ok"}`, id)
}

func script(id string) string {
	return fmt.Sprintf(`{"type":"server_tool_use","id":%q,"name":"code_execution","input":{}}`, id)
}

func found(id string) string {
	return fmt.Sprintf(`{"type":"code_execution_tool_result","tool_use_id":%q,"content":{"type":"code_execution_result","stdout":"1"}}`, id)
}

func claude(role string, blocks ...string) string {
	return fmt.Sprintf(`{"role":%q,"content":[%s]}`, role, strings.Join(blocks, ","))
}

func itemCall(id string) string {
	return fmt.Sprintf(`{"type":"function_call","call_id":%q,"name":"ls","arguments":"{}"}`, id)
}

func itemOut(id string) string {
	return fmt.Sprintf(`{"type":"function_call_output","call_id":%q,"output":"ok"}`, id)
}

// gem is a turn: "ls" is a call of ls, "ls#1" one with an id; in user turns, responses.
func gem(role string, names ...string) string {
	kind, value := "functionCall", "args"
	if role == "user" {
		kind, value = "functionResponse", "response"
	}
	var parts []string
	for _, name := range names {
		name, id, _ := strings.Cut(name, "#")
		field := ""
		if id != "" {
			field = fmt.Sprintf(`"id":%q,`, id)
		}
		parts = append(parts, fmt.Sprintf(`{%q:{%s"name":%q,%q:{}}}`, kind, field, name, value))
	}
	return fmt.Sprintf(`{"role":%q,"parts":[%s]}`, role, strings.Join(parts, ","))
}

func list(name string, elements ...string) string {
	return fmt.Sprintf(`{"model":"m",%q:[%s]}`, name, strings.Join(elements, ","))
}

type ruling struct {
	dialect Dialect
	name    string
	body    string
	rule    string // "" for a valid body
	place   string
	id      string
	words   string // part of the provider's own words
}

func TestChatRules(t *testing.T) {
	m := func(elements ...string) string { return list("messages", elements...) }
	rule(t, []ruling{
		{Chat, "plain", m(chatSystem, chatUser, chatDone, chatUser), "", "", "", ""},
		{Chat, "parallel calls, any order", m(chatUser, chatCalls("a", "b"), chatTool("b"), chatTool("a"), chatDone), "", "", "", ""},
		{Chat, "an id used again later", m(chatUser, chatCalls("a"), chatTool("a"), chatCalls("a"), chatTool("a")), "", "", "", ""},
		{Chat, "null tool_calls", m(chatUser, `{"role":"assistant","content":"x","tool_calls":null}`), "", "", "", ""},
		{Chat, "legacy function", m(chatUser, `{"role":"assistant","content":null,"function_call":{"name":"f","arguments":""}}`, `{"role":"function","name":"f","content":"x"}`), "", "", "", ""},
		{Chat, "call without result", m(chatUser, chatCalls("a", "b"), chatTool("a"), chatUser), RuleOrphanCall, "messages.1", "b", "must be followed by tool messages"},
		{Chat, "open at the end", m(chatUser, chatCalls("a")), RuleOrphanCall, "messages.1", "a", "did not have response messages: a"},
		{Chat, "text in between", m(chatUser, chatCalls("a"), chatUser, chatTool("a")), RuleOrphanCall, "messages.1", "a", ""},
		{Chat, "result without call", m(chatUser, chatTool("a")), RuleOrphanResult, "messages.1", "a", "must be a response to a preceeding message with 'tool_calls'"},
		{Chat, "late result", m(chatUser, chatCalls("a"), chatTool("a"), chatDone, chatTool("a")), RuleAdjacency, "messages.4", "a", "preceeding"},
		{Chat, "two results", m(chatUser, chatCalls("a"), chatTool("a"), chatTool("a")), RuleDuplicateResult, "messages.3", "a", ""},
		{Chat, "two calls of one id", m(chatUser, chatCalls("a", "a"), chatTool("a")), RuleDuplicateCall, "messages.1.tool_calls.1", "a", ""},
		{Chat, "empty calls", m(chatUser, `{"role":"assistant","content":"x","tool_calls":[]}`), RuleEmptyCalls, "messages.1.tool_calls", "", "'messages[1].tool_calls': empty array"},
		{Chat, "null content", m(chatUser, `{"role":"assistant","content":null}`), RuleContentNull, "messages.1.content", "", "null"},
		{Chat, "no messages", m(), RuleEmptyHistory, "messages", "", "empty array"},
		{Chat, "role", m(`{"role":"model","content":"x"}`), RuleRole, "messages.0.role", "", "'model'"},
		{Chat, "arguments are an object", m(chatUser, `{"role":"assistant","tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":{}}}]}`, chatTool("a")), RuleShape, "messages.1.tool_calls.0.function.arguments", "a", ""},
		{Chat, "half a call", m(chatUser, strings.Replace(chatCalls("a"), `"{}"`, `"{\"x\":"`, 1), chatTool("a")), RuleArguments, "messages.1.tool_calls.0.function.arguments", "a", "valid JSON"},
		{Chat, "no arguments", m(chatUser, strings.Replace(chatCalls("a"), `"{}"`, `""`, 1), chatTool("a")), "", "", "", ""},
		{Chat, "not JSON", `{"messages":[}`, RuleJSON, "body", "", "parse"},
		{Chat, "case of a name", `{"Messages":[` + chatUser + `]}`, RuleShape, "messages", "", ""},
	})
}

func TestResponsesRules(t *testing.T) {
	in := func(elements ...string) string { return list("input", elements...) }
	custom := `{"type":"custom_tool_call","call_id":"c","name":"apply_patch","input":"x"}`
	customOut := `{"type":"custom_tool_call_output","call_id":"c","output":"ok"}`
	shell := `{"type":"local_shell_call","call_id":"s","id":"ls_1","action":{},"status":"completed"}`
	rule(t, []ruling{
		{Responses, "a string", `{"input":"do it"}`, "", "", "", ""},
		{Responses, "output anywhere later", in(itemUser, itemCall("a"), itemCall("b"), itemOut("b"), itemDone, itemUser, itemOut("a")), "", "", "", ""},
		{Responses, "reasoning, call, output", in(itemUser, itemRS, itemCall("a"), itemOut("a"), itemDone), "", "", "", ""},
		{Responses, "custom and shell", in(itemUser, custom, customOut, shell, `{"type":"function_call_output","call_id":"s","output":"ok"}`), "", "", "", ""},
		{Responses, "notes of a custom call", in(itemUser, custom, customOut, itemDone, customOut), "", "", "", ""},
		{Responses, "computer", in(itemUser, `{"type":"computer_call","call_id":"p","action":{}}`, `{"type":"computer_call_output","call_id":"p","output":{}}`), "", "", "", ""},
		{Responses, "hosted call", in(itemUser, `{"type":"web_search_call","id":"ws_1","status":"completed"}`, itemDone), "", "", "", ""},
		{Responses, "an id used again later", in(itemUser, itemCall("a"), itemOut("a"), itemCall("a"), itemOut("a")), "", "", "", ""},
		{Responses, "history elsewhere", `{"previous_response_id":"resp_1","input":[` + itemOut("a") + `]}`, "", "", "", ""},
		{Responses, "compaction", in(`{"type":"compaction","encrypted_content":"x"}`, itemUser, itemRS, `{"type":"compaction_trigger"}`), "", "", "", ""},
		{Responses, "a program", in(itemUser, itemRS, `{"type":"program","id":"p","call_id":"c","code":"1","fingerprint":"f"}`, itemCall("a"), itemOut("a"), `{"type":"program_output","id":"q","call_id":"c","result":"1"}`, itemDone), "", "", "", ""},
		{Responses, "an approval", in(itemUser, `{"type":"mcp_approval_request","id":"r"}`, `{"type":"mcp_approval_response","approval_request_id":"r","approve":true}`, itemDone), "", "", "", ""},
		{Responses, "a request nobody approved", in(itemUser, `{"type":"mcp_approval_request","id":"r"}`, itemUser), RuleOrphanCall, "input.1", "r", "requests do not have an approval: r"},
		{Responses, "a request that waits", in(itemUser, `{"type":"mcp_approval_request","id":"r"}`), "", "", "", ""},
		{Responses, "an approval behind words", in(itemUser, `{"type":"mcp_approval_request","id":"r"}`, itemUser, `{"type":"mcp_approval_response","approval_request_id":"r","approve":true}`), "", "", "", ""},
		{Responses, "a program's output without it", in(itemUser, `{"type":"program_output","id":"q","call_id":"c","result":"1"}`), RuleOrphanResult, "input.1", "c", ""},
		{Responses, "an approval of nothing", in(itemUser, `{"type":"mcp_approval_response","approval_request_id":"r","approve":true}`), RuleOrphanResult, "input.1", "r", ""},
		{Responses, "an output of tomorrow's without its call", in(itemUser, `{"type":"panel_output","call_id":"c"}`), RuleOrphanResult, "input.1", "c", ""},
		{Responses, "call without output", in(itemUser, itemCall("a"), itemDone), RuleOrphanCall, "input.1", "a", "No tool output found for function call a."},
		{Responses, "custom call without output", in(itemUser, custom), RuleOrphanCall, "input.1", "c", "No tool output found for custom tool call c."},
		{Responses, "output without call", in(itemUser, itemOut("a")), RuleOrphanResult, "input.1", "a", "No tool call found for function call output with call_id a."},
		{Responses, "output before its call", in(itemUser, itemOut("a"), itemCall("a")), RuleOrphanResult, "input.1", "a", ""},
		{Responses, "output of another kind", in(itemUser, itemCall("c"), customOut), RuleOrphanResult, "input.2", "c", "No tool call found for custom tool call output with call_id c."},
		{Responses, "two outputs", in(itemUser, itemCall("a"), itemOut("a"), itemOut("a")), RuleDuplicateResult, "input.3", "a", ""},
		{Responses, "two open calls", in(itemUser, itemCall("a"), itemCall("a"), itemOut("a")), RuleDuplicateCall, "input.2", "a", "Duplicate item found with id a"},
		{Responses, "reasoning before a user", in(itemUser, itemRS, itemUser), RuleReasoningFollow, "input.1", "rs_1", "Item 'rs_1' of type 'reasoning' was provided without its required following item."},
		{Responses, "reasoning before an output", in(itemUser, itemCall("a"), itemRS, itemOut("a")), RuleReasoningFollow, "input.2", "rs_1", ""},
		{Responses, "reasoning at the end", in(itemUser, itemRS), RuleReasoningFollow, "input.1", "rs_1", ""},
		{Responses, "half a call", in(itemUser, strings.Replace(itemCall("a"), `"{}"`, `"{"`, 1), itemOut("a")), RuleArguments, "input.1.arguments", "a", "valid JSON"},
		{Responses, "empty", in(), RuleEmptyHistory, "input", "", ""},
	})
}

func TestMessagesRules(t *testing.T) {
	m := func(elements ...string) string { return list("messages", elements...) }
	on := func(elements ...string) string {
		return `{"thinking":{"type":"enabled","budget_tokens":1024},` + m(elements...)[1:]
	}
	mark := `{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}`
	rule(t, []ruling{
		{Messages, "no alternation", m(claudeUser, claudeUser, claudeNote, claudeDone, claudeDone, claudeUser), "", "", "", ""},
		{Messages, "parallel, any order, text behind", m(claudeUser, claude("assistant", textBlock, use("a"), use("b")), claude("user", result("b"), result("a"), textBlock)), "", "", "", ""},
		{Messages, "a tool loop is one turn", on(claudeUser, claude("assistant", thinking, use("a")), claude("user", result("a")), claude("assistant", use("b")), claude("user", result("b"))), "", "", "", ""},
		{Messages, "a reminder beside results starts no turn", on(claudeUser, claude("assistant", thinking, use("a")), claude("user", result("a"), textBlock), claude("assistant", use("b")), claude("user", result("b"))), "", "", "", ""},
		{Messages, "nor does a message right behind them", on(claudeUser, claude("assistant", thinking, use("a")), claude("user", result("a")), claudeUser, claude("assistant", use("b")), claude("user", result("b"))), "", "", "", ""},
		{Messages, "a new turn has thinking of its own", on(claudeUser, claude("assistant", thinking, use("a")), claude("user", result("a")), claudeDone, claudeUser, claude("assistant", use("b")), claude("user", result("b"))), RuleThinkingFirst, "messages.5.content.0", "", ""},
		{Messages, "older turns may lose thinking", on(claudeUser, claude("assistant", use("a")), claude("user", result("a")), claudeDone, claudeUser), "", "", "", ""},
		{Messages, "thinking off", m(claudeUser, claude("assistant", use("a")), claude("user", result("a"))), "", "", "", ""},
		{Messages, "server tools", m(claudeUser, claude("assistant", `{"type":"server_tool_use","id":"srv","name":"web_search","input":{}}`, `{"type":"web_search_tool_result","tool_use_id":"srv","content":[]}`, textBlock)), "", "", "", ""},
		{Messages, "a script that calls tools", m(claudeUser, claude("assistant", script("srv"), use("a")), claude("user", result("a")), claude("assistant", use("b")), claude("user", result("b")), claude("assistant", found("srv"), textBlock), claudeUser), "", "", "", ""},
		{Messages, "a script that runs", m(claudeUser, claude("assistant", script("srv"), use("a")), claude("user", result("a"))), "", "", "", ""},
		{Messages, "a turn that was paused", m(claudeUser, claude("assistant", script("srv"))), "", "", "", ""},
		{Messages, "a block that is no half of a pair", m(claude("user", `{"type":"search_result","source":"s","title":"t","content":[]}`), claude("assistant", `{"type":"panel_result"}`)), "", "", "", ""},
		{Messages, "a script's result without its call", m(claudeUser, claude("assistant", found("srv"), textBlock), claudeUser), RuleOrphanResult, "messages.1.content.0", "srv", "unexpected `tool_use_id` found in `code_execution_tool_result` blocks: srv. Each `code_execution_tool_result` block must have a corresponding `server_tool_use` block before it."},
		{Messages, "a result of tomorrow's without its call", m(claudeUser, claude("assistant", `{"type":"panel_result","tool_use_id":"p"}`)), RuleOrphanResult, "messages.1.content.0", "p", ""},
		{Messages, "a script whose turn ended", m(claudeUser, claude("assistant", script("srv"), textBlock), claudeUser), RuleOrphanCall, "messages.1.content.0", "srv", "messages.1: `code_execution` tool use with id `srv` was found without a corresponding `code_execution_tool_result` block"},
		{Messages, "a script's result in another turn", m(claudeUser, claude("assistant", script("srv"), found("srv")), claudeUser, claude("assistant", found("srv"))), RuleAdjacency, "messages.3.content.0", "srv", "before it"},
		{Messages, "words beside a result for a script", m(claudeUser, claude("assistant", script("srv"), use("a")), claude("user", result("a"), textBlock), claude("assistant", found("srv"))), RuleOrphanCall, "messages.1.content.0", "srv", ""},
		{Messages, "call without result", m(claudeUser, claude("assistant", use("a"), use("b")), claude("user", result("a"))), RuleOrphanCall, "messages.1", "b", "messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: b."},
		{Messages, "results in two messages", m(claudeUser, claude("assistant", use("a"), use("b")), claude("user", result("a")), claude("user", result("b"))), RuleOrphanCall, "messages.1", "b", ""},
		{Messages, "system in between", m(claudeUser, claude("assistant", use("a")), claudeNote, claude("user", result("a"))), RuleOrphanCall, "messages.1", "a", ""},
		{Messages, "open at the end", m(claudeUser, claude("assistant", use("a"), use("b"))), RuleOrphanCall, "messages.1", "a", "immediately after: a, b."},
		{Messages, "result without call", m(claudeUser, claude("user", textBlock, result("a"))), RuleOrphanResult, "messages.1.content.1", "a", "messages.1.content.1: unexpected `tool_use_id` found in `tool_result` blocks: a."},
		{Messages, "late result", m(claudeUser, claude("assistant", use("a")), claude("user", result("a")), claudeDone, claude("user", result("a"))), RuleDuplicateResult, "messages.4.content.0", "a", "single result"},
		{Messages, "result not directly after", m(claudeUser, claude("assistant", use("a")), claudeUser, claude("user", result("a"))), RuleOrphanCall, "messages.1", "a", ""},
		{Messages, "two results", m(claudeUser, claude("assistant", use("a")), claude("user", result("a"), result("a"))), RuleDuplicateResult, "messages.2.content.1", "a", "Found multiple `tool_result` blocks with id: a"},
		{Messages, "two calls of one id", m(claudeUser, claude("assistant", use("a")), claude("user", result("a")), claude("assistant", use("a")), claude("user", result("a"))), RuleDuplicateCall, "messages.3.content.0", "a", "must be unique"},
		{Messages, "text before result", m(claudeUser, claude("assistant", use("a")), claude("user", textBlock, result("a"))), RuleResultsFirst, "messages.2.content.1", "a", "messages.2: `tool_use` ids were found"},
		{Messages, "compacted", m(`{"role":"assistant","content":[{"type":"compaction","content":"c","signature":"s"}]}`, claudeDone, claudeUser), "", "", "", ""},
		{Messages, "assistant first", m(claudeDone, claudeUser), RuleRoleFirst, "messages.0", "", `first message must use the "user" role`},
		{Messages, "result of the assistant", m(claudeUser, claude("assistant", result("a"))), RuleBlockRole, "messages.1.content.0", "", "`tool_result` blocks can only be in `user` messages"},
		{Messages, "lost thinking", on(claudeUser, claude("assistant", textBlock, use("a")), claude("user", result("a"))), RuleThinkingFirst, "messages.1.content.0", "", "Expected `thinking` or `redacted_thinking`, but found `text`"},
		{Messages, "only thinking", m(claudeUser, claude("assistant", thinking), claudeUser), RuleThinkingLast, "messages.1", "", "cannot be `thinking`"},
		{Messages, "empty text", m(claude("user", `{"type":"text","text":""}`)), RuleEmptyText, "messages.0.content.0", "", "must be non-empty"},
		{Messages, "white text", m(claude("user", `{"type":"text","text":" \n"}`)), RuleEmptyText, "messages.0.content.0", "", "non-whitespace"},
		{Messages, "empty content", m(claude("user"), claudeDone), RuleEmptyContent, "messages.0", "", "non-empty content"},
		{Messages, "prefill with space", m(claudeUser, `{"role":"assistant","content":"so "}`), RuleTrailingSpace, "messages.1", "", "trailing whitespace"},
		{Messages, "failed in silence", m(claudeUser, claude("assistant", use("a")), claude("user", `{"type":"tool_result","tool_use_id":"a","content":[],"is_error":true}`)), RuleSilentError, "messages.2.content.0", "a", "content cannot be empty"},
		{Messages, "failed with words", m(claudeUser, claude("assistant", use("a")), claude("user", `{"type":"tool_result","tool_use_id":"a","content":"no","is_error":true}`)), "", "", "", ""},
		{Messages, "five marks", m(claude("user", mark, mark, mark, mark, mark)), RuleCacheMarks, "messages", "", "maximum of 4"},
		{Messages, "id pattern", m(claudeUser, claude("assistant", use("a.b")), claude("user", result("a.b"))), RuleID, "messages.1.content.0.tool_use.id", "a.b", "should match pattern"},
		{Messages, "input is a string", m(claudeUser, claude("assistant", `{"type":"tool_use","id":"a","name":"ls","input":"x"}`), claude("user", result("a"))), RuleShape, "messages.1.content.0.tool_use.input", "a", ""},
	})
}

// googles makes a content of the model's with what a tool at the provider was asked and found, and calls of the client's.
func googles(call, response string, names ...string) string {
	var parts []string
	for _, kind := range []string{call, response} {
		if kind != "" {
			parts = append(parts, `{"`+kind+`":{"id":"t"}}`)
		}
	}
	for _, name := range names {
		parts = append(parts, fmt.Sprintf(`{"functionCall":{"name":%q,"args":{}}}`, name))
	}
	return `{"role":"model","parts":[` + strings.Join(parts, ",") + `]}`
}

func TestGeminiRules(t *testing.T) {
	m := func(elements ...string) string { return list("contents", elements...) }
	rule(t, []ruling{
		{Gemini, "plain", m(gemUser, gemDone, gemUser), "", "", "", ""},
		{Gemini, "no role", m(`{"parts":[{"text":"x"}]}`), "", "", "", ""},
		{Gemini, "parallel by order", m(gemUser, gem("model", "ls", "cat"), gem("user", "ls", "cat"), gem("model", "ls"), gem("user", "ls")), "", "", "", ""},
		{Gemini, "parallel by id", m(gemUser, gem("model", "ls#1", "cat#2"), gem("user", "cat#2", "ls#1")), "", "", "", ""},
		{Gemini, "ids that no call has", m(gemUser, gem("model", "ls", "cat"), gem("user", "ls#x", "cat#y")), "", "", "", ""},
		{Gemini, "snake case", m(gemUser, `{"role":"model","parts":[{"function_call":{"name":"ls","args":{}}}]}`, gem("user", "ls")), "", "", "", ""},
		{Gemini, "call without response", m(gemUser, gem("model", "ls"), gemUser), RuleOrphanCall, "contents.1", "", "number of function response parts is equal"},
		{Gemini, "open at the end", m(gemUser, gem("model", "ls")), RuleOrphanCall, "contents.1", "", ""},
		{Gemini, "too few responses", m(gemUser, gem("model", "ls", "cat"), gem("user", "ls")), RuleResultCount, "contents.2", "", "number of function response parts is equal"},
		{Gemini, "response without call", m(gemUser, gem("user", "ls")), RuleOrphanResult, "contents.1", "", "immediately after a function call turn"},
		{Gemini, "second response turn", m(gemUser, gem("model", "ls"), gem("user", "ls"), gem("user", "ls")), RuleOrphanResult, "contents.3", "", ""},
		{Gemini, "other name", m(gemUser, gem("model", "ls"), gem("user", "cat")), RuleResultName, "contents.2.parts.0", "", ""},
		{Gemini, "call turn first", m(gem("model", "ls"), gem("user", "ls")), RuleCallTurn, "contents.0", "", "immediately after a user turn"},
		{Gemini, "call turn after a model turn", m(gemUser, gemDone, gem("model", "ls"), gem("user", "ls")), RuleCallTurn, "contents.2", "", ""},
		{Gemini, "role", m(`{"role":"assistant","parts":[{"text":"x"}]}`), RuleRole, "contents.0.role", "", "valid role"},
		{Gemini, "no parts", m(`{"role":"user","parts":[]}`), RuleEmptyContent, "contents.0.parts", "", "must not be empty"},
		{Gemini, "response of the model", m(gemUser, gem("model", "ls"), `{"role":"model","parts":[{"functionResponse":{"name":"ls","response":{}}}]}`), RuleBlockRole, "contents.2.parts.0", "", ""},
		{Gemini, "a search", m(gemUser, googles("toolCall", "toolResponse"), gemUser), "", "", "", ""},
		{Gemini, "a search over borders", m(gemUser, googles("tool_call", "", "ls"), gem("user", "ls"), googles("", "tool_response"), gemUser), "", "", "", ""},
		{Gemini, "a search under way", m(gemUser, googles("toolCall", "", "ls"), gem("user", "ls")), "", "", "", ""},
		{Gemini, "half a search", m(gemUser, googles("toolCall", ""), gemUser), RuleOrphanCall, "contents.1.parts.0", "t", "toolCall part without its response: t"},
		{Gemini, "words beside a result for a search", m(gemUser, googles("toolCall", "", "ls"), `{"role":"user","parts":[{"functionResponse":{"name":"ls","response":{}}},{"text":"and"}]}`, googles("", "toolResponse")), RuleOrphanCall, "contents.1.parts.0", "t", ""},
		{Gemini, "what was found for nobody", m(gemUser, googles("", "toolResponse"), gemUser), RuleOrphanResult, "contents.1.parts.0", "t", "toolResponse part without its call: t"},
		{Gemini, "what was found in another turn", m(gemUser, googles("toolCall", "toolResponse"), gemUser, googles("", "toolResponse")), RuleAdjacency, "contents.3.parts.0", "t", ""},
		{Gemini, "what was found for what is kept", `{"cachedContent":"c","contents":[` + googles("", "toolResponse") + `,` + gemUser + `]}`, "", "", "", ""},
		{Gemini, "code without ids", m(gemUser, `{"role":"model","parts":[{"executableCode":{"language":"PYTHON","code":"1"}}]}`, gemUser), "", "", "", ""},
		{Gemini, "nothing", m(), RuleEmptyHistory, "contents", "", "not specified"},
	})
}

func rule(t *testing.T, rulings []ruling) {
	t.Helper()
	for _, r := range rulings {
		t.Run(r.name, func(t *testing.T) {
			err := Validate(r.dialect, []byte(r.body))
			if r.rule == "" {
				if err != nil {
					t.Fatalf("%s is refused: %v", r.body, err)
				}
				return
			}
			invalid, ok := errors.AsType[*Invalid](err)
			if !ok {
				t.Fatalf("%s: %v, want %s", r.body, err, r.rule)
			}
			if invalid.Rule != r.rule || invalid.Place != r.place || invalid.ID != r.id {
				t.Errorf("%s: got %s at %s of %q, want %s at %s of %q", r.body, invalid.Rule, invalid.Place, invalid.ID, r.rule, r.place, r.id)
			}
			if words := invalid.ProviderText(r.dialect); !strings.Contains(words, r.words) {
				t.Errorf("in the provider's words: %q, want %q in it", words, r.words)
			}
		})
	}
}

// What real clients sent, and real providers answered, breaks no rule.
func TestRecordedRequestsAreValid(t *testing.T) {
	for name, r := range recorded(t) {
		if err := Validate(r.Dialect, r.Body); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestBedrockIDs(t *testing.T) {
	for _, long := range []int{1, 64, 65} {
		id := strings.Repeat("x", long)
		body := []byte(list("messages", claudeUser, claude("assistant", use(id)), claude("user", result(id))))
		if err := Validate(Messages, body); err != nil {
			t.Errorf("%d characters, Anthropic: %v", long, err)
		}
		invalid, _ := errors.AsType[*Invalid](ValidateBedrock(body))
		if (invalid != nil && invalid.Rule == RuleIDLength) != (long > 64) {
			t.Errorf("%d characters, Bedrock: %v", long, invalid)
		}
	}
}

func TestBedrockWords(t *testing.T) {
	long := strings.Repeat("x", 65)
	for body, want := range map[string]string{
		list("messages", claudeUser, claude("assistant", use("a"), use("b"))):                        "Expected toolResult blocks at messages.2.content for the following Ids: a, b",
		list("messages", claudeUser, claude("user", result("a"))):                                    "The number of toolResult blocks at messages.1.content exceeds",
		list("messages", claudeUser, claude("assistant", use(long)), claude("user", result(long))):   "Member must have length less than or equal to 64",
		list("messages", claudeUser, claude("assistant", use("a.b")), claude("user", result("a.b"))): "[a-zA-Z0-9_-]+",
		list("messages", claudeDone): "first message must use",
	} {
		invalid, _ := errors.AsType[*Invalid](ValidateBedrock([]byte(body)))
		if invalid == nil || !strings.Contains(invalid.BedrockText(), want) {
			t.Errorf("%s: %v, want %q", body, invalid, want)
		}
	}
}

// An edit answers for what it broke, and for nothing else.
func TestValidateEdit(t *testing.T) {
	odd := list("messages", claude("user", `{"type":"text","text":""}`), claude("assistant", use("a")), claude("user", result("a")))
	worse := list("messages", claude("user", `{"type":"text","text":""}`), claude("assistant", use("a")))
	if err := ValidateEdit(Messages, []byte(odd), []byte(odd)); err != nil {
		t.Errorf("an unchanged body: %v", err)
	}
	invalid, _ := errors.AsType[*Invalid](ValidateEdit(Messages, []byte(odd), []byte(worse)))
	if invalid == nil || invalid.Rule != RuleOrphanCall {
		t.Errorf("a result was cut: %v, want %s", invalid, RuleOrphanCall)
	}
}

func TestValidateSurvivesHostileBodies(t *testing.T) {
	deep := strings.Repeat("[", 100_000)
	many := strings.Repeat(use("a")+",", 20_000) + use("b")
	for _, d := range []Dialect{Chat, Responses, Messages, Gemini} {
		for _, body := range []string{
			"", "null", "[]", "7", deep, `{"messages":` + deep, `{"messages":null,"input":null,"contents":null}`,
			`{"messages":[null,1,"x"],"input":[null,1,"x"],"contents":[null,1,"x"]}`, "{\"messages\":[\xff]}",
			`{"messages":[{"role":1e999}],"input":[{"type":{}}],"contents":[{"role":[],"parts":{}}]}`,
		} {
			if err := Validate(d, []byte(body)); err == nil {
				t.Errorf("%s accepts %.40q", d, body)
			}
		}
		if found := inspect(d, []byte(list("messages", claudeUser, claude("assistant", many)))); len(found) > maxFindings {
			t.Errorf("%s kept %d findings, more than %d", d, len(found), maxFindings)
		}
	}
}

func FuzzValidate(f *testing.F) {
	f.Add(byte(Chat), []byte(list("messages", chatUser, chatCalls("a", "b"), chatTool("b"), chatTool("c"))))
	f.Add(byte(Responses), []byte(list("input", itemUser, itemRS, itemCall("a"), itemOut("b"))))
	f.Add(byte(Messages), []byte(list("messages", claudeUser, claude("assistant", thinking, use("a")), claude("user", textBlock, result("a")))))
	f.Add(byte(Gemini), []byte(list("contents", gemUser, gem("model", "ls#1", "cat"), gem("user", "cat", "ls"))))
	f.Fuzz(func(t *testing.T, dialect byte, body []byte) {
		d := Dialect(dialect%4) + Chat
		err := Validate(d, body)
		for _, i := range inspect(d, body) {
			if i.Rule == "" || i.Place == "" || i.Error() == "" || i.ProviderText(d) == "" {
				t.Fatalf("a finding that says nothing: %#v", i)
			}
		}
		if (err == nil) != (ValidateEdit(d, []byte("{}"), body) == nil) && err == nil {
			t.Fatalf("valid, and yet a worse edit: %s", body)
		}
		if err := ValidateEdit(d, body, body); err != nil {
			t.Fatalf("an unchanged body is worse than itself: %v", err)
		}
	})
}

func BenchmarkValidate(b *testing.B) {
	text := strings.Repeat("a line of a file, with \\\"quotes\\\"\\n", 150)
	var elements []string
	for i := range 60 {
		id := fmt.Sprintf("toolu_%d", i)
		elements = append(elements, claude("assistant", textBlock, use(id)),
			claude("user", fmt.Sprintf(`{"type":"tool_result","tool_use_id":%q,"content":"%s"}`, id, text)))
	}
	body := []byte(list("messages", append([]string{claudeUser}, elements...)...))
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if err := Validate(Messages, body); err != nil {
			b.Fatal(err)
		}
	}
}
