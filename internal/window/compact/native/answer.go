package native

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strings"

	"github.com/plimsoll/plimsoll/internal/sse"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/window/wire"
)

// MaxAnswer bounds the answer to a request for a compaction, in bytes. A summary has some thousand tokens; OpenAI's also has the user's
// own messages.
const MaxAnswer = 4 << 20

// A Block is a provider's compaction of the messages that were sent.
type Block struct {
	// Messages stand in place of all of them: elements of the list of messages, as they came, in memory of their own.
	Messages [][]byte
	// Usage is the tokens used. It may be set also when Parse returns an error.
	Usage wire.Usage
}

// A Refused means that the platform, the model or the gateway has no such compaction. Asking again is no use.
type Refused struct {
	Status int
	Why    string // the provider's words, clipped
}

func (e *Refused) Error() string {
	return fmt.Sprintf("the provider does not compact here (%d): %s", e.Status, e.Why)
}

// An Unavailable means that the provider could not do it now: too many requests, an overload, a failure of its own.
type Unavailable struct {
	Status int
	Why    string
}

func (e *Unavailable) Error() string {
	return fmt.Sprintf("the provider answered %d: %s", e.Status, e.Why)
}

// A NoSummary means that the provider made no summary of this conversation as it stands: it refused the request for something in it, or its
// answer is no summary. It may make one of a longer conversation.
type NoSummary struct{ Why string }

func (e *NoSummary) Error() string { return "the provider wrote no summary: " + e.Why }

// errMalformed means that an answer cannot be read as one of the provider's.
var errMalformed = errors.New("the answer to a request for a compaction cannot be read")

// maxWhy bounds the provider's words in an error, in bytes.
const maxWhy = 200

// Parse reads the answer, which is complete: JSON, or a stream of events by its Content-Type. The error is a [Refused], an [Unavailable] or
// a [NoSummary], or says that the answer cannot be read. The Block does not refer to body.
func (r Rule) Parse(status int, contentType string, body []byte) (Block, error) {
	if len(body) > MaxAnswer {
		return Block{}, fmt.Errorf("%w: it has more than %d bytes", errMalformed, MaxAnswer)
	}
	if status != http.StatusOK {
		return Block{}, r.refusalError(status, body)
	}
	if r.members != nil {
		return parseOutput(body)
	}
	var a message
	var err error
	if media, _, _ := strings.Cut(contentType, ";"); strings.EqualFold(strings.TrimSpace(media), "text/event-stream") {
		a, err = r.readStream(body)
	} else if json.Unmarshal(body, &a) != nil {
		err = errMalformed
	}
	if err != nil {
		return Block{Usage: a.Usage.total()}, err
	}
	return a.toBlock()
}

// A message is Anthropic's answer.
type message struct {
	Type    string            `json:"type"`
	Content []json.RawMessage `json:"content"`
	Stop    string            `json:"stop_reason"`
	Usage   usage             `json:"usage"`
}

// usage is Anthropic's account of the tokens used. Those of a compaction are in iterations alone.
type usage struct {
	counts
	Iterations []counts `json:"iterations"`
}

type counts struct {
	Input      number `json:"input_tokens"`
	Output     number `json:"output_tokens"`
	CacheRead  number `json:"cache_read_input_tokens"`
	CacheWrite number `json:"cache_creation_input_tokens"`
}

// total returns the sum over all iterations, or the counts themselves where there are none.
func (u usage) total() (t wire.Usage) {
	of := u.Iterations
	if len(of) == 0 {
		of = []counts{u.counts}
	}
	for _, c := range of {
		t.Input = addCounts(t.Input, c.Input, c.CacheRead, c.CacheWrite)
		t.Output = addCounts(t.Output, c.Output)
		t.CacheRead = addCounts(t.CacheRead, c.CacheRead)
		t.CacheWrite = addCounts(t.CacheWrite, c.CacheWrite)
	}
	return t
}

// A number is a count of tokens. Any other JSON value, a negative or broken number and one over maxCount are read as 0.
type number int

const maxCount = 1 << 30

// UnmarshalJSON never returns an error: an odd count is no reason to throw a summary away.
func (n *number) UnmarshalJSON(b []byte) error {
	var f float64
	if json.Unmarshal(b, &f) == nil && f > 0 && f <= maxCount && f == math.Trunc(f) {
		*n = number(f)
	}
	return nil
}

// addCounts returns the sum of all numbers, at most maxCount.
func addCounts(to int, ns ...number) int {
	for _, n := range ns {
		to = min(to+int(n), maxCount)
	}
	return to
}

// toBlock returns the message's one block as it came, in an assistant message of its own. The error is a [Refused] or a [NoSummary].
func (m message) toBlock() (Block, error) {
	b := Block{Usage: m.Usage.total()}
	if m.Stop != "compaction" {
		if len(m.Content) > 0 && m.Stop != "" { // a gateway that does not know the parameter has the model answer
			return b, &Refused{http.StatusOK, "the request was answered in place of being compacted"}
		}
		return b, &NoSummary{"it stopped with " + limit.Short(m.Stop, maxWhy)}
	}
	if len(m.Content) != 1 {
		return b, errMalformed
	}
	raw := m.Content[0]
	var c struct {
		Type      string `json:"type"`
		Content   string `json:"content"`
		Signature string `json:"signature"`
	}
	if json.Unmarshal(raw, &c) != nil || c.Type != "compaction" || c.Signature == "" {
		return b, errMalformed
	}
	if strings.TrimSpace(c.Content) == "" {
		return b, &NoSummary{"it is empty"}
	}
	// The block goes back as it came, in an assistant message of its own: first, where the messages stood.
	b.Messages = [][]byte{fmt.Appendf(nil, `{"role":"assistant","content":[%s]}`, raw)}
	return b, nil
}

