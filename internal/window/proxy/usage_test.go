package proxy

import (
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/window/wire"
)

// streams are whole answers, by dialect.
func streams() map[wire.Dialect][]string {
	var chat strings.Builder
	chat.WriteString("data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\"},\"finish_reason\":null}],\"usage\":null}\n\n")
	var messages strings.Builder
	messages.WriteString(messageStart + contentDelta)
	var responses strings.Builder
	responses.WriteString("event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"delta\":\"first\"}\n\n")
	for i := range 20 {
		chat.WriteString(fmt.Sprintf("data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"an \\\"error in the usage: {%d} \"},\"finish_reason\":null}],\"usage\":null}\n\n", i))
		messages.WriteString(strings.Replace(contentDelta, `"a"`, fmt.Sprintf(`"word %d, usage\": {"`, i), 1))
		responses.WriteString(fmt.Sprintf("data: {\"type\":\"response.output_text.delta\",\"delta\":\"word %d\"}\n\n", i))
	}
	return map[wire.Dialect][]string{
		wire.Chat: {
			chat.String() + "data: {\"choices\":[{\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: {\"choices\":[],\"usage\":{\"prompt_tokens\":812,\"completion_tokens\":34,\"prompt_tokens_details\":{\"cached_tokens\":512}}}\n\ndata: [DONE]\n\n",
			strings.ReplaceAll(chat.String(), "\n", "\r\n") + "data: {\"choices\": [{\"delta\": {}, \"finish_reason\": \"tool_calls\"}]}\r\n\r\ndata: {\"choices\": [], \"usage\": {\"prompt_tokens\": 812, \"completion_tokens\": 34}}\r\n\r\n",
			chat.String() + "data: {\"error\":{\"message\":\"This model's maximum context length is 8000 tokens.\"}}\n\n",
		},
		wire.Messages: {
			messages.String() + "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"model_context_window_exceeded\"},\"usage\":{\"output_tokens\":77}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
			messages.String() + "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n",
		},
		wire.Responses: {
			responses.String() + "data: {\"type\":\"response.completed\",\"response\":{\"usage\":{\"input_tokens\":900,\"input_tokens_details\":{\"cached_tokens\":100},\"output_tokens\":12}}}\n\n",
			responses.String() + "data: {\"type\":\"response.output_item.added\",\"item\":{\"type\":\"function_call\",\"name\":\"ls\"}}\n\n" +
				"data: {\"type\":\"response.completed\",\"response\":{\"status\":\"completed\",\"output\":[],\"usage\":{\"input_tokens\":900}}}\n\n",
		},
	}
}

// A tap that skims finds what a tap that reads everything finds, however the stream is cut.
func TestSkimmingFindsWhatReadingFinds(t *testing.T) {
	t.Parallel()
	for d, list := range streams() {
		for n, text := range list {
			whole := wire.NewAnswer(d, true)
			_, _ = whole.Write([]byte(text))
			if whole.Usage.Input+whole.Usage.Output+len(whole.ErrorBody) == 0 {
				t.Fatalf("%v, %d: nothing is in the stream", d, n)
			}
			for _, size := range []int{1, 2, 3, 7, 50, 113, 400, 1000, len(text)} {
				for offset := range min(size, 9) {
					got := wire.NewAnswer(d, true)
					along := newTap("", got, true, nil)
					rest := text
					for cut := offset + 1; len(rest) > 0; cut = size {
						cut = min(cut, len(rest))
						along.see([]byte(rest[:cut]))
						rest = rest[cut:]
					}
					along.close()
					if !reflect.DeepEqual(got.Usage, whole.Usage) || string(got.ErrorBody) != string(whole.ErrorBody) || got.Begun != whole.Begun ||
						got.StopReason != whole.StopReason || got.EndsTurn() != whole.EndsTurn() {
						t.Fatalf("%v, %d, pieces of %d from %d: %+v %q %q, want %+v %q %q", d, n, size, offset,
							got.Usage, got.StopReason, got.ErrorBody, whole.Usage, whole.StopReason, whole.ErrorBody)
					}
				}
			}
		}
	}
}

