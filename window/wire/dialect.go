package wire

// Dialect is one of the request protocols of the model providers. What is to be known of it stands in its [Rules].
type Dialect uint8

// The dialects. One more is a constant here, a row of the table below, and files that begin with its name.
const (
	Chat      Dialect = iota + 1 // OpenAI Chat Completions, and the many that speak it
	Responses                    // OpenAI Responses
	Messages                     // Anthropic Messages
	Gemini                       // Google generateContent
	Converse                     // Amazon Bedrock Converse
)

// dialects are the rules of all dialects. Nothing else asks which dialect it has before it: a test of the whole module holds that.
var dialects = [...]*Rules{unknownRules, Chat: chatRules, Responses: responsesRules, Messages: messagesRules, Gemini: geminiRules, Converse: converseRules}

// Rules are all that is known of a dialect: how it is written, and what the provider behind it demands. They are not to be changed.
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
	// KeepsString is true when a content which is one string is to stay one: not every service takes a list there.
	KeepsString bool
	// CallHolder names the member of a call with the object that has its name and arguments; nil where that is the call itself.
	CallHolder func(call *Part) string
	// TextArguments is the type of the calls that have JSON in a text; "" where all have an object.
	TextArguments string
	// ObjectArguments is the member with that object, where it must be there.
	ObjectArguments string
	// NamedCalls are the types of the calls that have a name; nil is all.
	NamedCalls []string

	// Whose models answer.

	OpenAI bool // OpenAI's own, beside others
	Google bool // Google's alone
	Mixed  bool // those of several makers: what is demanded of Claude is demanded of Claude alone

	// How calls and results are paired.

	Results   Placement
	UniqueIDs bool   // an id is used once in a whole history
	IDMarks   string // what an id may hold beside letters and digits; "" is anything
	ByName    bool   // ids may be absent: name and order pair then
	// CallsBehindUser is true when a turn with calls follows one of the user's, or one of results.
	CallsBehindUser bool
	UserFirst       bool // the first message is the user's
	Alternates      bool // two messages of one speaker may not follow each other
	Served          bool // tools at the provider have pairs of their own, see [End]

	// What contents are held to.

	NoEmpty     bool // no message without content
	NoEmptyText bool // no block of text that is empty
	NoBlankText bool // nor of white space
	EmptyLast   bool // but a last message of the model's
	SilentError bool // a result that says it failed says why, and holds no image
	FreeEnd     bool // the last message may be anyone's
	// SealedAlone is true when a signature may come in a part of its own, without words.
	SealedAlone bool
	NoTrailing  bool // a last message of the model's ends in no white space
	PrefixFlag  string
	SummaryFlag string // the member with which the provider is asked for a summary; it may end with the model's words
	Marks       int    // most cache marks; 0 is any number
	// NameBytes is the longest name of a tool in a call, where the model's maker has a limit: OpenAI for its own, Anthropic for all.
	NameBytes int
	// PlainNames is true when such a name is of letters, digits, '_' and '-', whoever answers.
	PlainNames bool
	// ArgumentBytes is the most characters of arguments that are taken back; 0 is any number.
	ArgumentBytes int
	Images        ImageForm
	ImageTypes    []string // media types of images, where the dialect and not the model decides

	// What is known of reasoning.

	// SignedThinking is true when reasoning is signed, comes first in a turn that runs, never last, and has a budget below the output's.
	SignedThinking bool
	// DropsThinking is true when the provider can be asked to drop what does not fit, by block_binding.
	DropsThinking bool
	// Unsigned is the literal with which a call is taken that has lost its signature; "" where there is none.
	Unsigned string
	// Bound picks the reasoning of a request that does not outlive a change of what stands before it.
	Bound func(*Request) func(*Message, *Part) bool

	// How a request is compacted.

	// SystemBetween is true when a system message among the others stands between a user's and a model's.
	SystemBetween bool
	// Replaces is true when the provider does not read what stands before its compaction.
	Replaces bool

	// What a request costs and how it is counted.

	Price Price
	// Count writes the request with which a provider counts one for nothing; CountedBy is the only provider that has it, "" for any.
	Count     func(r *Request, below, model string) (string, []byte)
	CountedBy string
	// SharedWindow is true when there are providers that refuse an output that does not fit beside the input.
	SharedWindow bool
	UsageInEach  bool // each event of a stream says what was used so far

	// How the provider answers.

	ArrayStream bool // a stream may be one JSON array
	// Error writes an error as the provider does.
	Error func(Failure) []byte
	// ErrorHeader is the header that says what kind of error it is; nil where the body does.
	ErrorHeader func(Failure) (name, value string)
	// TooLong are the provider's words for an input of so many tokens.
	TooLong func(tokens, limit int) string
	// StreamError writes an error into an event stream; body is the one that Error wrote.
	StreamError func(text string, body []byte) []byte

	resultHolder  string // the member of a part with a result that has its content; "" is the part itself
	list, content string // the members with the messages, and with what one says
	member        func(p *parser, name []byte, seen *set)
	element       func(*parser) // reads one of the list
	check         func(*checker, object)
	words         func(*Invalid) string
	textType      func(Role) string
	textMessage   func(out []byte, role Role, text string) []byte
	textElement   func(out []byte, role Role, text string) []byte
	resultElement func(out []byte, call Part, text string, failed bool) []byte
	// putResult makes a literal the whole content of a result, or gives it a member; nil puts it as it is.
	takesText func(*Part) bool
	putResult func(d *Draft, p *Part, lit []byte) (member string, with []byte)
	isCall    func(element []byte) bool // whether it stands apart from the content
	answer    answerRules
	pulse     pulseRules
}

