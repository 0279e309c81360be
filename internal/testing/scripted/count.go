package scripted

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/plimsoll/plimsoll/internal/modelserver"
	"github.com/plimsoll/plimsoll/window/tokens"
	"github.com/plimsoll/plimsoll/window/wire"
)

// A Tokenizer counts the tokens of one text. It must be deterministic and safe for
// concurrent use.
type Tokenizer func(text string) int

// Simple counts by runs of one class of characters: about what real tokenizers give for
// English and code (4 characters a token), and more for digits and other scripts.
func Simple(text string) int {
	n, run := 0, 0
	class := byte(0)
	var last rune
	for _, r := range text {
		c := classOf(r)
		if c != class || (c == 'a' && unicode.IsUpper(r) && unicode.IsLower(last)) {
			n += tokensOf(class, run)
			class, run = c, 0
		}
		run++
		last = r
	}
	return n + tokensOf(class, run)
}

func classOf(r rune) byte {
	switch {
	case r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z':
		return 'a'
	case r >= '0' && r <= '9':
		return '0'
	case r == ' ' || r == '\n' || r == '\t' || r == '\r':
		return ' '
	case r < utf8.RuneSelf:
		return '.'
	case r < 0x800:
		return 'e'
	default:
		return 'x'
	}
}

func tokensOf(class byte, run int) int {
	switch class {
	case 'a':
		return (run + 5) / 6
	case '0':
		return (run + 2) / 3
	case ' ': // one space belongs to the word behind it
		return min(run-1, 1+run/16)
	case '.':
		return (run + 1) / 2
	case 'e':
		return (run + 1) / 2
	case 'x':
		return run
	}
	return 0
}

// O200K counts exactly as OpenAI's models do.
func O200K(text string) int { return tokens.O200K().Count([]byte(text)) }

// Claude makes a tokenizer whose counts stand to base as Anthropic's published counts
// stand to o200k: the factor depends on what the text is, from 0.82 for hexdumps to 1.57
// for mixed scripts, so that no one factor per model fits.
func Claude(base Tokenizer) Tokenizer {
	return func(text string) int {
		n := base(text)
		return (n*percent(text) + 99) / 100
	}
}

// percent returns how many percent of the tokens of [Simple] another tokenizer counts for a text, by its characters.
func percent(text string) int {
	var hex, wide, structure, total int
	for _, r := range text {
		total++
		switch {
		case r >= utf8.RuneSelf:
			wide++
		case r >= '0' && r <= '9' || r >= 'a' && r <= 'f':
			hex++
		case strings.ContainsRune(`{}[]":,`, r):
			structure++
		}
	}
	switch {
	case total == 0:
		return 100
	case wide*4 > total:
		return 157
	case hex*100 > total*60:
		return 82
	case structure*100 > total*12:
		return 122
	default:
		return 114
	}
}

// What the provider's own template adds, in tokens.
const (
	perMessage = 4
	perBlock   = 3
	perMedia   = 1500 // an image or a page; real counts depend on its size
)

// counter counts segments of requests and remembers what it counted.
type counter struct {
	tokenizer Tokenizer
	mu        sync.Mutex
	memo      map[digest]segment
}

// A segment is a counted part of a request.
type segment struct {
	sum    digest // without its cache marks
	tokens int
	marks  int
	ttl    time.Duration // that its marks ask for; 0 is the default
}

const maxMemo = 1 << 16

// segment returns the tokens, cache marks and digest of a part of a request; results are remembered by digest.
func (c *counter) segment(raw json.RawMessage) segment {
	key := digestOf(raw)
	c.mu.Lock()
	s, ok := c.memo[key]
	c.mu.Unlock()
	if ok {
		return s
	}
	v := decode(raw)
	s.countMarks(v)
	v = unmark(v)
	s.tokens = c.countValue("", v)
	plain, err := json.Marshal(v)
	if err != nil {
		plain = raw
	}
	s.sum = digestOf(plain)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.memo == nil || len(c.memo) >= maxMemo {
		c.memo = map[digest]segment{}
	}
	c.memo[key] = s
	return s
}

// countMarks counts the cache marks of a value.
func (s *segment) countMarks(v any) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			s.countMarks(e)
		}
	case map[string]any:
		if mark, ok := v["cache_control"].(map[string]any); ok {
			s.marks++
			if mark["ttl"] == "1h" {
				s.ttl = longCacheTTL
			}
		}
		if _, ok := v["cachePoint"]; ok {
			s.marks++
		}
		for _, e := range v {
			s.countMarks(e)
		}
	}
}

// unread are members the model does not read as text.
var unread = []string{
	"id", "tool_use_id", "call_id", "tool_call_id", "type", "role", "signature", "thoughtSignature", "cache_control",
	"status", "toolUseId", "cachePoint", "format", "mimeType", "media_type", "detail", "is_error", "store",
}

// countValue returns the tokens of a JSON value that is a member of this name. Members that a model does not read count nothing.
func (c *counter) countValue(name string, v any) int {
	switch v := v.(type) {
	case string:
		switch {
		case slices.Contains(unread, name):
			return 0
		case len(v) > 256 && (name == "data" || name == "bytes" || strings.HasPrefix(v, "data:")):
			return perMedia
		case name == "encrypted_content":
			return len(v) / 16
		}
		return c.tokenizer(v)
	case []any:
		n := 0
		for _, e := range v {
			n += perBlock + c.countValue(name, e)
		}
		return n
	case map[string]any:
		n := 0
		for key, e := range v {
			if slices.Contains(unread, key) {
				continue
			}
			n += 1 + c.countValue(key, e)
		}
		return n
	case nil:
		return 0
	default:
		return 1
	}
}

