package proxy

import (
	"io"
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/wait"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/window/models"
)

// Each answer is told with what it cost, by the provider's own numbers; where it names none, or breaks off before, a count of ours stands in.
func TestAnswersAreAccounted(t *testing.T) {
	t.Parallel()
	const hour = `{"type":"message","role":"assistant","content":[{"type":"text","text":"x"}],"stop_reason":"end_turn","usage":{"input_tokens":100,"cache_read_input_tokens":1000,"cache_creation_input_tokens":300,"cache_creation":{"ephemeral_5m_input_tokens":100,"ephemeral_1h_input_tokens":200},"output_tokens":50}}`
	for name, c := range map[string]struct {
		path, model, answer, kind, key string
		plan                           bool
		in, out                        int64 // the provider's
		guessIn, guessOut              bool
		cost                           float64 // 0: none; -1: some
	}{
		"whole":             {path: "/anthropic/v1/messages", model: "priced", answer: hour, in: 1400, out: 50, cost: (100*3 + 1000*0.3 + 100*3.75 + 200*6 + 50*15) / 1e6},
		"a subscription":    {path: "/anthropic/v1/messages", model: "priced", key: "Bearer sk-ant-oat01-x", answer: hour, in: 1400, out: 50, plan: true, cost: (100*3 + 1000*0.3 + 100*3.75 + 200*6 + 50*15) / 1e6},
		"an unknown price":  {path: "/anthropic/v1/messages", model: "odd", answer: hour, in: 1400, out: 50},
		"a stream cut":      {path: "/anthropic/v1/messages", model: "priced", kind: "stream", answer: messageStart + strings.Repeat(contentDelta, 40), in: -1, out: -1, guessOut: true, cost: -1},
		"chat without any":  {path: "/openai/v1/chat/completions", model: "priced", kind: "stream", answer: strings.Repeat("data: {\"choices\":[{\"delta\":{\"content\":\"word\"}}]}\n\n", 40) + "data: [DONE]\n\n", guessIn: true, guessOut: true, cost: -1},
		"chat with a usage": {path: "/openai/v1/chat/completions", model: "priced", kind: "stream", answer: "data: {\"choices\":[{\"delta\":{\"content\":\"word\"}}]}\n\ndata: {\"choices\":[],\"usage\":{\"prompt_tokens\":812,\"completion_tokens\":34,\"prompt_tokens_details\":{\"cached_tokens\":512}}}\n\ndata: [DONE]\n\n", in: 812, out: 34, cost: (300*3 + 512*0.3 + 34*15) / 1e6},
	} {
		t.Run(name, func(t *testing.T) {
			head := "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: application/json\r\n\r\n"
			if c.kind == "stream" {
				head = strings.Replace(head, "application/json", "text/event-stream", 1)
			}
			upstream, _ := rawUpstream(t, head+c.answer)
			_, root, j := start(t, upstream, Options{Price: price})
			req, _ := http.NewRequest(http.MethodPost, root+c.path, strings.NewReader(`{"model":"`+c.model+`","max_tokens":100,"stream":true,"messages":[{"role":"user","content":"how are you today?"}]}`))
			if c.key != "" {
				req.Header.Set("Authorization", c.key)
			}
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, res.Body)
			_ = res.Body.Close()
			wait.Until(t, "the answer is told", func() bool { return len(events[journal.WindowResponse](j)) == 1 })
			got := events[journal.WindowResponse](j)[0]
			if c.in >= 0 && (got.TokensIn != c.in || got.TokensOut != c.out) || (got.GuessIn > 0) != c.guessIn || (got.GuessOut > 0) != c.guessOut || got.Plan != c.plan {
				t.Errorf("%+v", got)
			}
			if c.cost >= 0 && math.Abs(got.Cost-c.cost) > 1e-12 || c.cost < 0 && got.Cost <= 0 {
				t.Errorf("it cost %v, want %v", got.Cost, c.cost)
			}
		})
	}
}

func price(_, model string) (models.Price, bool) {
	return models.Price{Rate: models.Rate{Input: 3, Output: 15, CacheRead: 0.3, CacheWrite: 3.75}}, model == "priced"
}
