package clouds

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/plimsoll/plimsoll/internal/eventstream"
)

// Bedrock is a transport for package anthropic, whose Options.BaseURL is [BedrockURL] and which needs no Key.
type Bedrock struct {
	// Key is a key of Bedrock's own, which is sent in the place of a signature; "" signs with Credentials.
	Key         string
	Credentials aws.CredentialsProvider
	Region      string
	// Converse asks by ConverseStream, as the models of other makers than Anthropic are asked. Caches are not asked for, and a model thinks
	// as it does by itself.
	Converse bool
	// Next sends the request; nil is http.DefaultTransport.
	Next http.RoundTripper
}

// BedrockURL returns the address of Bedrock's models in a region.
func BedrockURL(region string) string {
	host := "https://bedrock-runtime." + region + ".amazonaws.com"
	if strings.HasPrefix(region, "cn-") {
		host += ".cn"
	}
	return host
}

// The version of Anthropic's API that Bedrock speaks.
const bedrockAnthropic = "bedrock-2023-05-31"

// RoundTrip implements http.RoundTripper.
func (b Bedrock) RoundTrip(r *http.Request) (*http.Response, error) {
	base, ok := strings.CutSuffix(r.URL.EscapedPath(), "/v1/messages")
	if !ok {
		return nil, fmt.Errorf("bedrock: no path for %s", r.URL.EscapedPath())
	}
	model, operation, body, err := b.convertBody(r)
	if err != nil {
		return nil, err
	}
	out := withBody(r, base, "/model/"+escaped(model)+operation, "", body)
	out.Header.Set("Accept", eventstream.Type)
	if b.Key != "" {
		out.Header.Set("Authorization", "Bearer "+b.Key)
	} else {
		who, err := b.Credentials.Retrieve(r.Context())
		if err != nil {
			return nil, fmt.Errorf("the AWS credentials could not be had; `aws sts get-caller-identity` shows why")
		}
		sum := sha256.Sum256(body)
		if err := v4.NewSigner().SignHTTP(r.Context(), who, out, hex.EncodeToString(sum[:]), "bedrock", b.Region, time.Now()); err != nil {
			return nil, err
		}
	}
	resp, err := transportOr(b.Next).RoundTrip(out)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusOK && strings.HasPrefix(resp.Header.Get("Content-Type"), eventstream.Type) {
		resp.Header.Set("Content-Type", "text/event-stream")
		resp.Header.Del("Content-Length")
		resp.ContentLength = -1
		resp.Body = newEvents(resp.Body)
	}
	return resp, nil
}

// convertBody reads the body of a request of package anthropic and returns the body to send to Bedrock, the model, and the operation that
// is the end of the path.
func (b Bedrock) convertBody(r *http.Request) (model, operation string, body []byte, err error) {
	if !b.Converse {
		model, body, err = convertAnthropic(r, bedrockAnthropic)
		return model, "/invoke-with-response-stream", body, err
	}
	model, members, err := readMembers(r)
	if err == nil {
		body, err = converse(members)
	}
	return model, "/converse-stream", body, err
}

// escaped returns a model's id in a path, with its colons and slashes (those of an ARN) encoded: so the signature is over what is sent.
func escaped(model string) string {
	return strings.ReplaceAll(url.PathEscape(model), ":", "%3A")
}

const (
	frameBound = 8 << 20 // of one frame: events of a model are far below
	// maxName bounds the name of an exception that is shown.
	maxName = 100
)

// events reads frames as the server-sent events that Anthropic's own service sends: the bytes of each chunk are one of them, and what
// Converse streams is written as them.
type events struct {
	from   io.ReadCloser
	talk   conversation
	frames eventstream.Reader
	out    bytes.Buffer
	err    error // once out is read
}

// newEvents reads from a stream of [eventstream.Type].
func newEvents(from io.ReadCloser) *events {
	return &events{from: from, frames: eventstream.Reader{Most: frameBound}}
}

// Read reads frames of Amazon's event stream and returns the events in them as text. An error in a frame, a broken frame and an end within
// one are errors.
func (e *events) Read(p []byte) (int, error) {
	var piece [16 << 10]byte
	for e.out.Len() == 0 {
		if e.err != nil {
			return 0, e.err
		}
		n, err := e.from.Read(piece[:])
		e.frames.Feed(piece[:n], func(f *eventstream.Frame) {
			if e.err == nil {
				e.err = e.writeEvent(f)
			}
		})
		switch {
		case e.err != nil:
		case e.frames.Broken() || e.frames.Skipping():
			e.err = errFrame
		case errors.Is(err, io.EOF) && !e.frames.Between():
			e.err = io.ErrUnexpectedEOF
		default:
			e.err = err
		}
	}
	return e.out.Read(p)
}

// Close implements io.Closer.
func (e *events) Close() error { return e.from.Close() }

var errFrame = errors.New("the stream of Bedrock has a broken frame")

// writeEvent writes the event of Anthropic's stream that a frame of Bedrock stands for. An exception becomes an error event.
func (e *events) writeEvent(f *eventstream.Frame) error {
	var said struct {
		Bytes   []byte `json:"bytes"`
		Message string `json:"message"`
	}
	if err := json.Unmarshal(f.Payload, &said); err != nil && f.Kind == "event" {
		return errFrame
	}
	switch {
	case f.Kind != "event":
		text, _ := json.Marshal(map[string]any{"type": "error", "error": map[string]string{
			"type": errorType(f.Name), "message": fmt.Sprintf("%.*s: %s", maxName, f.Name, said.Message+f.Message),
		}})
		fmt.Fprintf(&e.out, "event: error\ndata: %s\n\n", text)
	case f.Name == "chunk":
		var inner struct {
			Type string `json:"type"`
		}
		if json.Unmarshal(said.Bytes, &inner) != nil || bytes.ContainsAny(said.Bytes, "\r\n") {
			return errFrame
		}
		name, _ := json.Marshal(inner.Type)
		fmt.Fprintf(&e.out, "event: %s\ndata: %s\n\n", bytes.Trim(name, `"`), said.Bytes)
	default:
		list, err := e.talk.convertEvent(f.Name, f.Payload)
		if err != nil {
			return err
		}
		for _, one := range list {
			data, err := json.Marshal(one)
			if err != nil {
				return errFrame
			}
			fmt.Fprintf(&e.out, "event: %s\ndata: %s\n\n", one["type"], data)
		}
	}
	return nil
}

// errorType returns the error type of Anthropic's own service for an exception of Bedrock, api_error for an unknown one.
func errorType(exception string) string {
	switch exception {
	case "throttlingException", "serviceQuotaExceededException":
		return "rate_limit_error"
	case "validationException":
		return "invalid_request_error"
	case "serviceUnavailableException", "modelNotReadyException":
		return "overloaded_error"
	}
	return "api_error"
}
