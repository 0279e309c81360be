package clients_test

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go"
	anthropicoption "github.com/anthropics/anthropic-sdk-go/option"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"

	"github.com/plimsoll/plimsoll/agent/standin"
	"github.com/plimsoll/plimsoll/internal/agent/lab"
	"github.com/plimsoll/plimsoll/internal/testing/scripted"
	"github.com/plimsoll/plimsoll/internal/testing/wait"
)

// provider is the scripted provider, and a plimsoll serve in front of it.
func provider(t *testing.T, o scripted.Options) (*scripted.Provider, string) {
	t.Helper()
	p := scripted.New(o)
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	return p, start(t, []string{"PLIMSOLL_UPSTREAM_OPENAI=" + server.URL + "/v1", "PLIMSOLL_UPSTREAM_ANTHROPIC=" + server.URL}, "serve")
}

// weather is a model that calls a tool once and then answers.
var weather = scripted.Replies(
	scripted.Reply{Text: "I look.", Calls: []scripted.Call{{Tool: "weather", Args: map[string]any{"city": "Köln"}, ID: "call_1"}}},
	scripted.Reply{Text: "Rain in Köln."},
)

func schema() shared.FunctionParameters {
	return shared.FunctionParameters{"type": "object", "properties": map[string]any{"city": map[string]any{"type": "string"}}}
}

func openAI(base string) openai.Client {
	return openai.NewClient(option.WithBaseURL(base+"/openai/v1"), option.WithAPIKey("sk-test-0123456789"), option.WithMaxRetries(0))
}

// OpenAI's client, chat completions: a whole answer with a call, then a streamed one.
func TestOpenAIChat(t *testing.T) {
	t.Parallel()
	p, base := provider(t, scripted.Options{Script: weather})
	client := openAI(base)
	params := openai.ChatCompletionNewParams{
		Model: "gpt-4o", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("What is the weather in Köln?")},
		Tools: []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{Name: "weather", Parameters: schema()})},
	}
	done, err := client.Chat.Completions.New(t.Context(), params)
	if err != nil {
		t.Fatal(err)
	}
	said := done.Choices[0].Message
	if len(said.ToolCalls) != 1 || said.ToolCalls[0].Function.Name != "weather" || !strings.Contains(said.ToolCalls[0].Function.Arguments, "Köln") || done.Usage.PromptTokens == 0 {
		t.Fatalf("%s", done.RawJSON())
	}
	params.Messages = append(params.Messages, said.ToParam(), openai.ToolMessage("rain", said.ToolCalls[0].ID))
	stream := client.Chat.Completions.NewStreaming(t.Context(), params)
	var sum openai.ChatCompletionAccumulator
	for stream.Next() {
		if !sum.AddChunk(stream.Current()) {
			t.Fatalf("a chunk does not fit: %s", stream.Current().RawJSON())
		}
	}
	if err := stream.Err(); err != nil || sum.Choices[0].Message.Content != "Rain in Köln." || sum.Choices[0].FinishReason != "stop" {
		t.Errorf("%v, %+v", err, sum.Choices)
	}
	wait.Reached(wait.Bound, func() bool { return len(p.Requests()) >= 2 }) // it notes a request when it has answered it
	if n := len(p.Requests()); n != 2 {
		t.Errorf("the provider had %d requests", n)
	}
}

// The same over the Responses protocol.
func TestOpenAIResponses(t *testing.T) {
	t.Parallel()
	_, base := provider(t, scripted.Options{Script: weather})
	client := openAI(base)
	params := responses.ResponseNewParams{
		Model: "gpt-4o", Input: responses.ResponseNewParamsInputUnion{OfString: openai.String("What is the weather in Köln?")},
		Tools: []responses.ToolUnionParam{{OfFunction: &responses.FunctionToolParam{Name: "weather", Parameters: schema()}}},
	}
	stream := client.Responses.NewStreaming(t.Context(), params)
	called := ""
	for stream.Next() {
		if e := stream.Current(); e.Type == "response.function_call_arguments.done" {
			called = e.Arguments
		}
	}
	if err := stream.Err(); err != nil || !strings.Contains(called, "Köln") {
		t.Errorf("%v, arguments %q", err, called)
	}
}

