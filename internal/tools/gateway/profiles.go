package gateway

import (
	"strings"

	"github.com/plimsoll/plimsoll/internal/config/profile"
	"github.com/plimsoll/plimsoll/internal/tools/result"
	"github.com/plimsoll/plimsoll/limit"
)

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

// large is the cap for clients whose own bound is so high that the model's window is the nearer one. It is the largest cap of the other
// clients.
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
