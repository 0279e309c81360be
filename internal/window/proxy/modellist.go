package proxy

import (
	"encoding/json"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/plimsoll/plimsoll/window/models"
)

// Bounds of a list of models that is read along, in bytes as it comes and unpacked; OpenRouter's has 0.7 MB. A longer one is not read.
const (
	maxList     = 2 << 20
	maxListText = 8 << 20
)

// isModelList reports whether a request asks for a provider's list of models or one entry of it: /v1/models, /models/NAME, /v1beta/models
// and the like.
func (rt *route) isModelList(method string) bool {
	if method != http.MethodGet {
		return false
	}
	head, last := cutLast(strings.TrimSuffix(rt.below, "/"))
	if last == "models" {
		return true
	}
	_, collection := cutLast(head)
	return collection == "models"
}

// listTap keeps a copy of a list of models on its way to the client.
type listTap struct {
	encoding string
	held     []byte
	over     bool
}

// newListTap returns a tap for an answer with a list of models; nil for a failure, other forms than JSON, and more than maxList.
func newListTap(res *http.Response) *listTap {
	kind, _, _ := mime.ParseMediaType(res.Header.Get("Content-Type"))
	encoding := res.Header.Get("Content-Encoding")
	if res.StatusCode != http.StatusOK || kind != "application/json" || !isReadable(encoding, kind) || res.ContentLength > maxList {
		return nil
	}
	return &listTap{encoding: encoding}
}

// add appends the next bytes of the answer. Past maxList it drops all of them.
func (l *listTap) add(p []byte) {
	if l.over = l.over || len(l.held)+len(p) > maxList; l.over {
		l.held = nil
		return
	}
	l.held = append(l.held, p...)
}

// text returns the list of models, decompressed; nil if it was too long or cannot be decompressed.
func (l *listTap) text() []byte {
	if l.over || len(l.held) == 0 || isIdentity(l.encoding) {
		return l.held
	}
	r, err := newUnpacker(l.encoding, strings.NewReader(string(l.held)))
	if err != nil {
		return nil
	}
	defer r.Close()
	text, err := io.ReadAll(io.LimitReader(r, maxListText+1))
	if err != nil || len(text) > maxListText {
		return nil
	}
	return text
}

// listedModel is an entry of a list, with the field names of all providers: Anthropic (max_input_tokens, max_tokens), Gemini
// (inputTokenLimit, outputTokenLimit), OpenRouter and Together (context_length, top_provider), Groq and Codex (context_window,
// max_completion_tokens), Mistral and LM Studio (max_context_length, loaded_context_length), vLLM (max_model_len), Copilot
// (capabilities.limits).
type listedModel struct {
	ID               string     `json:"id"`
	Name             string     `json:"name"`
	MaxInput         listNumber `json:"max_input_tokens"`
	MaxTokens        listNumber `json:"max_tokens"`
	InputTokenLimit  listNumber `json:"inputTokenLimit"`
	OutputTokenLimit listNumber `json:"outputTokenLimit"`
	ContextLength    listNumber `json:"context_length"`
	ContextWindow    listNumber `json:"context_window"`
	MaxContextLength listNumber `json:"max_context_length"`
	LoadedLength     listNumber `json:"loaded_context_length"`
	MaxModelLen      listNumber `json:"max_model_len"`
	MaxCompletion    listNumber `json:"max_completion_tokens"`
	TopProvider      listTop    `json:"top_provider"`
	Capabilities     listCan    `json:"capabilities"`
}

type listTop struct {
	ContextLength listNumber `json:"context_length"`
	MaxCompletion listNumber `json:"max_completion_tokens"`
}

// listCan is the capabilities member of Copilot's entries; others have lists or booleans under this name, which are ignored.
type listCan struct {
	Limits struct {
		Context listNumber `json:"max_context_window_tokens"`
		Prompt  listNumber `json:"max_prompt_tokens"`
		Output  listNumber `json:"max_output_tokens"`
	} `json:"limits"`
}

// UnmarshalJSON reads an object. Any other value is ignored without an error.
func (c *listCan) UnmarshalJSON(text []byte) error {
	type plain listCan
	var p plain
	if len(text) > 0 && text[0] == '{' && json.Unmarshal(text, &p) == nil {
		*c = listCan(p)
	}
	return nil
}

// listNumber is a number of tokens; any other JSON value, and a number out of range, is read as 0.
type listNumber int

// UnmarshalJSON reads a number from 0 to models.MaxContext. Any other value is read as 0, without an error.
func (n *listNumber) UnmarshalJSON(text []byte) error {
	var v float64
	if json.Unmarshal(text, &v) == nil && v >= 0 && v <= models.MaxContext {
		*n = listNumber(v)
	}
	return nil
}

// firstPositive returns the first number above 0, or 0.
func firstPositive(all ...listNumber) int {
	for _, n := range all {
		if n > 0 {
			return int(n)
		}
	}
	return 0
}

// listing returns the model's name and window, from whichever members its provider uses. What is not named is 0.
func (m *listedModel) listing() models.Listing {
	name := m.ID
	if name == "" {
		name = strings.TrimPrefix(m.Name, "models/") // Gemini's
	}
	limits := m.Capabilities.Limits
	w := models.Window{
		Context: firstPositive(limits.Context, m.LoadedLength, m.TopProvider.ContextLength, m.ContextLength, m.ContextWindow, m.MaxContextLength, m.MaxModelLen, m.MaxInput, m.InputTokenLimit),
		Input:   firstPositive(limits.Prompt),
		Output:  firstPositive(limits.Output, m.TopProvider.MaxCompletion, m.MaxCompletion, m.OutputTokenLimit),
	}
	if m.MaxInput > 0 && w.Output == 0 {
		w.Output = int(m.MaxTokens) // Anthropic's; elsewhere the word means other things
	}
	return models.Listing{Model: name, Window: w}
}

// readList parses a provider's list of models, or one entry of it, and returns those whose window it names; nil for any other text.
func readList(text []byte) []models.Listing {
	var list struct {
		Data   []listedModel `json:"data"`
		Models []listedModel `json:"models"`
		listedModel
	}
	var all []listedModel
	switch {
	case len(text) == 0:
		return nil
	case text[0] == '[': // Together
		if json.Unmarshal(text, &all) != nil {
			return nil
		}
	case json.Unmarshal(text, &list) != nil:
		return nil
	default:
		all = append(list.Data, list.Models...)
		if len(all) == 0 {
			all = []listedModel{list.listedModel}
		}
	}
	var out []models.Listing
	for i := range all {
		if l := all[i].listing(); l.Model != "" && l.Window.Context > 0 {
			out = append(out, l)
		}
	}
	return out
}

// Tell records the windows that the client's own settings name for models of the upstream of that name, as if the upstream had listed them.
// It ignores a name that is no upstream's.
func (p *Proxy) Tell(upstream string, listed []models.Listing) {
	if up := p.upstreams[upstream]; up != nil {
		p.o.Resolver.Tell(up.modelsName(), listed)
	}
}
