package gateway

import (
	"strings"

	"github.com/plimsoll/plimsoll/config/profile"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/tools/result"
)

// Profile holds the known limits of a client, found by the name it gives itself (clientInfo.name).
type Profile struct {
	// Client is the profile's name, for people and for labels.
	Client string
	// Cap is the text of one result in bytes that it is given whole. It lies under the size
	// at which the client itself cuts, drops or moves a result away.
	Cap limit.Bytes
	// Defers is set when it loads the definitions of tools when it wants them, where they are many.
	Defers bool
}

// Unknown is the profile of clients that are not in the table.
var Unknown = Profile{Client: "unknown", Cap: result.DefaultMaxText}

// large is for clients whose own bound is so far away that the model's window is the
// nearer one: what the most patient of the others takes.
const large = 50_000

// programs are clients that are no agents of a run, by prefix of the name in lower case. The first that fits counts. What agents
// take stands with what else is known of them, in package config/profile.
//
// Sources: VS Code writes tool results over 8 KiB to a file; Claude Desktop cuts at 1 MiB. Cursor cuts nothing and hands everything
// to the model, so it is given what a client is given that nothing is known of. The Inspector shows to people.
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

// ProfileOf finds a client's profile by the name it gives itself, or [Unknown].
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
