package agent

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/plimsoll/plimsoll/window/models"
	"github.com/plimsoll/plimsoll/window/proxy"
)

// The same conversation has the same fate in an agent and behind the proxy: refused by both, or sent by both.
func TestTheProxyAndTheAgentRefuseTheSame(t *testing.T) {
	t.Parallel()
	const window = 4000
	var sent atomic.Int64
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		sent.Add(1)
		_, _ = io.WriteString(w, `{"choices":[{"message":{"role":"assistant","content":"ok"},"finish_reason":"stop"}]}`)
	}))
	defer upstream.Close()
	p, err := proxy.New(proxy.Options{
		Upstreams: []proxy.Upstream{{Name: "openai", URL: upstream.URL + "/v1"}},
		Resolver:  models.NewResolver(models.Options{Overrides: models.Overrides{Max: window}}),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	server := httptest.NewServer(p)
	defer server.Close()

	refused, taken := 0, 0
	for _, size := range []int{1000, 3000, 3900, 4100, 4400, 4800, 5500, 7000, 12_000, 40_000} {
		for kind, text := range map[string]string{
			"digits": fitWords(size, uint64(size)), "prose": strings.Repeat("what was said before is said again ", size/7), "letters": strings.Repeat("ж", size),
		} {
			for shape, ms := range map[string][]Message{
				"one question": {userSays(text)},
				"a history":    {userSays("first"), modelSays(text), userSays("second"), modelSays("said"), userSays("third " + text[:len(text)/4])},
			} {
				f := newFitter(fitModel(window), Limits{}, nil)
				_, _, err := f.fit(t.Context(), "You help.", ms, nil, 0)
				_, tooLarge := errors.AsType[*TooLargeError](err)
				if err != nil && !tooLarge {
					t.Fatal(err)
				}
				type message struct {
					Role    string `json:"role"`
					Content string `json:"content"`
				}
				list := []message{{"system", "You help."}}
				for _, m := range ms {
					list = append(list, message{string(m.Role), m.Text})
				}
				body, err := json.Marshal(map[string]any{"model": "gpt-4o", "messages": list})
				if err != nil {
					t.Fatal(err)
				}
				before := sent.Load()
				res, err := http.Post(server.URL+"/openai/v1/chat/completions", "application/json", bytes.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				said, _ := io.ReadAll(res.Body)
				res.Body.Close()
				if behind := sent.Load() == before; behind != tooLarge {
					t.Errorf("%s of %d, %s: the agent refuses: %v; the proxy: %v (%d %.200s)", kind, size, shape, tooLarge, behind, res.StatusCode, said)
				}
				if tooLarge {
					refused++
				} else {
					taken++
				}
			}
		}
	}
	if refused == 0 || taken == 0 {
		t.Errorf("%d refused, %d sent: the sizes show nothing", refused, taken)
	}
}
