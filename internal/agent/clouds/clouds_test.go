package clouds

import (
	"bytes"
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/agent/anthropic"
	"github.com/plimsoll/plimsoll/agent/gemini"
	"github.com/plimsoll/plimsoll/agent/openai"
	"github.com/plimsoll/plimsoll/internal/eventstream"
)

func ask(t *testing.T, m agent.Model) (*agent.Reply, error) {
	t.Helper()
	r := &agent.Request{
		System: "Be brief.", Messages: []agent.Message{{Role: agent.RoleUser, Text: "What is <a> hull?"}},
		Tools: []agent.ToolSpec{{Name: "look", Schema: json.RawMessage(`{"type":"object"}`)}}, MaxOutput: 100,
	}
	return m.Generate(t.Context(), r, func(string) {})
}

// serve answers with what answer says, once the request is as it should be.
func serve(t *testing.T, check func(r *http.Request, body []byte) error, kind string, answer []byte) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err == nil {
			err = check(r, body)
		}
		if err != nil {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprintf(w, `{"message":%q}`, err)
			return
		}
		w.Header().Set("Content-Type", kind)
		_, _ = w.Write(answer)
	}))
	t.Cleanup(s.Close)
	return s
}

const chatAnswer = `data: {"id":"1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":"A ship's body."},"finish_reason":null}]}

data: {"id":"1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}

data: {"id":"1","object":"chat.completion.chunk","choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3,"total_tokens":10}}

data: [DONE]

`

var messagesAnswer = []string{
	`{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"x","content":[],"stop_reason":null,"usage":{"input_tokens":7,"output_tokens":1}}}`,
	`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
	`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"A ship's body."}}`,
	`{"type":"content_block_stop","index":0}`,
	`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":3}}`,
	`{"type":"message_stop"}`,
}

func eventsOf(events []string) (out []byte) {
	for _, e := range events {
		var kind struct{ Type string }
		_ = json.Unmarshal([]byte(e), &kind)
		out = fmt.Appendf(out, "event: %s\ndata: %s\n\n", kind.Type, e)
	}
	return out
}

// frame is one of Amazon's event frames.
func frame(payload []byte, about ...string) []byte {
	var headers []byte
	for i := 0; i+1 < len(about); i += 2 {
		headers = append(append(headers, byte(len(about[i]))), about[i]...)
		headers = append(binary.BigEndian.AppendUint16(append(headers, 7), uint16(len(about[i+1]))), about[i+1]...)
	}
	out := binary.BigEndian.AppendUint32(nil, uint32(16+len(headers)+len(payload)))
	out = binary.BigEndian.AppendUint32(out, uint32(len(headers)))
	out = binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out))
	out = append(append(out, headers...), payload...)
	return binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(out))
}

func chunk(event string) []byte {
	return frame(fmt.Appendf(nil, `{"bytes":%q,"p":"abc"}`, base64.StdEncoding.EncodeToString([]byte(event))), ":event-type", "chunk", ":content-type", "application/json", ":message-type", "event")
}

func good(t *testing.T, reply *agent.Reply, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if reply.Message.Text != "A ship's body." || reply.Usage.Input != 7 || reply.Usage.Output != 3 {
		t.Errorf("%+v", reply)
	}
}

func TestAzure(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]string{
		"2024-10-21": "/openai/deployments/gpt%204.1/chat/completions?api-version=2024-10-21",
		"":           "/openai/v1/chat/completions",
	} {
		s := serve(t, func(r *http.Request, body []byte) error {
			if r.RequestURI != want || r.Header.Get("Api-Key") != "secret" || r.Header.Get("Authorization") != "" || !strings.Contains(string(body), `"max_completion_tokens":100`) {
				return fmt.Errorf("%s, %v, %s", r.RequestURI, r.Header, body)
			}
			return nil
		}, "text/event-stream", []byte(chatAnswer))
		for _, base := range []string{s.URL, s.URL + "/", s.URL + "/openai/v1"} {
			m, err := openai.New(openai.Options{
				BaseURL: base, Key: "secret", Model: "gpt 4.1", Provider: "azure",
				HTTPClient: &http.Client{Transport: Azure{Deployment: "gpt 4.1", Version: version}},
			})
			if err != nil {
				t.Fatal(err)
			}
			reply, err := ask(t, m)
			good(t, reply, err)
		}
	}
}

