package profile

import "github.com/plimsoll/plimsoll/internal/rawjson"

// Servers is the start of an agent whose MCP servers are to stand behind the gateway for one run. Package tools/wrap makes it.
type Servers interface {
	// Home and Project are the user's home and the folder the agent starts in; trusted is true when it takes that folder's settings now.
	Home() Home
	Project() (folder string, trusted bool)
	// Given reports whether the agent's arguments have a flag, alone or with "=".
	Given(flag string) bool
	// Read reads a settings file; nil when there is none. Plain is JSON without its comments, nil when it is none.
	Read(file string) []byte
	Plain(data []byte) []byte
	// Load takes the servers of a file for which take holds, in place of those of the same name that were there before; Take does it with
	// the text of one, and returns it as plain JSON.
	Load(file string, take func(place []string, name string) bool)
	Take(file string, data []byte, take func(place []string, name string) bool) []byte
	// Wrapped goes over those that were taken and stand behind the gateway, Offered over those of Plimsoll's own.
	Wrapped(yield func(Server))
	Offered(yield func(Offered))

	// Insert puts words behind the agent's own, Set sets a variable, File plans a private file and returns its path.
	Insert(args ...string)
	Set(variable, value string)
	File(name string, body []byte) string
	// Note reports what bypasses the gateway and why; Around does so for one server, Refuse for all.
	Note(text string)
	Around(server, why string)
	Refuse(why string)
}

// Server is one behind the gateway.
type Server struct {
	Name string
	// Command and Args start the gateway for it.
	Command string
	Args    []string
	// Remote is true when it is reached by an address.
	Remote bool
	// Entry is its entry as plain JSON, of these keys only (all when none are named); nil where it has none.
	Entry func(keys ...string) []byte
	// Hidden are variables with what no argument may show. NamesFile is true when its entry names a file from where its own file lies.
	Hidden    []Variable
	NamesFile bool
}

// Offered is a server of Plimsoll's own that an agent gets for one run. Name is of letters, digits, "-" and "_".
type Offered struct {
	Name    string
	Command []string // at least the program
}

// entry returns an offered server as most clients write it.
func (o Offered) entry() []byte {
	entry, _ := rawjson.Set([]byte("{}"), "command", rawjson.Quote(nil, o.Command[0]))
	entry, _ = rawjson.Set(entry, "args", jsonArray(o.Command[1:]))
	return entry
}

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

// always takes every server of a file.
func always([]string, string) bool { return true }

// setServer puts a value under a key of an object of servers: {"mcpServers": {NAME: value}}.
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
