package standin_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

// client asks for chat completions as OpenAI's clients do. The official one asks in e2e/clients.
type client struct{ base, key string }

type chatMessage struct {
	Role       string     `json:"role"`
	Content    string     `json:"content"`
	ToolCalls  []chatCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
}

type chatCall struct {
	Index    int    `json:"index,omitempty"` // in a stream
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

type chatTool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description,omitempty"`
		Parameters  json.RawMessage `json:"parameters,omitempty"`
	} `json:"function"`
}

type chatRequest struct {
	Model         string          `json:"model"`
	Messages      []chatMessage   `json:"messages"`
	Tools         []chatTool      `json:"tools,omitempty"`
	MaxOutput     int             `json:"max_completion_tokens,omitempty"`
	Stream        bool            `json:"stream,omitempty"`
	StreamOptions map[string]bool `json:"stream_options,omitempty"`
}

type chatAnswer struct {
	Model       string       `json:"model"`
	Fingerprint string       `json:"system_fingerprint"`
	Choices     []chatChoice `json:"choices"`
	Usage       struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
	} `json:"usage"`
}

type chatChoice struct {
	Message      chatMessage `json:"message"`
	Delta        chatMessage `json:"delta"` // in a stream
	FinishReason string      `json:"finish_reason"`
}

func user(text string) chatMessage { return chatMessage{Role: "user", Content: text} }

func result(text, id string) chatMessage {
	return chatMessage{Role: "tool", Content: text, ToolCallID: id}
}

func declared(name, description string, schema json.RawMessage) chatTool {
	t := chatTool{Type: "function"}
	t.Function.Name, t.Function.Description, t.Function.Parameters = name, description, schema
	return t
}

// do makes a request and gives its answer; one that is no 200 is an error.
func (c client) do(t *testing.T, method, path string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(t.Context(), method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+c.key)
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		defer res.Body.Close()
		said, _ := io.ReadAll(res.Body)
		return nil, &refusal{res.StatusCode, string(said)}
	}
	return res, nil
}

type refusal struct {
	status int
	body   string
}

func (r *refusal) Error() string { return fmt.Sprintf("status %d: %s", r.status, r.body) }

// complete asks for a whole answer.
func (c client) complete(t *testing.T, r chatRequest) (*chatAnswer, error) {
	body, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	res, err := c.do(t, http.MethodPost, "/chat/completions", body)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	var a chatAnswer
	if err := json.NewDecoder(res.Body).Decode(&a); err != nil {
		return nil, err
	}
	if len(a.Choices) != 1 {
		return nil, fmt.Errorf("%d choices", len(a.Choices))
	}
	return &a, nil
}

// stream asks for an answer in pieces and puts them together. An answer that does not say that it is done is an error.
func (c client) stream(t *testing.T, r chatRequest) (sum *chatAnswer, err error) {
	r.Stream, r.StreamOptions = true, map[string]bool{"include_usage": true}
	body, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	res, err := c.do(t, http.MethodPost, "/chat/completions", body)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	sum = &chatAnswer{}
	sum.Choices = make([]chatChoice, 1)
	one := &sum.Choices[0]
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		if data == "[DONE]" {
			return sum, nil
		}
		var a chatAnswer
		if err := json.Unmarshal([]byte(data), &a); err != nil {
			return nil, fmt.Errorf("%w: %s", err, data)
		}
		if sum.Model != "" && (a.Model != sum.Model || a.Fingerprint != sum.Fingerprint) {
			return nil, fmt.Errorf("a chunk that does not say what made it: %s", data)
		}
		sum.Model, sum.Fingerprint = a.Model, a.Fingerprint
		if a.Usage.Prompt > 0 {
			sum.Usage = a.Usage
		}
		for _, choice := range a.Choices {
			one.Message.Content += choice.Delta.Content
			one.FinishReason += choice.FinishReason
			for _, piece := range choice.Delta.ToolCalls {
				for len(one.Message.ToolCalls) <= piece.Index {
					one.Message.ToolCalls = append(one.Message.ToolCalls, chatCall{})
				}
				call := &one.Message.ToolCalls[piece.Index]
				call.ID += piece.ID
				call.Function.Name += piece.Function.Name
				call.Function.Arguments += piece.Function.Arguments
			}
		}
	}
	return nil, errors.Join(errors.New("the stream broke off"), lines.Err())
}
