package mend

import (
	"slices"
	"strconv"
	"strings"

	"github.com/plimsoll/plimsoll/internal/lazy"
)

// A lesson recognises a refusal by words in it, in lower case, and changes the options by what it says; learn returns false if they say
// that already.
type lesson struct {
	words string
	learn func(o *Options, refusal string) bool
}

// learned has the refusals that tell a rule which cannot be known before. docs/refusals.md lists them; the first that matches and teaches
// something new counts.
var learned = []lesson{
	{"does not support assistant message prefill", noPrefill},
	{"prefilling assistant messages is not supported", noPrefill},
	{"conversation must end with a user message", noPrefill},
	{"for serving but got assistant", noPrefill},
	{"prefill is incompatible with enable_thinking", noPrefill}, // llama.cpp (llama.cpp#20861)
	{"non-whitespace text", func(o *Options, _ string) bool { return !set(&o.NoBlank) }},
	{"could not process image", decode},
	{"does not represent a valid image", decode},
	{"unable to process input image", decode},
	{"provided image is not valid", decode},
	{"document pages", documentPages},                 // "too much media: 130 document pages + 0 images > 100"; before the images
	{"too many images", learnImages},                  // Copilot: "… but the model supports a maximum of 10 images." (vscode#306919)
	{"too many url images", learnImages},              // "too many URL images in request (max 20)" (vscode#310937)
	{"images, exceeding the maximum of", learnImages}, // Muse Spark: "request contains 52 images, exceeding the maximum of 50 …" (opencode#47721)
	{"image(s) may be provided", learnImages},         // vLLM: "At most 5 image(s) may be provided in one request." (vllm#17092)
	{"too much media", learnImages},

	// A body with "\ud83d" and no second half: readers of JSON in Python, Rust and others refuse it (claude-code#68325, #86560).
	{"no low surrogate", surrogates},
	{"lone leading surrogate", surrogates},
	{"unexpected end of hex escape", surrogates},
	{"surrogates not allowed", surrogates},
	{"unpaired surrogate", surrogates},

	{"pdf specified", learnDocuments}, // "The PDF specified was not valid.", "… is password protected" (claude-code#20195, #25202)
	{"pdf pages", pages},              // "A maximum of 100 PDF pages may be provided."
	{"document has no pages", learnDocuments},
	{"unsupported mime type", learnMediaType},

	{"unknown variant image_url", noImages},       // DeepSeek's reader (Reasonix#6294)
	{"unknown variant image,", noImages},          // the same in Messages (DeepSeek-V3#1026)
	{"content.type 参数非法，取值范围 ['text']", noImages}, // GLM: "messages.content.type is no valid parameter" (zcode-api#26)
	{"support image input", noImages},             // OpenRouter: "No endpoints found that support image input"
	{"not a multimodal model", noImages},          // vLLM
	{"does not support image input", noImages},
	{"does not support images", noImages},
	{"image input is not supported", noImages}, // llama.cpp
	{"image inputs are not supported", noImages},

	// What Claude Code's search for tools has found: {"type":"tool_reference","tool_name":…} in a result.
	{"contentblockparamunion: tool_reference", noReferences},                              // Moonshot (Kimi-K2#118)
	{"invalid value: tool_reference", noReferences},                                       // Ark (claude-code#30912)
	{"unknown variant tool_reference", noReferences},                                      // DeepSeek (jetbrains-cc-gui#591)
	{"unexpected item type in content", noReferences},                                     // templates of vLLM (vllm#52489)
	{"tool reference '", func(o *Options, _ string) bool { return !set(&o.NoLostTools) }}, // Claude: "… not found in available tools" (claude-code#81863)

	{"unable to download", learnFetched},
	{"error while downloading", learnFetched},
	{"failed to download", learnFetched},

	{"must have at least one content element", noEmpty}, // xAI
	{"content or tool_calls must be set", noEmpty},      // DeepSeek (AstrBot#6551)

	{"expected a string with maximum length", learnIDLength}, // "Invalid 'input[2].call_id': string too long. …" (vercel/ai#5171, dyad#4304)
	// A client that asks for a summary of its calls and declares no tool (opencode#34089, zed#48863; the last is LiteLLM's).
	{"must define tools", needTools},
	{"toolconfig field must be defined", needTools},
	{"support tool calling without", needTools},

	// Calls with "" or a list as their arguments (codex-relay#57, nanobot#2858, codegraff#752).
	{"arguments must be a valid json", objects}, // OpenAI: "messages.70.tool_calls.0.function.arguments: arguments must be a valid JSON object string"
	{"arguments must be valid json", objects},   // Meta, NEAR AI
	{"invalid function arguments", objects},     // MiniMax: "invalid params, invalid function arguments json string"
	{"must be in json format", objects},         // Qwen: "The "function.arguments" parameter of the code model must be in JSON format."
	{"tool call arguments as json", objects},    // llama.cpp: "Failed to parse tool call arguments as JSON"

	// Models that think want the reasoning of each call back (docs of DeepSeek and Kimi). Clients that do not know the member drop it.
	{"reasoning_content is missing", needReasoning},             // Kimi: "thinking is enabled but reasoning_content is missing in assistant tool call message at index 2"
	{"must include reasoning_content", needReasoning},           // hermes-agent#16388
	{"missing reasoning_content", needReasoning},                // the same, the words the other way round
	{"in the thinking mode must be passed back", needReasoning}, // DeepSeek: "The `reasoning_content` in …", in Messages "The `content[].thinking` in …" (qwen-code#3786)

	{"unexpected role 'user' after role 'tool'", needAnswers},           // Mistral (hermes-agent#20154, zed#37021)
	{"alternate user and assistant roles except for tool", needAnswers}, // the template of Devstral and others of Mistral's, where it is served locally (mistral-vibe#1006)

	{"^[a-za-z0-9_-]+$", plainIDs}, // "messages.1.content.0.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'" (behind the name of another model)
	// Messages of the system among the others, as Claude Code sends them since 2.1.154.
	{"system message must be at the beginning", systemFirst},         // templates of Qwen: llama.cpp#20733, ollama#17774, lmstudio-bug-tracker#1999
	{"unexpected role 'system' after role", systemFirst},             // Mistral (swarmauri-sdk#162)
	{"unknown variant system, expected user or assistant", noSystem}, // DeepSeek in Messages (claudian#701)
	{"unexpected role system. the messages api", noSystem},           // Claude, before it took any (cursor-claude-connector#3)
	{"unknown variant developer, expected", noDeveloper},             // DeepSeek: "unknown variant `developer`, expected one of `system`, `user`, …" (pi#1048)
	{"developer is not one of ['system'", noDeveloper},               // DashScope (ccx#161)

	{"with a length of 9", nineIDs},                   // "Tool call id was c1 but must be a-z, A-Z, 0-9, with a length of 9." (Mistral)
	{"duplicate value for 'tool_call_id'", uniqueIDs}, // DeepSeek: "… of in message[4]" (craft-agents-oss#621)
	{"is duplicated", repeatedIDs},                    // Kimi: "Invalid request: tool call id write:0 is duplicated" (openclaw#51155)
	{"expected an id that begins with", learnItemIDs}, // "Invalid 'input[3].id': 'x-1'. Expected an ID that begins with 'fc'." (TanStack/ai#1212)
	{"duplicate item found with id", learnItemIDs},    // "Duplicate item found with id msg_4. Remove duplicate items …" (pi#5149, vscode#321977)
	{"extra inputs are not permitted", learnField},
	{"is unsupported", learnField},    // Groq: "property 'messages.2.assistant.reasoning_content' is unsupported" (qwen-code#3304)
	{"unknown parameter", learnField}, // OpenAI: "Unknown parameter: 'messages[2].reasoning_content'."
	{"cannot find field", learnField}, // Gemini: "Unknown name \"id\" at 'contents[1].parts[0]': Cannot find field."
}

