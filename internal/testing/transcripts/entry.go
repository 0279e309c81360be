package transcripts

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/plimsoll/plimsoll/window/wire"
)

// An entry is one step of a conversation, before it takes the form of a dialect.
type entry struct {
	role    string // "system", "user", "assistant", "results"
	texts   []string
	media   string // base64 of an image beside the text
	thought string
	calls   []call
	results []result
	before  string // text of the user ahead of the results, in their message (a mistake)
	after   string // and behind them
	mark    bool   // a cache mark on the last block
	listed  bool   // content as a list where a plain string would do
}

type call struct {
	id, name, args string // args is JSON text of an object
	custom         bool
}

type result struct {
	id, name, text string
	failed, custom bool
	listed         bool
}

// A maker makes one conversation.
type maker struct {
	r        *rand.Rand
	d        wire.Dialect
	style    style
	entries  []entry
	ids      int
	markers  int
	noIDs    bool // Gemini without ids
	reuse    bool // ids that earlier turns used
	thinking bool
}

// newMaker returns a maker of random histories of a dialect; the same seed gives the same ones.
func newMaker(d wire.Dialect, seed uint64) *maker {
	m := &maker{r: rand.New(rand.NewPCG(seed, uint64(d))), d: d}
	m.style = randomStyle(m.r)
	m.noIDs = d == wire.Gemini && m.r.IntN(2) == 0
	m.reuse = d != wire.Messages && d != wire.Converse && m.r.IntN(4) == 0 // Anthropic wants unique ids
	m.thinking = m.r.IntN(2) == 0
	return m
}

func (m *maker) chance(percent int) bool { return m.r.IntN(100) < percent }

// marker returns a text that nothing else holds.
func (m *maker) marker(what string) string {
	m.markers++
	return fmt.Sprintf("%s-%d-%08x", what, m.markers, m.r.Uint32())
}

// newID returns an ID for a call, in the form of the dialect's provider; "" if calls have none.
func (m *maker) newID() string {
	m.ids++
	if m.noIDs {
		return ""
	}
	switch m.d {
	case wire.Messages:
		return fmt.Sprintf("toolu_%02d%016x", m.ids, m.r.Uint64())
	case wire.Converse:
		return fmt.Sprintf("tooluse_%02d%016x", m.ids, m.r.Uint64())
	case wire.Gemini:
		return fmt.Sprintf("%s-%d-%x", "run", m.ids, m.r.Uint32())
	}
	return fmt.Sprintf("call_%02d%016x", m.ids, m.r.Uint64())
}

var toolNames = []string{"bash", "read_file", "grep", "list_directory", "edit", "mcp__argocd__list_applications"}

// addConversation adds the entries of a valid history.
func (m *maker) addConversation() {
	if (m.d == wire.Chat || m.d == wire.Responses) && m.chance(70) {
		m.entries = append(m.entries, entry{role: "system", texts: []string{m.marker("system") + m.words(20)}, listed: m.chance(30)})
	}
	turns := 1 + m.r.IntN(5)
	for t := range turns {
		user := entry{role: "user", listed: m.chance(50)}
		for range 1 + m.r.IntN(2) {
			user.texts = append(user.texts, m.marker("user")+m.words(m.r.IntN(30)))
		}
		if m.chance(15) {
			user.media = picture
		}
		m.entries = append(m.entries, user)
		if m.d == wire.Messages && m.chance(20) || m.d == wire.Responses && m.chance(10) {
			m.entries = append(m.entries, entry{role: "system", texts: []string{m.marker("note")}, listed: m.chance(50)})
		}
		m.addSteps()
		if t < turns-1 || m.chance(20) {
			m.entries = append(m.entries, entry{role: "assistant", texts: []string{m.marker("answer") + m.words(10) + "."}, thought: m.thought(30), listed: m.chance(50)})
		}
	}
	if m.d == wire.Messages || m.d == wire.Converse {
		m.addMarks()
	}
}

// addSteps adds the work of one turn: calls and their results, a few times over.
func (m *maker) addSteps() {
	for step := range m.r.IntN(5) {
		a := entry{role: "assistant", listed: m.chance(50)}
		if m.chance(50) {
			a.texts = []string{m.marker("step") + m.words(8) + "."}
		}
		// With thinking on, a turn begins with thinking; later steps may lack it.
		if step == 0 && m.thinking {
			a.thought = m.thought(100)
		} else if m.d != wire.Messages && m.d != wire.Converse || m.thinking {
			a.thought = m.thought(40)
		}
		b := entry{role: "results"}
		for k := range 1 + m.r.IntN(3)*m.r.IntN(2) {
			c := call{id: m.newID(), name: toolNames[m.r.IntN(len(toolNames))], args: m.arguments(), custom: m.d == wire.Responses && m.chance(20)}
			if m.reuse && !m.noIDs {
				c.id = fmt.Sprintf("call_%d", k)
			}
			a.calls = append(a.calls, c)
			b.results = append(b.results, result{
				id: c.id, name: c.name, custom: c.custom, failed: m.chance(10), listed: m.chance(30),
				text: m.marker("result") + m.words(m.r.IntN(40)),
			})
		}
		if !m.noIDs && m.chance(40) {
			m.r.Shuffle(len(b.results), func(i, j int) { b.results[i], b.results[j] = b.results[j], b.results[i] })
		}
		if m.chance(15) {
			b.after = m.marker("user") + m.words(5)
		}
		m.entries = append(m.entries, a, b)
	}
}

func (m *maker) thought(percent int) string {
	if !m.chance(percent) || (m.d == wire.Messages || m.d == wire.Converse) && !m.thinking {
		return ""
	}
	return m.marker("thought") + m.words(6)
}

func (m *maker) arguments() string {
	text, err := json.Marshal(map[string]any{"command": m.words(5), "path": "/srv/app/" + m.marker("arg") + ".go", "n": m.r.IntN(1000)})
	if err != nil {
		panic(err) // strings and numbers
	}
	return string(text)
}

// addMarks puts up to four cache marks on the newest messages, as clients do.
func (m *maker) addMarks() {
	left := m.r.IntN(4)
	for i := len(m.entries) - 1; i >= 0 && left > 0; i-- {
		if e := &m.entries[i]; e.role == "user" || e.role == "results" {
			e.mark = true
			left--
		}
	}
}

var vocabulary = []string{
	"the", "quick", "proxy", "reads", "42", "bytes", "of", `C:\temp\x`, `"quoted"`, "<b>&amp;</b>", "a/b/c", "naïve", "日本語", "Привет", "😀", "مرحبا",
	"\n", "\t", "\u2028", "\x01", "e\u0301", "\U0001F468\u200D\U0001F469\u200D\U0001F467", string(lone), "func main() {}", "0xdeadbeef", "}", "]", `\u0041`,
}

// words returns n words, each with a space ahead.
func (m *maker) words(n int) string {
	var b strings.Builder
	for range n {
		b.WriteByte(' ')
		b.WriteString(vocabulary[m.r.IntN(len(vocabulary))])
	}
	return b.String()
}

// picture is a PNG of one pixel.
const picture = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
