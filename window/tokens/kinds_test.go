package tokens

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"image"
	"image/png"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/window/wire"
)

// What the kinds of the dialects' public schemas cost, each with one payload: WORDS are 4 KB of prose; PNG is a picture of 512 by 512 in
// base64, 350 KB of it, and PNGURL the same as a data URL; SEALED is 100,000 characters of base64 that nobody can read; PDF is a file.
//
// The kinds are those of anthropic-sdk-python (types/beta/beta_content_block_param.py), openai-python (response_input_item_param.py with
// the later items of the API reference, chat_completion_content_part_param.py) and python-genai (types.Part), read 2026-11-26; and one of
// tomorrow in each dialect.
//
// The figures: WORDS cost what they cost as a text, which recorded_test.go and corpus_test.go hold against what providers reported. PNG:
// OpenAI 85 and 170 for one tile, Anthropic 19 by 19 patches of 28 pixels, Gemini 3 1,120 (their pages on images). SEALED: see [unknown],
// and a twelfth in reasoning. Nothing is said anywhere of a PDF but 1,500 to 3,000 tokens a page, so only a bound is held.
type figure int

const (
	asWords figure = iota
	asPicture
	asSealed
	asThought
	asNothing  // no more than its frame
	asDocument // of 120 KB
)

type itemKind struct {
	name, message string
	costs         figure
}

