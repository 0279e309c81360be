package wire

// Dialect is one of the request protocols of the model providers. All that differs between them is in its [Rules].
type Dialect uint8

// The dialects. One more is a constant here, a row of the table below, and files that begin with its name.
const (
	Chat      Dialect = iota + 1 // OpenAI Chat Completions, and the many that speak it
	Responses                    // OpenAI Responses
	Messages                     // Anthropic Messages
	Gemini                       // Google generateContent
	Converse                     // Amazon Bedrock Converse
)

// dialects are the rules of all dialects. No other code branches on a Dialect: a test of the whole module holds that.
var dialects = [...]*Rules{unknownRules, Chat: chatRules, Responses: responsesRules, Messages: messagesRules, Gemini: geminiRules, Converse: converseRules}

// Rules describe a dialect: how it is written, and what the provider behind it demands. They must not be changed.
type Rules struct {
	Name  string
	Route Route

	// How a conversation is written.

	Items         bool // each call, result and reasoning is an item of its own in the list of messages, and of one type among several
	Merges        bool // messages of one speaker that follow each other are one
	Untyped       bool // a part is named by its one member, not by a type
	ObjectResults bool // a result is an object, not a text or blocks
	StringContent bool // a content may be one string
	MarkBlocks    bool // a cache mark is an element of its own, not a member of one
	// KeepsString means that a content which is one string must stay one: not every service takes a list there.
	KeepsString bool
	// CallHolder returns the name of the member of a call that holds the object with its name and arguments; nil if that object is the call
	// itself.
	CallHolder func(call *Part) string
	// TextArguments is the type of the calls whose arguments are JSON in a text; "" if in all calls they are an object.
	TextArguments string
	// ObjectArguments is the name of the member with the arguments as an object, if it is required; "" otherwise.
	ObjectArguments string
	// NamedCalls are the types of the calls that have a name; nil means all.
	NamedCalls []string

	// Whose models answer.

	OpenAI bool // OpenAI's own models, among others
	Google bool // only Google's models
	Mixed  bool // models of several makers: the demands of Claude are made of Claude alone

	// How calls and results are paired.

	Results   Placement
	UniqueIDs bool   // an id is used once in a whole history
	IDMarks   string // characters an id may hold beside letters and digits; "" means any
	ByName    bool   // ids may be absent: then calls and results are paired by name and order
	// CallsBehindUser means that a message with calls must follow one of the user's, or one of results.
	CallsBehindUser bool
	UserFirst       bool // the first message is the user's
	Alternates      bool // two messages of one speaker may not follow each other
	Served          bool // tools at the provider have calls and results of their own, see [End]

	// What contents are held to.

	NoEmpty     bool // no message without content
	NoEmptyText bool // no block of text that is empty
	NoBlankText bool // no block of text that is all white space
	EmptyLast   bool // a last message of the model's may be without content
	SilentError bool // a failed result must have a text, and no image
	FreeEnd     bool // the last message may have any role
	// SealedAlone means that a signature may be in a part of its own, without words.
	SealedAlone bool
	NoTrailing  bool // a last message of the model's must not end in white space
	PrefixFlag  string
	SummaryFlag string // name of the member that asks for a summary: such a request may end with the model's message
	Marks       int    // the most cache marks; 0 means any number
	// NamedTools returns the members of a request that declare tools of these names and of any arguments, and, where the dialect can say
	// it, that none may be called. It is nil in a dialect whose providers take a history of calls without declared tools.
	NamedTools func(names []string) []NamedValue
	// NameBytes is the longest name of a tool in a call, in bytes, if the model's maker has a limit: OpenAI for its own models, Anthropic
	// for all.
	NameBytes int
	// PlainNames means that such a name consists of letters, digits, '_' and '-', whatever the model.
	PlainNames bool
	// ArgumentBytes is the most characters of a call's arguments that the provider accepts in a history; 0 means any number.
	ArgumentBytes int
	Images        ImageForm
	ImageTypes    []string // media types of images, where the dialect and not the model decides

	// What is known of reasoning.

	// SignedThinking means that reasoning has a signature, comes first in a turn that is still running, never last, and that its budget
	// must be below the requested output.
	SignedThinking bool
	// Unsigned is the literal to put in place of a lost signature of a call, which the provider accepts; "" where there is none.
	Unsigned string
	// BlankReasoning adds reasoning of one space to a message of the model that has none, as models want it that refuse their own calls
	// without the reasoning that led to them, and reports whether it did. It is nil in a dialect without such a model.
	BlankReasoning func(d *Draft, msg int) bool
	// Bound returns, for a request, a function that reports whether a part of reasoning becomes invalid when what stands before it changes.
	Bound func(*Request) func(*Message, *Part) bool

	// How a request is compacted.

	// SystemBetween means that a system message among the others must stand between a user's message and a model's.
	SystemBetween bool
	// Replaces means that the provider does not read messages before its own compaction.
	Replaces bool

	// What a request costs and how it is counted.

	Price Price
	// Count returns the path below the upstream and the body of a request that has the provider count r for free; nil if there is none.
	// CountedBy is the only provider that offers it, "" for any.
	Count     func(r *Request, below, model string) (string, []byte)
	CountedBy string
	// SharedWindow means that some providers refuse a requested output that does not fit beside the input.
	SharedWindow bool
	UsageInEach  bool // each event of a stream has the usage so far

	// How the provider answers.

	ArrayStream bool // a stream may be one JSON array
	// Error returns an error as the provider writes it.
	Error func(Failure) []byte
	// Final is the status of an error that clients of the dialect take as final and show; 0 is 400. Measured in 2026-11: at 400 Claude Code
	// tries six times, with this and that left out, and at 402 once; Codex tries seven times at 402 and 403, and twice at 400; Gemini CLI,
	// OpenCode, Qwen Code and Copilot try once at each.
	Final int
	// ErrorHeader returns the header that gives the kind of an error; nil if the body does.
	ErrorHeader func(Failure) (name, value string)
	// TooLong returns the provider's words for an input of so many tokens, over a limit.
	TooLong func(tokens, limit int) string
	// StreamError returns an event of a stream for an error; body is what Error returned.
	StreamError func(text string, body []byte) []byte

	resultHolder  string // name of the member of a result that has its content; "" if the part itself has it
	list, content string // names of the members with the messages, and with a message's content
	member        func(p *parser, name []byte, seen *set)
	element       func(*parser) // reads one element of list
	check         func(*checker, object)
	words         func(*Invalid) string
	textType      func(Role) string
	textMessage   func(out []byte, role Role, text string) []byte
	textElement   func(out []byte, role Role, text string) []byte
	resultElement func(out []byte, call Part, text string, failed bool) []byte
	// takesText is [Request.TakesText] of a Result. putResult returns a literal in the form of a whole result content, and the name of the
	// member to add where there is no content yet.
	takesText func(*Part) bool
	putResult func(d *Draft, p *Part, lit []byte) (member string, with []byte)
	isCall    func(element []byte) bool // whether an element goes into tool_calls and not into the content; nil: none does
	answer    answerRules
	pulse     pulseRules
}

