package agents

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/agent"
	"github.com/plimsoll/plimsoll/agent/conversation"
	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/app/mcp"
	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/printable"
	"github.com/plimsoll/plimsoll/internal/tools/gateway"
	"github.com/plimsoll/plimsoll/internal/watch/runs"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/window/models"
)

// ChatOptions are the options of `plimsoll chat` besides the configuration.
type ChatOptions struct {
	AgentOptions
	// Session is the conversation to continue or begin; "" begins one. Existing requires that it exists, and continues
	// the one used last when Session is "".
	Session  string
	Existing bool
	// Private stores nothing of what is said.
	Private bool
	// MaxSteps bounds the requests to the model for one question; 0 means the configured number.
	MaxSteps int
}

// Chat is an agent that stays open from one question to the next. Only one goroutine at a time may use it.
type Chat struct {
	AskedAgent
	// Session is the conversation's name; "" says that this chat is not stored, though the agent remembers it while it lasts.
	Session string
	// Usage is the number of tokens asked and answered since the chat was opened, and Cost their price; Priced is true if the
	// prices of the model are known.
	Usage  agent.Usage
	Cost   float64
	Priced bool
	// InWindow is the number of tokens of the last request and its answer; 0 before the first. Window is the model's context window.
	InWindow, Window int

	app    *core.Core
	plane  *mcp.Plane
	opened *openedAgent
	large  *mcp.LargeResults
	price  models.Price
	record *core.RunRecord
	failed error // why the last question has no answer
	// private is the name of the conversation of a chat that is not stored.
	private string
	said    transcript
}

// OpenChat opens an agent for a conversation, and reads the conversation if it is continued.
func OpenChat(ctx context.Context, app *core.Core, o ChatOptions) (opened *Chat, err error) {
	o.forgets, o.private = o.Private, o.Private
	o.typed = core.AtTerminal()
	if o.Private && (o.Session != "" || o.Existing) {
		return nil, errors.New("--private keeps nothing, so there is no session to go on with: leave out --session and --continue")
	}
	kind := runs.KindChat
	if o.Private {
		kind = ""
	}
	c, err := openChat(ctx, app, o.AgentOptions, o.MaxSteps, kind)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			opened, err = nil, errors.Join(err, c.Close())
		}
	}()
	switch {
	case o.Private:
		c.private = newSession()
		return c, nil
	case o.Session == "" && o.Existing:
		list, err := Sessions(app, c.Agent)
		if err != nil {
			return nil, err
		}
		if len(list) == 0 {
			return nil, fmt.Errorf("agent %s keeps no session to go on with; leave out --continue to begin one", c.Agent)
		}
		c.Session = list[0].Session
	case o.Session == "":
		c.Session = newSession()
		return c, nil
	default:
		c.Session = o.Session
	}
	return c, c.loadSession(ctx, o.Existing)
}

// newSession returns a name for a new conversation: the time and a random number.
func newSession() string {
	var b [3]byte
	_, _ = rand.Read(b[:]) // never fails
	return time.Now().Format("2006-01-02-1504") + "-" + hex.EncodeToString(b[:])
}

// openChat opens an agent with its MCP gateways. What happens is recorded as a run of the kind, or not at all with kind "".
func openChat(ctx context.Context, app *core.Core, o AgentOptions, maxSteps int, kind string) (_ *Chat, err error) {
	settings, err := app.Config.For("")
	if err != nil {
		return nil, err
	}
	configured, err := configuredAgent(app, o)
	if err != nil {
		return nil, err
	}
	if maxSteps > 0 {
		configured.MaxSteps = maxSteps
	}
	o.remembers = true
	c := &Chat{app: app, large: &mcp.LargeResults{Tell: app.Warn}}
	if kind != "" {
		c.record = app.KeepRun(settings, kind, journal.Report{Tool: kind, Variant: configured.Name})
	}
	defer func() {
		if err != nil {
			c.record.End(err)
		}
	}()
	if c.plane, err = mcp.Open(app, settings, mcp.PlaneOptions{Observers: append(c.record.Observers(), c.large)}); err != nil {
		return nil, err
	}
	c.plane.Hidden = append(c.plane.Hidden, SecretVariables(settings, []config.Agent{configured})...)
	if c.opened, err = openAgent(ctx, app, configured, &gateways{plane: c.plane, made: map[string]*gateway.Server{}, o: o}); err != nil {
		return nil, errors.Join(err, c.plane.Close())
	}
	c.AskedAgent = AskedAgent{Agent: configured.Name, Model: c.opened.model.String(), Standin: c.opened.model.isStandin()}
	c.Window = c.opened.window
	if !c.Standin {
		c.price, c.Priced = core.Prices(app.Config)(c.opened.model.provider, c.opened.model.name)
	}
	return c, nil
}

