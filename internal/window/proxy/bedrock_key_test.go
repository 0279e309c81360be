package proxy

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/scripted"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/window/wire"
)

// A key of Bedrock's own goes on as it is where the proxy signs what is signed; one that is injected takes the place of a signature.
func TestKeysOfBedrock(t *testing.T) {
	var got *http.Request
	upstream := newServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got = r
		_, _ = io.WriteString(w, "{}")
	}))
	t.Setenv("TEST_BEDROCK_KEY", "key-of-the-daemon")
	_, root, j := start(t, upstream, Options{Token: testToken, Upstreams: []Upstream{
		{Name: "run", Provider: Bedrock, URL: upstream, AWS: &AWS{Credentials: keys{}, Region: "eu-west-1", Bearer: true}},
		{Name: "signs", Provider: Bedrock, URL: upstream, AWS: &AWS{Credentials: keys{}, Region: "eu-west-1"}},
		{Name: "adds", Provider: Bedrock, URL: upstream, KeyEnv: "TEST_BEDROCK_KEY"},
	}})
	const signature = "AWS4-HMAC-SHA256 Credential=AKID/20260101/eu-west-1/bedrock/aws4_request, SignedHeaders=host, Signature=00"
	for _, c := range []struct{ upstream, sent, want string }{
		{"run", "Bearer key-of-the-client", "Bearer key-of-the-client"},
		{"run", signature, "AWS4-HMAC-SHA256 Credential=AKIDTEST/"},
		{"run", "", "AWS4-HMAC-SHA256 Credential=AKIDTEST/"},
		{"signs", "Bearer whatever", "AWS4-HMAC-SHA256 Credential=AKIDTEST/"},
		{"adds", signature, "Bearer key-of-the-daemon"},
		{"adds", "Bearer key-of-the-client", "Bearer key-of-the-daemon"},
	} {
		for _, verb := range []string{"converse", "apply-guardrail"} { // looked into, and not
			r, _ := http.NewRequest(http.MethodPost, root+"/"+testToken+"/"+c.upstream+"/model/amazon.nova-pro-v1:0/"+verb, strings.NewReader(`{"messages":[{"role":"user","content":[{"text":"hi"}]}]}`))
			r.Header.Set("Authorization", c.sent)
			r.Header.Set("X-Amz-Date", "20200101T000000Z")
			res, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			if res.StatusCode != http.StatusOK || !strings.HasPrefix(got.Header.Get("Authorization"), c.want) {
				t.Errorf("%s, %q: %s, came with %q", c.upstream, c.sent, res.Status, got.Header.Get("Authorization"))
			}
			if c.upstream == "adds" && got.Header.Get("X-Amz-Date") != "" {
				t.Error("a key came with what is left of a signature")
			}
		}
	}
	for e := range j.Since(0) {
		if text := fmt.Sprintf("%+v", e); strings.Contains(text, "key-of-the") {
			t.Errorf("the journal has a key: %s", text)
		}
	}
}

// AWS's library for JavaScript asks by HTTP/2 without TLS, and without asking first.
func TestHTTP2WithoutTLS(t *testing.T) {
	t.Parallel()
	_, _, root, _ := scripting(t, scripted.Options{}, Options{})
	transport := &http.Transport{Protocols: new(http.Protocols)}
	transport.Protocols.SetUnencryptedHTTP2(true)
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	for _, verb := range []string{"converse", "converse-stream"} {
		res, err := client.Post(root+modelPath+verb, "application/json", strings.NewReader(`{"messages":[{"role":"user","content":[{"text":"hi"}]}]}`))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil || res.ProtoMajor != 2 || res.StatusCode != http.StatusOK || !bytes.Contains(text, []byte("A scripted task")) && !bytes.Contains(text, []byte("ok")) {
			t.Errorf("%s: %v %s %s %.200s", verb, err, res.Proto, res.Status, text)
		}
	}
}

// Bedrock counts what goes by InvokeModel, and the model behind an inference profile in its place.
func TestBedrockCountsWhatIsInvoked(t *testing.T) {
	t.Parallel()
	const window = 20_000
	provider, _, root, j := scripting(t, scripted.Options{Window: window, Bedrock: true}, Options{Resolver: windowOf(window), Store: memoryStore(t)})
	k := talkIn(wire.Messages)
	for turn := 1; turn < 30; turn++ {
		// A credential of its own each: no usage is known from the turn before.
		r, _ := http.NewRequest(http.MethodPost, root+"/bedrock/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/invoke", bytes.NewReader(k.body(turn)))
		r.Header.Set("Authorization", fmt.Sprint("Bearer key", turn))
		res, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		text, _ := io.ReadAll(res.Body)
		res.Body.Close()
		if res.StatusCode != http.StatusOK {
			t.Fatalf("turn %d: %s %.300s", turn, res.Status, text)
		}
	}
	counted := map[int]bool{}
	for _, r := range provider.Requests() {
		if r.Kind != "count" {
			continue
		}
		if r.Path != "/model/anthropic.claude-sonnet-4-5-20250929-v1:0/count-tokens" || r.Status != http.StatusOK || !strings.HasPrefix(r.Header.Get("Authorization"), "Bearer key") {
			t.Errorf("%s with %q: %d", r.Path, r.Header.Get("Authorization"), r.Status)
		}
		counted[r.Input] = true
	}
	used := false
	for _, e := range events[journal.WindowRequest](j) {
		used = used || e.Counted == "provider"
	}
	agrees := false // what was counted is what was sent then
	for _, r := range asked(provider) {
		agrees = agrees || counted[r.Input]
	}
	if len(counted) == 0 || !used || !agrees {
		t.Errorf("counted %v, used %v, agrees with what was sent %v", counted, used, agrees)
	}
	if provider.Refused() > 0 {
		t.Errorf("%d requests were over the limit", provider.Refused())
	}
}