// Placement is the position that a dialect requires for the results of tools.
type Placement uint8

// The placements.
const (
	ResultsBehind   Placement = iota + 1 // in messages of their own, right behind the one with the calls
	ResultsAnywhere                      // in items of their own, anywhere behind their calls
	ResultsFirst                         // all in the next message, before its other parts
	ResultsInOrder                       // all in the next message, as many as there are calls, in their order where ids are absent
)

// Together reports whether all results of a turn are parts of a single message.
func (p Placement) Together() bool { return p == ResultsFirst || p == ResultsInOrder }

// ImageForm is the encoding of image bytes in a request.
type ImageForm uint8

// The forms of images.
const (
	ImageURL    ImageForm = iota // an address, or the bytes in a data URL
	ImageSource                  // a source with a media_type and data
	ImageInline                  // inlineData with a mimeType and data
	ImageBytes                   // a format and a source with bytes
)

// Range is a number's lower bound, best estimate and upper bound.
type Range struct{ Low, Best, High int }

// Price lists the tokens that a provider adds to the text of a request.
type Price struct {
	Request Range // whatever is in it
	Model   Range // in place of Request for models not of OpenAI: what their template adds
	Tools   Range // if there are any
	Message Range
	Own     Range // in place of Message for OpenAI's models
	Tool    Range // of each tool: percent of the tokens of its declaration
	// WholeTool says that a declaration is never more than its text.
	WholeTool   bool
	ToolsInside bool // Tools says all, in place of Request
	ResultName  bool // a result has the name of its call
}

// Failure is an error to be written in a dialect's form.
type Failure struct {
	Status  int
	Kind    string // the dialect's name for the error; "" means the usual one for the status
	Message string
	// Param and Code are used in OpenAI's dialects, where "" is written as null; ID is Messages' request_id.
	Param, Code, ID string
}

// Route describes the request paths of a dialect.
type Route struct {
	// Path is the end of the request path; "" if the path names the model.
	Path string
	// Deployment means that the path may name a deployment in front of Path, as Azure's does.
	Deployment bool
	// Methods maps the methods that may follow the model in a path, after a colon, to whether the answer is a stream.
	Methods map[string]bool
	// Verbs is Methods for paths in which an element follows /model/ID, as Bedrock's do.
	Verbs map[string]bool
}

// Rules returns the rules of the dialect; those of an unknown dialect accept nothing.
func (d Dialect) Rules() *Rules {
	if int(d) < len(dialects) {
		return dialects[d]
	}
	return unknownRules
}

// String returns "chat", "responses", "messages", "gemini" or "converse"; "unknown" for any other.
func (d Dialect) String() string { return d.Rules().Name }

// ParseDialect returns the dialect of a name that [Dialect.String] returns; false for any other name.
func ParseDialect(name string) (Dialect, bool) {
	for d := range Dialects {
		if d.Rules().Name == name {
			return d, true
		}
	}
	return 0, false
}

// Dialects yields all dialects.
func Dialects(yield func(Dialect) bool) {
	for d := 1; d < len(dialects); d++ {
		if !yield(Dialect(d)) {
			return
		}
	}
}

// unknownRules are those of the zero Dialect: nothing is read, and what is made has the most common form.
var unknownRules = &Rules{
	Name:  "unknown",
	check: func(c *checker, _ object) { c.add(RuleShape, "body", "", "unknown dialect") },
	words: (*Invalid).messagesText,

	textType: plainTextType, textMessage: contentMessage, textElement: plainText,
	resultElement: func([]byte, Part, string, bool) []byte { return nil },
	takesText:     func(*Part) bool { return false },
	pulse:         pulseRules{reasons: saysReasoning},
}

// A NamedValue is a member of an object: its name, and its value as JSON.
type NamedValue struct {
	Name  string
	Value []byte
}
