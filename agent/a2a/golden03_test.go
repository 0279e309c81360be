package a2a

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/plimsoll/plimsoll/internal/testing/golden"
)

// many answers with parts and events of every kind that A2A has.
func many(_ context.Context, x *Exchange) error {
	if err := x.Status(sdk.TaskStateWorking, "at work", map[string]any{"step": 1}); err != nil {
		return err
	}
	file := sdk.NewRawPart([]byte("bytes & <more>"))
	file.Filename, file.MediaType = "a.bin", "application/octet-stream"
	link := sdk.NewFileURLPart("https://example.com/a.png", "image/png")
	link.Filename = "a.png"
	list := sdk.NewDataPart([]any{1.0, "two"})
	text := sdk.NewTextPart("a <text> with \u2028")
	text.Metadata = map[string]any{"snake_key": 1, "camelKey": map[string]any{"innerKey": true}}
	one := &sdk.Artifact{ID: "art", Name: "all", Description: "of all kinds", Extensions: []string{"urn:x"}, Metadata: map[string]any{"k": "v"}, Parts: sdk.ContentParts{
		text, sdk.NewDataPart(map[string]any{"aKey": 1.0}), list, file, link,
	}}
	for i, last := range []bool{false, true} {
		if err := x.Emit(&sdk.TaskArtifactUpdateEvent{Artifact: one, Append: i > 0, LastChunk: last}); err != nil {
			return err
		}
	}
	if strings.Contains(wordsOf(x), "ask") {
		return x.Status(sdk.TaskStateInputRequired, "which one?", nil)
	}
	return nil
}

func wordsOf(x *Exchange) string {
	var b strings.Builder
	for _, p := range x.Message.Parts {
		b.WriteString(p.Text())
	}
	return b.String()
}

// changing are the parts of an answer that differ from run to run.
var changing = []*regexp.Regexp{
	regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`),
	regexp.MustCompile(`20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)`),
	regexp.MustCompile(`"next_page_token":"[^"]+"`),
	regexp.MustCompile(`127\.0\.0\.1:\d+`),
}

