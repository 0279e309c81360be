package transcripts

import (
	"github.com/plimsoll/plimsoll/window/wire"
)

// encode returns the entries as a request of the maker's dialect.
func (m *maker) encode() []byte {
	var elements list
	for _, e := range m.entries {
		switch m.d {
		case wire.Chat:
			elements = append(elements, chat(e)...)
		case wire.Responses:
			elements = append(elements, responses(e)...)
		case wire.Messages:
			elements = append(elements, messages(e)...)
		case wire.Gemini:
			elements = append(elements, gemini(e)...)
		case wire.Converse:
			elements = append(elements, converse(e)...)
		}
	}
	return []byte(m.style.text(m.top(elements)))
}

// top returns the request around a history.
func (m *maker) top(elements list) object {
	schema := obj("type", "object", "properties", obj("command", obj("type", "string"), "path", obj("type", "string"), "n", obj("type", "integer")))
	var tools list
	for _, name := range toolNames {
		switch m.d {
		case wire.Chat:
			tools = append(tools, obj("type", "function", "function", obj("name", name, "description", "tool "+name, "parameters", schema)))
		case wire.Responses:
			tools = append(tools, obj("type", "function", "name", name, "description", "tool "+name, "parameters", schema, "strict", false))
		case wire.Messages:
			tools = append(tools, obj("name", name, "description", "tool "+name, "input_schema", schema))
		case wire.Gemini:
			tools = append(tools, obj("name", name, "description", "tool "+name, "parametersJsonSchema", schema))
		case wire.Converse:
			tools = append(tools, obj("toolSpec", obj("name", name, "description", "tool "+name, "inputSchema", obj("json", schema))))
		}
	}
	var o object
	switch m.d {
	case wire.Chat:
		o = obj("model", "gpt-5.1", "stream", true, "stream_options", obj("include_usage", true), "messages", elements, "tools", tools, "max_completion_tokens", 4096)
	case wire.Responses:
		o = obj("model", "gpt-5.1-codex", "instructions", "be brief", "input", elements, "tools", tools, "store", false, "stream", true, "include", list{"reasoning.encrypted_content"}, "prompt_cache_key", "k")
	case wire.Messages:
		o = obj("model", "claude-sonnet-4-5", "max_tokens", 32000, "system", list{obj("type", "text", "text", "be brief")}, "messages", elements, "tools", tools, "stream", true)
		if m.thinking {
			o = o.with("thinking", obj("type", "enabled", "budget_tokens", 1024))
		}
	case wire.Gemini:
		o = obj("contents", elements, "systemInstruction", obj("role", "user", "parts", list{obj("text", "be brief")}), "tools", list{obj("functionDeclarations", tools)}, "generationConfig", obj("temperature", 1, "maxOutputTokens", 8192))
	}
	if m.d == wire.Converse {
		o = obj("system", list{obj("text", "be brief")}, "messages", elements, "toolConfig", obj("tools", tools), "inferenceConfig", obj("maxTokens", 4096))
		if m.thinking {
			o = o.with("additionalModelRequestFields", obj("thinking", obj("type", "enabled", "budget_tokens", 1024)))
		}
	}
	if m.chance(50) { // members come in any order, and unknown ones come too
		m.r.Shuffle(len(o), func(i, j int) { o[i], o[j] = o[j], o[i] })
		o = o.with("x_unknown", obj("messages", list{1, nil, raw("1e+3")}, "a", raw("-0.0")))
	}
	return o
}

func parts(kind string, texts []string) list {
	var l list
	for _, t := range texts {
		l = append(l, obj("type", kind, "text", t))
	}
	return l
}

