package mend_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"image"
	_ "image/gif"
	_ "image/jpeg"
	_ "image/png"
	"slices"
	"strings"

	_ "golang.org/x/image/webp"

	"github.com/plimsoll/plimsoll/window/wire"
)

// strict is what a provider says of the contents of a request, "" when it takes them. It knows what package wire's validator does not: what
// depends on the model, and images. It shares nothing with what it judges.
func strict(d wire.Dialect, model string, body []byte) string {
	var top map[string]any
	if err := json.Unmarshal(body, &top); err != nil {
		return err.Error()
	}
	claude := strings.Contains(model, "claude")
	var said []string
	pictures := 0
	var sides []int
	var visit func(v any, failed bool)
	visit = func(v any, failed bool) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				visit(e, failed)
			}
		case map[string]any:
			kind, data, found := "", "", false
			switch source, _ := v["source"].(map[string]any); {
			case v["type"] == "image" && source != nil:
				if failed {
					said = append(said, "all content must be type 'text' if 'is_error' is true")
				}
				kind, _ = source["media_type"].(string)
				data, _ = source["data"].(string)
				if found = true; source["url"] != nil {
					pictures++
					return
				}
			case v["image_url"] != nil:
				url, ok := v["image_url"].(string)
				if o, is := v["image_url"].(map[string]any); is {
					url, ok = o["url"].(string)
				}
				if head, rest, cut := strings.Cut(url, ","); ok && cut && strings.HasPrefix(head, "data:") {
					kind, _, _ = strings.Cut(head[5:], ";")
					data, found = rest, true
				}
			case v["inlineData"] != nil:
				o := v["inlineData"].(map[string]any)
				kind, _ = o["mimeType"].(string)
				data, _ = o["data"].(string)
				found = !strings.HasPrefix(kind, "audio/")
			}
			if found {
				pictures++
				if words, side := look(d, claude, kind, data); words != "" {
					said = append(said, words)
				} else {
					sides = append(sides, side)
				}
				return
			}
			if fails, _ := v["is_error"].(bool); fails && v["type"] == "tool_result" {
				failed = true
				if text, _ := json.Marshal(v["content"]); v["content"] == nil || slices.Contains([]string{`""`, `[]`}, string(text)) {
					said = append(said, "content cannot be empty if `is_error` is true")
				}
			}
			if v["type"] == "text" && v["text"] == "" && d == wire.Messages {
				said = append(said, "messages: text content blocks must be non-empty")
			}
			if v["type"] == "tool_use" && len(fmt.Sprint(v["name"])) > 200 {
				said = append(said, "tool_use.name: String should have at most 200 characters")
			}
			if f, ok := v["function"].(map[string]any); ok && strings.HasPrefix(model, "gpt") && strings.ContainsAny(fmt.Sprint(f["name"]), " .:/") {
				said = append(said, "string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'")
			}
			for _, e := range v {
				visit(e, failed)
			}
		}
	}
	list, _ := top[map[wire.Dialect]string{wire.Chat: "messages", wire.Messages: "messages", wire.Responses: "input", wire.Gemini: "contents", wire.Converse: "messages"}[d]].([]any)
	visit(list, false)
	if claude {
		if pictures > 600 {
			said = append(said, "Too many images")
		}
		for _, side := range sides {
			if side > 8000 {
				said = append(said, "At least one of the image dimensions exceed max allowed size: 8000 pixels")
			} else if side > 2000 && pictures > 20 {
				said = append(said, "At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels")
			}
		}
	}
	if len(list) > 0 {
		last, _ := list[len(list)-1].(map[string]any)
		switch {
		case last["role"] != "assistant":
		case slices.ContainsFunc([]string{"claude-opus-4-6", "claude-opus-4-8", "claude-sonnet-4-6", "claude-opus-5", "claude-fable-5-1"}, func(m string) bool { return strings.HasSuffix(model, m) }):
			said = append(said, "This model does not support assistant message prefill. The conversation must end with a user message.")
		case strings.HasPrefix(model, "mistral") && last["prefix"] != true:
			said = append(said, "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant")
		}
	}
	if strings.HasPrefix(model, "kimi") {
		for i, m := range list {
			if m := m.(map[string]any); m["role"] == "assistant" && m["tool_calls"] == nil && (m["content"] == nil || m["content"] == "") {
				said = append(said, fmt.Sprintf("Invalid request: the message at position %d with role 'assistant' must not be empty", i))
			}
		}
	}
	if invalid, ok := wire.Validate(d, alternating(d, body)).(*wire.Invalid); ok {
		said = append(said, invalid.ProviderText(d))
	}
	if len(said) == 0 {
		return ""
	}
	return said[0]
}

// look is what is said of one image, and its longer side.
func look(d wire.Dialect, claude bool, kind, data string) (string, int) {
	raw, err := base64.StdEncoding.DecodeString(data)
	c, format, bad := image.DecodeConfig(bytes.NewReader(raw))
	side := max(c.Width, c.Height)
	if d == wire.Gemini {
		switch {
		case !slices.Contains([]string{"image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"}, kind):
			return "Unsupported MIME type: " + kind, side
		case err != nil || bad != nil:
			return "Unable to process input image", side
		}
		return "", side
	}
	switch {
	case claude && !slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, kind):
		return "media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'", side
	case (err != nil || bad != nil) && claude:
		return "Could not process image", side
	case err != nil || bad != nil || !strings.HasPrefix(kind, "image/"):
		return "The image data you provided does not represent a valid image.", side
	case claude && kind != "image/"+format:
		return "The image was specified using the " + kind + " media type, but the image appears to be a image/" + format + " image", side
	case claude && len(data) > 5<<20:
		return fmt.Sprintf("image exceeds 5 MB maximum: %d bytes > 5242880 bytes", len(data)), side
	}
	return "", side
}

// alternating is what is sent of a request.
func alternating(d wire.Dialect, body []byte) []byte {
	r, err := wire.Parse(d, body)
	if err != nil {
		return body
	}
	return r.Alternating()
}
