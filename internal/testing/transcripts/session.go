package transcripts

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"

	"github.com/plimsoll/plimsoll/window/wire"
)

// Defaults of SessionOptions.
const (
	DefaultResultBytes = 6000
	DefaultSystemBytes = 8000
	DefaultUserEvery   = 10
)

// SessionOptions of a synthetic agent session. Only Dialect is needed.
type SessionOptions struct {
	Dialect wire.Dialect
	Seed    uint64
	Content Content
	// ResultBytes is the size of a tool result; sizes vary between a quarter of it and twice.
	ResultBytes int
	// SystemBytes is the size of the system prompt.
	SystemBytes int
	// UserEvery is the number of turns between two messages of the user.
	UserEvery int
	// Parallel limits the calls of a turn. Default: 1.
	Parallel int
	// Thinking puts thinking or reasoning ahead of calls.
	Thinking bool
	// ChangingHead puts a line that differs from turn to turn into the system prompt of a
	// Messages session, as Claude Code's billing header does.
	ChangingHead bool
	// Model overrides the dialect's own.
	Model string
	// MaxOutput is the output the requests ask for, in tokens. Default: 8192.
	MaxOutput int
}

// A Session grows turn by turn: turn 0 is the system prompt and the task, each further
// turn adds one answer with its calls, their results and, every so often, a message of the
// user. It is not safe for concurrent use.
type Session struct {
	o     SessionOptions
	r     *rand.Rand
	head  string // members before the history, and the opening bracket
	tail  string
	steps []step
	size  int
	ids   int
}

// step holds the elements of one turn. The last may carry a cache mark (Messages).
type step struct {
	elements []string
	marked   string // the last element with its mark; "" when it cannot have one
}

// NewSession returns a session at turn 0.
func NewSession(o SessionOptions) *Session {
	o.ResultBytes = cmp.Or(o.ResultBytes, DefaultResultBytes)
	o.SystemBytes = cmp.Or(o.SystemBytes, DefaultSystemBytes)
	o.UserEvery = cmp.Or(o.UserEvery, DefaultUserEvery)
	o.Parallel = max(1, o.Parallel)
	o.MaxOutput = cmp.Or(o.MaxOutput, 8192)
	if o.Model == "" {
		o.Model = map[wire.Dialect]string{wire.Chat: "gpt-5.1", wire.Responses: "gpt-5.1-codex", wire.Messages: "claude-sonnet-4-5", wire.Gemini: "gemini-2.5-pro", wire.Converse: "anthropic.claude-sonnet-4-5-20250929-v1:0"}[o.Dialect]
	}
	s := &Session{o: o, r: rand.New(rand.NewPCG(o.Seed, uint64(o.Dialect)<<8|uint64(o.Content)))}
	s.makeFrame()
	s.add(s.user("Task: " + Task + " " + Text(English, s.r, 600)))
	return s
}

// Task is in the first user message of every session, unescaped.
const Task = "find out why the nightly deployment fails and repair it (task-statement-7f3a91)"

// Request returns the body that the agent sends as its turn-th request: the system prompt,
// the task and everything of the turns before, which are made as needed. Each extends the one before it byte for byte
// up to the end of the history, except for cache marks (and ChangingHead).
func (s *Session) Request(turn int) []byte {
	s.grow(turn)
	var b strings.Builder
	b.Grow(s.size + len(s.head) + len(s.tail) + 4096)
	head := s.head
	if s.o.ChangingHead && s.o.Dialect == wire.Messages {
		head = strings.Replace(head, billing, fmt.Sprintf("x-billing-header: cch=%05x;", turn*7919&0xfffff), 1)
	}
	b.WriteString(head)
	for i, st := range s.steps[:turn+1] {
		last := len(st.elements) - 1
		for k, e := range st.elements {
			if i+k > 0 {
				b.WriteByte(',')
			}
			if k == last && st.marked != "" && i >= turn-1 { // clients mark the two newest
				e = st.marked
			}
			b.WriteString(e)
		}
	}
	b.WriteString(s.tail)
	return []byte(b.String())
}

// TurnOf returns the first turn whose request has at least size bytes.
func (s *Session) TurnOf(size int) int {
	n := len(s.head) + len(s.tail)
	for turn := 0; ; turn++ {
		s.grow(turn)
		for _, e := range s.steps[turn].elements {
			n += len(e) + 1
		}
		if n >= size {
			return turn
		}
	}
}

func (s *Session) grow(turn int) {
	for len(s.steps) <= turn {
		s.addTurn(len(s.steps))
	}
}

