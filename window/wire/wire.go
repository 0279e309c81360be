package wire

import "github.com/plimsoll/plimsoll/internal/rawjson"

// Span is a half-open range of bytes of [Request.Body]; the zero Span means absent
// (no value that is looked for begins at byte 0 of a body and ends there).
type Span = rawjson.Span

// Role is the speaker of a message, in any dialect.
type Role uint8

// The roles. The results of Messages and mostly of Gemini are parts of a user's message.
const (
	RoleOther     Role = iota // anything unknown, and the legacy "function"
	RoleSystem                // "system", "developer"
	RoleUser                  // "user", and a Gemini content without a role
	RoleAssistant             // "assistant", "model"; all items a model makes in Responses
	RoleTool                  // "tool"; items with a call's output in Responses; "function" in Gemini
)

// String returns "system", "user", "assistant", "tool" or "other".
func (r Role) String() string {
	return [...]string{"other", "system", "user", "assistant", "tool"}[min(int(r), 4)]
}

// PartKind classifies a part of a message for counting and cutting.
type PartKind uint8

// The kinds of parts.
const (
	Other     PartKind = iota // opaque: moved and dropped with its message, never looked into
	Text                      // words
	Call                      // the model calls a tool of the client
	Result                    // what that tool returned
	Reasoning                 // the model's thoughts, open or sealed
	Media                     // image, audio, document
	// Compaction is a summary the provider made of everything before it. It is never changed or left out: only the
	// provider can make it again.
	Compaction
)

// String returns the kind in lower case.
func (k PartKind) String() string {
	return [...]string{"other", "text", "call", "result", "reasoning", "media", "compaction"}[min(int(k), 6)]
}

// Part is the smallest thing that is counted, cut or dropped by itself.
type Part struct {
	Kind   PartKind
	Failed bool // a Result that says it is an error
	End    End  // of an Other part
	// Declares means that the part makes tools known, or settles how the model works from here on: later calls, or the instructions they
	// follow, make no sense without it. It is never masked, and stays in place behind a cut.
	Declares bool
	// Sound means that the arguments of a Call, which stand in a text of their own, are valid JSON. It is computed once, when the message
	// is read for the first time.
	Sound bool
	place place
	// Span is the part as an element of the array it stands in: a content block, an
	// element of tool_calls, a Gemini part. It is the literal (quotes included) when the
	// content is one string, the whole message where the message is the part (a Chat tool
	// message, a Responses item other than a message), and the member's value when it is a
	// member of the message of its own (refusal, reasoning_content, function_call, audio).
	Span Span
	// Texts are the JSON string literals, quotes included, that the model reads and that
	// may be cut: text, arguments, pieces of a result.
	Texts []Span
	// Raw is a JSON value that the model reads as JSON: the input of a Messages call, args
	// and response of Gemini, the whole of an opaque part, less the Media in it. Where Raw is set it is what
	// counts, and Texts, if any, lie inside it; where it is zero Texts count.
	Raw Span
	// Content of a Result is its whole value: the string, array or object that
	// [Draft.ReplaceResult] puts one text in place of. Zero where there is none.
	Content Span
	// Sealed is the literal of a value that only the provider can read: a signature, encrypted reasoning. It is in addition to Texts.
	Sealed Span
	// Type is the dialect's own name of the block or item ("tool_use", "custom_tool_call");
	// "" where it has none.
	Type string
	// CallID of a Call, a Result, and a part with an End, decoded; "" where there is none (Gemini often).
	CallID string
	IDSpan Span // the literal of CallID
	Name   string
	// Media is one of a Media part, any number in a Result, and in an opaque part the long strings that are base64 and not words.
	Media []MediaSource
}

// MediaSource measures an image, a sound or a document without decoding it.
type MediaSource struct {
	Type   string // media type, or what the dialect says instead ("wav"); "" when unknown
	Base64 int    // length of the base64 text in characters; 0 when the bytes are elsewhere
	Head   Span   // the first characters of the base64 text, at most [HeadBytes]
	URL    bool   // the request has an address from which the provider fetches it
	FileID bool   // the request has the id of a file that the provider has
	Span   Span   // the literal; zero when the bytes are elsewhere
}

// HeadBytes is the most that [MediaSource.Head] spans: enough for the size of an image
// behind an embedded preview or colour profile.
const HeadBytes = 64 << 10

// Message is one element of the list of messages: a message, a Responses item, a Gemini
// content.
type Message struct {
	Span  Span
	Role  Role
	Plain bool // Content is one string
	lone  Span // literal of the text, if Content is one block of nothing but type and text
	calls Span // the tool_calls array of Chat
	Parts []Part
	// Content is the content (parts, output, …) value; zero when absent or null.
	Content Span
	Key     Key    // identifies the message by its content, see [Request.Fingerprint]
	bypass  Bypass // reasons for Request.Bypass in this message
}

// Tool is one declared tool.
type Tool struct {
	Name string
	Span Span
}

// Request is a body and the view of it. Strings in it may share the body's memory: clone
// what is kept longer than the request. It is not changed after Parse, except that a
// caller who has the model from the path may set Model, so it may be read by many.
type Request struct {
	Dialect   Dialect
	Body      []byte
	Model     string
	ModelSpan Span // the literal; zero when the model is not in the body
	Stream    bool
	Thinking  bool // Messages: reasoning is asked for
	// ThinkingSpan is the value that asks for reasoning or turns it off; zero when it is absent.
	ThinkingSpan Span
	// MaxOutput is the output asked for, in tokens; 0 when it is absent or not a plain number.
	MaxOutput     int
	MaxOutputSpan Span
	System        []Part // top-level system, instructions, systemInstruction
	SystemSpan    Span
	Tools         []Tool
	ToolsSpan     Span
	// Extra are the other top-level values that count as input: schemas of the answer.
	Extra []Span
	// List is the array of messages with its brackets, or the literal of a Responses input
	// that is a string, or the object of a single Gemini content.
	List     Span
	Messages []Message
	Bypass   Bypass // why it is not a whole history, or not ours to shorten; 0 mostly
	// Clears is the context_management that asks the provider to blank old results itself (clear_* edits of Messages); it then counts fewer
	// tokens than are sent. Zero where there is none.
	Clears Span
	// Marks are the cache_control members, each with one of its commas, by position.
	Marks      []Span
	systemLone Span   // as Message.lone
	outer      Bypass // reasons outside the messages

	view   *view // what [Views] remembers of the body
	before any   // see [Request.Before]
	same   int

	nparts, ntexts int // at most as many were read: for the bounds of a view that is made of this one
}

// Raw returns the bytes of a span.
func (r *Request) Raw(s Span) []byte { return r.Body[s.Start:s.End:s.End] }

// Words returns the texts of a part, unquoted and joined by line feeds.
func (r *Request) Words(p *Part) string {
	var b []byte
	for i, lit := range p.Texts {
		if i > 0 {
			b = append(b, '\n')
		}
		b = Unquote(b, r.Raw(lit))
	}
	return string(b)
}

// place is the position of a part in its message.
type place uint8

const (
	placeBlock  place = iota // element of the content array
	placePlain               // the content is this string
	placeCall                // element of tool_calls
	placeMember              // value of a member of the message
	placeWhole               // the message is the part
	placeOnly                // the content is this one object (Gemini)
)