// heads are the members before the messages, in the order in which providers cache.
var heads = []string{"tools", "toolConfig", "system", "systemInstruction", "system_instruction", "instructions", "response_format", "text"}

// measure counts a request and finds its longest prefix that is in the cache.
func (p *Provider) measure(r *Request) {
	chain := digestOf([]byte(r.Dialect.String() + r.Model))
	var list []prefix
	lastMark, ttl := -1, time.Duration(0)
	take := func(raw json.RawMessage, extra int) {
		s := p.count.segment(raw)
		chain = chain.chain("", s.sum)
		r.Input += s.tokens + extra
		if s.marks > 0 {
			lastMark, ttl = len(list), max(ttl, s.ttl)
		}
		list = append(list, prefix{chain, r.Input})
	}
	for _, name := range heads {
		if raw := r.top[name]; len(raw) > 0 {
			take(raw, 0)
		}
	}
	if r.list == nil {
		take(r.top[lists[r.Dialect]], perMessage)
	}
	for i, raw := range r.list {
		take(raw, perMessage-p.droppedTokens(r, i))
	}
	if raw := r.top["cache_control"]; len(raw) > 0 && string(raw) != "null" { // marks the last block
		s := segment{}
		s.countMarks(map[string]any{"cache_control": decode(raw)})
		lastMark, ttl = len(list)-1, max(ttl, s.ttl)
	}
	p.findCached(r, list, lastMark, ttl)
}

// droppedTokens returns the tokens of what the provider took out of message i.
func (p *Provider) droppedTokens(r *Request, i int) int {
	if r.bound == nil {
		return 0
	}
	n := 0
	for _, place := range r.bound.dropped {
		if place[0] != i {
			continue
		}
		if place[1] < 0 {
			return p.count.segment(r.list[i]).tokens + perMessage
		}
		var e struct{ Content []json.RawMessage }
		if json.Unmarshal(r.list[i], &e) == nil && place[1] < len(e.Content) {
			n += p.count.segment(e.Content[place[1]]).tokens + perBlock
		}
	}
	return n
}

// unmark takes the cache marks out of a value. A plain string content and one text block are the
// same, as they are for the providers' caches.
func unmark(v any) any {
	switch v := v.(type) {
	case []any:
		v = slices.DeleteFunc(v, func(e any) bool {
			o, ok := e.(map[string]any)
			return ok && o["cachePoint"] != nil
		})
		for i := range v {
			v[i] = unmark(v[i])
		}
		return v
	case map[string]any:
		delete(v, "cache_control")
		for key, e := range v {
			v[key] = unmark(e)
			if s, ok := e.(string); ok && key == "content" {
				v[key] = []any{map[string]any{"type": "text", "text": s}}
			}
		}
	}
	return v
}

// usage returns the usage that an answer reports.
func (p *Provider) usage(r *Request, reply Reply) modelserver.Usage {
	u := modelserver.Usage{Input: r.Input, Cached: r.Cached, Written: r.Written, Output: reply.Output}
	if p.o.Usage != nil {
		u.Input = p.o.Usage(r.Input)
	}
	if form := p.form(r.Dialect); forms[form].silent && p.o.Window > 0 {
		u.Input = min(u.Input, p.o.Window)
	}
	u.Cached = min(u.Cached, u.Input)
	u.Written = min(u.Written, u.Input-u.Cached)
	if u.Output == 0 {
		u.Output = 1 + p.o.Tokenizer(reply.Thinking) + p.o.Tokenizer(reply.Text)
		for _, c := range reply.Calls {
			u.Output += perBlock + p.o.Tokenizer(c.arguments())
		}
	}
	return u
}

// answerCount answers count_tokens and countTokens.
func (p *Provider) answerCount(w http.ResponseWriter, hr *http.Request, path place, body []byte, kept *Recorded) {
	r := &Request{Dialect: path.dialect, Header: hr.Header, Body: body}
	if json.Unmarshal(body, &r.top) != nil {
		p.refuse(w, path.dialect, kept, errParse)
		return
	}
	if inner, ok := r.top["generateContentRequest"]; ok {
		r.top = nil
		json.Unmarshal(inner, &r.top)
	}
	if path.dialect == wire.Converse {
		var in struct {
			Input struct {
				Converse    map[string]json.RawMessage
				InvokeModel struct{ Body []byte }
			}
		}
		json.Unmarshal(body, &in)
		r.top, r.Model = in.Input.Converse, path.model
		if b := in.Input.InvokeModel.Body; b != nil {
			r.Dialect, r.Body, r.top = wire.Messages, b, nil
			json.Unmarshal(b, &r.top)
		}
	}
	json.Unmarshal(r.top[lists[r.Dialect]], &r.list)
	json.Unmarshal(r.top["model"], &r.Model)
	if p.o.Reasoning != nil && path.dialect == wire.Messages { // the same check as a model request's
		if err := p.checkReasoning(r); err != nil {
			p.refuse(w, path.dialect, kept, err)
			return
		}
	}
	p.measure(r)
	kept.Status, kept.Input = http.StatusOK, r.Input
	if path.dialect == wire.Gemini {
		writeJSON(w, http.StatusOK, m{"totalTokens": r.Input})
		return
	}
	if path.dialect == wire.Converse {
		writeJSON(w, http.StatusOK, m{"inputTokens": r.Input})
		return
	}
	writeJSON(w, http.StatusOK, m{"input_tokens": r.Input})
}
