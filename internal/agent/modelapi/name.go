package modelapi

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"github.com/plimsoll/plimsoll/agent"
)

// MaxName bounds the name of a tool, in bytes: OpenAI's and Anthropic's limit.
const MaxName = 64

// Names maps names of tools to those that every provider takes, [a-zA-Z0-9_-]{1,64}, and
// back. The zero value is ready.
type Names struct {
	// Letter puts an underscore before a name that begins with a digit or a dash, as Google asks for ("Function name must start with a
	// letter or an underscore").
	Letter bool

	back map[string]string
}

// Out returns the name to send. It depends on the name alone, so that providers' caches stay valid.
func (n *Names) Out(name string) string {
	led := name
	if n.Letter && name != "" && (name[0] == '-' || name[0] >= '0' && name[0] <= '9') {
		led = "_" + name
	}
	sent := fitName(led, MaxName, "tool")
	if sent != name {
		if n.back == nil {
			n.back = map[string]string{}
		}
		n.back[sent] = name
	}
	return sent
}

// Learn notes the names of a request's tools, and of the calls in its history, so that Back can return them.
func (n *Names) Learn(r *agent.Request) {
	for _, t := range r.Tools {
		n.Out(t.Name)
	}
	for i := range r.Messages {
		for _, c := range r.Messages[i].Calls {
			n.Out(c.Name)
		}
	}
}

// Back returns the name of the tool that the model means.
func (n *Names) Back(sent string) string {
	if name, ok := n.back[sent]; ok {
		return name
	}
	return sent
}

// ID returns an id of a call as providers take it: [a-zA-Z0-9_-], at most size bytes.
func ID(id string, size int) string { return fitName(id, size, "call") }

// NewID makes an id for a call that came without one.
func NewID() string {
	var b [12]byte
	rand.Read(b[:])
	return "call_" + hex.EncodeToString(b[:])
}

// fitName returns s itself when it is allowed. Otherwise it replaces what is not, and adds a hash so that different names stay
// different.
func fitName(s string, size int, empty string) string {
	plain := func(c byte) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
	}
	fits := s != "" && len(s) <= size
	for i := 0; i < len(s) && fits; i++ {
		fits = plain(s[i])
	}
	if fits {
		return s
	}
	sum := sha256.Sum256([]byte(s))
	tail := "_" + hex.EncodeToString(sum[:4])
	var b strings.Builder
	for i := 0; i < len(s) && b.Len() < size-len(tail); i++ {
		c := s[i]
		if !plain(c) {
			c = '_'
		}
		b.WriteByte(c)
	}
	if b.Len() == 0 {
		b.WriteString(empty)
	}
	return b.String() + tail
}
