package proxy

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/eventstream"
	"github.com/plimsoll/plimsoll/journal"
)

const (
	modelPath   = "/bedrock/model/us.anthropic.claude-sonnet-4-20250514-v1%3A0/"
	profilePath = "/bedrock/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A123456789012%3Aapplication-inference-profile%2Fab12cd34ef56/"
)

// invoked packs events of Messages as InvokeModelWithResponseStream does.
func invoked(events ...string) (stream []byte) {
	for _, e := range events {
		payload, _ := json.Marshal(m{"bytes": base64.StdEncoding.EncodeToString([]byte(e)), "p": "abcdef"})
		stream = append(stream, eventstream.Event("chunk", payload)...)
	}
	return stream
}

// What a provider says of usage in event frames is counted, and the frames reach the client as they came.
func TestUsageOfEventFrames(t *testing.T) {
	t.Parallel()
	streams := map[string][]byte{
		"invoke-with-response-stream": invoked(
			`{"type":"message_start","message":{"id":"m","type":"message","model":"x","content":[],"usage":{"input_tokens":777,"output_tokens":1}}}`,
			`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
			`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hey"}}`, `{"type":"content_block_stop","index":0}`,
			`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":55}}`,
			`{"type":"message_stop","amazon-bedrock-invocationMetrics":{"inputTokenCount":777,"outputTokenCount":55}}`),
		"converse-stream": append(append(append(eventstream.Event("messageStart", []byte(`{"role":"assistant"}`)), eventstream.Event("contentBlockDelta", []byte(`{"contentBlockIndex":0,"delta":{"text":"hey"}}`))...),
			eventstream.Event("messageStop", []byte(`{"stopReason":"end_turn"}`))...), eventstream.Event("metadata", []byte(`{"usage":{"inputTokens":700,"outputTokens":55,"totalTokens":832,"cacheReadInputTokens":77}}`))...),
	}
	for verb, stream := range streams {
		upstream := newServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", eventstream.Type)
			_, _ = w.Write(stream)
		}))
		_, root, j := start(t, upstream, Options{})
		body := `{"anthropic_version":"bedrock-2023-05-31","max_tokens":10,"messages":[{"role":"user","content":"hi"}]}`
		if verb == "converse-stream" {
			body = `{"messages":[{"role":"user","content":[{"text":"hi"}]}]}`
		}
		res, err := http.Post(root+modelPath+verb, "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		got, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if string(got) != string(stream) {
			t.Errorf("%s: %d bytes of %d came, or others", verb, len(got), len(stream))
		}
		if found := events[journal.WindowResponse](j); len(found) != 1 || found[0].TokensIn != 777 || found[0].TokensOut != 55 || found[0].Finish != "end_turn" {
			t.Errorf("%s: the journal has %+v", verb, found)
		}
	}
}

// A name that says nothing of the maker is told by the body: what is Anthropic's is looked into, all else passes.
func TestProfilesAreToldByTheirBody(t *testing.T) {
	t.Parallel()
	var got []byte
	upstream := newServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got, _ = io.ReadAll(r.Body)
		_, _ = io.WriteString(w, "{}")
	}))
	_, root, j := start(t, upstream, Options{})
	const orphan = `"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"x","input":{}}]},{"role":"user","content":"go"}]}`
	for body, mended := range map[string]bool{`{"anthropic_version":"bedrock-2023-05-31","max_tokens":10,` + orphan: true, `{"max_tokens":10,` + orphan: false, `{"prompt":"x"}`: false} {
		res, err := http.Post(root+profilePath+"invoke", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if (string(got) != body) != mended {
			t.Errorf("%s\nwent on as\n%s", body, got)
		}
	}
	if n := len(events[journal.WindowPassed](j)); n != 2 {
		t.Errorf("%d bodies passed, want 2", n)
	}
}

// A refusal has the form that AWS's libraries read.
func TestRefusalsOfConverse(t *testing.T) {
	t.Parallel()
	_, root, _ := start(t, "http://127.0.0.1:1", Options{MaxBody: 100})
	res, err := http.Post(root+modelPath+"converse", "application/json", strings.NewReader(`{"messages":[{"role":"user","content":[{"text":"`+strings.Repeat("x", 200)+`"}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	var answer struct{ Message string }
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil || answer.Message == "" || res.Header.Get("X-Amzn-Errortype") != "ValidationException" {
		t.Errorf("%v %+v %q", err, answer, res.Header.Get("X-Amzn-Errortype"))
	}
}

// A client may ask another region than the one that the environment names: it is signed for, and asked, there.
func TestTheClientsRegionIsSignedFor(t *testing.T) {
	t.Parallel()
	p, err := New(Options{Token: testToken, Upstreams: []Upstream{
		{Name: "bedrock", URL: "https://bedrock-runtime.eu-west-1.amazonaws.com", AWS: &AWS{Credentials: keys{}, Region: "eu-west-1"}},
		{Name: "own", Provider: Bedrock, URL: "https://bedrock.example.net", AWS: &AWS{Credentials: keys{}, Region: "eu-west-1"}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	for _, c := range []struct{ upstream, credential, host, region string }{
		{"bedrock", "AKID/20260101/us-east-1/bedrock/aws4_request", "bedrock-runtime.us-east-1.amazonaws.com", "us-east-1"},
		{"bedrock", "AKID/20260101/eu-west-1/bedrock/aws4_request", "bedrock-runtime.eu-west-1.amazonaws.com", "eu-west-1"},
		{"bedrock", "AKID/20260101/evil.net#/bedrock/aws4_request", "bedrock-runtime.eu-west-1.amazonaws.com", "eu-west-1"},
		{"bedrock", "AKID/20260101", "bedrock-runtime.eu-west-1.amazonaws.com", "eu-west-1"},
		{"own", "AKID/20260101/us-east-1/bedrock/aws4_request", "bedrock.example.net", "eu-west-1"},
	} {
		r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/"+c.upstream+"/model/x/converse", nil)
		r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+c.credential+", SignedHeaders=host, Signature=00")
		rt := &route{up: p.upstreams[c.upstream], below: "/model/x/converse"}
		req, err := p.outgoingRequest(r, rt)
		if err != nil {
			t.Fatal(err)
		}
		if err := p.sign(req, rt, nil); err != nil {
			t.Fatal(err)
		}
		if req.URL.Host != c.host || req.Host != c.host || !strings.Contains(req.Header.Get("Authorization"), "/"+c.region+"/bedrock/") {
			t.Errorf("%s, %s: to %s, %s", c.upstream, c.credential, req.URL.Host, req.Header.Get("Authorization"))
		}
	}
}
