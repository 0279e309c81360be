package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/window/fit"
	"github.com/plimsoll/plimsoll/window/models"
	"github.com/plimsoll/plimsoll/window/repair"
	"github.com/plimsoll/plimsoll/window/wire"
)

// A model whose tokens are counted exactly.
func fitModel(window int) ModelInfo {
	return ModelInfo{Provider: "openai", Name: "gpt-4o", URL: "https://api.openai.com/v1", Window: window}
}

func userSays(text string) Message  { return Message{Role: RoleUser, Text: text} }
func modelSays(text string) Message { return Message{Role: RoleAssistant, Text: text} }

func modelCalls(ids ...string) Message {
	m := Message{Role: RoleAssistant}
	for _, id := range ids {
		m.Calls = append(m.Calls, Call{ID: id, Name: "get_" + id, Arguments: `{"id":"` + id + `"}`})
	}
	return m
}

func toolSays(id, text string) Message {
	return Message{Role: RoleTool, CallID: id, Name: "get_" + id, Text: text}
}

var fitSpecs = []ToolSpec{
	{Name: "get_a", Description: "Gets a thing.", Schema: json.RawMessage(`{"type":"object","properties":{"id":{"type":"string"}}}`)},
	{Name: "odd", Schema: json.RawMessage(`{"type":`)},
}

// mustFit fits and holds what always holds.
func mustFit(t *testing.T, f *fitter, system string, ms []Message) ([]Message, fitResult) {
	t.Helper()
	before := cloneMessages(ms)
	out, did, err := f.fit(t.Context(), system, ms, fitSpecs, 0)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(before, ms) {
		t.Fatal("the messages that were given were changed")
	}
	if did.Changed == slices.EqualFunc(out, ms, func(a, b Message) bool { return reflect.DeepEqual(a, b) }) {
		t.Fatalf("changed is %v, which it is not: %+v", did.Changed, did)
	}
	if did.Tokens > did.Limit {
		t.Fatalf("%d tokens are more than the %d that fit", did.Tokens, did.Limit)
	}
	holdValid(t, f, out)
	return out, did
}

func cloneMessages(ms []Message) []Message {
	out := slices.Clone(ms)
	for i := range out {
		out[i].Calls, out[i].Opaque = slices.Clone(out[i].Calls), slices.Clone(out[i].Opaque)
	}
	return out
}

// holdValid holds messages against the strictest providers, each in its own form, and against
// repair, which must find nothing to do.
func holdValid(t *testing.T, f *fitter, ms []Message) {
	t.Helper()
	chat := chatBody("m", "", newKeyedMessages(f.seed, ms).raw, nil)
	if err := wire.Validate(wire.Chat, chat); err != nil {
		t.Fatalf("OpenAI would refuse it: %v\n%s", err, chat)
	}
	r, err := wire.Parse(wire.Chat, chat)
	if err != nil {
		t.Fatal(err)
	}
	if next, _, err := repair.Repair(r, repair.Options{}); err != nil || next != r {
		t.Fatalf("repair finds more to do (%v)\n%s", err, chat)
	}
	if body := anthropicBody(t, ms); f.strictIDs {
		if err := wire.Validate(wire.Messages, body); err != nil {
			t.Fatalf("Anthropic would refuse it: %v\n%s", err, body)
		}
	}
}

func anthropicBody(t *testing.T, ms []Message) []byte {
	t.Helper()
	type block map[string]any
	type message struct {
		Role    string  `json:"role"`
		Content []block `json:"content"`
	}
	var list []message
	for i, m := range ms {
		var blocks []block
		switch m.Role {
		case RoleTool:
			blocks = []block{{"type": "tool_result", "tool_use_id": m.CallID, "content": m.Text}}
			if i > 0 && ms[i-1].Role == RoleTool {
				list[len(list)-1].Content = append(list[len(list)-1].Content, blocks...)
				continue
			}
			list = append(list, message{"user", blocks})
			continue
		case RoleAssistant:
			for _, c := range m.Calls {
				blocks = append(blocks, block{"type": "tool_use", "id": c.ID, "name": c.Name, "input": block{}})
			}
		}
		if !isBlank(m.Text) {
			blocks = append([]block{{"type": "text", "text": m.Text}}, blocks...)
		}
		list = append(list, message{string(m.Role), blocks})
	}
	body, err := json.Marshal(map[string]any{"model": "claude", "max_tokens": 10, "messages": list})
	if err != nil {
		t.Fatal(err)
	}
	return body
}

func fitClaude(window int) ModelInfo {
	return ModelInfo{Provider: "anthropic", Name: "claude-sonnet-4-5", URL: "https://api.anthropic.com", Window: window}
}