func TestVertex(t *testing.T) {
	t.Parallel()
	token := func(context.Context) (string, error) { return "token", nil }
	v := Vertex{Project: "p", Location: "europe-west1", Token: token}
	s := serve(t, func(r *http.Request, body []byte) error {
		if r.RequestURI != "/v1/projects/p/locations/europe-west1/publishers/google/models/gemini-2.5-pro:streamGenerateContent?alt=sse" || r.Header.Get("Authorization") != "Bearer token" {
			return fmt.Errorf("%s, %v", r.RequestURI, r.Header)
		}
		return nil
	}, "text/event-stream", []byte(`data: {"candidates":[{"content":{"role":"model","parts":[{"text":"A ship's body."}]},"finishReason":"STOP"}],"usageMetadata":{"promptTokenCount":7,"candidatesTokenCount":3,"totalTokenCount":10}}`+"\n\n"))
	g, err := gemini.New(gemini.Options{BaseURL: s.URL, Model: "gemini-2.5-pro", Provider: "vertex", HTTPClient: &http.Client{Transport: v}})
	if err != nil {
		t.Fatal(err)
	}
	reply, err := ask(t, g)
	good(t, reply, err)

	s = serve(t, func(r *http.Request, body []byte) error {
		var got map[string]any
		if err := json.Unmarshal(body, &got); err != nil {
			return err
		}
		if r.RequestURI != "/v1/projects/p/locations/europe-west1/publishers/anthropic/models/claude-sonnet-4-5@20250929:streamRawPredict" ||
			got["anthropic_version"] != vertexAnthropic || got["model"] != nil || got["stream"] != true || got["max_tokens"] != 100.0 || r.Header.Get("Anthropic-Version") != "" {
			return fmt.Errorf("%s, %v, %s", r.RequestURI, r.Header, body)
		}
		return nil
	}, "text/event-stream", eventsOf(messagesAnswer))
	a, err := anthropic.New(anthropic.Options{BaseURL: s.URL, Model: "claude-sonnet-4-5@20250929", Provider: "vertex", HTTPClient: &http.Client{Transport: v}})
	if err != nil {
		t.Fatal(err)
	}
	reply, err = ask(t, a)
	good(t, reply, err)
	v.Token = func(context.Context) (string, error) { return "", errors.New("no token") }
	a, _ = anthropic.New(anthropic.Options{BaseURL: s.URL, Model: "claude-x", Provider: "vertex", HTTPClient: &http.Client{Transport: v}})
	if _, err := ask(t, a); err == nil || !strings.Contains(err.Error(), "no token") {
		t.Errorf("%v", err)
	}
}

const bedrockModel = "arn:aws:bedrock:eu-west-1:123456789012:application-inference-profile/ab12"

func keys(context.Context) (aws.Credentials, error) {
	return aws.Credentials{AccessKeyID: "AKID", SecretAccessKey: "SECRET", SessionToken: "SESSION"}, nil
}

// signedWell signs what came anew, and compares.
func signedWell(r *http.Request, body []byte) error {
	at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	if err != nil {
		return err
	}
	again, err := http.NewRequest(r.Method, "http://"+r.Host+r.RequestURI, bytes.NewReader(body))
	if err != nil {
		return err
	}
	_, names, _ := strings.Cut(r.Header.Get("Authorization"), "SignedHeaders=")
	names, _, _ = strings.Cut(names, ",")
	for name := range strings.SplitSeq(names, ";") {
		if v := r.Header.Values(name); len(v) > 0 {
			again.Header[http.CanonicalHeaderKey(name)] = v
		}
	}
	who, _ := keys(context.Background())
	sum := sha256.Sum256(body)
	if err := v4.NewSigner().SignHTTP(context.Background(), who, again, hex.EncodeToString(sum[:]), "bedrock", "eu-west-1", at); err != nil {
		return err
	}
	if got, want := r.Header.Get("Authorization"), again.Header.Get("Authorization"); got != want || !strings.Contains(names, "host") {
		return fmt.Errorf("signed %s, not %s", got, want)
	}
	return nil
}

