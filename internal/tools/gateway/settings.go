package gateway

import (
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/config/profile"
	"github.com/plimsoll/plimsoll/internal/tools/result"
	"github.com/plimsoll/plimsoll/limit"
)

// Defaults of [Limits] and [Settings].
const (
	// DefaultMaxSearch is the default number of matches beyond which a search is an error that says how to narrow it.
	DefaultMaxSearch = 1000
	// MaxPageItems is the largest page_size for items that are not lines.
	MaxPageItems = 100
)

// Limits are the settings that may differ from tool to tool. Zero values mean the defaults.
type Limits struct {
	// Cap is the size in bytes up to which a result's text reaches the client whole; 0 means the client's cap (see [ProfileOf]), below 0
	// there is no bound.
	Cap limit.Bytes
	// MaxItems is the length up to which a JSON list is not paged if its size allows; a longer list is paged however small it is. 0 means
	// result.DefaultMaxItems, below 0 lists are not counted.
	MaxItems int
	// PageItems is the number of items on a page; 0 means result.DefaultPageItems.
	PageItems int
	// MaxMedia bounds images and other media in bytes; 0 means result.DefaultMaxMedia.
	MaxMedia limit.Bytes
	// MaxResult bounds a message from the server in bytes; 0 means result.DefaultMaxFrame.
	MaxResult limit.Bytes
	// Early bounds the wait for the end of a large result: then its first page is delivered while the rest still comes. 0 waits for the
	// end.
	Early time.Duration
	// Timeout bounds the time that a call may take without an answer or progress; 0 is no bound.
	Timeout time.Duration
}

// Settings are the policy of one server.
type Settings struct {
	Limits
	// Tools are the limits of single tools, by the server's names for them. They replace Limits as a whole.
	Tools map[string]Limits
	// Allow and Deny are patterns of tool names, in which * stands for any text. An empty Allow allows all; Deny overrides Allow.
	Allow, Deny []string
	// Unlisted are the tools that are not listed and may still be called: a rarely used tool costs a model tokens in each of its requests.
	Unlisted []string
	// ReadOnly hides and refuses tools that do not declare that they change nothing (annotations.readOnlyHint).
	ReadOnly bool
	// MaxSearch bounds the matches of one search; 0 means DefaultMaxSearch.
	MaxSearch int
}

// limitsOf returns the limits of a tool, with the defaults for items and media filled in. MaxItems is 0 if lists are not counted.
func (s *Settings) limitsOf(tool string) Limits {
	l, ok := s.Tools[tool]
	if !ok {
		l = s.Limits
	}
	switch {
	case l.MaxItems == 0:
		l.MaxItems = result.DefaultMaxItems
	case l.MaxItems < 0:
		l.MaxItems = 0
	}
	if l.PageItems <= 0 {
		l.PageItems = result.DefaultPageItems
	}
	l.PageItems = min(l.PageItems, MaxPageItems)
	if l.MaxMedia == 0 {
		l.MaxMedia = result.DefaultMaxMedia
	}
	return l
}

// maxMatches returns the number of matches in a kept result beyond which a search is an error.
func (s *Settings) maxMatches() int {
	if s.MaxSearch <= 0 {
		return DefaultMaxSearch
	}
	return s.MaxSearch
}

// allows reports whether Allow and Deny permit a tool of this name; ReadOnly is not considered.
func (s *Settings) allows(tool string) bool {
	return (len(s.Allow) == 0 || matchesAny(s.Allow, tool)) && !matchesAny(s.Deny, tool)
}

// restrictsTools reports whether the settings may forbid a tool.
func (s *Settings) restrictsTools() bool { return s.ReadOnly || len(s.Allow) > 0 || len(s.Deny) > 0 }

// matchesAny reports whether name matches one of the patterns.
func matchesAny(patterns []string, name string) bool {
	for _, p := range patterns {
		if matchGlob(p, name) {
			return true
		}
	}
	return false
}

// matchGlob reports whether name matches pattern. * stands for any text, including /, and every other byte for itself, including brackets and
// question marks, which tools may have in their names.
func matchGlob(pattern, name string) bool {
	star, from := -1, 0
	p, n := 0, 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, from = p, n
			p++
		case p < len(pattern) && pattern[p] == name[n]:
			p++
			n++
		case star >= 0: // let the last star take one byte more
			from++
			p, n = star+1, from
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// Profile holds what is known of a client; it is found by the name that the client gives itself (clientInfo.name).
type Profile struct {
	// Client is the profile's name, for people and for labels.
	Client string
	// Cap is the size in bytes up to which the text of a result is delivered whole. It lies below the size at which the client itself cuts,
	// drops or stores a result.
	Cap limit.Bytes
	// Defers is set when the client loads the definitions of many tools on demand.
	Defers bool
}

// Unknown is the profile of clients that are not in the table.
var Unknown = Profile{Client: "unknown", Cap: result.DefaultMaxText}

// large is the cap for clients whose own bound is so high that the model's window is the nearer one.
const large = 50_000

// programs are the clients that are not agents, by prefix of the lower-case name; the first match counts. Agents are in package
// internal/config/profile with everything else that is known of them.
//
// Sources: VS Code writes tool results over 8 KiB to a file; Claude Desktop cuts at 1 MiB. Cursor cuts nothing and gives everything to the
// model, so it has the default cap. The Inspector shows results to people.
var programs = []struct {
	prefix string
	Profile
}{
	{"visual studio code", Profile{Client: "vscode", Cap: 8 * limit.KiB}}, // also "… - Insiders"
	{"visual-studio-code", Profile{Client: "vscode", Cap: 8 * limit.KiB}},
	{"vscode", Profile{Client: "vscode", Cap: 8 * limit.KiB}},
	{"claude-ai", Profile{Client: "claude-desktop", Cap: large}},      // also "claude-ai (via mcp-remote …)"
	{"cursor", Profile{Client: "cursor", Cap: result.DefaultMaxText}}, // cursor-vscode
	{"mcp-inspector", Profile{Client: "inspector", Cap: large}},
	{"inspector-", Profile{Client: "inspector", Cap: large}}, // inspector-client, inspector-cli
	{"modelcontextprotocol-inspector", Profile{Client: "inspector", Cap: large}},
}

// ProfileOf returns the profile of a client by the name it gives itself, or [Unknown].
func ProfileOf(client string) Profile {
	if len(client) > 256 {
		return Unknown
	}
	client = strings.ToLower(strings.TrimSpace(client))
	for _, a := range profile.All() {
		if a.MCPClient == "" || !strings.HasPrefix(client, a.MCPClient) {
			continue
		}
		if a.ResultCap == 0 {
			a.ResultCap = result.DefaultMaxText
		}
		return Profile{a.MCPClient, a.ResultCap, a.DefersTools}
	}
	for _, p := range programs {
		if strings.HasPrefix(client, p.prefix) {
			return p.Profile
		}
	}
	return Unknown
}