func TestFitLeavesAloneWhatIsInOrder(t *testing.T) {
	t.Parallel()
	f := newFitter(fitModel(0), Limits{}, nil)
	ms := []Message{
		userSays("list all \xff applications"),
		{Role: RoleAssistant, Text: "I'll look.", Calls: []Call{{ID: "a", Name: "get", Arguments: "{\"not\":\"json\"}"}}, Opaque: json.RawMessage(`{"thought":"sealed"}`)},
		{Role: RoleTool, CallID: "a", Name: "get", Text: "", Failed: true},
		modelSays("None."), userSays("and now?"),
	}
	out, did := mustFit(t, f, "You help.", ms)
	if did.Changed || did.Actions != "" || &out[0] != &ms[0] || did.Tokens == 0 || did.Limit == 0 {
		t.Errorf("it did %+v", did)
	}
}

func TestFitMendsTheHistory(t *testing.T) {
	t.Parallel()
	lost := func(id string) Message {
		return Message{Role: RoleTool, CallID: id, Name: "get_" + id, Text: repair.Note, Failed: true}
	}
	withID := func(m Message, id string) Message {
		m = cloneMessages([]Message{m})[0]
		for i := range m.Calls {
			m.Calls[i].ID = id
		}
		if m.Role == RoleTool {
			m.CallID = id
		}
		return m
	}
	for _, tt := range []struct {
		name     string
		in, want []Message
	}{
		{"a call at the end", []Message{userSays("q"), modelCalls("a")}, []Message{userSays("q"), modelCalls("a"), lost("a")}},
		{"calls at the end, one answered", []Message{userSays("q"), modelCalls("a", "b"), toolSays("a", "x")}, []Message{userSays("q"), modelCalls("a", "b"), toolSays("a", "x"), lost("b")}},
		{"a call in the middle", []Message{userSays("q"), modelCalls("a"), userSays("go on")}, []Message{userSays("q"), modelCalls("a"), lost("a"), userSays("go on")}},
		{"a result of no call", []Message{userSays("q"), toolSays("z", "x"), modelSays("ok"), userSays("r")}, []Message{userSays("q"), modelSays("ok"), userSays("r")}},
		{"a result that came late", []Message{userSays("q"), modelCalls("a"), userSays("hm"), toolSays("a", "x")}, []Message{userSays("q"), modelCalls("a"), toolSays("a", "x"), userSays("hm")}},
		{"a result twice", []Message{userSays("q"), modelCalls("a"), toolSays("a", "x"), toolSays("a", "x")}, []Message{userSays("q"), modelCalls("a"), toolSays("a", "x")}},
		{"results in another order", []Message{userSays("q"), modelCalls("a", "b"), toolSays("b", "y"), toolSays("a", "x")}, []Message{userSays("q"), modelCalls("a", "b"), toolSays("b", "y"), toolSays("a", "x")}},
		{"an id used again", []Message{userSays("q"), modelCalls("a"), toolSays("a", "x"), modelCalls("a"), toolSays("a", "y")}, []Message{userSays("q"), modelCalls("a"), toolSays("a", "x"), withID(modelCalls("a"), "a_1"), withID(toolSays("a", "y"), "a_1")}},
		{"no ids at all", []Message{userSays("q"), withID(modelCalls("a"), ""), withID(toolSays("a", "x"), "")}, []Message{userSays("q"), withID(modelCalls("a"), "call_1"), withID(toolSays("a", "x"), "call_1")}},
		{"an id of signs", []Message{userSays("q"), withID(modelCalls("a"), "fn.x:0"), withID(toolSays("a", "x"), "fn.x:0")}, []Message{userSays("q"), withID(modelCalls("a"), "fn_x_0_1"), withID(toolSays("a", "x"), "fn_x_0_1")}},
		{"ids used again, with results in another order", []Message{userSays("q"), modelCalls("a", "b"), toolSays("a", "x"), toolSays("b", "y"), modelCalls("a", "b"), toolSays("b", "v"), toolSays("a", "u")}, []Message{
			userSays("q"), modelCalls("a", "b"), toolSays("a", "x"), toolSays("b", "y"),
			{Role: RoleAssistant, Calls: []Call{withID(modelCalls("a"), "a_1").Calls[0], withID(modelCalls("b"), "b_1").Calls[0]}},
			withID(toolSays("b", "v"), "b_1"), withID(toolSays("a", "u"), "a_1"),
		}},
		{"no beginning", []Message{modelSays("hello"), userSays("q")}, []Message{userSays(beginning), modelSays("hello"), userSays("q")}},
		{"only results", []Message{toolSays("a", "x")}, []Message{userSays(nothingLeft(t))}},
		{"nothing", nil, []Message{userSays(beginning)}},
		{"words of nobody", []Message{userSays("q"), modelSays(" \n"), {Role: "system", Text: "obey"}, userSays("")}, []Message{userSays("q"), userSays(silence)}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFitter(fitClaude(0), Limits{}, nil)
			out, did := mustFit(t, f, "", tt.in)
			if !reflect.DeepEqual(out, tt.want) && tt.name != "results in another order" {
				t.Fatalf("it made\n%+v\nwant\n%+v", out, tt.want)
			}
			if tt.name != "results in another order" && (!did.Changed || did.Actions == "") {
				t.Errorf("it says %+v", did)
			}
			if again, did := mustFit(t, f, "", out); did.Changed || !reflect.DeepEqual(out, again) {
				t.Errorf("a second time it made %+v", again)
			}
		})
	}
}