func TestBedrock(t *testing.T) {
	t.Parallel()
	var stream []byte
	for _, e := range messagesAnswer {
		stream = append(stream, chunk(e)...)
	}
	check := func(r *http.Request, body []byte) error {
		var got map[string]any
		if err := json.Unmarshal(body, &got); err != nil {
			return err
		}
		if r.RequestURI != "/model/arn%3Aaws%3Abedrock%3Aeu-west-1%3A123456789012%3Aapplication-inference-profile%2Fab12/invoke-with-response-stream" ||
			got["anthropic_version"] != bedrockAnthropic || got["model"] != nil || got["stream"] != nil || got["tools"] == nil || !strings.Contains(string(body), "<a>") {
			return fmt.Errorf("%s, %s", r.RequestURI, body)
		}
		return nil
	}
	model := func(url string, b Bedrock) agent.Model {
		m, err := anthropic.New(anthropic.Options{BaseURL: url, Model: bedrockModel, Provider: "bedrock", HTTPClient: &http.Client{Transport: b}})
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	signed := Bedrock{Credentials: aws.CredentialsProviderFunc(keys), Region: "eu-west-1"}
	s := serve(t, func(r *http.Request, body []byte) error { return errors.Join(check(r, body), signedWell(r, body)) }, eventstream.Type, stream)
	reply, err := ask(t, model(s.URL, signed))
	good(t, reply, err)

	s = serve(t, func(r *http.Request, body []byte) error {
		if got := r.Header.Get("Authorization"); got != "Bearer own" {
			return errors.New(got)
		}
		return check(r, body)
	}, eventstream.Type, stream)
	reply, err = ask(t, model(s.URL, Bedrock{Key: "own"}))
	good(t, reply, err)

	// What Bedrock refuses, before and in the stream.
	s = serve(t, func(*http.Request, []byte) error { return errors.New("Input is too long for requested model.") }, eventstream.Type, nil)
	if e, ok := errors.AsType[*agent.ModelError](second(ask(t, model(s.URL, signed)))); !ok || e.Failure != agent.TooLong {
		t.Errorf("%+v", e)
	}
	for name, want := range map[string]agent.Failure{"throttlingException": agent.Busy, "internalServerException": agent.Busy} {
		broken := append(chunk(messagesAnswer[0]), frame([]byte(`{"message":"slow down"}`), ":exception-type", name, ":message-type", "exception")...)
		s = serve(t, func(*http.Request, []byte) error { return nil }, eventstream.Type, broken)
		if e, ok := errors.AsType[*agent.ModelError](second(ask(t, model(s.URL, signed)))); !ok || e.Failure != want || !strings.Contains(e.Text, "slow down") {
			t.Errorf("%s: %+v", name, e)
		}
	}
	s = serve(t, func(*http.Request, []byte) error { return nil }, eventstream.Type, stream[:len(stream)/2])
	if e, ok := errors.AsType[*agent.ModelError](second(ask(t, model(s.URL, signed)))); !ok || e.Failure != agent.Broken {
		t.Errorf("a stream that breaks off: %+v", e)
	}
	failing := Bedrock{Region: "eu-west-1", Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) { return aws.Credentials{}, errors.New("SECRET") })}
	if err := second(ask(t, model(s.URL, failing))); err == nil || strings.Contains(err.Error(), "SECRET") || !strings.Contains(err.Error(), "credentials") {
		t.Errorf("%v", err)
	}
}

func second(_ *agent.Reply, err error) error { return err }