// Anthropic's client: thoughts, a call, its result, and an answer, whole and streamed.
func TestAnthropicMessages(t *testing.T) {
	t.Parallel()
	_, base := provider(t, scripted.Options{CheckSignatures: true, Script: scripted.Replies(
		scripted.Reply{Thinking: "The user wants the weather.", Text: "I look.", Calls: []scripted.Call{{Tool: "weather", Args: map[string]any{"city": "Köln"}, ID: "toolu_1"}}},
		scripted.Reply{Text: "Rain in Köln."},
	)})
	client := anthropic.NewClient(anthropicoption.WithBaseURL(base+"/anthropic"), anthropicoption.WithAPIKey("sk-ant-test-0123456789"), anthropicoption.WithMaxRetries(0))
	params := anthropic.MessageNewParams{
		Model: "claude-sonnet-4-5", MaxTokens: 4096, Thinking: anthropic.ThinkingConfigParamOfEnabled(2048),
		Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock("What is the weather in Köln?"))},
		Tools: []anthropic.ToolUnionParam{{OfTool: &anthropic.ToolParam{
			Name: "weather", InputSchema: anthropic.ToolInputSchemaParam{Properties: map[string]any{"city": map[string]any{"type": "string"}}},
		}}},
	}
	said, err := client.Messages.New(t.Context(), params)
	if err != nil {
		t.Fatal(err)
	}
	id := ""
	for _, b := range said.Content {
		if b.Type == "tool_use" {
			id = b.ID
		}
	}
	if id == "" || said.StopReason != anthropic.StopReasonToolUse || said.Usage.InputTokens == 0 {
		t.Fatalf("%s", said.RawJSON())
	}
	params.Messages = append(params.Messages, said.ToParam(), anthropic.NewUserMessage(anthropic.NewToolResultBlock(id, "rain", false)))
	stream := client.Messages.NewStreaming(t.Context(), params)
	var sum anthropic.Message
	for stream.Next() {
		if err := sum.Accumulate(stream.Current()); err != nil {
			t.Fatal(err)
		}
	}
	if err := stream.Err(); err != nil || len(sum.Content) != 1 || sum.Content[0].Text != "Rain in Köln." {
		t.Errorf("%v, %s", err, sum.RawJSON())
	}
}

// A conversation that has outgrown the window is made to fit: the client sees an answer and no error.
func TestOpenAIOverTheWindow(t *testing.T) {
	t.Parallel()
	p, base := provider(t, scripted.Options{Window: 20_000, Script: scripted.Replies(scripted.Reply{Text: "still here"})})
	client := openAI(base)
	var history []openai.ChatCompletionMessageParamUnion
	for range 40 {
		history = append(history, openai.UserMessage(strings.Repeat("what was said before ", 200)), openai.AssistantMessage("noted"))
	}
	done, err := client.Chat.Completions.New(t.Context(), openai.ChatCompletionNewParams{Model: "gpt-4o", Messages: append(history, openai.UserMessage("Are you there?"))})
	if err != nil {
		t.Fatal(err)
	}
	if len(done.Choices) != 1 || done.Choices[0].Message.Content == "" {
		t.Errorf("%s", done.RawJSON())
	}
	if n := len(p.Requests()); n < 2 {
		t.Errorf("the provider had %d requests: the first is refused, another fits", n)
	}
}

// The stand-in for a model is as strict as OpenAI, to OpenAI's own client.
func TestStandin(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s, err := standin.Listen(ctx, standin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	status := func(err error) int {
		if e, ok := errors.AsType[*openai.Error](err); ok {
			return e.StatusCode
		}
		return 0
	}
	client := openai.NewClient(option.WithBaseURL(s.URL()), option.WithAPIKey(s.Token()), option.WithMaxRetries(0))
	page, err := client.Models.List(ctx)
	if err != nil || len(page.Data) != 1 || page.Data[0].ID != standin.Model || page.Data[0].OwnedBy != standin.Owner {
		t.Errorf("%+v, %v", page, err)
	}
	if _, err := client.Models.Get(ctx, "gpt-5.1"); status(err) != 404 {
		t.Errorf("another model: %v", err)
	}
	wrong := openai.NewClient(option.WithBaseURL(s.URL()), option.WithAPIKey("wrong"), option.WithMaxRetries(0))
	if _, err := wrong.Models.List(ctx); status(err) != 401 {
		t.Errorf("a wrong key: %v", err)
	}

	p := openai.ChatCompletionNewParams{Model: standin.Model, Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(`echo "héllo wörld" and flood 2 KiB`)}}
	for _, tool := range lab.Tools(lab.Options{}) {
		p.Tools = append(p.Tools, openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{Name: tool.Name, Description: openai.String(tool.Description)}))
	}
	p.StreamOptions.IncludeUsage = openai.Bool(true)
	stream := client.Chat.Completions.NewStreaming(ctx, p)
	var sum openai.ChatCompletionAccumulator
	for stream.Next() {
		if !sum.AddChunk(stream.Current()) {
			t.Fatalf("a chunk does not fit: %s", stream.Current().RawJSON())
		}
	}
	if err := stream.Err(); err != nil || sum.Model != standin.Model || sum.Usage.PromptTokens == 0 || len(sum.Choices[0].Message.ToolCalls) != 2 {
		t.Errorf("%v, %+v", err, sum.ChatCompletion)
	}
}
