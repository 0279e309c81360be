package client

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/tools/mcp/jsonrpc"
)

// oddText has half an emoji, Latin-1 and a tab as it is: clients in Python and Rust refuse a message for each of them.
const oddText = "half \\ud83d, caf\xe9, a\tb"

const legibleText = `"text":"half \ufffd, caf\ufffd, a\u0009b`

// A request is answered in a form that every client can read, whatever stands in the text and however the answer comes.
func TestAnswersCanBeReadByEveryClient(t *testing.T) {
	s, _ := child(t, "plain", nil)
	for i, method := range []string{"odd text", "odd text, large", "odd text, in a batch"} {
		if r := ask(t, s, fmt.Sprint(i), method); r.err != nil || r.broken != nil || !strings.Contains(r.last(), legibleText) {
			t.Errorf("%s: %v, %v, %.100q", method, r.err, r.broken, r.last())
		}
	}
}

func TestAnswersOverHTTPCanBeReadByEveryClient(t *testing.T) {
	web := site(t, func(w http.ResponseWriter, _ *http.Request, h jsonrpc.Head) {
		result := `{"text":"` + oddText
		if strings.Contains(h.Method, "large") {
			result += strings.Repeat("x", 200<<10)
		}
		result += `"}`
		if strings.Contains(h.Method, "event") {
			events(w, fmt.Sprintf(`data: {"jsonrpc":"2.0","id":%s,"result":%s}`, h.ID, result))
			return
		}
		respond(w, h.ID, result)
	})
	far := remote(t, web, nil)
	for i, method := range []string{"text", "large text", "event", "large event"} {
		if r := ask(t, far, fmt.Sprint(i), method); r.err != nil || r.broken != nil || !strings.Contains(r.last(), legibleText) {
			t.Errorf("over HTTP, %s: %v, %v, %.100q", method, r.err, r.broken, r.last())
		}
	}
}