// maxRefusal bounds how much of a refusal is read, in bytes.
const maxRefusal = 8 << 10

// Learn returns the options with the rule that a provider's refusal states, of a request that was mended with them; false if it states
// nothing new. refusal is the provider's own words, as package refusal extracts them from a body: text that a validator echoes from the
// conversation may say anything. The caller mends again, and keeps [Options.Lasting] for the conversation and the model if that has helped.
func Learn(o Options, refusal string) (Options, bool) {
	refusal = strings.NewReplacer("`", "", `"`, "", `\`, "").Replace(strings.ToLower(refusal[:min(len(refusal), maxRefusal)]))
	for _, l := range learned {
		if strings.Contains(refusal, l.words) && l.learn(&o, refusal) {
			return o, true
		}
	}
	return o, false
}

// Lasting returns the options without those that concern one request alone: which documents to remove, and that no image could be fetched.
func (o Options) Lasting() Options {
	o.Place, o.NoDocuments, o.OldDocuments, o.NoFetched = nil, false, false, false
	return o
}

// noPrefill learns that the last message may not be the model's.
func noPrefill(o *Options, _ string) bool { return !set(&o.NoPrefill) }

// decode learns that all images must be decoded to find one that is damaged.
func decode(o *Options, _ string) bool { return !set(&o.Decode) }

// noEmpty learns that no text and no message may be empty.
func noEmpty(o *Options, _ string) bool { return !set(&o.NoEmpty) }

// noImages learns that the model takes no images.
func noImages(o *Options, _ string) bool { return !set(&o.NoImages) }

// noReferences learns that a result may not refer to a tool.
func noReferences(o *Options, _ string) bool { return !set(&o.NoReferences) }

// surrogates learns that half a surrogate pair is refused.
func surrogates(o *Options, _ string) bool { return !set(&o.NoSurrogates) }

// needTools learns that a history with calls needs declared tools.
func needTools(o *Options, _ string) bool { return !set(&o.NeedTools) }

// systemFirst learns that a message of the system has to be the first.
func systemFirst(o *Options, _ string) bool { return !set(&o.SystemFirst) }

// noSystem learns that no message may be the system's.
func noSystem(o *Options, _ string) bool { return !set(&o.NoSystem) }

// noDeveloper learns that there is no role developer.
func noDeveloper(o *Options, _ string) bool { return !set(&o.NoDeveloper) }

// nineIDs learns that ids of calls are nine letters and digits.
func nineIDs(o *Options, _ string) bool { return !set(&o.NineIDs) }

// needAnswers learns that the user may not speak right behind results.
func needAnswers(o *Options, _ string) bool { return !set(&o.NeedAnswers) }

// plainIDs learns that the ids of calls may have no other characters than Claude's.
func plainIDs(o *Options, refusal string) bool {
	return strings.Contains(refusal, "tool_use") && strings.Contains(refusal, "id:") && !set(&o.PlainIDs)
}

// uniqueIDs learns that no two calls of a history may have the same id.
func uniqueIDs(o *Options, _ string) bool { return !set(&o.UniqueIDs) }

// repeatedIDs learns the same if it is ids of calls that are repeated.
func repeatedIDs(o *Options, refusal string) bool {
	return strings.Contains(refusal, "tool call id ") && uniqueIDs(o, refusal)
}

// objects learns that arguments of calls have to be JSON objects.
func objects(o *Options, _ string) bool { return !set(&o.Objects) }

// needReasoning learns that the model's messages need reasoning, also where another service behind the same address has refused the member.
func needReasoning(o *Options, _ string) bool {
	if set(&o.NeedReasoning) {
		return false
	}
	o.NoFields = slices.DeleteFunc(slices.Clone(o.NoFields), isReasoning)
	return true
}

// isReasoning reports whether a name in [Options.NoFields] is that of the member which needReasoning asks for.
func isReasoning(field string) bool { return strings.HasSuffix(field, ".reasoning_content") }

// set sets a flag to true and returns its former value.
func set(flag *bool) (was bool) {
	was, *flag = *flag, true
	return was
}

// learnImages learns how many images a request may have; without a number in the refusal, 100. With 0 the model has no eyes.
func learnImages(o *Options, refusal string) bool {
	n := claudeImages
	if at := imageLimit().FindStringSubmatch(refusal); at != nil {
		n, _ = strconv.Atoi(at[1])
	}
	if n == 0 {
		return noImages(o, refusal)
	}
	if o.MaxImages > 0 && o.MaxImages <= n {
		return false
	}
	o.MaxImages = n
	return true
}

// imageLimit finds the most images that a refusal allows, as in "too much media: 0 document pages + 101 images > 100".
var imageLimit = lazy.Regexp(`(?:> |\(max |maximum of |at most )([0-9]{1,6})`)

// learnDocuments learns that a document is refused: the one that the refusal names, or all if it names none.
func learnDocuments(o *Options, refusal string) bool {
	if set(&o.NoDocuments) {
		return false
	}
	if at := contentPath().FindStringSubmatch(refusal); at != nil {
		message, err := strconv.Atoi(at[1])
		part, err2 := strconv.Atoi(at[2])
		if err == nil && err2 == nil {
			o.Place = &Place{Message: message, Part: part}
		}
	}
	return true
}

// contentPath finds the place of a block, as Anthropic and Bedrock name it.
var contentPath = lazy.Regexp(`messages\.([0-9]{1,6})\.content\.([0-9]{1,6})\.`)

// documentPages learns that there are too many pages, unless the refusal counts none: then the images are too many, and it returns false.
func documentPages(o *Options, refusal string) bool {
	if strings.Contains(refusal, " 0 document pages") {
		return false // images are too many
	}
	return pages(o, refusal)
}

// pages learns that there are too many pages: first that only the newest document may stay, and when that is known already, none. It returns false
// when both are known.
func pages(o *Options, _ string) bool {
	if !set(&o.OldDocuments) {
		return true
	}
	return !set(&o.NoDocuments)
}

// learnFetched learns which addresses could not be fetched: those that the refusal names, or all if it names none.
func learnFetched(o *Options, refusal string) bool {
	named, taught := false, false
	for word := range strings.FieldsFuncSeq(refusal, func(c rune) bool { return c <= ' ' || strings.ContainsRune("'<>()", c) }) {
		if at := strings.Index(word, "http"); at >= 0 && strings.Contains(word[at:], "://") {
			named = true
			if url := strings.TrimRight(word[at:], ".,;:!"); !slices.Contains(o.NoURLs, url) && len(o.NoURLs) < maxLessons {
				o.NoURLs, taught = append(slices.Clip(o.NoURLs), url), true
			}
		}
	}
	if named {
		return taught
	}
	return !set(&o.NoFetched)
}

// learnMediaType learns the media type that a refusal names.
func learnMediaType(o *Options, refusal string) bool {
	at := mediaTypePath().FindStringSubmatch(refusal)
	if at == nil || slices.Contains(o.NoTypes, at[1]) || len(o.NoTypes) >= maxLessons {
		return false
	}
	o.NoTypes = append(slices.Clip(o.NoTypes), at[1])
	return true
}

var mediaTypePath = lazy.Regexp(`unsupported mime type:? ['"]?([a-z0-9.+-]{1,64}/[a-z0-9.+-]{1,64})`)

// maxLessons bounds the members and media types that are learned of one conversation.
const maxLessons = 16

// learnIDLength learns how many characters the id of a call may have, if the refusal is about such an id.
func learnIDLength(o *Options, refusal string) bool {
	if !strings.Contains(refusal, "call_id'") && !(strings.Contains(refusal, "tool_calls[") && strings.Contains(refusal, "].id'")) {
		return false
	}
	_, rest, _ := strings.Cut(refusal, "maximum length ")
	n, err := strconv.Atoi(rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789"))])
	if err != nil || n <= 0 || o.MaxID > 0 && o.MaxID <= n {
		return false
	}
	o.MaxID = n
	return true
}

// learnItemIDs learns that items of one kind may not have the ids that they have: those are of another provider, or two items have the same.
// All items of the kind lose theirs, which an item need not have.
func learnItemIDs(o *Options, refusal string) bool {
	at := itemID().FindStringSubmatch(refusal)
	return at != nil && o.addField(itemKinds[at[1]])
}

// itemID finds the letters that OpenAI's ids of one kind of items begin with.
var itemID = lazy.Regexp(`(?:an id that begins with '|duplicate item found with id )([a-z]{1,8})['_]`)

// itemKinds gives the id of a kind of items, as [Options.NoFields] names it, by the letters that it begins with.
var itemKinds = map[string]string{"fc": "function_call.id", "msg": "message.id", "ctc": "custom_tool_call.id", "rs": "reasoning.id"}