func itemKinds() map[wire.Dialect][]itemKind {
	return map[wire.Dialect][]itemKind{
		wire.Messages: {
			{"text", `{"role":"user","content":[{"type":"text","text":WORDS}]}`, asWords},
			{"image", `{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":PNG}}]}`, asPicture},
			{"document text", `{"role":"user","content":[{"type":"document","source":{"type":"text","media_type":"text/plain","data":WORDS}}]}`, asWords},
			{"document pdf", `{"role":"user","content":[{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":PDF}}]}`, asDocument},
			{"document content", `{"role":"user","content":[{"type":"document","source":{"type":"content","content":[{"type":"text","text":WORDS}]}}]}`, asWords},
			{"search_result", `{"role":"user","content":[{"type":"search_result","source":"https://a.example","title":"t","content":[{"type":"text","text":WORDS}]}]}`, asWords},
			{"thinking", `{"role":"assistant","content":[{"type":"thinking","thinking":"","signature":SEALED}]}`, asThought},
			{"redacted_thinking", `{"role":"assistant","content":[{"type":"redacted_thinking","data":SEALED}]}`, asThought},
			{"tool_use", `{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{"x":WORDS}}]}`, asWords},
			{"tool_result", `{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":WORDS}]}`, asWords},
			{"tool_result image", `{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":PNG}}]}]}`, asPicture},
			{"tool_result search_result", `{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"search_result","source":"s","title":"t","content":[{"type":"text","text":WORDS}]}]}]}`, asWords},
			{"tool_result tool_reference", `{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"tool_reference","tool_name":"f"}]}]}`, asNothing},
			{"tool_result of tomorrow", `{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"hologram","mimeType":"image/png","bits":PNG}]}]}`, asPicture},
			{"server_tool_use", `{"role":"assistant","content":[{"type":"server_tool_use","id":"s","name":"code_execution","input":{"code":WORDS}}]}`, asWords},
			{"web_search_tool_result", `{"role":"assistant","content":[{"type":"web_search_tool_result","tool_use_id":"s","content":[{"type":"web_search_result","url":"https://a.example","title":"t","encrypted_content":SEALED}]}]}`, asSealed},
			{"web_fetch_tool_result", `{"role":"assistant","content":[{"type":"web_fetch_tool_result","tool_use_id":"s","content":{"type":"web_fetch_result","url":"u","content":{"type":"document","source":{"type":"text","media_type":"text/plain","data":WORDS}}}}]}`, asWords},
			{"web_fetch_tool_result pdf", `{"role":"assistant","content":[{"type":"web_fetch_tool_result","tool_use_id":"s","content":{"type":"web_fetch_result","url":"u","content":{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":PDF}}}}]}`, asDocument},
			{"advisor_tool_result", `{"role":"assistant","content":[{"type":"advisor_tool_result","tool_use_id":"s","content":{"type":"advisor_result","text":WORDS}}]}`, asWords},
			{"advisor_tool_result redacted", `{"role":"assistant","content":[{"type":"advisor_tool_result","tool_use_id":"s","content":{"type":"advisor_redacted_result","encrypted_content":SEALED}}]}`, asSealed},
			{"code_execution_tool_result", `{"role":"assistant","content":[{"type":"code_execution_tool_result","tool_use_id":"s","content":{"type":"code_execution_result","stdout":WORDS,"stderr":"","return_code":0,"content":[]}}]}`, asWords},
			{"code_execution_tool_result sealed", `{"role":"assistant","content":[{"type":"code_execution_tool_result","tool_use_id":"s","content":{"type":"encrypted_code_execution_result","encrypted_stdout":SEALED,"stderr":"","return_code":0,"content":[]}}]}`, asSealed},
			{"bash_code_execution_tool_result", `{"role":"assistant","content":[{"type":"bash_code_execution_tool_result","tool_use_id":"s","content":{"type":"bash_code_execution_result","stdout":WORDS,"stderr":"","return_code":0,"content":[]}}]}`, asWords},
			{"text_editor_code_execution_tool_result", `{"role":"assistant","content":[{"type":"text_editor_code_execution_tool_result","tool_use_id":"s","content":{"type":"text_editor_code_execution_view_result","file_type":"text","content":WORDS}}]}`, asWords},
			{"tool_search_tool_result", `{"role":"assistant","content":[{"type":"tool_search_tool_result","tool_use_id":"s","content":{"type":"tool_search_tool_search_result","tool_references":[{"type":"tool_reference","tool_name":"f"}]}}]}`, asNothing},
			{"mcp_tool_use", `{"role":"assistant","content":[{"type":"mcp_tool_use","id":"m","name":"f","server_name":"s","input":{"x":WORDS}}]}`, asWords},
			{"mcp_tool_result", `{"role":"assistant","content":[{"type":"mcp_tool_result","tool_use_id":"m","is_error":false,"content":[{"type":"text","text":WORDS}]}]}`, asWords},
			{"container_upload", `{"role":"user","content":[{"type":"container_upload","file_id":"f"}]}`, asDocument},
			{"compaction", `{"role":"assistant","content":[{"type":"compaction","content":WORDS}]}`, asWords},
			{"compaction sealed", `{"role":"assistant","content":[{"type":"compaction","content":null,"encrypted_content":SEALED}]}`, asSealed},
			{"mid_conversation_system", `{"role":"user","content":[{"type":"mid_conversation_system","content":WORDS}]}`, asWords},
			{"fallback", `{"role":"assistant","content":[{"type":"fallback","from":{"model":"a"},"to":{"model":"b"}}]}`, asNothing},
			{"of tomorrow, a picture", `{"role":"user","content":[{"type":"hologram","layers":[{"bits":PNG}]}]}`, asPicture},
			{"of tomorrow, words", `{"role":"user","content":[{"type":"hologram","layers":[{"says":WORDS}]}]}`, asWords},
		},
		wire.Responses: {
			{"message", `{"type":"message","role":"user","content":[{"type":"input_text","text":WORDS}]}`, asWords},
			{"message image", `{"role":"user","content":[{"type":"input_image","image_url":PNGURL}]}`, asPicture},
			{"message file", `{"role":"user","content":[{"type":"input_file","filename":"a.pdf","file_data":PDF}]}`, asDocument},
			{"output message", `{"type":"message","role":"assistant","id":"m","status":"completed","content":[{"type":"output_text","text":WORDS,"annotations":[]}]}`, asWords},
			{"file_search_call", `{"type":"file_search_call","id":"f","queries":["q"],"status":"completed","results":[{"file_id":"x","text":WORDS}]}`, asWords},
			{"computer_call", `{"type":"computer_call","id":"c","call_id":"c","action":{"type":"type","text":WORDS},"pending_safety_checks":[],"status":"completed"}`, asWords},
			{"computer_call_output", `{"type":"computer_call_output","call_id":"c","output":{"type":"computer_screenshot","image_url":PNGURL}}`, asPicture},
			{"web_search_call", `{"type":"web_search_call","id":"w","status":"completed","action":{"type":"search","query":"q"}}`, asNothing},
			{"function_call", `{"type":"function_call","call_id":"c","name":"f","arguments":WORDS}`, asWords},
			{"function_call_output", `{"type":"function_call_output","call_id":"c","output":WORDS}`, asWords},
			{"function_call_output image", `{"type":"function_call_output","call_id":"c","output":[{"type":"input_image","image_url":PNGURL}]}`, asPicture},
			{"function_call_output of tomorrow", `{"type":"function_call_output","call_id":"c","output":[{"type":"hologram","bits":PNG}]}`, asPicture},
			{"function_call_output encrypted", `{"type":"function_call_output","call_id":"c","output":[{"type":"encrypted_content","encrypted_content":SEALED}]}`, asSealed},
			{"reasoning", `{"type":"reasoning","id":"r","summary":[],"encrypted_content":SEALED}`, asThought},
			{"compaction", `{"type":"compaction","id":"c","encrypted_content":SEALED}`, asSealed},
			{"image_generation_call", `{"type":"image_generation_call","id":"i","status":"completed","result":PNG}`, asPicture},
			{"code_interpreter_call", `{"type":"code_interpreter_call","id":"i","container_id":"c","status":"completed","code":"plot()","outputs":[{"type":"image","url":PNGURL}]}`, asPicture},
			{"code_interpreter_call logs", `{"type":"code_interpreter_call","id":"i","container_id":"c","status":"completed","code":"run()","outputs":[{"type":"logs","logs":WORDS}]}`, asWords},
			{"local_shell_call", `{"type":"local_shell_call","id":"l","call_id":"c","status":"completed","action":{"type":"exec","command":["sh",WORDS],"env":{}}}`, asWords},
			{"local_shell_call_output", `{"type":"local_shell_call_output","id":"l","output":WORDS}`, asWords},
			{"shell_call", `{"type":"shell_call","call_id":"c","action":{"commands":[WORDS]},"status":"completed"}`, asWords},
			{"shell_call_output", `{"type":"shell_call_output","call_id":"c","output":[{"stdout":WORDS,"stderr":"","outcome":{"type":"exit","exit_code":0}}]}`, asWords},
			{"apply_patch_call", `{"type":"apply_patch_call","call_id":"c","operation":{"type":"update_file","path":"a","diff":WORDS},"status":"completed"}`, asWords},
			{"apply_patch_call_output", `{"type":"apply_patch_call_output","call_id":"c","status":"completed","output":WORDS}`, asWords},
			{"mcp_list_tools", `{"type":"mcp_list_tools","id":"m","server_label":"s","tools":[{"name":"f","description":WORDS,"input_schema":{}}]}`, asWords},
			{"mcp_approval_request", `{"type":"mcp_approval_request","id":"m","server_label":"s","name":"f","arguments":WORDS}`, asWords},
			{"mcp_approval_response", `{"type":"mcp_approval_response","approval_request_id":"m","approve":true}`, asNothing},
			{"mcp_call", `{"type":"mcp_call","id":"m","server_label":"s","name":"f","arguments":"{}","output":WORDS}`, asWords},
			{"custom_tool_call", `{"type":"custom_tool_call","call_id":"c","name":"f","input":WORDS}`, asWords},
			{"custom_tool_call_output", `{"type":"custom_tool_call_output","call_id":"c","output":WORDS}`, asWords},
			{"tool_search_call", `{"type":"tool_search_call","call_id":"c","status":"completed","execution":"client","arguments":{"goal":WORDS}}`, asWords},
			{"tool_search_output", `{"type":"tool_search_output","call_id":"c","status":"completed","execution":"client","tools":[{"type":"function","name":"f","description":WORDS,"parameters":{}}]}`, asWords},
			{"additional_tools", `{"type":"additional_tools","tools":[{"type":"function","name":"f","description":WORDS,"parameters":{}}]}`, asWords},
			{"item_reference", `{"type":"item_reference","id":"x"}`, asNothing},
			{"of tomorrow, a picture", `{"type":"hologram_call","id":"h","layers":[{"bits":PNG}]}`, asPicture},
			{"of tomorrow, sealed", `{"type":"hologram_call","id":"h","sealed":SEALED}`, asSealed},
		},
		wire.Chat: {
			{"text", `{"role":"user","content":WORDS}`, asWords},
			{"image_url", `{"role":"user","content":[{"type":"image_url","image_url":{"url":PNGURL}}]}`, asPicture},
			{"file", `{"role":"user","content":[{"type":"file","file":{"filename":"a.pdf","file_data":PDF}}]}`, asDocument},
			{"refusal", `{"role":"assistant","content":[{"type":"refusal","refusal":WORDS}]}`, asWords},
			{"tool_calls", `{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":WORDS}}]}`, asWords},
			{"custom tool_calls", `{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"custom","custom":{"name":"f","input":WORDS}}]}`, asWords},
			{"function_call", `{"role":"assistant","content":null,"function_call":{"name":"f","arguments":WORDS}}`, asWords},
			{"audio", `{"role":"assistant","content":null,"audio":{"id":"a"}}`, asNothing},
			{"tool", `{"role":"tool","tool_call_id":"c","content":WORDS}`, asWords},
			{"tool with a picture of MCP", `{"role":"tool","tool_call_id":"c","content":[{"type":"image","mimeType":"image/png","data":PNG}]}`, asPicture},
			{"reasoning_content", `{"role":"assistant","content":null,"reasoning_content":WORDS}`, asWords},
			{"reasoning_details text", `{"role":"assistant","content":null,"reasoning_details":[{"type":"reasoning.text","text":WORDS}]}`, asWords},
			{"reasoning_details encrypted", `{"role":"assistant","content":null,"reasoning_details":[{"type":"reasoning.encrypted","data":SEALED}]}`, asThought},
			{"reasoning_details signature", `{"role":"assistant","content":null,"reasoning_details":[{"type":"reasoning.text","text":"","signature":SEALED}]}`, asThought},
			{"of tomorrow, a picture", `{"role":"user","content":[{"type":"hologram","layers":[{"bits":PNGURL}]}]}`, asPicture},
		},
		wire.Gemini: {
			{"text", `{"role":"user","parts":[{"text":WORDS}]}`, asWords},
			{"inlineData", `{"role":"user","parts":[{"inlineData":{"mimeType":"image/png","data":PNG}}]}`, asPicture},
			{"functionCall", `{"role":"model","parts":[{"functionCall":{"name":"f","args":{"x":WORDS}},"thoughtSignature":SEALED}]}`, asWords},
			{"functionResponse", `{"role":"user","parts":[{"functionResponse":{"name":"f","response":{"output":WORDS}}}]}`, asWords},
			{"functionResponse parts", `{"role":"user","parts":[{"functionResponse":{"name":"f","response":{},"parts":[{"inlineData":{"mimeType":"image/png","data":PNG}}]}}]}`, asPicture},
			{"executableCode", `{"role":"model","parts":[{"executableCode":{"language":"PYTHON","code":WORDS}}]}`, asWords},
			{"codeExecutionResult", `{"role":"model","parts":[{"codeExecutionResult":{"outcome":"OUTCOME_OK","output":WORDS}}]}`, asWords},
			{"thought", `{"role":"model","parts":[{"text":WORDS,"thought":true}]}`, asWords},
			{"of tomorrow, a picture", `{"role":"model","parts":[{"toolResponse":{"toolType":"X","response":{"bits":PNG}}}]}`, asPicture},
			{"of tomorrow, sealed", `{"role":"model","parts":[{"toolResponse":{"toolType":"X","sealed":SEALED}}]}`, asSealed},
		},
	}
}