// chat returns the messages of an entry in a Chat Completions request.
func chat(e entry) list {
	content := func() any {
		if len(e.texts) == 1 && !e.listed && e.media == "" {
			return e.texts[0]
		}
		l := parts("text", e.texts)
		if e.media != "" {
			l = append(l, obj("type", "image_url", "image_url", obj("url", "data:image/png;base64,"+e.media)))
		}
		return l
	}
	switch e.role {
	case "assistant":
		o := obj("role", "assistant")
		if len(e.texts) > 0 {
			o = o.with("content", content())
		} else {
			o = o.with("content", nil)
		}
		if e.thought != "" {
			o = o.with("reasoning_content", e.thought)
		}
		if len(e.calls) > 0 {
			var calls list
			for _, c := range e.calls {
				calls = append(calls, obj("id", c.id, "type", "function", "function", obj("name", c.name, "arguments", c.args)))
			}
			o = o.with("tool_calls", calls)
		}
		return list{o}
	case "results":
		var l list
		if e.before != "" {
			l = append(l, obj("role", "user", "content", e.before))
		}
		for _, r := range e.results {
			var content any = r.text
			if r.listed {
				content = parts("text", []string{r.text})
			}
			l = append(l, obj("role", "tool", "tool_call_id", r.id, "content", content))
		}
		if e.after != "" {
			l = append(l, obj("role", "user", "content", e.after))
		}
		return l
	default:
		return list{obj("role", e.role, "content", content())}
	}
}

// responses returns the items of an entry in a Responses request.
func responses(e entry) list {
	message := func(role string, texts []string) object {
		kind := "input_text"
		if role == "assistant" {
			kind = "output_text"
		}
		l := parts(kind, texts)
		if e.media != "" {
			l = append(l, obj("type", "input_image", "image_url", "data:image/png;base64,"+e.media))
		}
		var content any = l
		if len(texts) == 1 && !e.listed && e.media == "" && role != "assistant" {
			content = texts[0]
		}
		return obj("type", "message", "role", role, "content", content)
	}
	var l list
	switch e.role {
	case "assistant":
		if e.thought != "" {
			l = append(l, obj("type", "reasoning", "summary", list{obj("type", "summary_text", "text", e.thought)}, "encrypted_content", "Z2liYmVyaXNo"))
		}
		if len(e.texts) > 0 {
			l = append(l, message("assistant", e.texts))
		}
		for _, c := range e.calls {
			if c.custom {
				l = append(l, obj("type", "custom_tool_call", "call_id", c.id, "name", c.name, "input", c.args))
			} else {
				l = append(l, obj("type", "function_call", "call_id", c.id, "name", c.name, "arguments", c.args))
			}
		}
	case "results":
		if e.before != "" {
			l = append(l, message("user", []string{e.before}))
		}
		for _, r := range e.results {
			kind := "function_call_output"
			if r.custom {
				kind = "custom_tool_call_output"
			}
			var output any = r.text
			if r.listed {
				output = parts("input_text", []string{r.text})
			}
			l = append(l, obj("type", kind, "call_id", r.id, "output", output))
		}
		if e.after != "" {
			l = append(l, message("user", []string{e.after}))
		}
	case "system":
		l = append(l, message("developer", e.texts))
	default:
		l = append(l, message("user", e.texts))
	}
	return l
}

