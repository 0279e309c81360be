package profile

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/plimsoll/plimsoll/internal/rawjson"
)

// Servers is the start of an agent whose MCP servers are put behind the gateway for one run. Package internal/tools/wrap implements it.
type Servers interface {
	// Home and Project return the user's home and the folder the agent starts in; trusted reports whether it uses that folder's settings.
	Home() Home
	Project() (folder string, trusted bool)
	// Given reports whether the agent's arguments have a flag, alone or with "=".
	Given(flag string) bool
	// Read returns a settings file, nil if there is none. Plain returns JSON without its comments, nil if it is invalid.
	Read(file string) []byte
	Plain(data []byte) []byte
	// Load adds the servers of a file for which take returns true, in place of earlier ones of the same name; Take does so with
	// the content of a file, and returns it as plain JSON.
	Load(file string, take func(place []string, name string) bool)
	Take(file string, data []byte, take func(place []string, name string) bool) []byte
	// Wrapped calls yield for each added server that is put behind the gateway, Offered for each of Plimsoll's own.
	Wrapped(yield func(Server))
	Offered(yield func(Offered))

	// Insert inserts arguments behind the agent's name, Set sets a variable, File plans a private file and returns its path.
	Insert(args ...string)
	Set(variable, value string)
	File(name string, body []byte) string
	// Note reports that something bypasses the gateway; Around does so for one server, Refuse for all.
	Note(text string)
	Around(server, why string)
	Refuse(why string)
}

// Server is an MCP server that is put behind the gateway.
type Server struct {
	Name string
	// Command and Args start the gateway for it.
	Command string
	Args    []string
	// Remote reports whether the server has an address and no command.
	Remote bool
	// Entry returns its entry as plain JSON, with the named keys only (all if none are named); nil if it has none.
	Entry func(keys ...string) []byte
	// Hidden are variables with secrets, which no argument may show. NamesFile says that its entry has a path relative to its own file.
	Hidden    []Variable
	NamesFile bool
}

// Offered is a server of Plimsoll's own that an agent gets for one run. Name consists of letters, digits, "-" and "_".
type Offered struct {
	Name    string
	Command []string // at least the program
}

// entry returns an offered server as an entry of most clients' files.
func (o Offered) entry() []byte {
	entry, _ := rawjson.Set([]byte("{}"), "command", rawjson.Quote(nil, o.Command[0]))
	entry, _ = rawjson.Set(entry, "args", jsonArray(o.Command[1:]))
	return entry
}

// jsonArray returns words as a JSON array of strings.
func jsonArray(words []string) []byte {
	out := []byte{'['}
	for i, word := range words {
		if i > 0 {
			out = append(out, ',')
		}
		out = rawjson.Quote(out, word)
	}
	return append(out, ']')
}

// always accepts every server of a file, for [Servers].Load.
func always([]string, string) bool { return true }

// setServer returns a JSON document with the value of a server set: {section: {name: value}}. On an error it returns the document unchanged.
func setServer(document []byte, section, name string, value []byte) []byte {
	object := rawjson.Get(document, section).Of(document)
	if len(object) == 0 || object[0] != '{' {
		object = []byte("{}")
	}
	object, err := rawjson.Set(object, name, value)
	if err != nil {
		return document
	}
	whole, err := rawjson.Set(document, section, object)
	if err != nil {
		return document
	}
	return whole
}

var errMember = errors.New("an object was expected")

// maxNesting bounds how deep setMember descends into objects.
const maxNesting = 32

// setMember returns a JSON object with the member at path, which is not empty, set to a string; objects on the way that are missing are made.
// Everything else stays as it is, also the order: in settings of some tools the last of several matching rules decides. It is an error if a value
// on the way is not an object, or path is longer than maxNesting.
func setMember(object []byte, path []string, value string) ([]byte, error) {
	if len(path) > maxNesting {
		return nil, errMember
	}
	members, err := readMembers(object)
	if err != nil {
		return nil, err
	}
	at := -1
	for i := range members {
		if members[i].name == path[0] {
			at = i // of doubles the last counts
		}
	}
	if at < 0 {
		at = len(members)
		members = append(members, member{name: path[0], value: json.RawMessage("{}")})
	}
	if len(path) == 1 {
		if members[at].value, err = json.Marshal(value); err != nil {
			return nil, err
		}
	} else if members[at].value, err = setMember(members[at].value, path[1:], value); err != nil {
		return nil, err
	}
	return writeMembers(members)
}

type member struct {
	name  string
	value json.RawMessage
}

// readMembers returns the members of a JSON object in their order, twins included. Text after the object is not looked at; any error is errMember.
func readMembers(object []byte) ([]member, error) {
	dec := json.NewDecoder(bytes.NewReader(object))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil, errMember
	}
	var members []member
	for dec.More() {
		name, err := dec.Token()
		if err != nil {
			return nil, errMember
		}
		m := member{name: name.(string)} // a key is a string, or Token fails
		if err := dec.Decode(&m.value); err != nil {
			return nil, errMember
		}
		members = append(members, m)
	}
	if _, err := dec.Token(); err != nil {
		return nil, errMember
	}
	return members, nil
}

// writeMembers returns the JSON object of members; their values are written as they are.
func writeMembers(members []member) ([]byte, error) {
	out := []byte{'{'}
	for i, m := range members {
		if i > 0 {
			out = append(out, ',')
		}
		name, err := json.Marshal(m.name)
		if err != nil {
			return nil, err
		}
		out = append(append(append(out, name...), ':'), m.value...)
	}
	return append(out, '}'), nil
}
