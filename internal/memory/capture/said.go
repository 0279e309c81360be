// Package capture makes records of what was said in conversations.
//
//	q := capture.NewQueue(capture.QueueOptions{MaxBytes: 8 << 20, Write: store.Add})
//	q.Put(size, func() []memory.Record { // at once; false means that it was dropped and counted
//		return capture.Episodes(capture.Conversation{Namespace: "project/x", Client: "claude"}, said)
//	})
//
// An episode is a passage of at most 2 KiB, word for word ([SplitPassages]); of a text of more than 128 the beginning and the end are kept. What
// Plimsoll itself put into a conversation is taken out before: it must not come back as something that was said. Credentials are
// masked. The origin of a user is only for words that a person may have typed there; what is quoted in them has the origin of a tool.
//
// Functions have no state, and a [Queue] may be used by any goroutine.
package capture

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/plimsoll/plimsoll/internal/memory"
	"github.com/plimsoll/plimsoll/internal/secrets"
	"github.com/plimsoll/plimsoll/limit"
)

// Kind classifies a captured text.
type Kind uint8

// The kinds.
const (
	Words  Kind = iota // of a person or a model
	Call               // what a model wants a tool to do
	Result             // what the tool said
)

// Said is one thing that was said in a conversation.
type Said struct {
	Kind   Kind
	Role   string        // as the dialect calls it; "system" and "developer" are never taken
	Origin memory.Origin // that the caller can prove; anything unknown is a tool's
	Tool   string        // of calls and results
	// Command is the command line that the call of a result ran, if known: results of Plimsoll's own commands are left out by it.
	Command string
	Text    string
	Turn    int       // place in the conversation, from 1
	At      time.Time // when it was said; the zero time is not known
}

// Conversation identifies the conversation that a text was said in.
type Conversation struct {
	Namespace, Scope  string
	Client, Run, Name string
	Agent             string // of Plimsoll's own, "" for none
	// Recalled are the lines that were recalled into this conversation: a repetition of one is nothing new.
	Recalled []string
}

// maxPassages is the number of passages kept of one text: 256 KiB of it.
const maxPassages = 128

// maxTyped is the longest text that may count as typed by a person, in bytes: what is longer was pasted or read from a file.
const maxTyped = 2 << 10

// Episodes returns the records of what was said in a conversation, in its order. A passage may come twice; the store counts it.
func Episodes(of Conversation, said []Said) []memory.Record {
	b := batch{of: of, recalled: normalLines(of.Recalled)}
	for i := range said {
		b.addSaid(&said[i])
	}
	return b.records
}

type batch struct {
	of       Conversation
	records  []memory.Record
	recalled map[string]bool
}

// addSaid adds the passages of a text to the batch. It leaves out system prompts, results of the memory's own tools, recalled memory, and texts
// without a word; secrets are replaced. Of what a person has typed, quoted parts count as a tool's.
func (b *batch) addSaid(s *Said) {
	switch s.Role {
	case "system", "developer":
		return
	}
	if s.Kind == Result && (isMemoryTool(s.Tool) || namesPlimsoll(s.Command)) || s.Kind == Call && isMemoryTool(s.Tool) {
		return
	}
	text := stripOwn(strings.ToValidUTF8(s.Text, "\uFFFD"), b.recalled)
	if !hasWord(text) {
		return
	}
	text = secrets.Text(text)
	switch {
	case s.Origin == memory.OriginUser && s.Kind == Words && len(text) <= maxTyped:
		for _, p := range splitQuotations(text) {
			origin := memory.OriginUser
			if p.quoted {
				origin = memory.OriginTool
			}
			b.addPassages(s, p.text, origin)
		}
	case s.Origin == memory.OriginAgent && s.Kind != Result:
		b.addPassages(s, text, memory.OriginAgent)
	default:
		b.addPassages(s, text, memory.OriginTool)
	}
}

// addPassages adds a record for each passage of a text. Of more than maxPassages those in the middle are left out.
func (b *batch) addPassages(s *Said, text string, origin memory.Origin) {
	all := SplitPassages(text, memory.MaxEpisode)
	if len(all) > maxPassages {
		all = append(all[:maxPassages/2:maxPassages/2], all[len(all)-maxPassages/2:]...)
	}
	for _, p := range all {
		if !hasWord(p) {
			continue
		}
		b.records = append(b.records, memory.Record{
			Kind: memory.KindEpisode, Origin: origin, Namespace: b.of.Namespace, Scope: b.of.Scope, Text: p, Said: s.At,
			Source: memory.Source{
				Client: clipName(b.of.Client), Run: clipName(b.of.Run), Conversation: clipName(b.of.Name), Turn: s.Turn, Role: clipName(s.Role), Tool: clipName(s.Tool),
			},
		})
	}
}

// clipName returns a name as valid UTF-8 of at most 200 bytes, which is within the bound of a record's fields.
func clipName(s string) string { return limit.Clip(strings.ToValidUTF8(s, "\uFFFD"), 200) }

// hasWord reports whether a text has a word of three letters or digits: nobody looks for "ok." or a rule of dashes.
func hasWord(text string) bool {
	run := 0
	for _, r := range text {
		switch {
		case r > 0x2E80: // one sign of Chinese, Japanese or Korean is a word
			return true
		case r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r > 0x7F:
			if run++; run >= 3 {
				return true
			}
		default:
			run = 0
		}
	}
	return false
}

// SplitPassages cuts a text into pieces of at most size bytes, each a part of the text without the space around it: between paragraphs where it can,
// else between lines, sentences, words, and at last runes.
func SplitPassages(text string, size int) []string {
	var out []string
	size = max(size, utf8.UTFMax)
	for {
		text = strings.TrimSpace(text)
		if text == "" {
			return out
		}
		if len(text) <= size {
			return append(out, text)
		}
		at := pieceEnd(text, size)
		if piece := strings.TrimSpace(text[:at]); piece != "" {
			out = append(out, piece)
		}
		text = text[at:]
	}
}

// pieceEnd returns where to cut a text that is longer than size: at most size bytes in, if possible not in the first third.
func pieceEnd(text string, size int) int {
	end := size
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	if end == 0 {
		return size // no UTF-8
	}
	room, least := text[:end], size/3
	for _, mark := range []string{"\n\n", "\n"} {
		if at := strings.LastIndex(room, mark); at > least {
			return at + len(mark)
		}
	}
	if at := sentenceEnd(room); at > least {
		return at
	}
	if at := strings.LastIndexAny(room, " \t"); at > least {
		return at + 1
	}
	return end
}

// sentenceEnd returns the offset behind the last sentence of a text that ends in it, 0 if none does.
func sentenceEnd(text string) int {
	for at := len(text) - 1; at > 0; at-- {
		switch text[at] {
		case ' ', '\t', '\n':
			if strings.IndexByte(".!?:;", text[at-1]) >= 0 {
				return at + 1
			}
		}
	}
	// Chinese and Japanese put no space behind a full stop.
	for _, mark := range []string{"。", "！", "？"} {
		if at := strings.LastIndex(text, mark); at >= 0 {
			return at + len(mark)
		}
	}
	return 0
}