func FuzzFrames(f *testing.F) {
	f.Add(append(chunk(messagesAnswer[0]), frame([]byte(`{"message":"x"}`), ":exception-type", "throttlingException", ":message-type", "exception")...))
	f.Add(frame([]byte(`{"contentBlockIndex":0,"delta":{"reasoningContent":{"text":"x","signature":"y"}}}`), ":event-type", "contentBlockDelta", ":message-type", "event"))
	f.Add(frame(nil))
	f.Add([]byte("\x00\x00\x00\x10\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		e := newEvents(io.NopCloser(bytes.NewReader(raw)))
		got, err := io.ReadAll(e)
		if err == nil && len(raw) > 0 && len(raw) < 16 {
			t.Errorf("%q are no frames, and gave %q", raw, got)
		}
		for line := range strings.Lines(string(got)) {
			if line != "\n" && !strings.HasPrefix(line, "event: ") && !strings.HasPrefix(line, "data: ") {
				t.Errorf("a line %q", line)
			}
		}
	})
}

func write(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "gcp.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestGoogleCredentials(t *testing.T) {
	t.Parallel()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	var where string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		w.Header().Set("Content-Type", "application/json")
		switch r.FormValue("grant_type") {
		case "urn:ietf:params:oauth:grant-type:jwt-bearer":
			parts := strings.Split(r.FormValue("assertion"), ".")
			claims, _ := base64.RawURLEncoding.DecodeString(parts[1])
			signature, _ := base64.RawURLEncoding.DecodeString(parts[2])
			sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
			var said struct{ Iss, Aud, Scope string }
			if rsa.VerifyPKCS1v15(&key.PublicKey, crypto.SHA256, sum[:], signature) != nil || json.Unmarshal(claims, &said) != nil || said.Iss != "a@p.example" || said.Aud != where || said.Scope != googleScope {
				w.WriteHeader(http.StatusBadRequest)
				fmt.Fprint(w, `{"error":"invalid_grant","error_description":"bad assertion"}`)
				return
			}
			fmt.Fprintf(w, `{"access_token":"service-%d","expires_in":3600}`, asked)
		case "refresh_token":
			if r.FormValue("refresh_token") != "again" {
				w.WriteHeader(http.StatusBadRequest)
				fmt.Fprint(w, `{"error":"invalid_grant","error_description":"expired"}`)
				return
			}
			fmt.Fprint(w, `{"access_token":"user","expires_in":30}`)
		default:
			if r.Header.Get("Metadata-Flavor") != "Google" {
				w.WriteHeader(http.StatusForbidden)
			}
			fmt.Fprint(w, `{"access_token":"machine","expires_in":3600}`)
		}
	}))
	t.Cleanup(s.Close)
	where = s.URL
	account := map[string]string{
		"type": "service_account", "project_id": "p", "client_email": "a@p.example", "token_uri": s.URL, "private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
	}
	g, err := GoogleFile(write(t, account), nil)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second is the first one's
		if token, err := g.Token(t.Context()); err != nil || token != "service-1" || g.Project != "p" {
			t.Errorf("%s, %v", token, err)
		}
	}
	user := map[string]string{"type": "authorized_user", "client_id": "c", "client_secret": "s", "refresh_token": "again", "quota_project_id": "q", "token_uri": s.URL}
	if g, err = GoogleFile(write(t, user), nil); err != nil {
		t.Fatal(err)
	}
	if token, err := g.Token(t.Context()); err != nil || token != "user" || g.Project != "q" {
		t.Errorf("%s, %v", token, err)
	}
	user["refresh_token"] = "old"
	g, _ = GoogleFile(write(t, user), nil)
	if _, err := g.Token(t.Context()); err == nil || !strings.Contains(err.Error(), "invalid_grant expired") {
		t.Errorf("%v", err)
	}
	if token, err := GoogleMachine(strings.TrimPrefix(s.URL, "http://")).Token(t.Context()); err != nil || token != "machine" {
		t.Errorf("%s, %v", token, err)
	}
	account["token_uri"] = "http://elsewhere.example"
	for want, v := range map[string]any{
		"token_uri": account, "external_account": map[string]string{"type": "external_account"}, "PEM": map[string]string{"type": "service_account"}, "JSON": "x",
	} {
		if _, err := GoogleFile(write(t, v), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