// Placement is the position that a dialect gives tool results.
type Placement uint8

// The placements.
const (
	ResultsBehind   Placement = iota + 1 // in messages of their own, right behind the one with the calls
	ResultsAnywhere                      // in items of their own, anywhere behind their calls
	ResultsFirst                         // all in the next message, before its other parts
	ResultsInOrder                       // all in the next message, as many as calls, in their order where ids are absent
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

// Range is the least, the best and the most that something may be.
type Range struct{ Low, Best, High int }

// Price lists the tokens that a provider adds to the text of a request.
type Price struct {
	Request Range // whatever is in it
	Model   Range // in place of it, where the model is not one of OpenAI's: the template of another
	Tools   Range // if there are any
	Message Range
	Own     Range // in place of it, of OpenAI's models
	Tool    Range // percent of its declaration
	// WholeTool is true when a declaration is never more than its text.
	WholeTool   bool
	ToolsInside bool // Tools says all, in place of Request
	ResultName  bool // a result has the name of its call
}

// Failure is an error in the words of a dialect.
type Failure struct {
	Status  int
	Kind    string // of the error, in the dialect's word; "" is the usual one for the status
	Message string
	// Param and Code are of OpenAI's dialects; "" is null. ID is of Messages.
	Param, Code, ID string
}

// Route describes the request paths of a dialect.
type Route struct {
	// Path is the end of a path below the API's root; "" where the path names the model.
	Path string
	// Deployment is true when the path may name a deployment before that, as Azure has it.
	Deployment bool
	// Methods maps the methods that may follow the model in a path, after a colon, to whether they stream.
	Methods map[string]bool
	// Verbs are the same as an element behind /model/ID, as Bedrock has it.
	Verbs map[string]bool
}

// Rules returns the rules of the dialect, or those of an unknown one.
func (d Dialect) Rules() *Rules {
	if int(d) < len(dialects) {
		return dialects[d]
	}
	return unknownRules
}

// String returns "chat", "responses", "messages", "gemini" or "converse".
func (d Dialect) String() string { return d.Rules().Name }

// ParseDialect returns the inverse of [Dialect.String].
func ParseDialect(name string) (Dialect, bool) {
	for d := range Dialects {
		if d.Rules().Name == name {
			return d, true
		}
	}
	return 0, false
}

// Dialects yields all of them.
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