// messages returns the message of an entry in a Messages request.
func messages(e entry) list {
	role := e.role
	var blocks list
	switch role {
	case "assistant":
		if e.thought != "" {
			blocks = append(blocks, obj("type", "thinking", "thinking", e.thought, "signature", "c2lnbmVk"))
		}
		blocks = append(blocks, parts("text", e.texts)...)
		for _, c := range e.calls {
			blocks = append(blocks, obj("type", "tool_use", "id", c.id, "name", c.name, "input", raw(c.args)))
		}
	case "results":
		role = "user"
		if e.before != "" {
			blocks = append(blocks, obj("type", "text", "text", e.before))
		}
		for _, r := range e.results {
			var content any = r.text
			if r.listed {
				content = parts("text", []string{r.text})
			}
			o := obj("type", "tool_result", "tool_use_id", r.id, "content", content)
			if r.failed {
				o = o.with("is_error", true)
			}
			blocks = append(blocks, o)
		}
		if e.after != "" {
			blocks = append(blocks, obj("type", "text", "text", e.after))
		}
	default:
		blocks = parts("text", e.texts)
		if e.media != "" {
			blocks = append(blocks, obj("type", "image", "source", obj("type", "base64", "media_type", "image/png", "data", e.media)))
		}
	}
	if len(blocks) == 0 {
		return nil
	}
	if e.mark {
		last := blocks[len(blocks)-1].(object)
		blocks[len(blocks)-1] = last.with("cache_control", obj("type", "ephemeral"))
	}
	if len(e.texts) == 1 && len(blocks) == 1 && !e.listed && !e.mark && e.role != "results" {
		return list{obj("role", role, "content", e.texts[0])}
	}
	return list{obj("role", role, "content", blocks)}
}

// gemini returns the contents of an entry in a Gemini request.
func gemini(e entry) list {
	user := func(l list) list {
		if len(l) == 0 {
			return nil
		}
		return list{obj("role", "user", "parts", l)}
	}
	texts := func(texts ...string) list {
		var l list
		for _, t := range texts {
			if t != "" {
				l = append(l, obj("text", t))
			}
		}
		return l
	}
	switch e.role {
	case "assistant":
		var l list
		if e.thought != "" {
			l = append(l, obj("text", e.thought, "thought", true))
		}
		l = append(l, texts(e.texts...)...)
		for i, c := range e.calls {
			call := obj("name", c.name, "args", raw(c.args))
			if c.id != "" {
				call = call.with("id", c.id)
			}
			part := obj("functionCall", call)
			if i == 0 {
				part = part.with("thoughtSignature", "c2lnbmVk")
			}
			l = append(l, part)
		}
		if len(l) == 0 {
			return nil
		}
		return list{obj("role", "model", "parts", l)}
	case "results":
		var l list
		for _, r := range e.results {
			response := obj("name", r.name, "response", obj("output", r.text))
			if r.id != "" {
				response = response.with("id", r.id)
			}
			l = append(l, obj("functionResponse", response))
		}
		all := user(texts(e.before))
		all = append(all, user(l)...)
		return append(all, user(texts(e.after))...)
	case "system":
		return nil
	default:
		l := texts(e.texts...)
		if e.media != "" {
			l = append(l, obj("inlineData", obj("mimeType", "image/png", "data", e.media)))
		}
		return user(l)
	}
}

// converse returns the message of an entry in a Converse request; none for the system prompt.
func converse(e entry) list {
	role := e.role
	var blocks list
	text := func(texts ...string) {
		for _, t := range texts {
			if t != "" {
				blocks = append(blocks, obj("text", t))
			}
		}
	}
	switch role {
	case "system":
		return nil
	case "assistant":
		if e.thought != "" {
			blocks = append(blocks, obj("reasoningContent", obj("reasoningText", obj("text", e.thought, "signature", "c2lnbmVk"))))
		}
		text(e.texts...)
		for _, c := range e.calls {
			blocks = append(blocks, obj("toolUse", obj("toolUseId", c.id, "name", c.name, "input", raw(c.args))))
		}
	case "results":
		role = "user"
		text(e.before)
		for _, r := range e.results {
			inner := obj("toolUseId", r.id, "content", list{obj("text", r.text)})
			if r.failed {
				inner = inner.with("status", "error")
			}
			blocks = append(blocks, obj("toolResult", inner))
		}
		text(e.after)
	default:
		text(e.texts...)
		if e.media != "" {
			blocks = append(blocks, obj("image", obj("format", "png", "source", obj("bytes", e.media))))
		}
	}
	if len(blocks) == 0 {
		return nil
	}
	if e.mark {
		blocks = append(blocks, obj("cachePoint", obj("type", "default")))
	}
	return list{obj("role", role, "content", blocks)}
}
