package scripted

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"github.com/plimsoll/plimsoll/internal/modelserver"
)

// A token is the content of a block's signature, or of its encrypted content: all that it needs to
// judge the block when it comes back. Nothing is kept between requests, so that what one Provider
// signed is good for another.
type token struct {
	Kind    string `json:"k"` // "thinking", "redacted", "reasoning" or "compaction"
	Family  string `json:"f,omitempty"`
	Rank    int    `json:"n,omitempty"`
	Open    bool   `json:"o,omitempty"` // read by every model
	Account string `json:"a,omitempty"`
	Text    string `json:"t,omitempty"` // digest of the block's own text

	// Of what is bound to the prefix.
	System string `json:"s,omitempty"`
	Tools  string `json:"d,omitempty"`
	Prefix digest `json:"p,omitzero"`
	Before string `json:"b,omitempty"` // the id of the block of reasoning before it

	// Of a compaction: what stood where it stands now, any of which reasoning that is kept may
	// be bound to, and the role of the last message of it.
	Origins []digest `json:"g,omitempty"`
	Last    string   `json:"l,omitempty"`

	id string // of the token, as Before has it
}

var secret = []byte("scripted")

// maxToken bounds a token that is read, in bytes.
const maxToken = 64 << 10

func (t token) seal() string {
	raw, err := json.Marshal(t)
	if err != nil {
		panic("scripted: " + err.Error()) // made of texts
	}
	return base64.StdEncoding.EncodeToString(append(mac(raw), raw...))
}

// unseal reads a token that this provider made, of one of the kinds.
func unseal(sealed string, kinds ...string) (*token, bool) {
	if len(sealed) > maxToken {
		return nil, false
	}
	data, err := base64.StdEncoding.DecodeString(sealed)
	if err != nil || len(data) < 16 || !hmac.Equal(data[:16], mac(data[16:])) {
		return nil, false
	}
	t := &token{id: hex.EncodeToString(data[:8])}
	if json.Unmarshal(data[16:], t) != nil {
		return nil, false
	}
	if slices.Contains(kinds, t.Kind) {
		return t, true
	}
	return nil, false
}

func mac(raw []byte) []byte {
	h := hmac.New(sha256.New, secret)
	h.Write(raw)
	return h.Sum(nil)[:16]
}

// textDigest returns the digest of a block's own text.
func textDigest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// account returns the account of a request, by its key.
func account(h http.Header) string {
	key := h.Get("X-Api-Key")
	if key == "" {
		key = h.Get("Authorization")
	}
	if key == "" {
		return ""
	}
	return textDigest(key)
}

// checkSignatures refuses thinking that was changed, in the messages after the user's own last one: they are the turn that is still running.
func checkSignatures(r *Request) error {
	for i := len(r.list) - 1; i >= 0; i-- {
		var e struct {
			Role    string
			Content []struct{ Type, Thinking, Signature string }
		}
		if json.Unmarshal(r.list[i], &e) != nil {
			return nil // a plain text of the user
		}
		own := e.Role == "user"
		for k, b := range e.Content {
			if b.Type == "thinking" && b.Signature != modelserver.Sign(b.Thinking) {
				return deny(CauseSignature, fmt.Sprintf("messages.%d.content.%d: Invalid `signature` in `thinking` block", i, k))
			}
			own = own && b.Type != "tool_result"
		}
		if own {
			return nil
		}
	}
	return nil
}