// nothingLeft is what package repair puts in where nothing is left.
func nothingLeft(t *testing.T) string {
	t.Helper()
	r, err := wire.Parse(wire.Chat, []byte(`{"model":"m","messages":[{"role":"tool","tool_call_id":"a","content":"x"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	next, _, err := repair.Repair(r, repair.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return next.Words(&next.Messages[0].Parts[0])
}

// fitWords are about n tokens of text that no tokenizer shortens.
func fitWords(n int, seed uint64) string {
	r := rand.New(rand.NewPCG(seed, 9))
	var b strings.Builder
	for range n / 3 {
		fmt.Fprintf(&b, "%05d ", r.IntN(100_000))
	}
	return b.String()
}

func TestFitMakesRoom(t *testing.T) {
	t.Parallel()
	f := newFitter(fitModel(8000), Limits{}, nil)
	ms := []Message{userSays("find out why the deployment of shop-api fails")}
	for i := range 12 {
		id := fmt.Sprint("c", i)
		call := modelCalls(id)
		call.Opaque = json.RawMessage(`"seal` + id + `"`)
		ms = append(ms, call, toolSays(id, fitWords(600, uint64(i))))
	}
	out, did := mustFit(t, f, "You help.", ms)
	if !did.Changed || !did.MadeRoom || did.Before <= did.Tokens || did.Tokens > did.Limit*8/10 || !strings.Contains(did.Actions, "made room") {
		t.Errorf("it did %+v", did)
	}
	if !reflect.DeepEqual(out[0], ms[0]) || !reflect.DeepEqual(out[len(out)-2:], ms[len(ms)-2:]) {
		t.Error("the task or the step under way was changed")
	}
	for _, m := range out {
		if len(m.Calls) > 0 && string(m.Opaque) != `"seal`+m.Calls[0].ID+`"` {
			t.Errorf("the call %s came back with %s", m.Calls[0].ID, m.Opaque)
		}
	}
	if again, did := mustFit(t, f, "You help.", out); did.Changed {
		t.Errorf("a second time it made %d messages of %d: %s", len(again), len(out), did.Actions)
	}
	// Given the whole history again it makes the same of it, without saying so again.
	again, did := mustFit(t, f, "You help.", ms)
	if !reflect.DeepEqual(again, out) || did.MadeRoom || did.Actions != "" {
		t.Errorf("the whole history again: %+v", did)
	}
	// And of one that went on, what extends it.
	next := append(slices.Clone(ms), modelCalls("n"), toolSays("n", "new"))
	longer, _ := mustFit(t, f, "You help.", next)
	if !reflect.DeepEqual(longer[:len(out)], out) {
		t.Error("what was sent before is no prefix of what is sent now")
	}
}

func TestFitCutsTheStepUnderWayOnlyAtLast(t *testing.T) {
	t.Parallel()
	f := newFitter(fitModel(4000), Limits{}, nil)
	ms := []Message{userSays("read it"), modelCalls("a"), toolSays("a", fitWords(30_000, 1))}
	out, did := mustFit(t, f, "", ms)
	if len(out) != 3 || out[2].CallID != "a" || out[2].Name != "get_a" || !strings.Contains(out[2].Text, "Plimsoll cut") || did.Tokens > did.Limit {
		t.Errorf("it made %d messages, %+v", len(out), did)
	}
}

func TestFitNamesWhatIsTooLarge(t *testing.T) {
	t.Parallel()
	large := fitWords(9000, 3)
	// What a provider makes of declared tools is known within a wide band: these are too large by its lower end.
	tools := []ToolSpec{{Name: "t", Description: fitWords(40_000, 3), Schema: json.RawMessage(`{"type":"object"}`)}}
	for _, tt := range []struct {
		name   string
		system string
		ms     []Message
		specs  []ToolSpec
		want   []string
	}{
		{"the question", "You help.", []Message{userSays(large)}, nil, []string{"message 1 of 1 (the user's)", "shorten the question", "gpt-4o"}},
		{"the newest question", "", []Message{userSays("a"), modelSays("b"), userSays(large)}, nil, []string{"message 3 of 3 (the user's)"}},
		{"the system prompt", large, []Message{userSays("a")}, nil, []string{`"system prompt"`, "shorten the system prompt"}},
		{"the tools", "", []Message{userSays("a")}, tools, []string{`"tools"`, "connect fewer tools"}},
		{"words of the model", "", []Message{userSays("a"), {Role: RoleAssistant, Text: large, Calls: modelCalls("a").Calls}, toolSays("a", "x")}, nil, []string{"message 2 of 3 (the model's)", "new session"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			f := newFitter(fitModel(4000), Limits{}, nil)
			_, did, err := f.fit(t.Context(), tt.system, tt.ms, tt.specs, 0)
			e, ok := errors.AsType[*TooLargeError](err)
			if !ok {
				t.Fatalf("the error is %v", err)
			}
			if e.Tokens < 6000 || e.Total < e.Tokens || e.Limit != did.Limit || e.Limit > 4000 {
				t.Errorf("the error counts wrongly: %v", e)
			}
			for _, w := range tt.want {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("%q does not say %q", err, w)
				}
			}
			if strings.Contains(err.Error(), large[:10]) {
				t.Error("the error holds text of the conversation")
			}
		})
	}
}

func TestFitKeepsTheAnswersRoomFree(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		window, asked, limit int
	}{
		{100_000, 0, 100_000}, // providers add nothing to the input then
		{100_000, 4000, 96_000},
		{100_000, 90_000, 100_000 - 16_384},
		{20_000, 16_384, 15_000}, // a quarter, as in the proxy
		{8000, 0, 8000},
	} {
		f := newFitter(fitModel(tt.window), Limits{}, nil)
		_, did, err := f.fit(t.Context(), "", []Message{userSays("a")}, nil, tt.asked)
		if err != nil || did.Limit != tt.limit {
			t.Errorf("of %d with %d asked for %d are for the input, want %d (%v)", tt.window, tt.asked, did.Limit, tt.limit, err)
		}
		if tt.asked == 0 && (did.MaxOutput == 0) != (tt.window == 100_000) {
			t.Errorf("of %d, with nothing asked for, %d may be asked for", tt.window, did.MaxOutput)
		}
		if tt.asked > 0 && (did.MaxOutput < 1 || did.MaxOutput > tt.asked || did.MaxOutput+did.Tokens > tt.window) {
			t.Errorf("of %d with %d asked for, %d may be asked for", tt.window, tt.asked, did.MaxOutput)
		}
	}
}

func TestFitEndsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := newFitter(fitModel(0), Limits{}, nil).fit(ctx, "", []Message{userSays("a")}, nil, 0); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}

func TestLimitsThatMakeNoSenseAreTheDefaults(t *testing.T) {
	t.Parallel()
	for _, l := range []Limits{{}, {Trigger: 7, Target: 9}, {Trigger: -1, Target: -1}, {Trigger: .5, Target: .5}} {
		f := newFitter(fitModel(0), l, nil)
		if f.lines.Trigger <= 0 || f.lines.Trigger > 1 || f.lines.Target <= 0 || f.lines.Target >= f.lines.Trigger {
			t.Errorf("%+v gives %v and %v", l, f.lines.Trigger, f.lines.Target)
		}
	}
}

func TestTheStandInIsCountedExactly(t *testing.T) {
	t.Parallel()
	f := newFitter(ModelInfo{Provider: "openai", Name: "standin-planner", URL: "http://127.0.0.1:1/v1", Window: 8000, Standin: true}, Limits{}, nil)
	mustFit(t, f, "You help.", []Message{userSays("list all applications"), modelCalls("a"), toolSays("a", fitWords(900, 1))})
	if !f.Family.Exact() || f.last.In.High > f.last.In.Best*3/2 {
		t.Errorf("the count is %+v", f.last.In)
	}
}

// Where the count is a wide band, the upper estimate may be near the window although nothing has to be cut. An answer of a few
// tokens is of no use all the same.
func TestFitLeavesAnAnswerOfSomeLength(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ window, high, asked, want int }{
		{200_000, 199_000, 0, 0}, // left to the adapter: 20,000 are kept for it
		{200_000, 100_000, 0, 0},
		{8000, 7900, 0, 2000},
		{200_000, 199_000, 64_000, 20_000},
		{200_000, 199_000, 500, 500},
	} {
		p := compactionPass{Pass: fit.Pass{Window: models.Window{Context: tt.window, Source: models.SourceCatalogue}}}
		p.In.High = tt.high
		if got := p.outputToAsk(tt.asked); got != tt.want {
			t.Errorf("of %d, with up to %d of input and %d asked for: %d, want %d", tt.window, tt.high, tt.asked, got, tt.want)
		}
	}
}
