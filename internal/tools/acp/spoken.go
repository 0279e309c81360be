package acp

import (
	"path"
	"strings"
)

// Spoken reports whether a command may speak the protocol on its streams: an argument asks for it (acp, --acp, --experimental-acp), or one
// of its first words is named like an adapter (claude-agent-acp, @agentclientprotocol/codex-acp@2, …/claude-agent-acp/dist/index.js).
func Spoken(argv []string) bool {
	for i, word := range argv {
		switch word {
		case "--acp", "--experimental-acp":
			return i > 0
		case "acp":
			if i > 0 {
				return true
			}
		}
		if i < 8 && adapter(word) {
			return true
		}
	}
	return false
}

// adapter reports whether a word is the path or the package of an adapter, by its name.
func adapter(word string) bool {
	if len(word) > 4096 || strings.HasPrefix(word, "-") || strings.ContainsAny(word, " \n") {
		return false
	}
	for element := range strings.SplitSeq(strings.ReplaceAll(word, `\`, "/"), "/") {
		name, _, _ := strings.Cut(element, "@")
		if strings.HasSuffix(strings.TrimSuffix(name, path.Ext(name)), "-acp") {
			return true
		}
	}
	return false
}
