package gateway

import (
	"strings"

	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/tools/result"
)

// Profile is what is known of a client by the name it gives itself (clientInfo.name).
type Profile struct {
	// Client is the profile's name, for people and for labels.
	Client string
	// Cap is the text of one result in bytes that it is given whole. It lies under the size
	// at which the client itself cuts, drops or moves a result away.
	Cap limit.Bytes
}

// Unknown is the profile of clients that are not in the table.
var Unknown = Profile{Client: "unknown", Cap: result.DefaultMaxText}

// large is for clients whose own bound is so far away that the model's window is the
// nearer one: what the most patient of the others takes.
const large = 50_000

// profiles by prefix of the name in lower case. The first that fits counts, so longer
// prefixes stand before shorter ones.
//
// Sources: VS Code writes tool results over 8 KiB to a file; Codex cuts at about 10 KB;
// Gemini CLI at 40,000 characters; Claude Code at 25,000 tokens, and puts what is over
// 50,000 characters into a file; Goose at 200,000 characters; Claude Desktop at 1 MiB;
// opencode at 50 KB. Cursor and Cline cut nothing and hand everything to the model, so they
// are given what a client is given that nothing is known of. The Inspector shows to people.
var profiles = []struct {
	prefix string
	Profile
}{
	{"visual studio code", Profile{"vscode", 8 * limit.KiB}}, // also "… - Insiders"
	{"visual-studio-code", Profile{"vscode", 8 * limit.KiB}},
	{"vscode", Profile{"vscode", 8 * limit.KiB}},
	{"codex", Profile{"codex", 10_000}},           // codex-mcp-client
	{"gemini-cli", Profile{"gemini-cli", 40_000}}, // gemini-cli-mcp-client, with the server's name behind it in newer ones
	{"claude-code", Profile{"claude-code", large}},
	{"claude-ai", Profile{"claude-desktop", large}}, // also "claude-ai (via mcp-remote …)"
	{"goose", Profile{"goose", large}},              // goose, goose-cli, goose-desktop
	{"opencode", Profile{"opencode", large}},
	{"cursor", Profile{"cursor", result.DefaultMaxText}}, // cursor-vscode
	{"cline", Profile{"cline", result.DefaultMaxText}},
	{"mcp-inspector", Profile{"inspector", large}},
	{"inspector-", Profile{"inspector", large}}, // inspector-client, inspector-cli
	{"modelcontextprotocol-inspector", Profile{"inspector", large}},
}

// ProfileOf finds a client's profile by the name it gives itself, or [Unknown].
func ProfileOf(client string) Profile {
	if len(client) > 256 {
		return Unknown
	}
	client = strings.ToLower(strings.TrimSpace(client))
	for _, p := range profiles {
		if strings.HasPrefix(client, p.prefix) {
			return p.Profile
		}
	}
	return Unknown
}
