package gemini_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/internal/testing/adapters"
)

func event(v string, args ...any) string { return "data: " + fmt.Sprintf(v, args...) + "\r\n\r\n" }

const counted = `"usageMetadata":{"promptTokenCount":45,"cachedContentTokenCount":30,"candidatesTokenCount":4,"thoughtsTokenCount":3,"totalTokenCount":52}`

func word(s string) string {
	return event(`{"candidates":[{"content":{"parts":[{"text":%q}],"role":"model"},"index":0}],"usageMetadata":{"promptTokenCount":45,"cachedContentTokenCount":30}}`, s)
}

func stop(reason string) string {
	return event(`{"candidates":[{"content":{"parts":[{"text":""}]},"finishReason":%q}],%s}`, reason, counted)
}

func TestStreams(t *testing.T) {
	t.Parallel()
	calls := `{"functionCall":{"id":"a","name":"f","args":{"x": 1}}},{"functionCall":{"id":"b","name":"g"}},{"functionCall":{"id":"c","name":"h","args":null}}`
	called := []agent.Call{{ID: "a", Name: "f", Arguments: `{"x": 1}`}, {ID: "b", Name: "g", Arguments: "{}"}, {ID: "c", Name: "h", Arguments: "{}"}}
	streamed := func(events string, m agent.Message, stop agent.Stop, reason string) adapters.Streamed {
		return adapters.Streamed{Events: events, Want: agent.Reply{Message: m, Stop: stop, Reason: reason, Usage: agent.Usage{Input: 45, Cached: 30, Output: 7}}}
	}
	adapters.Streams(t, wire, map[string]adapters.Streamed{
		"text":             streamed(word("x")+": a comment\r\n\r\n"+word("x")+stop("STOP"), agent.Message{Text: "xx"}, agent.StopEnd, ""),
		"reasons in each":  streamed(stop("STOP")+word("x")+stop("STOP"), agent.Message{Text: "x"}, agent.StopEnd, ""),
		"calls":            streamed(event(`{"candidates":[{"content":{"parts":[%s]}}]}`, calls)+stop("STOP"), agent.Message{Calls: called}, agent.StopCalls, ""),
		"thoughts":         streamed(event(`{"candidates":[{"content":{"parts":[{"text":"hm","thought":true},{"text":"y"},{"executableCode":{"code":"1"}},{"unknown":1}]}}]}`)+stop("STOP"), agent.Message{Text: "y"}, agent.StopEnd, ""),
		"length":           streamed(word("x")+stop("MAX_TOKENS"), agent.Message{Text: "x"}, agent.StopLength, ""),
		"safety":           streamed(word("x")+stop("SAFETY"), agent.Message{Text: "x"}, agent.StopRefused, "SAFETY"),
		"recitation":       streamed(stop("RECITATION"), agent.Message{}, agent.StopRefused, "RECITATION"),
		"blocked question": streamed(event(`{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"},%s}`, counted), agent.Message{}, agent.StopRefused, "PROHIBITED_CONTENT"),
		"a new reason":     streamed(word("x")+stop("WHATEVER_COMES"), agent.Message{Text: "x"}, agent.StopEnd, ""),
		"whole":            streamed(`{"candidates":[{"content":{"parts":[{"text":"y"},`+calls+`]},"finishReason":"STOP"}],`+counted+`}`, agent.Message{Text: "y", Calls: called}, agent.StopCalls, ""),
		"an array":         streamed(`[{"candidates":[{"content":{"parts":[{"text":"y"}]}}]},{"candidates":[{"finishReason":"STOP"}],`+counted+`}]`, agent.Message{Text: "y"}, agent.StopEnd, ""),
	})
}

func FuzzStream(f *testing.F) {
	adapters.Fuzz(f, wire,
		event(`{"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{"x":[1e999]}},"thoughtSignature":"\ud800"}]},"finishReason":"STOP"}]}`),
		event(`{"candidates":[{"content":{"parts":[{"text":"a","thoughtSignature":"YQ=="},{"text":"\u0000\ufffd"},{"text":"","thoughtSignature":"YQ=="}]},"finishReason":"STOP"}]}`),
		`[{"candidates":[{"content":{"parts":[{"functionCall":7}]}}]},{"candidates":[{"finishReason":"MALFORMED_FUNCTION_CALL"}]}]`,
		event(`{"error":{"code":503,"message":"\ud800","status":"UNAVAILABLE","details":[{"retryDelay":"1e9s"}]}}`),
		"data: {\"candidates\":"+strings.Repeat("[{\"content\":", 300),
	)
}