func (s *Session) add(st step) {
	s.steps = append(s.steps, st)
	for _, e := range st.elements {
		s.size += len(e) + 1
	}
}

// billing is replaced by a line of the same length; it changes at every turn.
const billing = "x-billing-header: cch=00000;"

// makeFrame makes what surrounds the history in a request: the system prompt and the tools.
func (s *Session) makeFrame() {
	m := &maker{d: s.o.Dialect, r: rand.New(rand.NewPCG(s.o.Seed, 99))}
	system := "You are an agent that works in a terminal. " + Text(English, s.r, s.o.SystemBytes)
	top := m.top(list{raw("@")})
	ordered := object{}
	var elements any
	for _, e := range top {
		switch e.name {
		case "x_unknown":
		case "messages", "input", "contents":
			elements = e.value
		case "system":
			if s.o.Dialect == wire.Converse {
				ordered = ordered.with(e.name, list{obj("text", system), obj("cachePoint", obj("type", "default"))})
				break
			}
			first := list{obj("type", "text", "text", system, "cache_control", obj("type", "ephemeral"))}
			if s.o.ChangingHead {
				first = append(list{obj("type", "text", "text", billing)}, first...)
			}
			ordered = ordered.with(e.name, first)
		case "instructions":
			ordered = ordered.with(e.name, system)
		case "systemInstruction":
			ordered = ordered.with(e.name, obj("role", "user", "parts", list{obj("text", system)}))
		case "model":
			ordered = ordered.with(e.name, s.o.Model)
		case "max_tokens", "max_completion_tokens":
			ordered = ordered.with(e.name, s.o.MaxOutput)
		case "generationConfig":
			ordered = ordered.with(e.name, obj("temperature", 1, "maxOutputTokens", s.o.MaxOutput))
		case "inferenceConfig":
			ordered = ordered.with(e.name, obj("maxTokens", s.o.MaxOutput))
		case "thinking", "additionalModelRequestFields":
		default:
			ordered = ordered.with(e.name, e.value)
		}
	}
	switch {
	case s.o.Dialect == wire.Responses:
		ordered = ordered.with("max_output_tokens", s.o.MaxOutput)
	case s.o.Dialect == wire.Converse && s.o.Thinking:
		ordered = ordered.with("additionalModelRequestFields", obj("thinking", obj("type", "enabled", "budget_tokens", 2048)))
	case s.o.Dialect == wire.Messages && s.o.Thinking:
		ordered = ordered.with("thinking", obj("type", "enabled", "budget_tokens", 2048))
	}
	name := map[wire.Dialect]string{wire.Chat: "messages", wire.Responses: "input", wire.Messages: "messages", wire.Gemini: "contents", wire.Converse: "messages"}[s.o.Dialect]
	ordered = ordered.with(name, elements)
	s.head, s.tail, _ = strings.Cut(plain.text(ordered), "@")
	if s.o.Dialect == wire.Chat { // the system prompt is a message there
		s.head += plain.text(chat(entry{role: "system", texts: []string{system}})[0]) + ","
	}
}

func (s *Session) user(text string) step {
	return s.render(entry{role: "user", texts: []string{text}, listed: true})
}

// render makes the elements of entries, the last of them with and without a mark.
func (s *Session) render(entries ...entry) step {
	var st step
	form := map[wire.Dialect]func(entry) list{wire.Chat: chat, wire.Responses: responses, wire.Messages: messages, wire.Gemini: gemini, wire.Converse: converse}[s.o.Dialect]
	for i, e := range entries {
		for _, element := range form(e) {
			st.elements = append(st.elements, plain.text(element))
		}
		if i == len(entries)-1 && (s.o.Dialect == wire.Messages || s.o.Dialect == wire.Converse) {
			e.mark = true
			st.marked = plain.text(form(e)[0])
		}
	}
	return st
}

