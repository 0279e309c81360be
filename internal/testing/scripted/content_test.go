package scripted

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"image"
	"image/jpeg"
	"image/png"
	"strings"
	"testing"
)

func encoded(t *testing.T, width, height int) string {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, width, height))); err != nil {
		t.Fatal(err)
	}
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

func shown(kind, data string) m {
	return m{"type": "image", "source": m{"type": "base64", "media_type": kind, "data": data}}
}

func TestStrictContent(t *testing.T) {
	small, wide := encoded(t, 8, 8), encoded(t, 2162, 3)
	var b bytes.Buffer
	if err := jpeg.Encode(&b, image.NewGray(image.Rect(0, 0, 8, 8)), nil); err != nil {
		t.Fatal(err)
	}
	photo := base64.StdEncoding.EncodeToString(b.Bytes())
	webp := make([]byte, 30)
	copy(webp, "RIFF....WEBPVP8X")
	binary.LittleEndian.PutUint32(webp[24:], 8100)
	many := func(n int, more ...any) []any {
		list := []any{}
		for range n {
			list = append(list, shown("image/png", small))
		}
		return append(list, more...)
	}
	for _, e := range []struct {
		name  string
		model string
		body  m
		last  []any // the content of the last message
		words string
	}{
		{"good images", "", nil, []any{shown("image/png", small), shown("image/jpeg", photo), shown("image/png", wide)}, ""},
		{"a system prompt of white space", "", m{"system": " \n"}, nil, "system: text content blocks must contain non-whitespace text"},
		{"an image over 8,000 pixels", "", nil, []any{shown("image/png", encoded(t, 4, 8100))}, "messages.0.content.0.image.source.base64.data: At least one of the image dimensions exceed max allowed size: 8000 pixels"},
		{"a WebP image over 8,000 pixels", "", nil, []any{shown("image/webp", base64.StdEncoding.EncodeToString(webp))}, "8000 pixels"},
		{"a wide image among many", "", nil, many(20, shown("image/png", wide)), "messages.0.content.20.image.source.base64.data: At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels"},
		{"101 images", "", nil, many(101), "Too many images"},
		{"no image", "", nil, []any{shown("image/png", base64.StdEncoding.EncodeToString([]byte("not a png")))}, "Could not process image"},
		{"no base64", "", nil, []any{shown("image/png", "%")}, "Invalid base64 data"},
		{"a PDF as image", "", nil, []any{shown("application/pdf", "JVBERi0=")}, "messages.0.content.0.image.source.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'"},
		{"a photo named PNG", "", nil, []any{shown("image/png", photo)}, "appears to be a image/jpeg image"},
		{"6 MB", "", nil, []any{shown("image/png", base64.StdEncoding.EncodeToString(make([]byte, 6<<20)))}, "image exceeds 5 MB maximum"},
		{"a budget over the output", "claude-sonnet-4-5", m{"thinking": m{"type": "enabled", "budget_tokens": 1024}}, nil, "`max_tokens` must be greater than `thinking.budget_tokens`."},
		{"a budget too small", "claude-sonnet-4-5", m{"thinking": m{"type": "enabled", "budget_tokens": 10}}, nil, "greater than or equal to 1024"},
	} {
		model := e.model
		if model == "" {
			model = "claude-opus-4-8"
		}
		p := New(Options{Strict: true})
		c := newTalk(t, served(p), model)
		c.body = e.body
		if e.last != nil {
			c.edit(0, e.last)
		}
		status, v := c.request(nil)
		words, _ := at(v, "error", "message").(string)
		if (status == 200) != (e.words == "") || !strings.Contains(words, e.words) {
			t.Errorf("%s: %d %s, want %q", e.name, status, words, e.words)
		}
		if e.words != "" && last(p).Cause != CauseContent {
			t.Errorf("%s: cause %q", e.name, last(p).Cause)
		}
	}
}

func TestStrictPrefill(t *testing.T) {
	for model, want := range map[string]int{"claude-opus-4-8": 400, "claude-fable-5-1": 400, "claude-sonnet-4-5": 200} {
		c := newTalk(t, served(New(Options{Strict: true})), model)
		c.messages = append(c.messages, m{"role": "assistant", "content": "I will"})
		status, v := c.request(nil)
		if words, _ := at(v, "error", "message").(string); status != want || want == 400 && !strings.Contains(words, "does not support assistant message prefill") {
			t.Errorf("%s: %d %s", model, status, words)
		}
	}
}

// Images inside a result are held to the same limits.
func TestStrictResults(t *testing.T) {
	c := newTalk(t, served(New(Options{Strict: true})), "claude-opus-4-8")
	c.messages = append(
		c.messages, m{"role": "assistant", "content": []any{m{"type": "tool_use", "id": "a", "name": "Bash", "input": m{}}}},
		m{"role": "user", "content": []any{m{"type": "tool_result", "tool_use_id": "a", "content": []any{m{"type": "text", "text": "look"}, shown("image/png", encoded(t, 4, 8100))}}}},
	)
	c.refused("messages.2.content.0.tool_result.content.1.image.source.base64.data: ")
}
