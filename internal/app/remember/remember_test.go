package remember_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/app/memories"
	"github.com/plimsoll/plimsoll/internal/app/remember"
	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/memory"
	"github.com/plimsoll/plimsoll/internal/memory/capture"
	"github.com/plimsoll/plimsoll/internal/testing/testfile"
	"github.com/plimsoll/plimsoll/internal/window/compact/checkpoint"
	"github.com/plimsoll/plimsoll/internal/window/compact/extract"
	"github.com/plimsoll/plimsoll/internal/window/proxy"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/window/models"
)

// A bench is a state directory with a configuration.
type bench struct {
	t   *testing.T
	dir string
	app *core.Core
	s   config.Settings
}

func newBench(t *testing.T, settings string) *bench {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "config.toml")
	testfile.Write(t, file, settings)
	app, err := core.New(core.Options{Dir: dir, Environ: []string{"HOME=" + dir, "PLIMSOLL_STATE_DIR=" + filepath.Join(dir, "state"), "PLIMSOLL_CONFIG=" + file}})
	if err != nil {
		t.Fatal(err)
	}
	s, err := app.Config.For("")
	if err != nil {
		t.Fatal(err)
	}
	return &bench{t, dir, app, s}
}

func (b *bench) store() *memory.Store {
	b.t.Helper()
	store, err := remember.OpenStore(b.app, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	return store
}

// records are all there are.
func (b *bench) records() []memory.Record {
	b.t.Helper()
	store := b.store()
	defer store.Close()
	var all []memory.Record
	for {
		page, err := store.List(b.t.Context(), memory.Filter{All: true, AllScopes: true, Limit: memory.MaxLimit, Offset: len(all), Oldest: true})
		if err != nil {
			b.t.Fatal(err)
		}
		if all = append(all, page.Records...); len(page.Records) == 0 {
			return all
		}
	}
}

// A gateway is a proxy with a memory, in front of a provider that answers everything.
type gateway struct {
	b       *bench
	url     string
	plane   *remember.Plane
	journal *journal.Journal
	mu      sync.Mutex
	last    []byte
	close   func()
}

func (b *bench) gateway(o remember.Options, window int) *gateway {
	b.t.Helper()
	g := &gateway{b: b, journal: journal.New(journal.Options{})}
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		g.mu.Lock()
		g.last = body
		g.mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{}`)
	}))
	o.Journal, o.Warn = g.journal, func(text string) { b.t.Error(text) }
	if o.Namespace == "" {
		o.Namespace = remember.ProjectNamespace("x")
	}
	g.plane = remember.Open(b.app, b.s, o)
	store, err := checkpoint.Open(checkpoint.Options{Dir: filepath.Join(b.dir, "state", "window", "conversations")})
	if err != nil {
		b.t.Fatal(err)
	}
	po := proxy.Options{
		Store: store, Journal: g.journal, Reserve: 1000, Keeper: g.plane.Keeper(), KeepTurns: g.plane.Turns(), Recaller: g.plane.Recaller(), RecallFor: g.plane.Namespace(),
		Upstreams: []proxy.Upstream{{Name: "anthropic", URL: provider.URL}, {Name: "openai", URL: provider.URL + "/v1"}, {Name: "gemini", URL: provider.URL}},
	}
	if window > 0 {
		po.Resolver = models.NewResolver(models.Options{Overrides: models.Overrides{Max: window}})
	}
	p, err := proxy.New(po)
	if err != nil {
		b.t.Fatal(err)
	}
	s, err := p.Listen(proxy.ListenOptions{})
	if err != nil {
		b.t.Fatal(err)
	}
	g.url = s.URL()
	g.close = sync.OnceFunc(func() {
		_ = s.Shutdown(b.t.Context())
		p.Close()
		g.plane.Close()
		provider.Close()
	})
	b.t.Cleanup(g.close)
	return g
}

var claudeHeader = http.Header{"User-Agent": {"claude-cli/2.1.197 (external, cli)"}, "X-Api-Key": {"a-key"}}

// send posts a body as a client and returns what the provider got.
func (g *gateway) send(path string, header http.Header, body []byte) string {
	g.b.t.Helper()
	r, err := http.NewRequest(http.MethodPost, g.url+path, strings.NewReader(string(body)))
	if err != nil {
		g.b.t.Fatal(err)
	}
	r.Header = header.Clone()
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		g.b.t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, res.Body)
	_ = res.Body.Close()
	if res.StatusCode != http.StatusOK {
		g.b.t.Fatal(res.Status)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return string(g.last)
}

func (g *gateway) flush() {
	g.b.t.Helper()
	if err := g.plane.Flush(g.b.t.Context()); err != nil {
		g.b.t.Fatal(err)
	}
}

type m = map[string]any

// claude is a conversation as Claude Code sends it.
type claude struct {
	entry    string // of the billing header
	messages []any
}

func (c *claude) user(text string) {
	c.messages = append(c.messages, m{"role": "user", "content": text})
}

func (c *claude) blocks(texts ...string) {
	var list []any
	for _, t := range texts {
		list = append(list, m{"type": "text", "text": t})
	}
	c.messages = append(c.messages, m{"role": "user", "content": list})
}

func (c *claude) says(text string) {
	c.messages = append(c.messages, m{"role": "assistant", "content": []any{m{"type": "text", "text": text}}})
}

func (c *claude) calls(tool string, input any, result string) {
	id := fmt.Sprintf("toolu_%d", len(c.messages))
	c.messages = append(c.messages,
		m{"role": "assistant", "content": []any{m{"type": "tool_use", "id": id, "name": tool, "input": input}}},
		m{"role": "user", "content": []any{m{"type": "tool_result", "tool_use_id": id, "content": result}}})
}

func (c *claude) body() []byte {
	entry := c.entry
	if entry == "" {
		entry = "cc_entrypoint=cli;"
	}
	text, err := json.Marshal(m{
		"model": "claude-sonnet-4-5", "max_tokens": 500, "messages": c.messages, "tools": []any{m{"name": "Bash", "input_schema": m{"type": "object"}}},
		"system": []any{m{"type": "text", "text": "x-anthropic-billing-header: cc_version=2.1.197; " + entry}, m{"type": "text", "text": "SYSTEM-PROMPT be helpful"}},
	})
	if err != nil {
		panic(err)
	}
	return text
}

const messagesPath = "/anthropic/v1/messages"

func of(records []memory.Record, origin memory.Origin) (texts []string) {
	for _, r := range records {
		if r.Origin == origin {
			texts = append(texts, r.Text)
		}
	}
	return texts
}

// TestSessionsOfRealClients: of recorded sessions every turn is kept once; the user's are what was typed at the terminal, where the
// client proves it, and nothing of the system prompt is kept.
func TestSessionsOfRealClients(t *testing.T) {
	paths := map[string]string{"claude": messagesPath, "codex": "/openai/v1/responses", "gemini": "/gemini/v1beta/models/gemini-3.8-flash:generateContent", "opencode": "/openai/v1/responses"}
	for name, path := range paths {
		for _, inside := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s inside %v", name, inside), func(t *testing.T) {
				b := newBench(t, "[memory]\non = true\n")
				g := b.gateway(remember.Options{Inside: inside, Run: "run-1"}, 0)
				text := testfile.Read(t, filepath.Join("..", "..", "window", "client", "testdata", "sessions", name+".json"))
				var list []struct {
					Headers map[string]string
					Body    json.RawMessage
				}
				if err := json.Unmarshal(text, &list); err != nil {
					t.Fatal(err)
				}
				for _, r := range list {
					h := http.Header{"Authorization": {"Bearer somebody"}}
					for k, v := range r.Headers {
						h.Set(k, v)
					}
					g.send(path, h, r.Body)
				}
				g.flush()
				records := b.records()
				user := of(records, memory.OriginUser)
				for _, u := range user {
					if !strings.HasPrefix(u, "TYPED-") {
						t.Errorf("nobody typed %q", u)
					}
				}
				if want := !inside && (name == "claude" || name == "codex"); want != (len(user) >= 3) || !want && len(user) > 0 {
					t.Errorf("of the user: %q", user)
				}
				whole := fmt.Sprint(records)
				for _, none := range []string{"You are Claude Code", "You are Codex", "You are OpenCode", "SYSTEM"} {
					if strings.Contains(whole, none) {
						t.Errorf("%q of the system prompt was kept", none)
					}
				}
				if !strings.Contains(whole, "remember to deploy on Fridays") || len(records) < 8 {
					t.Errorf("%d records: %v", len(records), records)
				}
				for _, r := range records {
					if r.Scope == "" || r.Namespace != "project/x" || r.Source.Client != name || r.Source.Run != "run-1" || r.Source.Conversation == "" || r.Source.Turn == 0 {
						t.Errorf("%+v", r)
					}
				}
			})
		}
	}
}

// TestCuts: with the defaults what a compaction takes out is kept, and nothing before; found again, with its tool and turn; secrets
// are not; with [window] store = "off", or the memory off, nothing is.
func TestCuts(t *testing.T) {
	for settings, want := range map[string]bool{
		"":                               true,
		"[window]\nstore = \"off\"\n":    false,
		"[memory]\non = false\n":         false,
		"[window]\nstore = \"memory\"\n": true,
	} {
		b := newBench(t, settings)
		g := b.gateway(remember.Options{}, 8_000)
		c := &claude{}
		c.user("We decided that the harbour is called Halcyon from now on.")
		for i := range 40 {
			c.calls("Bash", m{"command": fmt.Sprintf("cat part-%d", i)}, fmt.Sprintf("part %d says nothing but PASSWORD=hunter2hunter2 in line %d. ", i, i)+strings.Repeat("It is a long line of a log. ", 60))
			if i == 3 {
				c.says("Noted.")
				c.user("The second word of the user.")
			}
			g.send(messagesPath, claudeHeader, c.body())
			if i == 2 {
				g.flush()
				if _, err := os.Stat(filepath.Join(b.dir, "state", "memory")); err == nil {
					t.Errorf("%q: something was opened before anything was cut", settings)
				}
			}
		}
		g.close()
		if !want {
			if _, err := os.Stat(filepath.Join(b.dir, "state", "memory")); err == nil {
				t.Errorf("%q: something was kept", settings)
			}
			continue
		}
		records := b.records()
		if len(records) < 10 {
			t.Fatalf("%q: %d records", settings, len(records))
		}
		for _, r := range records {
			if strings.Contains(r.Text, "hunter2") || strings.Contains(r.Text, "Plimsoll") || strings.Contains(r.Text, "SYSTEM-PROMPT") || r.Source.Turn == 0 || r.Origin == memory.OriginTool && r.Source.Tool != "Bash" && r.Source.Role != "user" {
				t.Errorf("%q: %+v", settings, r)
			}
		}
		store := b.store()
		found, err := store.Search(t.Context(), memory.Query{Text: "what says part 5", AllScopes: true})
		if err != nil || len(found.Items) == 0 || !strings.Contains(found.Items[0].Text, "part 5 says") {
			t.Errorf("%v: %+v", err, found)
		}
		store.Close()
		summary := journalOf[journal.MemoryCaptured](g.journal)
		if len(summary) != 1 || summary[0].Records == 0 || summary[0].Dropped > 0 {
			t.Errorf("%+v", summary)
		}
	}
}

func journalOf[E journal.Event](j *journal.Journal) (found []E) {
	for rec := range j.Since(0) {
		if e, ok := rec.Event.(E); ok {
			found = append(found, e)
		}
	}
	return found
}

// TestScopes: what was said with one credential is not added to prompts with another, where they are not one user's; nor into
// another project.
func TestScopes(t *testing.T) {
	b := newBench(t, "[memory]\non = true\n")
	g := b.gateway(remember.Options{}, 0)
	c := &claude{}
	c.user("The harbour of Halcyon opens at six in the morning.")
	g.send(messagesPath, claudeHeader, c.body())
	g.close()
	other := claudeHeader.Clone()
	other.Set("X-Api-Key", "another-key")
	for _, q := range []struct {
		o      remember.Options
		header http.Header
		want   bool
	}{
		{remember.Options{}, claudeHeader, true},
		{remember.Options{}, other, false},
		{remember.Options{Own: true}, other, true},
		{remember.Options{Own: true, Namespace: "project/y"}, claudeHeader, false},
	} {
		g := b.gateway(q.o, 0)
		waitReady(t, g)
		c := &claude{}
		c.user("When does the harbour of Halcyon open?")
		if got := strings.Contains(g.send(messagesPath, q.header, c.body()), "opens at six"); got != q.want {
			t.Errorf("%+v: recalled %v", q.o, got)
		}
		g.close()
	}
}

// waitReady waits until prompts are added to.
func waitReady(t *testing.T, g *gateway) {
	t.Helper()
	g.plane.WaitReady(t.Context())
}

// TestOneRecord: an identical passage is one record with a count, over conversations and processes.
func TestOneRecord(t *testing.T) {
	b := newBench(t, "[memory]\non = true\n")
	for i := range 3 {
		g := b.gateway(remember.Options{}, 0)
		c := &claude{}
		c.user(fmt.Sprintf("Conversation %d about the harbour.", i))
		c.calls("Bash", m{"command": "cat rules"}, "Always wear a helmet in the harbour.")
		for range 3 {
			g.send(messagesPath, claudeHeader, c.body())
		}
		g.close()
	}
	n := 0
	for _, r := range b.records() {
		if r.Text == "Always wear a helmet in the harbour." {
			n++
			if r.Count != 3 || r.Origin != memory.OriginTool {
				t.Errorf("%+v", r)
			}
		}
	}
	if n != 1 {
		t.Errorf("%d records", n)
	}
}

// TestLoop: over 200 turns in which everything that was recalled is repeated, by the model, by tools and by commands that ask the
// memory, nothing of it enters the memory again.
func TestLoop(t *testing.T) {
	b := newBench(t, "[memory]\non = true\n")
	first := b.gateway(remember.Options{Own: true}, 0)
	c := &claude{}
	rules := []string{"The harbour opens at six in the morning.", "Never deploy the harbour on a Monday.", "The crane of the harbour is called Gustav.", "I want answers about the harbour in French."}
	for _, r := range rules {
		c.user(r)
		first.send(messagesPath, claudeHeader, c.body())
		c.says("Noted.")
	}
	first.close()
	start := b.records()

	g := b.gateway(remember.Options{Own: true}, 0)
	waitReady(t, g)
	c = &claude{}
	recalled := 0
	said := 0
	for turn := range 200 {
		prompt := fmt.Sprintf("Question %d: what about the harbour, the crane, Monday, six, French?", turn)
		c.user(prompt)
		sent := g.send(messagesPath, claudeHeader, c.body())
		said++
		block := ""
		for _, text := range textsOf(t, sent) {
			if strings.Contains(text, "plimsoll-memory-context") {
				block = text
			}
		}
		lines := capture.Unwrap(block)
		recalled += strings.Count(sent, "<plimsoll-memory-context>")
		repeat := strings.Join(lines, "\n")
		var words strings.Builder
		for _, l := range lines {
			_, w, _ := strings.Cut(l, "]: ")
			words.WriteString("> " + w + "\n")
		}
		switch turn % 6 {
		case 0:
			c.calls("Bash", m{"command": "plimsoll memory search harbour"}, repeat+"\n"+strings.Join(rules, "\n"))
		case 1:
			c.calls("mcp__plimsoll__search_memory", m{"query": "harbour"}, strings.Join(rules, "\n"))
		case 2:
			c.calls("Bash", m{"command": "cat session.json"}, "x\n"+block+"\ny")
		case 3:
			c.calls("Bash", m{"command": "cat summary"}, extract.Opening+"12 earlier messages of this conversation, taken out to make room.]\n\n- "+strings.Join(rules, "\n- ")+"\n[Plimsoll: end of the summary; the conversation goes on with its newer messages.]")
		}
		c.says("As the memory says:\n" + repeat + "\n" + words.String())
	}
	g.flush()
	g.close()
	grown := 0
	for _, r := range b.records() {
		if slices.ContainsFunc(start, func(s memory.Record) bool { return s.ID == r.ID }) {
			if slices.Contains(rules, r.Text) && r.Count != 1 {
				t.Errorf("counted again: %+v", r)
			}
			continue
		}
		grown++
		for _, rule := range rules {
			if strings.Contains(r.Text, rule) {
				t.Errorf("kept again: %+v", r)
			}
		}
		if strings.Contains(r.Text, "plimsoll-memory") || strings.Contains(r.Text, "[Plimsoll") {
			t.Errorf("ours: %q", r.Text)
		}
	}
	if recalled == 0 || grown < said {
		t.Errorf("%d blocks were added, %d records are new after %d prompts", recalled, grown, said)
	}
	t.Logf("%d records more after %d turns", grown, said)
}

func textsOf(t *testing.T, body string) (texts []string) {
	t.Helper()
	var request struct {
		Messages []struct{ Content json.RawMessage }
	}
	if err := json.Unmarshal([]byte(body), &request); err != nil {
		t.Fatal(err)
	}
	for _, msg := range request.Messages {
		var blocks []struct{ Text string }
		if json.Unmarshal(msg.Content, &blocks) == nil {
			for _, b := range blocks {
				texts = append(texts, b.Text)
			}
		}
	}
	return texts
}

// TestQueueBound: what does not fit into the queue is dropped, counted and said; no request waits for it.
func TestQueueBound(t *testing.T) {
	b := newBench(t, "[memory]\non = true\n")
	g := b.gateway(remember.Options{QueueBytes: 1 << 20}, 0)
	c := &claude{}
	c.user("Look at the giant.")
	c.calls("Bash", m{"command": "cat giant"}, strings.Repeat("a line of the giant\n", 100_000))
	g.send(messagesPath, claudeHeader, c.body())
	g.close()
	if lost := journalOf[journal.MemoryDropped](g.journal); len(lost) != 1 || lost[0].Why != "queue" || lost[0].Bytes < 2_000_000 {
		t.Errorf("%+v", lost)
	}
}

// TestAgentKeeper: what is said to one of Plimsoll's own agents is kept whole, and a question is a person's only where one types.
func TestAgentKeeper(t *testing.T) {
	for _, inside := range []bool{false, true} {
		b := newBench(t, "")
		p := remember.Open(b.app, b.s, remember.Options{Namespace: remember.AgentNamespace("helper"), Client: "helper", Inside: inside, Own: true, Turns: true, Warn: func(text string) { t.Error(text) }})
		k := p.AgentKeeper()
		k.Keep("session-1", 0, time.Now(), []agent.Message{{Role: agent.RoleUser, Text: "We ship on Fridays."}})
		k.Keep("session-1", 1, time.Now(), []agent.Message{
			{Role: agent.RoleAssistant, Text: "I look at it.", Calls: []agent.Call{{ID: "1", Name: "list", Arguments: `{"what":"harbours"}`}, {ID: "2", Name: "search_memory", Arguments: `{"query":"ship"}`}}},
			{Role: agent.RoleTool, CallID: "1", Name: "list", Text: "harbour one\nharbour two"},
			{Role: agent.RoleTool, CallID: "2", Name: "search_memory", Text: "- [user]: We ship on Mondays."},
		})
		p.Close()
		all := b.records()
		if user := of(all, memory.OriginUser); inside == (len(user) == 1) || len(all) != 4 {
			t.Errorf("inside %v: of the user %q, %d records: %+v", inside, user, len(all), all)
		}
		for _, r := range all {
			if r.Namespace != "agent/helper" || r.Source.Conversation != "session-1" || r.Source.Turn == 0 || strings.Contains(r.Text, "Mondays") {
				t.Errorf("%+v", r)
			}
		}
	}
	b := newBench(t, "[memory]\non = false\n")
	p := remember.Open(b.app, b.s, remember.Options{Namespace: "agent/helper", Turns: true})
	if p.AgentKeeper() != nil {
		t.Error("the memory is off, turns are kept")
	}
	p.Close()
}

// TestProfile: what a person has confirmed in the profile is added at the start of a conversation, once, and what is only written there
// is not.
func TestProfile(t *testing.T) {
	b := newBench(t, "[memory]\non = true\n")
	profile, err := memories.OpenProfile(b.app)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := profile.Pin(t.Context(), "Always answer about the harbour in French."); err != nil {
		t.Fatal(err)
	}
	memoryOf, err := memories.Open(b.app, memories.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer memoryOf.Close()
	pin, err := memoryOf.Pin(t.Context(), "Never mention the old harbour.")
	if err != nil {
		t.Fatal(err)
	}
	g := b.gateway(remember.Options{Own: true, Run: "run-7"}, 0)
	waitReady(t, g)
	c := &claude{}
	for i := range 4 {
		c.user(fmt.Sprintf("Question %d?", i))
		if sent := g.send(messagesPath, claudeHeader, c.body()); strings.Count(sent, "in French") != 1 {
			t.Errorf("prompt %d: %s", i, sent)
		}
		c.says("Oui.")
	}
	// Whoever asks why learns where it was added, by the id that `memory pin` lists and by that of its record.
	g.flush()
	why, err := memoryOf.Why(t.Context(), pin.ID)
	if err != nil || len(why.Uses) != 1 || why.Uses[0].How != memory.UsePrompt || why.Uses[0].Client != "claude" || why.Uses[0].Run != "run-7" || why.Uses[0].Conversation == "" || time.Since(why.Uses[0].At) > time.Minute {
		t.Errorf("%+v, %v", why, err)
	}
	if again, err := memoryOf.Why(t.Context(), why.Record.ID); err != nil || len(again.Uses) != 1 || !again.Pinned {
		t.Errorf("%+v, %v", again, err)
	}
}

// TestRecallIsShort: a prompt gets at most three things that were said before, and all that is pinned beside them.
func TestRecallIsShort(t *testing.T) {
	b := newBench(t, "[memory]\non = true\n")
	store := b.store()
	for i := range 6 {
		if _, err := store.Add(t.Context(), memory.Record{
			Kind: memory.KindNote, Origin: memory.OriginUser, Namespace: remember.UserNamespace, Text: fmt.Sprintf("Note %d about the harbour of Halcyon: pier %d is closed.", i, i),
		}); err != nil {
			t.Fatal(err)
		}
	}
	store.Close()
	profile, err := memories.OpenProfile(b.app)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 4 {
		if _, err := profile.Pin(t.Context(), fmt.Sprintf("Standing rule %d.", i)); err != nil {
			t.Fatal(err)
		}
	}
	g := b.gateway(remember.Options{Own: true}, 0)
	waitReady(t, g)
	c := &claude{}
	c.user("Which piers of the harbour of Halcyon are closed?")
	sent := g.send(messagesPath, claudeHeader, c.body())
	if notes, pins := strings.Count(sent, "about the harbour of Halcyon: pier"), strings.Count(sent, "Standing rule"); notes == 0 || notes > 3 || pins != 4 {
		t.Errorf("%d things that were said, %d that are pinned: %s", notes, pins, sent)
	}
}

// TestALineSaysMoreThanItsText: the prompt that is sent has the count and what was replaced behind a line, and what repeats the words without them is known
// as ours all the same.
func TestALineSaysMoreThanItsText(t *testing.T) {
	b := newBench(t, "[memory]\non = true\n")
	store := b.store()
	at := time.Date(2026, 11, 4, 0, 0, 0, 0, time.UTC)
	for days, text := range []string{"Invoices of Halcyon are sent by Postmark.", "Invoices of Halcyon are sent by Mailgun, no longer by Postmark.", "By Mailgun, no longer by Postmark, are invoices of Halcyon sent."} {
		if _, err := store.Add(t.Context(), memory.Record{Kind: memory.KindNote, Origin: memory.OriginUser, Namespace: remember.UserNamespace, Text: text, Said: at.AddDate(0, 0, days)}); err != nil {
			t.Fatal(err)
		}
	}
	store.Close()
	g := b.gateway(remember.Options{Own: true}, 0)
	waitReady(t, g)
	c := &claude{}
	c.user("Who sends the invoices of Halcyon?")
	sent := strings.Join(textsOf(t, g.send(messagesPath, claudeHeader, c.body())), "\n")
	const newest = "By Mailgun, no longer by Postmark, are invoices of Halcyon sent."
	if !strings.Contains(sent, newest+` (said 2 times; since then no longer, from 2026-11-04: "Invoices of Halcyon are sent by Postmark.")`) {
		t.Fatalf("%s", sent)
	}
	c.calls("Bash", m{"command": "cat notes"}, "file-1\n"+newest)
	c.says("As you said: I look at it.\n" + newest)
	c.user("Thanks.")
	g.send(messagesPath, claudeHeader, c.body())
	g.flush()
	g.close()
	kept := 0
	for _, r := range b.records() {
		if r.Kind == memory.KindEpisode {
			kept++
			if strings.Contains(r.Text, newest) {
				t.Errorf("kept again: %+v", r)
			}
		}
	}
	if kept < 3 {
		t.Errorf("%d passages were kept", kept)
	}
}