// readStream returns the message in a stream of events. Its block comes complete, in content_block_start.
func (r Rule) readStream(body []byte) (m message, err error) {
	events := sse.NewReader(bytes.NewReader(body), MaxAnswer)
	for {
		_, data, rest, err := events.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil || rest != nil {
			return m, errMalformed
		}
		if len(data) == 0 {
			continue
		}
		var e struct {
			Type    string          `json:"type"`
			Block   json.RawMessage `json:"content_block"`
			Message message         `json:"message"`
			Delta   struct {
				Stop string `json:"stop_reason"`
			} `json:"delta"`
			Usage *usage          `json:"usage"`
			Error json.RawMessage `json:"error"`
		}
		if json.Unmarshal(data, &e) != nil {
			return m, errMalformed
		}
		switch e.Type {
		case "error":
			return m, r.refusalError(statusOf(e.Error), data)
		case "message_start":
			m.Usage = e.Message.Usage
		case "content_block_start":
			m.Content = append(m.Content, bytes.Clone(e.Block))
		case "message_delta":
			m.Stop = e.Delta.Stop
			if e.Usage != nil {
				m.Usage = *e.Usage // counts are those of the whole
			}
		}
	}
	if m.Stop == "" {
		return m, fmt.Errorf("%w: the stream broke off", errMalformed)
	}
	return m, nil
}

// statusOf returns the status for an error that came inside a stream: 400 for one about the request, else 529.
func statusOf(e json.RawMessage) int {
	var of struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(e, &of) == nil && (of.Type == "invalid_request_error" || of.Type == "not_found_error") {
		return http.StatusBadRequest
	}
	return 529
}

// parseOutput parses an answer of /responses/compact. All its items together stand in place of the messages.
func parseOutput(body []byte) (Block, error) {
	var a struct {
		Object string            `json:"object"`
		Output []json.RawMessage `json:"output"`
		Usage  struct {
			Input   number `json:"input_tokens"`
			Output  number `json:"output_tokens"`
			Details struct {
				Cached number `json:"cached_tokens"`
				Write  number `json:"cache_write_tokens"`
			} `json:"input_tokens_details"`
			Thought struct {
				Reasoning number `json:"reasoning_tokens"`
			} `json:"output_tokens_details"`
		} `json:"usage"`
	}
	if json.Unmarshal(body, &a) != nil {
		return Block{}, errMalformed
	}
	b := Block{Usage: wire.Usage{
		Input: int(a.Usage.Input), Output: int(a.Usage.Output), CacheRead: int(a.Usage.Details.Cached), CacheWrite: int(a.Usage.Details.Write),
		Reasoning: int(a.Usage.Thought.Reasoning),
	}}
	sealed := false
	for _, item := range a.Output {
		var of struct {
			Type   string `json:"type"`
			Sealed string `json:"encrypted_content"`
		}
		if json.Unmarshal(item, &of) != nil || item[0] != '{' {
			return Block{Usage: b.Usage}, errMalformed
		}
		sealed = sealed || strings.HasPrefix(of.Type, "compaction") && of.Sealed != ""
		b.Messages = append(b.Messages, bytes.Clone(item))
	}
	if !sealed {
		if a.Object != "" && a.Object != "response.compaction" {
			return Block{Usage: b.Usage}, &Refused{http.StatusOK, "the request was answered in place of being compacted"}
		}
		return Block{Usage: b.Usage}, &NoSummary{"there is no compaction among its items"}
	}
	return b, nil
}

// absent are words with which providers say that they do not know a parameter, a beta or a model for it.
var absent = []string{
	"extra inputs are not permitted", "requires anthropic-beta", "unexpected value", "not supported", "unsupported", "does not support", "not available",
	"unknown parameter", "unrecognized", "not found", "unknown field", "not allowed",
}

// refusalError returns the error for an answer with an error status: a [Refused], an [Unavailable] or a [NoSummary].
func (r Rule) refusalError(status int, body []byte) error {
	why := limit.Short(reasonIn(body), maxWhy)
	switch status {
	case http.StatusForbidden, http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return &Refused{status, why}
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		said := strings.ToLower(reasonIn(body))
		about := strings.Contains(said, "compact") || r.members != nil && strings.Contains(said, "model")
		for _, words := range absent {
			if about && strings.Contains(said, words) {
				return &Refused{status, why}
			}
		}
		return &NoSummary{why}
	case http.StatusRequestEntityTooLarge:
		return &NoSummary{why}
	}
	return &Unavailable{status, why}
}

// reasonIn returns the provider's message in the body of an error; "no reason" for text in any other form, such as a gateway's page, which
// is not repeated.
func reasonIn(body []byte) string {
	var e struct {
		Error struct {
			Message string `json:"message"`
			Details struct {
				Code string `json:"error_code"`
			} `json:"details"`
		} `json:"error"`
		Message string `json:"message"` // Bedrock's
	}
	_ = json.Unmarshal(body, &e)
	switch {
	case e.Error.Message != "":
		return strings.TrimSpace(e.Error.Details.Code + " " + e.Error.Message)
	case e.Message != "":
		return e.Message
	}
	return "no reason"
}
