package config

import (
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/limit"
)

// Type is the type of a key's value.
type Type string

// The types, as the reference shows them.
const (
	TypeSize      Type = "size"              // "512M"
	TypeAutoSize  Type = "size or auto"      // "512M" or "auto"
	TypeCount     Type = "integer"           // 3
	TypeAutoCount Type = "integer or auto"   // 3 or "auto"
	TypeToolCount Type = "integer or table"  // 3, or a table from tool to integer
	TypeToolSizes Type = "table"             // from tool to size or a number of MiB
	TypeBool      Type = "boolean"           // true
	TypeChoice    Type = "one of the values" // "kill"
	TypeChoices   Type = "list of the values"
	TypeNames     Type = "list of names"
	TypeDuration  Type = "duration"
	TypeWait      Type = "duration or forever"
	TypeDirectory Type = "directory"
	TypeFile      Type = "file"
	TypeRatio     Type = "number below 1"
	TypeAutoRatio Type = "number below 1 or auto"
	TypeNumber    Type = "number" // of hundredths: 1.5
	TypeURL       Type = "URL"
	TypeNATS      Type = "addresses of NATS servers"
	TypeVariable  Type = "name of a variable"
	TypeText      Type = "text"
	TypeAddress   Type = "address"
	TypeHosts     Type = "list of host names"
	TypeNetworks  Type = "list of hosts and networks"
	TypeOrigins   Type = "list of origins"
	TypePatterns  Type = "list of patterns"
	TypeArgv      Type = "list of texts"
	TypePairs     Type = "list of NAME=VALUE"
	TypeCollector Type = "URL of a collector"
	TypeAnyURL    Type = "URL, with any path"
	TypeNearFile  Type = "file, also relative" // to the folder of the file that names it
	TypeServers   Type = "list of MCP servers"
	TypeNotify    Type = "off, desktop, URL, or a command as a list or a line"
)

// ProjectRule limits how a project file may set a key. The file may come with a cloned repository, whose author does not own this machine.
type ProjectRule string

// The rules. A value that a rule forbids is ignored with a warning.
const (
	ProjectFree     ProjectRule = "free"               // any value
	ProjectStricter ProjectRule = "only stricter"      // not looser than what is in force without it
	ProjectCapped   ProjectRule = "up to the user's"   // not above what the user's own file states, if it states it
	ProjectNever    ProjectRule = "not from a project" // concerns the machine or the user
)

// Key is one configuration key. Checking, the generated file, Explain, suggestions, variables and the reference are all made from the one
// list of keys.
type Key struct {
	Name    string // without the table
	Table   string // "resources", "window", …
	Type    Type
	Default string   // as written in a file, without quotes
	Choices []string // of TypeChoice and TypeChoices, the loosest first
	Aliases []Alias
	// Variables are environment variables of other programs that set the key too; the one of
	// Plimsoll's own wins over them.
	Variables []string
	PerTool   bool // may stand in [tools.NAME] too, and below its table's name unless that is resources
	Project   ProjectRule
	Doc       string // one sentence
	// Flag is the flag of plimsoll run that sets the key, without its dashes, "" for none. Usage describes it, and Bare is the value of the flag
	// without one.
	Flag, Usage, Bare string

	min, max int64  // of sizes (bytes), counts and durations (nanoseconds); max 0 means none
	example  string // a value as written in TOML
	auto     string // another word for auto
	of       string // of TypeToolSizes: the per-tool key its members set
	noBound  bool   // 0 means unlimited, the loosest value
	// thousands reports whether 8k may be written for 8000.
	thousands bool
	optional  bool // of counts: 0 is allowed although it is below min
	set       func(*Settings, any)

	perServer  bool // may stand in [mcp.servers.NAME]
	perMCPTool bool // may stand in [mcp.servers.NAME.tools.TOOL]
	setServer  func(*MCPServer, any)
	// setInstance is set for the keys of [mcp.argocd.NAME].
	setInstance func(*ArgoCDInstance, any)
	// setAgent is set for the keys of [agents.NAME].
	setAgent func(*Agent, any)
	// setModel is set for the keys of [models.NAME].
	setModel func(*ModelLimits, any)
}

// Alias is another name of a key, as in the program whose users this one takes over.
type Alias struct {
	Name string
	MiB  bool // the value is a whole number of MiB
}

// Bounds of values. The pid bound is the kernel's PID_MAX_LIMIT; a process cannot even be executed in less than about 1 MiB; no machine has 1 PiB.
const (
	minMemory  = int64(limit.MiB)
	maxMemory  = 1024 * int64(limit.TiB)
	maxDisk    = 1 << 50 // bytes: 1 PiB
	maxPids    = 1 << 22
	maxSlots   = 1 << 16
	maxHistory = 200

	maxSpentTokens = int64(1_000_000_000_000)
	maxDollars     = 100 * 1_000_000 // hundredths
)

