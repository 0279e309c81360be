package agent

import (
	"context"
	"encoding/json"
	"time"
)

// Model is a language model behind an API. The packages openai, anthropic and gemini make them.
type Model interface {
	// Info describes the model. It makes no request.
	Info() ModelInfo
	// Generate makes one request and does not repeat it. text is called with the words of the answer
	// as they come; it is never nil and returns soon. An error is a *ModelError, or that of ctx
	// if that has ended.
	Generate(ctx context.Context, r *Request, text func(string)) (*Reply, error)
}

// ModelInfo describes a model.
type ModelInfo struct {
	Provider string // as package window/models calls it: "openai", "anthropic", …
	Name     string
	URL      string // the address of its API, without credentials; for errors
	// Window and MaxOutput are in tokens; 0 means the values of window/models.
	Window, MaxOutput int
	// Standin means that this is not a real model, which is shown wherever the model is named.
	Standin bool
}

// Request is one request to a model. It must not be changed.
type Request struct {
	System   string
	Messages []Message
	Tools    []ToolSpec // none: the model has to answer
	// MaxOutput bounds the answer in tokens; 0 leaves it to the provider.
	MaxOutput int
	// Session names the conversation, for providers that keep caches by it; it may be "".
	Session string

	encoded encodedRequest
}

// Reply is a whole answer.
type Reply struct {
	Message Message // of RoleAssistant
	Stop    Stop
	// Reason is the provider's own word for the reason of a StopRefused, such as "SAFETY". It may be "".
	Reason string
	Usage  Usage
}

// Stop is the reason for the end of an answer.
type Stop string

// The reasons. StopOverflow: the window was full before the answer ended.
const (
	StopEnd      Stop = "end"
	StopCalls    Stop = "calls"
	StopLength   Stop = "length"
	StopOverflow Stop = "overflow"
	StopRefused  Stop = "refused" // by the model or a filter of its provider
)

// Usage holds a provider's counts, in tokens. Input includes cached tokens.
type Usage struct {
	Input  int `json:"input"`
	Cached int `json:"cached"`
	Output int `json:"output"`
}

// ToolSpec describes a tool to a model.
type ToolSpec struct {
	Name        string
	Description string
	Schema      json.RawMessage // JSON Schema of type object
	// ReadOnly means that calls of the tool change nothing.
	ReadOnly bool
}

// Failure is a kind of [ModelError].
type Failure string

// The failures. The first three pass by themselves, and are tried again.
const (
	Unreachable Failure = "unreachable" // no connection, or none in time
	Busy        Failure = "busy"        // 408, 409, 429, 5xx, overloaded
	Broken      Failure = "broken"      // the answer broke off, was empty or is not an answer
	Key         Failure = "key"         // 401, 403
	NoModel     Failure = "no-model"    // 404
	TooLong     Failure = "too-long"    // more than the window takes
	Refused     Failure = "refused"     // any other 4xx, or a model that does not want to answer or used up its output before it did
	NotAnAPI    Failure = "not-an-api"  // HTML and the like: the address is wrong
	Oversized   Failure = "oversized"   // the answer is larger than the adapter takes
	Internal    Failure = "internal"    // the adapter itself: a panic, or an error that is not a ModelError
)

// ModelError is the failure of a model to answer. It holds no credential.
type ModelError struct {
	Model   ModelInfo
	Failure Failure
	Status  int    // of HTTP; 0 when there was none
	Text    string // what was said, at most 300 bytes
	// After is the pause that the provider asks for; 0 if it names none.
	After time.Duration
	// Limit and Actual are the numbers of tokens in a TooLong; 0 if the provider does not name them.
	Limit, Actual int
	// Tries counts the requests that were made.
	Tries int
	Err   error // the cause; it may be nil
}
