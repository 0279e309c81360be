package result

import "github.com/plimsoll/plimsoll/internal/jsonstream"

// events receives the parts of a message from a lexer. All arguments are valid during the call only.
type events interface {
	open(p place, key []byte)
	// begin starts a value; key is the raw key with quotes, nil for an element of a list and for a long key. The value's bytes follow by
	// piece, then end.
	begin(f field, in place, key []byte)
	piece(p []byte)
	end()
	close(p place)
}

// lexer reads one response in pieces of any size.
type lexer struct {
	jsonstream.Lexer
	to       events
	resource bool     // the list of the result is contents, not content
	task     bool     // result or params is a task, which may contain the result
	stack    [8]place // the containers that are open; more are never entered
	depth    int
}

func (l *lexer) reset(to events, method string) {
	l.to, l.depth = to, 0
	l.resource, l.task = method == ReadResource, method == GetTask || method == TaskStatus
	l.Reset(l)
}

// Value implements [jsonstream.Visitor].
func (l *lexer) Value(literal, name []byte, c byte) jsonstream.Action {
	if l.depth == 0 {
		return l.enter(inMessage, nil)
	}
	in := l.stack[l.depth-1]
	if p, ok := l.enteredPlace(in, string(name), c); ok {
		return l.enter(p, literal)
	}
	f := fieldOf(in, string(name), c)
	if in == inContent || in == inContents {
		f = fieldElement
	}
	l.to.begin(f, in, literal)
	if f.decoded() {
		return jsonstream.Text
	}
	return jsonstream.Raw
}

// enter enters a container of which the members or elements are read one by one.
func (l *lexer) enter(p place, key []byte) jsonstream.Action {
	l.stack[l.depth] = p
	l.depth++
	l.to.open(p, key)
	return jsonstream.Enter
}

// Piece implements [jsonstream.Visitor].
func (l *lexer) Piece(p []byte) { l.to.piece(p) }

// End implements [jsonstream.Visitor].
func (l *lexer) End() { l.to.end() }

// Leave implements [jsonstream.Visitor].
func (l *lexer) Leave() {
	l.depth--
	l.to.close(l.stack[l.depth])
}

// place is a container in a response whose members or elements the lexer reads one by one.
type place uint8

const (
	inMessage  place = iota
	inTask           // result{} or params{}, of a task
	inResult         // result{}
	inError          // error{}
	inContent        // result.content[]
	inContents       // result.contents[], of resources/read
	inBlock          // a block of content
	inResource       // the resource in a block
	inEntry          // an entry of contents
)

// field is the kind of a value that the lexer passes on as bytes.
type field uint8

const (
	fieldMember     field = iota // any other member of a container
	fieldElement                 // an element of content or contents that is not an object
	fieldID                      // message.id
	fieldMethod                  // message.method
	fieldIsError                 // result.isError
	fieldMeta                    // result._meta
	fieldStructured              // result.structuredContent
	fieldText                    // a string: the text of a block, resource or entry
	fieldMedia                   // a string: data of a block, blob of a resource or entry
	fieldMessage                 // a string: error.message
)

// decoded reports whether the pieces of a field are its unescaped text; otherwise they are raw JSON.
func (f field) decoded() bool { return f == fieldText || f == fieldMessage }

// enteredPlace returns the place of a value that the lexer enters, and false for any other value. in is its container, c its first byte.
func (l *lexer) enteredPlace(in place, name string, c byte) (place, bool) {
	switch {
	case in == inMessage && l.task && (name == "result" || name == "params") && c == '{':
		return inTask, true
	case (in == inMessage || in == inTask) && name == "result" && c == '{':
		return inResult, true
	case (in == inMessage || in == inTask) && name == "error" && c == '{':
		return inError, true
	case in == inResult && !l.resource && name == "content" && c == '[':
		return inContent, true
	case in == inResult && l.resource && name == "contents" && c == '[':
		return inContents, true
	case in == inContent && c == '{':
		return inBlock, true
	case in == inContents && c == '{':
		return inEntry, true
	case in == inBlock && name == "resource" && c == '{':
		return inResource, true
	}
	return 0, false
}

// fieldOf returns the kind of a member, by the place that it is in, its name, and the first byte c of its value.
func fieldOf(in place, name string, c byte) field {
	text := c == '"'
	switch {
	case in == inMessage && name == "id":
		return fieldID
	case in == inMessage && name == "method":
		return fieldMethod
	case in == inResult && name == "isError":
		return fieldIsError
	case in == inResult && name == "_meta":
		return fieldMeta
	case in == inResult && name == "structuredContent":
		return fieldStructured
	case in == inError && name == "message" && text:
		return fieldMessage
	case (in == inBlock || in == inResource || in == inEntry) && name == "text" && text:
		return fieldText
	case in == inBlock && name == "data" && text, (in == inResource || in == inEntry) && name == "blob" && text:
		return fieldMedia
	}
	return fieldMember
}
