package mend

import (
	"strings"

	"github.com/plimsoll/plimsoll/window/models"
	"github.com/plimsoll/plimsoll/window/tokens"
	"github.com/plimsoll/plimsoll/window/wire"
)

// rules are a provider's requirements for the contents of a request. docs/refusals.md has their words, refusals_test.go where they are known from.
type rules struct {
	dialect *wire.Rules
	claude  bool // a Claude, in whatever dialect: gateways hand the blocks on
	openai  bool // a model of OpenAI's

	// signed means that reasoning has a signature, and must stand in certain places. Models behind the same dialect that are known to be no
	// Claude (DeepSeek, Kimi, GLM, MiniMax) may have none, and refuse calls from which it was taken.
	signed       bool
	noTrailing   bool // no white space at the end of the model's last words
	noBlank      bool // no text that is all white space
	noEmpty      bool // no text of "", and no message without content
	noEmptyInput bool // "" as arguments are refused
	objectInput  bool // so is any other JSON that is no object
	marks        int  // most cache marks; 0 is any number
	prefill      bool // the model continues a last message of its own
	nameBytes    int  // longest name of a tool in a call; 0 is any
	plainName    bool // such a name has only letters, digits, '_' and '-'

	argumentBytes int // most characters of a call's arguments; 0 is any number

	pictures pictureRules
}

// pictureRules are a provider's requirements for images.
type pictureRules struct {
	types     []string // media types that are accepted; none: images are not looked at
	exact     bool     // the declared type must be that of the bytes
	fetched   bool     // the provider fetches images by their address
	side      int      // most pixels on a side; 0 is any
	crowd     int      // with more images than this…
	crowdSide int      // …each has at most these pixels on a side
	base64    int      // most characters of base64 of one image; 0 is any
}

// Anthropic's limits for images (platform.claude.com "vision", as of 2026-11; the size is that of the base64 text, as refusals name it:
// claude-code#19631, lobehub#14711).
const (
	claudeSide      = 8000
	claudeCrowd     = 20
	claudeCrowdSide = 2000
	claudeBase64    = 5 << 20
	claudeImages    = 100 // for models with a window of 200,000 tokens
	claudeImagesBig = 600 // for all others
	claudeMarks     = 4
	claudeName      = 200     // characters of a tool's name
	bigWindow       = 200_000 // tokens
)

// webTypes lists the media types that Anthropic and OpenAI take.
var webTypes = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// rulesOf returns the rules for the contents of a request, by its dialect, the model's family and what was learned from refusals.
func rulesOf(of wire.Dialect, o Options) rules {
	d, family := of.Rules(), tokens.FamilyOf(models.Provider(o.Provider), o.Model)
	claude := !d.Google && family.Claude()
	u := rules{
		dialect: d, claude: claude,
		openai:     d.OpenAI && (family == tokens.FamilyO200K || family == tokens.FamilyCL100K) && !strings.Contains(o.Model, "gpt-oss"),
		prefill:    !o.NoPrefill && acceptsPrefill(d, family, o.Model),
		signed:     d.SignedThinking && !o.NeedReasoning && (claude || !d.Mixed && tokens.MayBeClaude(models.Provider(o.Provider), o.Model)),
		noTrailing: d.NoTrailing && !d.Mixed || claude,
		noBlank:    d.NoBlankText || o.NoBlank,
		marks:      d.Marks,
	}
	u.noEmpty = d.NoEmpty || claude || family == tokens.FamilyMistral || isKimi(o.Model) || o.NoEmpty
	u.noEmptyInput, u.objectInput = !u.openai || o.Objects, o.Objects
	if claude {
		u.marks, u.nameBytes = claudeMarks, claudeName
	}
	switch {
	case u.openai: // whose reference of 2026-11 has limits for its own models; gateways to others have none
		u.nameBytes, u.plainName, u.argumentBytes = d.NameBytes, true, d.ArgumentBytes
	case !d.OpenAI && d.NameBytes > 0:
		u.nameBytes, u.plainName = d.NameBytes, d.PlainNames
	}
	switch {
	case claude:
		u.pictures = pictureRules{
			types: webTypes, exact: true, fetched: !onlyBase64(models.Provider(o.Provider)),
			side: claudeSide, crowd: claudeCrowd, crowdSide: claudeCrowdSide, base64: claudeBase64,
		}
	case u.openai:
		u.pictures = pictureRules{types: webTypes, fetched: true}
	default:
		u.pictures = pictureRules{types: d.ImageTypes, fetched: true}
	}
	return u
}

// onlyBase64 reports whether a provider's Claude takes images only as base64 and not by address (platform.claude.com "vision", 2026-11).
func onlyBase64(provider string) bool { return provider == "bedrock" || provider == "vertex" }

// mostImages returns the most images that a request may have; 0 for any number. images is how many it has.
func (m *mending) mostImages(images int) int {
	if m.o.MaxImages > 0 || !m.rules.claude || images <= claudeImages {
		return m.o.MaxImages
	}
	if window, ok := models.Lookup(m.o.Provider, m.o.Model, m.o.Betas); ok && window.Context > bigWindow {
		return claudeImagesBig
	}
	return claudeImages
}

// isKimi reports whether a model is a Kimi, whose maker refuses empty messages: "the message at position 8 with role 'assistant' must not
// be empty" (AstrBot#7200, kimi-code#1985).
func isKimi(model string) bool {
	model = strings.ToLower(model)
	return strings.Contains(model, "kimi") || strings.Contains(model, "moonshot")
}

// noPrefillMajor and noPrefillMinor are the version of Claude from which on a last message of the model is refused: "This model does not
// support assistant message prefill. The conversation must end with a user message." (platform.claude.com, migration guides: removed with
// 4.6, 2026-02; nothing newer has it again, 2026-11; Mythos, which came without a number at first, never had it). Haiku 4.5 is the newest
// with it.
const noPrefillMajor, noPrefillMinor = 4, 6

// acceptsPrefill reports whether a model accepts a last message of its own and continues it; true for a model that is not known.
func acceptsPrefill(d *wire.Rules, family tokens.Family, model string) bool {
	switch family {
	case tokens.FamilyClaude, tokens.FamilyClaude47:
		major, minor, ok := claudeVersion(model)
		return !ok && !strings.Contains(strings.ToLower(model), "mythos") || ok && major < noPrefillMajor || major == noPrefillMajor && minor < noPrefillMinor
	case tokens.FamilyMistral:
		// "Expected last role User or Tool (or Assistant with prefix True) for serving but got assistant" (smolagents#757, autogen#5044).
		return d.PrefixFlag == ""
	}
	return true
}

// claudeVersion returns the first two numbers of one or two digits behind "claude" in a model's name; ok is false if there is none.
func claudeVersion(model string) (major, minor int, ok bool) {
	model = strings.ToLower(model)
	at := strings.LastIndex(model, "claude")
	if at < 0 {
		return 0, 0, false
	}
	var seen int
	for part := range strings.FieldsFuncSeq(model[at:], func(c rune) bool { return (c < '0' || c > '9') && (c < 'a' || c > 'z') }) {
		n, digits := 0, len(part) <= 2
		for _, c := range []byte(part) {
			digits = digits && c >= '0' && c <= '9'
			n = n*10 + int(c-'0')
		}
		switch {
		case !digits && seen > 0:
			return major, minor, true // a date, or Bedrock's own version
		case !digits:
		case seen == 0:
			major, seen = n, 1
		default:
			return major, n, true
		}
	}
	return major, minor, seen > 0
}