// Close closes everything that the chat has opened.
func (c *Chat) Close() error {
	err := errors.Join(c.opened.Close(), c.plane.Close())
	c.record.End(c.failed)
	return err
}

// Ask asks the next question of the conversation. The error says why it could not be asked; the outcome is in the report. events is called
// for each event, in order; it may be nil.
func (c *Chat) Ask(ctx context.Context, question string, events func(Event)) (AskReport, error) {
	session := c.Session
	session = cmp.Or(session, c.private)
	r, err := c.askAgent(ctx, agent.Query{Text: question, Session: session, Events: func(e Event) {
		switch e.Kind {
		case agent.EventStep:
			c.InWindow = e.Tokens
		}
		if events != nil {
			events(e)
		}
	}})
	if c.Session == "" {
		r.Session = ""
	}
	c.Usage.Input += r.Usage.Input
	c.Usage.Cached += r.Usage.Cached
	c.Usage.Output += r.Usage.Output
	if c.Priced {
		c.Cost = c.price.Rate.Of(c.Usage.Input, c.Usage.Cached, 0, 0, c.Usage.Output)
	}
	c.InWindow += r.Last.Output
	if err == nil {
		c.said.add("user", question)
		c.said.add("assistant", r.Answer)
	}
	return r, err
}

// askAgent asks one question and returns the report on it, which lists at most maxAskedCalls calls of tools and counts the others.
func (c *Chat) askAgent(ctx context.Context, q agent.Query) (AskReport, error) {
	r := AskReport{AskedAgent: c.AskedAgent}
	heard := q.Events
	q.Events = func(e agent.Event) {
		if e.Kind == agent.EventResult && e.Call != nil && e.Result != nil {
			if len(r.ToolCalls) < maxAskedCalls {
				r.ToolCalls = append(r.ToolCalls, AskedCall{
					Name: e.Call.Name, Arguments: e.Call.Arguments, Bytes: e.Result.Size, Failed: e.Result.Failed, Took: e.Result.Took, TookMS: e.Result.Took.Milliseconds(),
				})
			} else {
				r.MoreCalls++
			}
		}
		if heard != nil {
			heard(e)
		}
	}
	began := time.Now()
	var err error
	r.Result, err = c.opened.agent.Ask(ctx, q)
	r.DurationMS = time.Since(began).Milliseconds()
	r.LargeResults = c.large.List()
	if errors.Is(err, agent.ErrNoSession) {
		return r, fmt.Errorf("--continue --session %s: %w; leave out --continue to begin it", printable.Text(q.Session), err)
	}
	if err != nil {
		c.failed = err
		return r, err
	}
	if r.Err != nil {
		r.Error = r.Err.Error()
	}
	if c.failed = nil; !r.Answered() {
		c.failed = errors.New(string(r.Outcome))
	}
	if e, ok := errors.AsType[*core.Interrupted](context.Cause(ctx)); ok {
		r.signal, r.Detail, r.Error = e.Signal, "interrupted", ""
	}
	return r, nil
}

// Tools returns the tools that the agent may call now.
func (c *Chat) Tools(ctx context.Context) ([]agent.ToolSpec, error) { return c.opened.tools.List(ctx) }

// Clear begins another conversation with the same agent. What is stored of the last one stays.
func (c *Chat) Clear() {
	if c.Session == "" {
		c.private = newSession()
	} else {
		c.Session = newSession()
	}
	c.said, c.InWindow = transcript{}, 0
}

// Questions returns the questions of the conversation, also those before it was continued, oldest first, as far as the chat remembers them.
func (c *Chat) Questions() []string {
	var out []string
	for _, m := range c.said.messages {
		if m.role == "user" {
			out = append(out, m.text)
		}
	}
	return out
}

// Markdown returns the conversation so far as Markdown, for a file.
func (c *Chat) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n%s, %s.\n", printable.Text(c.Agent), printable.Text(c.Model), time.Now().Format("2 January 2006, 15:04"))
	if c.said.dropped > 0 {
		fmt.Fprintf(&b, "\n(The first %d messages are left out: a chat remembers %s of its words.)\n", c.said.dropped, limit.Bytes(maxTranscript).Human())
	}
	for _, m := range c.said.messages {
		who := "You"
		if m.role != "user" {
			who = c.Agent
		}
		fmt.Fprintf(&b, "\n## %s\n\n%s\n", printable.Text(who), strings.TrimSpace(m.text))
	}
	return b.String()
}