// tables holds the tables of the configuration and their keys, in the order of the generated file and the reference.
var tables = []struct {
	name, doc string
	keys      []*Key
}{
	{"resources", "memory, processes and concurrency of a run", resourceKeys},
	{"budget", "what all runs may spend at models", budgetKeys},
	{"submit", "where runs are placed", submitKeys},
	{"window", "the context window of the model", windowKeys},
	{"upstream", "addresses of model providers", upstreamKeys},
	{"mcp", "MCP servers and what they return", mcpKeys},
	{"serve", "the daemon", serveKeys},
	{"fleet", "what hosts share", fleetKeys},
	{"watch", "what is kept of runs, and who is told of them", watchKeys},
	{"memory", "what is kept of conversations, and found again", memoryKeys},
}

// keys holds the keys of all tables, in the same order.
var keys = func() []*Key {
	var out []*Key
	for _, t := range tables {
		for _, k := range t.keys {
			k.Table = t.name
			out = append(out, k)
		}
	}
	return out
}()

// matchKey may be set in [tools.NAME] only.
var matchKey = &Key{
	Name: "match", Type: TypeNames, PerTool: true, Project: ProjectNever, example: `["my-agent", "agent.py"]`,
	Doc: "Base names of commands that are this tool, beside the table's name.",
}

// Keys returns the whole schema, in the order of the reference. The last entry, match, may be set in [tools.NAME] only. The keys are
// shared: do not change them.
func Keys() []*Key { return append(slices.Clone(keys), matchKey) }

// Variable returns the name of the environment variable that sets the key, "" if there is none.
func (k *Key) Variable() string {
	if k == matchKey {
		return ""
	}
	return anyPrefix + strings.ToUpper(k.Table+"_"+k.Name)
}

// ID returns the name that identifies the key among all tables: the bare name for [resources], which was the only table once, and
// "table.name" for the others.
func (k *Key) ID() string {
	if k.Table == resources || k == matchKey {
		return k.Name
	}
	return k.Table + "." + k.Name
}

// resources is the table whose keys may be written without its name.
const resources = "resources"

func isTable(name string) bool {
	return slices.ContainsFunc(tableNames(), func(t string) bool { return t == name })
}

// tableNames returns the names of the tables in the schema, without tools.
func tableNames() []string {
	out := make([]string, 0, len(tables))
	for _, t := range tables {
		out = append(out, t.name)
	}
	return out
}

// keyNamed returns the key with a name in a list; nil if there is none.
func keyNamed(list []*Key, name string) *Key {
	if i := slices.IndexFunc(list, func(k *Key) bool { return k.Name == name }); i >= 0 {
		return list[i]
	}
	return nil
}

// namesOf returns the names of keys.
func namesOf(list []*Key) []string {
	names := make([]string, len(list))
	for i, k := range list {
		names[i] = k.Name
	}
	return names
}

// lookup returns the key of a table with a name or an alias, and the name that matched; nil if there is none. With tool only keys count
// that may be set for one tool.
func lookup(table, name string, tool bool) (*Key, Alias) {
	if tool && table == resources && name == matchKey.Name {
		return matchKey, Alias{Name: name}
	}
	for _, k := range keys {
		if k.Table != table || tool && !k.PerTool {
			continue
		}
		if k.Name == name {
			return k, Alias{Name: name}
		}
		for _, a := range k.Aliases {
			if a.Name == name {
				return k, a
			}
		}
	}
	return nil, Alias{}
}

// tableOf returns the first table that has a key of this name, "" if none has.
func tableOf(name string, tool bool) string {
	for _, table := range tableNames() {
		if k, _ := lookup(table, name, tool); k != nil {
			return table
		}
	}
	return ""
}

// keyNames returns the names and aliases of a table's keys, as [lookup] knows them.
func keyNames(table string, tool bool) []string {
	var out []string
	for _, k := range keys {
		if k.Table != table || tool && !k.PerTool {
			continue
		}
		out = append(out, k.Name)
		for _, a := range k.Aliases {
			out = append(out, a.Name)
		}
	}
	if tool && table == resources {
		out = append(append(out, matchKey.Name), toolTables()...)
	}
	return out
}

// toolTables returns the names of the tables that may be written below [tools.NAME].
func toolTables() []string {
	var out []string
	for _, t := range tables {
		if slices.ContainsFunc(t.keys, func(k *Key) bool { return k.PerTool }) {
			out = append(out, t.name)
		}
	}
	return out
}
