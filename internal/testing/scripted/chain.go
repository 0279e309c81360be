package scripted

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"sync"
)

// A digest of everything up to a place in a conversation.
type digest [16]byte

// MarshalText writes a digest in hexadecimal.
func (d digest) MarshalText() ([]byte, error) { return []byte(hex.EncodeToString(d[:])), nil }

// UnmarshalText reads what MarshalText wrote.
func (d *digest) UnmarshalText(text []byte) error {
	raw, err := hex.DecodeString(string(text))
	if err == nil && len(raw) != len(d) {
		err = errors.New("a digest has 16 bytes")
	}
	copy(d[:], raw)
	return err
}

// chain returns the digest of what d stands for and something behind it.
func (d digest) chain(kind string, next digest) digest {
	sum := sha256.Sum256(append(append(d[:], next[:]...), kind...))
	return digest(sum[:16])
}

func digestOf(raw []byte) digest {
	sum := sha256.Sum256(raw)
	return digest(sum[:16])
}

// A piece is one block of a message, or one item.
type piece struct {
	kind   string
	sum    digest // of its content: cache marks left out, a text as one block of text
	sealed string // the signature, the data or the encrypted content
	signed bool   // sealed is there
	text   string // of thinking and of a compaction
	id     string // of a call, or of the call that a result is for
	extra  bool   // a compaction block with members that the provider never made
}

// A said is one message, parsed.
type said struct {
	role   string
	pieces []piece
}

// parser remembers what it parsed: a conversation comes again with every request.
type parser struct {
	mu   sync.Mutex
	memo map[digest]*said
}

const maxParsed = 1 << 14

// message returns a parsed message; results are remembered by digest.
func (p *parser) message(raw json.RawMessage) *said {
	key := digestOf(raw)
	p.mu.Lock()
	m := p.memo[key]
	p.mu.Unlock()
	if m != nil {
		return m
	}
	m = parseMessage(raw)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.memo == nil || len(p.memo) >= maxParsed {
		p.memo = map[digest]*said{}
	}
	p.memo[key] = m
	return m
}

// parseMessage reads a message of Messages or an item of Responses, which is a message with one
// piece. What is malformed is the validator's to refuse.
func parseMessage(raw json.RawMessage) *said {
	var head struct {
		Role    string
		Type    string
		Content json.RawMessage
	}
	json.Unmarshal(raw, &head)
	m := &said{role: head.Role}
	if head.Type != "" && head.Type != "message" {
		m.pieces = []piece{parsePiece(raw)}
		return m
	}
	var blocks []json.RawMessage
	var text *string
	switch {
	case json.Unmarshal(head.Content, &text) == nil && text != nil:
		block, _ := json.Marshal(map[string]any{"type": "text", "text": *text})
		blocks = []json.RawMessage{block}
	default:
		json.Unmarshal(head.Content, &blocks)
	}
	for _, b := range blocks {
		m.pieces = append(m.pieces, parsePiece(b))
	}
	return m
}

// decode reads JSON with its numbers as they are written; nil for what is none.
func decode(raw json.RawMessage) any {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return nil
	}
	return v
}

func parsePiece(raw json.RawMessage) piece {
	v, ok := decode(raw).(map[string]any)
	if !ok {
		return piece{sum: digestOf(raw)}
	}
	str := func(name string) string { s, _ := v[name].(string); return s }
	p := piece{kind: str("type")}
	sealed := ""
	switch p.kind {
	case "thinking":
		p.text, sealed = str("thinking"), "signature"
	case "redacted_thinking":
		sealed = "data"
	case "compaction":
		p.text, sealed = str("content"), "signature"
		if v["encrypted_content"] != nil {
			sealed = "encrypted_content"
		}
		for name := range v {
			switch name {
			case "type", "content", "signature", "cache_control", "encrypted_content", "id":
			default:
				p.extra = true
			}
		}
	case "reasoning":
		sealed = "encrypted_content"
	case "tool_use":
		p.id = str("id")
	case "tool_result":
		p.id = str("tool_use_id")
	}
	if sealed != "" {
		p.sealed, p.signed = v[sealed].(string)
	}
	// Responses' clients leave out ids and status where nothing is stored.
	if p.kind != "tool_use" && p.kind != "server_tool_use" {
		delete(v, "id")
		delete(v, "status")
	}
	switch p.kind {
	case "input_text", "output_text": // a plain text is either
		p.kind = "text"
		v["type"] = "text"
		delete(v, "annotations")
		delete(v, "logprobs")
	}
	plain, err := json.Marshal(unmark(v))
	if err != nil {
		plain = raw
	}
	p.sum = digestOf(plain)
	return p
}

// plainDigest returns the digest of a member of the request without its cache marks; of nothing for
// what is absent, null or empty.
func plainDigest(raw json.RawMessage) string {
	v := decode(raw)
	switch e := v.(type) {
	case nil:
		return ""
	case string:
		if e == "" {
			return ""
		}
		v = []any{map[string]any{"type": "text", "text": e}}
	case []any:
		if len(e) == 0 {
			return ""
		}
	}
	plain, err := json.Marshal(unmark(v))
	if err != nil {
		return ""
	}
	sum := digestOf(plain)
	return hex.EncodeToString(sum[:8])
}

// toolsDigest returns the digest of the tools that are not loaded later.
func toolsDigest(raw json.RawMessage) string {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) != nil {
		return ""
	}
	var now []json.RawMessage
	for _, t := range list {
		var tool struct {
			Deferred bool `json:"defer_loading"`
		}
		if json.Unmarshal(t, &tool) != nil || !tool.Deferred {
			now = append(now, t)
		}
	}
	if len(now) == 0 {
		return ""
	}
	joined, err := json.Marshal(now)
	if err != nil {
		return ""
	}
	return plainDigest(joined)
}