// Empty reports whether nothing was said yet.
func (c *Chat) Empty() bool { return len(c.said.messages) == 0 }

// loadSession reads the earlier messages of the session into c.said, for the screen; the agent reads them by itself. A session that does not
// exist is an error only if existing is set.
func (c *Chat) loadSession(ctx context.Context, existing bool) (err error) {
	s, err := agentStore(c.app, c.Agent)
	missing := fmt.Errorf("agent %s keeps no session %q; plimsoll agent sessions %s lists them, and without --continue it is begun", c.Agent, printable.Text(c.Session), c.Agent)
	if err != nil {
		return err
	}
	if s == nil {
		if existing {
			return missing
		}
		return nil
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	kept, err := patient{s, c.app.Warn}.Open(ctx, c.Session, true)
	if errors.Is(err, agent.ErrNoSession) {
		if existing {
			return missing
		}
		return nil
	}
	if errors.Is(err, conversation.ErrSession) {
		return fmt.Errorf("--session: %w", err)
	}
	if err != nil {
		return err
	}
	for _, m := range kept.Messages() {
		if m.Text != "" && (m.Role == agent.RoleUser || m.Role == agent.RoleAssistant) {
			c.said.add(string(m.Role), m.Text)
		}
	}
	return kept.Close()
}

// maxTranscript bounds the messages that a chat keeps for itself, in bytes.
const maxTranscript = 4 << 20

// transcript holds the messages of a chat, without those of tools.
type transcript struct {
	messages []said
	bytes    int
	dropped  int
}

type said struct{ role, text string }

// add adds a message, cut to a quarter of maxTranscript, and then drops the oldest messages until all together have at most maxTranscript
// bytes; t.dropped counts those. An empty text is not added.
func (t *transcript) add(role, text string) {
	if text == "" {
		return
	}
	text = limit.Clip(text, maxTranscript/4)
	t.messages = append(t.messages, said{role, text})
	t.bytes += len(text)
	for t.bytes > maxTranscript {
		t.bytes -= len(t.messages[0].text)
		t.messages = t.messages[1:]
		t.dropped++
	}
}

// Session describes a conversation that an agent has stored.
type Session struct {
	Agent    string    `json:"agent"`
	Session  string    `json:"session"`
	Title    string    `json:"title"` // the beginning of its first question
	Messages int       `json:"messages"`
	Bytes    int64     `json:"bytes"`
	Updated  time.Time `json:"updated"`
}

// agentStore opens the conversations of an agent; nil if it has stored none.
func agentStore(app *core.Core, name string) (*conversation.Store, error) {
	state, err := app.Dirs.State()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(state, "agents", config.SafeName(name), "conversations")
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return conversation.Open(conversation.Options{Dir: dir, Log: app.Log()})
}

// Sessions returns the conversations of an agent, the last used one first. name is as in [AgentOptions].
func Sessions(app *core.Core, name string) (out []Session, err error) {
	c, err := configuredAgent(app, AgentOptions{Name: name})
	if err != nil {
		return nil, err
	}
	s, err := agentStore(app, c.Name)
	if s == nil || err != nil {
		return []Session{}, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	list, err := s.List()
	out = make([]Session, 0, len(list))
	for _, i := range list {
		out = append(out, Session{Agent: c.Name, Session: i.Session, Title: i.Title, Messages: i.Messages, Bytes: int64(i.Bytes), Updated: i.Updated})
	}
	return out, err
}

// removeWait bounds the wait of RemoveSession for others that use the session.
const removeWait = 5 * time.Second

// RemoveSession removes a conversation of an agent. A missing one is an error. If another process uses it, RemoveSession waits at most removeWait.
func RemoveSession(ctx context.Context, app *core.Core, name, session string) (err error) {
	c, err := configuredAgent(app, AgentOptions{Name: name})
	if err != nil {
		return err
	}
	s, err := agentStore(app, c.Name)
	if err != nil {
		return err
	}
	missing := fmt.Errorf("agent %s keeps no session %q; plimsoll agent sessions %s lists them", c.Name, printable.Text(session), c.Name)
	if s == nil {
		return missing
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	ctx, cancel := context.WithTimeout(ctx, removeWait)
	defer cancel()
	if err := s.Remove(ctx, session); errors.Is(err, agent.ErrNoSession) {
		return missing
	} else if err != nil {
		return fmt.Errorf("remove the session: %w", err)
	}
	return nil
}