func TestEveryKindIsCounted(t *testing.T) {
	random := rand.New(rand.NewPCG(27, 8))
	noise := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(random.Uint32())
		}
		return b
	}
	picture := image.NewGray(image.Rect(0, 0, 512, 512))
	copy(picture.Pix, noise(len(picture.Pix)))
	var drawn bytes.Buffer
	if err := png.Encode(&drawn, picture); err != nil {
		t.Fatal(err)
	}
	quote := func(s string) string { b, _ := json.Marshal(s); return string(b) }
	in64 := base64.StdEncoding.EncodeToString
	words := strings.Repeat("The report says that some requests were lost while the \"connection\" was closed by the other side.\n", 40)
	fill := strings.NewReplacer("WORDS", quote(words), "PNGURL", quote("data:image/png;base64,"+in64(drawn.Bytes())), "PNG", quote(in64(drawn.Bytes())),
		"SEALED", quote(in64(noise(75_000))), "PDF", quote(in64(append([]byte("%PDF-1.7\n"), noise(120_000)...))))
	start := map[wire.Dialect]string{wire.Messages: `{"messages":[`, wire.Responses: `{"input":[`, wire.Chat: `{"messages":[`, wire.Gemini: `{"contents":[`}
	pixels := map[Family]int{FamilyClaude: 361, FamilyClaude47: 361, FamilyO200K: 255, FamilyGemini: 1120}
	families := map[wire.Dialect][]Family{
		wire.Messages: {FamilyClaude, FamilyClaude47}, wire.Responses: {FamilyO200K}, wire.Chat: {FamilyO200K, FamilyClaude}, wire.Gemini: {FamilyGemini},
	}
	for d, list := range itemKinds() {
		for _, f := range families[d] {
			inWords := 0
			for _, k := range list {
				r, err := wire.Parse(d, []byte(start[d]+fill.Replace(k.message)+`]}`))
				if err != nil {
					t.Errorf("%v %s: %v", d, k.name, err)
					continue
				}
				got := NewCounter(Options{}).Tally(r, f).Messages[0]
				if inWords == 0 {
					inWords = got.Best // the first kind is the text
				}
				want := 0
				switch k.costs {
				case asWords:
					want = inWords
				case asPicture:
					want = pixels[f]
				case asSealed:
					want = 100_000 * 9 / 64
				case asThought:
					want = 100_000 / 12
				case asNothing:
					if got.Best > 120 {
						t.Errorf("%v %s, %s: %+v for a frame with nothing in it", d, k.name, f, got)
					}
				case asDocument:
					if got.Best < 250 || got.Best > 20_000 {
						t.Errorf("%v %s, %s: %+v for a file of 120 KB", d, k.name, f, got)
					}
				}
				// What frames a picture is as long as what frames words: it is not held against the factor.
				const frame = 90
				if want > 0 && (float64(got.Best) > 1.3*float64(want)+frame || float64(got.Best) < float64(want)/1.3) {
					t.Errorf("%v %s, %s: %+v, want %d", d, k.name, f, got, want)
				}
				if got.Low > got.Best || got.Best > got.High {
					t.Errorf("%v %s, %s: the band is %+v", d, k.name, f, got)
				}
				if it := sampled(r, f, 0); float64(it.best) > 1.15*float64(got.Best)+8 || 1.15*float64(it.best)+8 < float64(got.Best) || int(it.high) < got.Best {
					t.Errorf("%v %s, %s: by a sample it is %d to %d, and %+v when it is read", d, k.name, f, it.best, it.high, got)
				}
				wholeBytes(t, r)
			}
		}
	}
}

// wholeBytes holds that no edit can cut bytes in two: they are in no text, and an edit replaces a text, a result's content or a part.
func wholeBytes(t *testing.T, r *wire.Request) {
	t.Helper()
	for i := range r.Messages {
		for _, p := range r.Messages[i].Parts {
			for _, m := range p.Media {
				for _, s := range p.Texts {
					if s.Start < m.Span.End && m.Span.Start < s.End {
						t.Errorf("message %d: the text %v has part of the bytes %v", i, s, m.Span)
					}
				}
				if m.Base64 > 0 && (!p.Span.Contains(m.Span) || m.Head.Start < m.Span.Start || m.Head.End > m.Span.End) {
					t.Errorf("message %d: the bytes %v, which begin at %v, lie outside part %v", i, m.Span, m.Head, p.Span)
				}
			}
		}
	}
}