// addTurn adds one turn: an answer with calls, their results, and sometimes a message of the user.
func (s *Session) addTurn(n int) {
	answer := entry{role: "assistant", listed: true, texts: []string{fmt.Sprintf("Step %d. %s", n, Text(English, s.r, 150))}}
	if s.o.Thinking {
		answer.thought = fmt.Sprintf("Considering step %d: %s", n, Text(English, s.r, 200))
	}
	results := entry{role: "results"}
	for k := range 1 + s.r.IntN(s.o.Parallel) {
		s.ids++
		id := fmt.Sprintf("toolu_%06d%010x", s.ids, s.r.Uint64()&0xffffffffff)
		name := toolNames[s.r.IntN(len(toolNames))]
		size := s.o.ResultBytes/4 + s.r.IntN(s.o.ResultBytes*7/4)
		text := Text(s.o.Content, s.r, size)
		arguments := map[string]any{"command": fmt.Sprintf("./check --step %d --part %d", n, k)}
		args, err := json.Marshal(arguments)
		if err != nil {
			panic(err) // strings
		}
		answer.calls = append(answer.calls, call{id: id, name: name, args: string(args)})
		results.results = append(results.results, result{id: id, name: name, text: text})
	}
	if n%s.o.UserEvery != 0 {
		s.add(s.render(answer, results))
		return
	}
	done := entry{role: "assistant", texts: []string{fmt.Sprintf("That was part %d.", n/s.o.UserEvery)}, listed: true}
	if s.o.Thinking {
		done.thought = "Summing up."
	}
	st := s.render(answer, results, done)
	next := s.user(fmt.Sprintf("Good. Go on with part %d.", n/s.o.UserEvery+1))
	s.add(step{elements: append(st.elements, next.elements...), marked: next.marked})
}

// Content is the kind of text in the tool results of a session. Tokenizers differ most between
// these.
type Content uint8

// The kinds of content.
const (
	English Content = iota
	JSON
	Base64
	Hexdump
	Mixed // scripts: Cyrillic, Greek, Arabic, Hindi, Chinese, Japanese, Korean, emoji
)

// Contents are all kinds, in order.
var Contents = []Content{English, JSON, Base64, Hexdump, Mixed}

// Text returns about size bytes of a kind of content.
func Text(c Content, r *rand.Rand, size int) string {
	var b strings.Builder
	b.Grow(size + 200)
	for b.Len() < size {
		c.line(&b, r)
	}
	return b.String()
}

func (c Content) line(b *strings.Builder, r *rand.Rand) {
	switch c {
	case English:
		for i := range 8 + r.IntN(10) {
			word := english[r.IntN(len(english))]
			if i == 0 {
				word = strings.ToUpper(word[:1]) + word[1:]
			} else {
				b.WriteByte(' ')
			}
			b.WriteString(word)
		}
		b.WriteString([]string{". ", ".\n", ", and "}[r.IntN(3)])
	case JSON:
		fmt.Fprintf(b, `{"metadata":{"name":"%s-%s-%d","namespace":"team-%d","uid":"%08x-%04x"},"status":{"health":"%s","sync":"%s","replicas":%d},"ok":%t}`+",\n",
			english[r.IntN(len(english))], english[r.IntN(len(english))], r.IntN(1000), r.IntN(40), r.Uint32(), r.Uint32()&0xffff,
			[]string{"Healthy", "Degraded", "Progressing"}[r.IntN(3)], []string{"Synced", "OutOfSync"}[r.IntN(2)], r.IntN(20), r.IntN(2) == 0)
	case Base64:
		var bytes [57]byte
		fill(bytes[:], r)
		b.WriteString(base64.StdEncoding.EncodeToString(bytes[:]))
		b.WriteByte('\n')
	case Hexdump:
		var bytes [16]byte
		fill(bytes[:], r)
		fmt.Fprintf(b, "%08x  % x  % x  |", b.Len(), bytes[:8], bytes[8:])
		for _, c := range bytes {
			if c < 0x20 || c > 0x7e {
				c = '.'
			}
			b.WriteByte(c)
		}
		b.WriteString("|\n")
	case Mixed:
		for range 6 {
			b.WriteString(scripts[r.IntN(len(scripts))])
			b.WriteByte(' ')
		}
		b.WriteByte('\n')
	}
}

func fill(b []byte, r *rand.Rand) {
	for i := range b {
		b[i] = byte(r.Uint32())
	}
}

var english = strings.Fields(`the build finished after seven minutes because a cached layer was reused while another worker waited
	for its lock to be released we should check whether request handlers close their response bodies when an upstream connection
	breaks in the middle of a stream function value returns error configuration directory package module import test server
	client window token message history summary limit number of open files process memory reservation queue schedule retry
	deployment replica namespace cluster application manifest revision status healthy degraded syncing rollback pipeline`)

var scripts = strings.Fields(`Сборка завершилась успешно ошибка соединения η σύνδεση διακόπηκε αρχείο فشل الاتصال بالخادم الملف
	सर्वर से कनेक्शन टूट गया फ़ाइल 服务器连接失败请重试 配置文件不存在 接続が切断されました ファイルが見つかりません 서버 연결이 끊어졌습니다 파일을 찾을 수 없습니다
	żółć größer naïve façade 🚀🔥 👩‍💻 ✅ Straße İstanbul`)