func TestPackedAnswersAreReadAlong(t *testing.T) {
	t.Parallel()
	for d, list := range streams() {
		for _, encoding := range []string{"gzip", "br", "zstd"} {
			packed := packedAs(t, encoding, []byte(list[0]))
			whole, got := wire.NewAnswer(d, true), wire.NewAnswer(d, true)
			_, _ = whole.Write([]byte(list[0]))
			along := newTap(encoding, got, true, nil)
			for _, b := range packed {
				along.see([]byte{b})
			}
			along.close()
			if got.Usage != whole.Usage {
				t.Errorf("%v, %s: %+v, want %+v", d, encoding, got.Usage, whole.Usage)
			}
			for cut := range packed {
				broken := newTap(encoding, wire.NewAnswer(d, true), true, nil)
				broken.see(packed[:cut])
				broken.see([]byte("and then something else"))
				broken.close()
			}
		}
	}
}

// What a provider says it did to the input is told by reason, whether the answer is streamed, packed or in one piece.
func TestWhatTheProviderChangedIsTold(t *testing.T) {
	t.Parallel()
	const changes = `"input_transformations":[{"type":"thinking_dropped","path":"messages.1.content.0","reason":"prefix_binding_mismatch"},{"type":"thinking_dropped","path":"messages.3.content.0","reason":"prefix_binding_mismatch"}]`
	stream := strings.Replace(messageStart, `"usage"`, changes+`,"usage"`, 1) + contentDelta + "data: {\"type\":\"message_stop\"}\n\n"
	for name, answer := range map[string]string{
		"stream": "Content-Type: text/event-stream\r\n\r\n" + stream,
		"packed": "Content-Type: text/event-stream\r\nContent-Encoding: gzip\r\n\r\n" + gzippedText(stream),
		"brotli": "Content-Type: text/event-stream\r\nContent-Encoding: br\r\n\r\n" + string(packedAs(t, "br", []byte(stream))),
		"whole":  "Content-Type: application/json\r\n\r\n{\"content\":[],\"usage\":{\"input_tokens\":3}," + changes + "}",
	} {
		t.Run(name, func(t *testing.T) {
			upstream, _ := rawUpstream(t, "HTTP/1.1 200 OK\r\nConnection: close\r\n"+answer)
			_, root, j := start(t, upstream, Options{})
			req, _ := http.NewRequest(http.MethodPost, root+"/anthropic/v1/messages", strings.NewReader(`{"model":"claude-x","messages":[{"role":"user","content":"hi"}]}`))
			req.Header.Set("Accept-Encoding", "gzip, br")
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, res.Body)
			_ = res.Body.Close()
			want := journal.WindowTransformed{Upstream: "anthropic", Dialect: "messages", Model: "claude-x", Request: 1, What: "thinking_dropped", Reason: "prefix_binding_mismatch", Blocks: 2}
			if told := events[journal.WindowTransformed](j); len(told) != 1 || told[0] != want {
				t.Errorf("%+v, want %+v", told, want)
			}
		})
	}
}

// FuzzTap cuts and packs whatever comes: reading along ends, and keeps no more than its bound.
func FuzzTap(f *testing.F) {
	for _, list := range streams() {
		f.Add([]byte(list[0]), 17, 0)
		f.Add([]byte(gzippedText(list[0])), 5, 1)
		f.Add(packedAs(f, "br", []byte(list[0])), 5, 3)
	}
	f.Fuzz(func(t *testing.T, text []byte, size, packing int) {
		encoding := []string{"", "gzip", "zstd", "br"}[uint(packing)%4]
		size = 1 + int(uint(size)%4096)
		for _, d := range everyDialect {
			along := newTap(encoding, wire.NewAnswer(d, true), true, nil)
			for rest := text; len(rest) > 0; {
				n := min(size, len(rest))
				along.see(rest[:n])
				rest = rest[n:]
			}
			along.close()
			if r := along.reader; len(r.ErrorBody) > wire.ErrorBytes || r.Usage.Input < 0 || r.Usage.Output < 0 {
				t.Errorf("%s: %d bytes of an error, usage %+v", d, len(r.ErrorBody), r.Usage)
			}
			_ = unpackBeginning(encoding, text)
		}
	})
}