// Every answer to a client of 0.3 is byte for byte what it was when the official SDK gave it, but for the Content-Type of errors
// (it was text/plain) and the words about requests that cannot be read. -update writes the files anew.
func TestAnswersOf03(t *testing.T) {
	t.Parallel()
	hook := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer hook.Close()
	s := serve(t, many, func(o *Options) {
		o.Card.Description, o.Card.Version, o.Card.Documentation, o.Card.Bearer = "tests <it>", "7", "https://example.com/docs", true
		o.Card.Provider = &sdk.AgentProvider{Org: "us", URL: "https://example.com"}
		o.Card.Skills = []sdk.AgentSkill{{ID: "s", Name: "skill", Description: "d", Tags: []string{"t"}, Examples: []string{"e"}, InputModes: []string{"text/plain"}, OutputModes: []string{"text/plain"}}}
		o.Card.Extended = &sdk.AgentCard{
			Name: "extended", Description: "more", Version: "8", Skills: o.Card.Skills, DefaultInputModes: []string{"text/plain"}, DefaultOutputModes: []string{"text/plain"},
			Capabilities:        sdk.AgentCapabilities{Streaming: true, PushNotifications: true, ExtendedAgentCard: true, Extensions: []sdk.AgentExtension{{URI: "urn:x", Description: "d", Required: true, Params: map[string]any{"p": 1.0}}}},
			SupportedInterfaces: []*sdk.AgentInterface{{URL: "https://example.com/", ProtocolBinding: sdk.TransportProtocolJSONRPC, ProtocolVersion: "0.3"}},
			Signatures:          []sdk.AgentCardSignature{{Protected: "p", Signature: "s"}},
		}
	})
	var mu sync.Mutex
	task, waiting := "", ""
	ids := regexp.MustCompile(`"(?:id|taskId|task_id)":"([0-9a-f-]{36})"`)
	part := func(more string) string {
		return `{"kind":"message","messageId":"m","role":"user","parts":[{"kind":"text","text":"hello ` + more + `","metadata":{"a_b":1}},{"kind":"data","data":{"x":1}}],"metadata":{"k":"v"},"extensions":["urn:e"],"referenceTaskIds":["r"]}`
	}
	rpc := func(method, params string) string {
		return `{"jsonrpc":"2.0","id":"an <id>","method":"` + method + `","params":` + params + `}`
	}
	config := `{"taskId":"TASK","pushNotificationConfig":{"id":"c","url":"` + hook.URL + `","token":"t","authentication":{"schemes":["Bearer","Basic"],"credentials":"x"}}}`
	for i, c := range []struct{ name, method, path, body string }{
		{"card", "GET", cardPath, ""},
		{"send", "POST", "/", rpc("message/send", `{"message":`+part("")+`,"configuration":{"blocking":true,"historyLength":5,"acceptedOutputModes":["text/plain"]},"metadata":{"a":1}}`)},
		{"send asks", "POST", "/", rpc("message/send", `{"message":`+strings.Replace(part("ask"), `"m"`, `"m2"`, 1)+`,"configuration":{"blocking":true}}`)},
		{"stream", "POST", "/", rpc("message/stream", `{"message":`+strings.Replace(part(""), `"m"`, `"m3"`, 1)+`}`)},
		{"stream asks", "POST", "/", rpc("message/stream", `{"message":`+strings.Replace(part("ask"), `"m"`, `"m4"`, 1)+`}`)},
		{"get", "POST", "/", rpc("tasks/get", `{"id":"TASK","historyLength":1}`)},
		{"get none", "POST", "/", rpc("tasks/get", `{"id":"nowhere"}`)},
		{"cancel ended", "POST", "/", rpc("tasks/cancel", `{"id":"TASK"}`)},
		{"push set", "POST", "/", rpc("tasks/pushNotificationConfig/set", strings.ReplaceAll(config, "TASK", "WAITING"))},
		{"push get", "POST", "/", rpc("tasks/pushNotificationConfig/get", `{"id":"WAITING","pushNotificationConfigId":"c"}`)},
		{"push list", "POST", "/", rpc("tasks/pushNotificationConfig/list", `{"id":"WAITING"}`)},
		{"push delete", "POST", "/", rpc("tasks/pushNotificationConfig/delete", `{"id":"WAITING","pushNotificationConfigId":"c"}`)},
		{"push list none", "POST", "/", rpc("tasks/pushNotificationConfig/list", `{"id":"WAITING"}`)},
		{"push to nowhere", "POST", "/", rpc("tasks/pushNotificationConfig/set", `{"taskId":"WAITING","pushNotificationConfig":{"url":"ftp://x"}}`)},
		{"cancel", "POST", "/", rpc("tasks/cancel", `{"id":"WAITING"}`)},
		{"resubscribe ended", "POST", "/", rpc("tasks/resubscribe", `{"id":"TASK"}`)},
		{"resubscribe none", "POST", "/", rpc("tasks/resubscribe", `{"id":"nowhere"}`)},
		{"extended", "POST", "/", rpc("agent/getAuthenticatedExtendedCard", `{}`)},
		{"unknown method", "POST", "/", rpc("tasks/fly", `{}`)},
		{"no params", "POST", "/", `{"jsonrpc":"2.0","id":7,"method":"tasks/get"}`},
		{"wrong params", "POST", "/", rpc("tasks/get", `{"id":7}`)},
		{"params no object", "POST", "/", rpc("message/send", `[]`)},
		{"no message", "POST", "/", rpc("message/send", `{}`)},
		{"no parts", "POST", "/", rpc("message/send", `{"message":{"kind":"message","messageId":"m9","role":"user","parts":[]}}`)},
		{"unknown part", "POST", "/", rpc("message/send", `{"message":{"messageId":"m9","role":"user","parts":[{"kind":"song"}]}}`)},
		{"empty file", "POST", "/", rpc("message/send", `{"message":{"messageId":"m9","role":"user","parts":[{"kind":"file","file":{"name":"x"}}]}}`)},
		{"file both", "POST", "/", rpc("message/stream", `{"message":{"messageId":"m9","role":"user","parts":[{"kind":"file","file":{"bytes":"eA==","uri":"http://x"}}]}}`)},
		{"file", "POST", "/", rpc("message/send", `{"message":{"messageId":"m10","role":"user","parts":[{"kind":"file","file":{"bytes":"eA==","name":"x","mimeType":"text/plain"}}]}}`)},
		{"bad role", "POST", "/", rpc("message/send", `{"message":{"messageId":"m11","role":"king","parts":[{"kind":"text","text":"x"}]}}`)},
		{"another task", "POST", "/", rpc("message/send", `{"message":{"messageId":"m12","taskId":"nowhere","role":"user","parts":[{"kind":"text","text":"x"}]}}`)},
		{"rest", "POST", "/v1/message:send", `{"message":{"kind":"message","message_id":"m20","role":"user","parts":[{"kind":"text","text":"hello"}]},"configuration":{"blocking":true}}`},
		{"rest without version", "GET", "/tasks/TASK", ""},
	} {
		mu.Lock()
		fill := strings.NewReplacer("TASK", task, "WAITING", waiting)
		mu.Unlock()
		r := s.request(c.method, fill.Replace(c.path), fill.Replace(c.body), versionHeader, "")
		answer, err := io.ReadAll(r.Body)
		if err != nil {
			t.Fatal(err)
		}
		if found := ids.FindSubmatch(answer); found != nil && c.name == "send" {
			task = string(found[1])
		} else if found != nil && c.name == "send asks" {
			waiting = string(found[1])
		}
		var got bytes.Buffer
		fmt.Fprintf(&got, "%d %s\n", r.StatusCode, r.Header.Get("Content-Type"))
		got.Write(answer)
		text := got.Bytes()
		for n, re := range changing {
			text = re.ReplaceAll(text, fmt.Appendf(nil, "CHANGING%d", n))
		}
		file := filepath.Join("testdata", "answers03", fmt.Sprintf("%02d-%s.txt", i, strings.ReplaceAll(c.name, " ", "-")))
		golden.Check(t, file, string(text))
	}
}
