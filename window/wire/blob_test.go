package wire

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
)

func TestWhatIsBytes(t *testing.T) {
	b64 := func(begin string) string {
		return base64.StdEncoding.EncodeToString([]byte(begin + strings.Repeat("\x00\xffsome bytes of a file\x80", 60)))
	}
	lines := func(s string, n int, end string) string {
		var b strings.Builder
		for ; len(s) > n; s = s[n:] {
			b.WriteString(s[:n] + end)
		}
		return b.String() + s
	}
	quote := func(s string) string { b, _ := json.Marshal(s); return string(b) }
	long := strings.Repeat("A sentence of words. ", 100)
	for name, c := range map[string]struct{ literal, kind string }{
		"png":                  {quote(b64("\x89PNG\r\n\x1a\n")), "image/png"},
		"jpeg":                 {quote(b64("\xff\xd8\xff\xe0")), "image/jpeg"},
		"webp":                 {quote(b64("RIFF\x01\x02\x03\x04WEBP")), "image/webp"},
		"avif":                 {quote(b64("\x00\x00\x00\x20ftypavif")), "image/avif"},
		"pdf":                  {quote(b64("%PDF-1.7")), "application/pdf"},
		"wav":                  {quote(b64("RIFF\x01\x02\x03\x04WAVE")), "audio/wav"},
		"mp4":                  {quote(b64("\x00\x00\x00\x20ftypisom")), "video/mp4"},
		"nobody knows what":    {quote(b64("?")), Bytes},
		"for addresses":        {quote(strings.NewReplacer("+", "-", "/", "_").Replace(b64("\xff\xd8\xff\xfb\xff\xef"))), "image/jpeg"},
		"slashes escaped":      {strings.ReplaceAll(quote(b64("?")), "/", `\/`), Bytes},
		"plus by number":       {strings.ReplaceAll(quote(b64("\xfb\xef\xbe")), "+", `\u002B`), Bytes},
		"in lines":             {quote(lines(b64("GIF89a"), 76, "\n")), "image/gif"},
		"in lines of Windows":  {quote(lines(b64("GIF89a"), 64, "\r\n")), "image/gif"},
		"data URL":             {quote("data:image/svg+xml;base64," + b64("<svg")), "image/svg+xml"},
		"prose":                {quote(long), ""},
		"a list of words":      {quote(strings.Repeat("word\nother\n", 200)), ""},
		"short":                {quote(b64("?")[:1000]), ""},
		"an address":           {quote("https://a.example/" + strings.Repeat("path/", 300)), ""},
		"JSON in a string":     {quote(`{"a":"` + b64("?") + `"}`), ""},
		"no ASCII":             {quote(strings.Repeat("日本語", 400)), ""},
		"other escapes":        {`"` + strings.Repeat(`ab\t`, 400) + `"`, ""},
		"a NUL by number":      {`"` + strings.Repeat(`ab\u0000`, 400) + `"`, ""},
		"an escape cut short":  {`"` + strings.Repeat(`a`, 2000) + `\u00"`, ""},
		"a digest of 64 bytes": {quote(strings.Repeat("0f", 64)), ""},
	} {
		r, err := Parse(Messages, []byte(`{"messages":[{"role":"assistant","content":[{"type":"hologram","x":{"bits":`+c.literal+`,"says":"some words"}}]}]}`))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		p := &r.Messages[0].Parts[0]
		switch {
		case c.kind == "" && len(p.Media) > 0:
			t.Errorf("%s is taken for %s", name, p.Media[0].Type)
		case c.kind != "" && (len(p.Media) != 1 || p.Media[0].Type != c.kind || string(r.Raw(p.Media[0].Span)) != c.literal):
			t.Errorf("%s: %+v, want %s", name, p.Media, c.kind)
		}
		if len(p.Texts) > 0 || p.Raw != p.Span {
			t.Errorf("%s: the part is no longer opaque: %+v", name, p)
		}
		// In a result what is no bytes can be cut, and bytes cannot.
		r, err = Parse(Messages, []byte(`{"messages":[{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"hologram","bits":`+c.literal+`,"says":"some words"}]}]}]}`))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		p = &r.Messages[0].Parts[0]
		texts := 3 // the type, the bits and the words
		if c.kind != "" {
			texts = 2
		}
		if len(p.Texts) != texts || len(p.Media) != 3-texts {
			t.Errorf("%s in a result: %d texts and %d of bytes, want %d and %d", name, len(p.Texts), len(p.Media), texts, 3-texts)
		}
	}
}
