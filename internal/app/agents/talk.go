package agents

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/lineedit"
	"github.com/plimsoll/plimsoll/internal/printable"
	"github.com/plimsoll/plimsoll/internal/shellwords"
	"github.com/plimsoll/plimsoll/limit"
)

// chatCommands are the words that are commands and not questions.
var chatCommands = []string{"/clear", "/help", "/quit", "/save", "/tools", "/window"}

const chatHelp = `  /tools        what the agent may call
  /window       what is in the window, and what it took so far
  /clear        begin anew; what was said stays under its name
  /save [FILE]  write the conversation down, in Markdown
  /quit         end, as Ctrl-D does
  Ctrl-J or Alt-Enter begins a new line; Ctrl-C stops an answer.`

// TalkOptions are the options of a conversation with a person besides the agent.
type TalkOptions struct {
	ChatOptions
	// In supplies the questions; if it and Terminal are the same terminal, Terminal shows what is typed.
	In, Terminal *os.File
	// Out gets all lines that are neither question nor answer.
	Out io.Writer
	// View shows answers.
	View View
}

// View shows a question being answered.
type View interface {
	// Event shows an event meanwhile; Show ends that with the outcome of the question.
	Event(Event)
	Show(AskReport) error
	// Note shows a line for a person, if there is one; Close ends an unfinished line.
	Note(format string, args ...any)
	Close()
}

// talking is a chat with a person under way.
type talking struct {
	chat  *Chat
	view  View
	lines *lineedit.Reader
	out   io.Writer
	quiet bool
	bare  bool // a question had no answer
}

// Talk asks questions of the person until there are no more. status is the exit status: 128+N if signal N ended it, 1 if a question had no
// answer and there is no terminal, else 0.
func Talk(ctx context.Context, app *core.Core, o TalkOptions) (status int, err error) {
	t := &talking{out: o.Out, view: o.View, quiet: o.Quiet}
	if t.lines, err = lineedit.New(o.In, o.Terminal, lineedit.Options{Prompt: "> ", More: "… ", Words: chatCommands}); err != nil {
		return 0, err
	}
	// The terminal is given back last: what is said while an agent ends is for it.
	defer func() { err = errors.Join(err, t.lines.Close()) }()
	o.Quiet = o.Quiet || !t.lines.Terminal()
	life, end := context.WithCancelCause(ctx)
	defer end(nil)
	if status, err = t.open(life, end, app, o.ChatOptions); t.chat == nil {
		return status, err
	}
	defer func() { err = errors.Join(err, t.chat.Close()) }()
	t.hello()
	if status, err = t.readAndAsk(life); status != 0 || err != nil {
		return status, err
	}
	t.goodbye()
	if t.bare && !t.lines.Terminal() {
		return 1, nil
	}
	return 0, nil
}

// open opens the agent, with life as its context. Until it is open, a signal ends life, and status is then 128+N.
func (t *talking) open(life context.Context, end context.CancelCauseFunc, app *core.Core, o ChatOptions) (status int, err error) {
	opening, stop := core.Interruptible(life, 0)
	defer stop()
	untie := context.AfterFunc(opening, func() { end(context.Cause(opening)) })
	defer untie()
	t.chat, err = OpenChat(life, app, o)
	if by := interruptedBy(opening); err != nil && by != 0 {
		return 128 + by, nil
	}
	return 0, err
}

// interruptedBy returns the number of the signal that cancelled a context of [core.Interruptible], that of SIGINT if it has ended for another
// reason, and 0 if it has not ended.
func interruptedBy(ctx context.Context) int {
	if e, ok := errors.AsType[*core.Interrupted](context.Cause(ctx)); ok {
		return e.Signal
	}
	if ctx.Err() != nil { // where signals have no numbers
		return int(syscall.SIGINT)
	}
	return 0
}

// hello prints the agent, the model and the session that is continued, and puts the session's earlier questions into the history of the line
// editor.
func (t *talking) hello() {
	if t.chat.Standin {
		fmt.Fprintf(t.out, "plimsoll: %s is asked of %s: it goes by keywords\n", t.chat.Agent, t.chat.Model)
	} else if t.lines.Terminal() && !t.quiet {
		fmt.Fprintf(t.out, "plimsoll: %s asks %s\n", t.chat.Agent, t.chat.Model)
	}
	for _, q := range t.chat.Questions() {
		t.lines.Remember(q)
	}
	if t.lines.Terminal() && !t.quiet {
		if n := len(t.chat.Questions()); n > 0 {
			t.view.Note("goes on with the session %s (%s)", t.chat.Session, limit.Count(n, "question"))
		}
		t.view.Note("/help lists what else there is; Ctrl-D ends")
	}
}

// goodbye prints the command that continues the session. It prints nothing without a terminal, with --quiet, or if there is no stored session
// or nothing was said.
func (t *talking) goodbye() {
	if t.lines.Terminal() && !t.quiet && t.chat.Session != "" && !t.chat.Empty() {
		line := "plimsoll chat"
		if t.chat.Agent != "" {
			line += " " + t.chat.Agent
		}
		t.view.Note("to go on: %s --session %s", line, quoteWord(t.chat.Session))
	}
}

// quoteWord returns a word quoted for a shell, if that is necessary.
func quoteWord(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool {
		return !(r == '-' || r == '_' || r == '.' || r == '/' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z')
	}) {
		return shellwords.Quote(s)
	}
	return s
}

// readAndAsk reads questions and commands from the person and carries them out, until there are no more. status is 128+N if signal N ended
// it, else 0.
func (t *talking) readAndAsk(ctx context.Context) (status int, err error) {
	pressed := false // Ctrl-C, and nothing since
	until := func(ctx context.Context) (context.Context, func()) { return core.Interruptible(ctx, 0) }
	if t.lines.Terminal() { // there Ctrl-C is a key, and between an answer and the prompt it is none that ends anything
		until = core.Endable
		unheard := make(chan os.Signal, 1)
		signal.Notify(unheard, os.Interrupt)
		defer signal.Stop(unheard)
	}
	for {
		reading, stop := until(ctx)
		text, err := t.lines.Read(reading)
		ended := interruptedBy(reading)
		stop()
		switch {
		case ended != 0:
			t.view.Close()
			return 128 + ended, nil
		case errors.Is(err, io.EOF):
			return 0, nil
		case errors.Is(err, lineedit.ErrInterrupted):
			if pressed {
				return 0, nil
			}
			pressed = true
			t.view.Note("Ctrl-C once more ends the chat, as Ctrl-D does")
			continue
		case errors.Is(err, lineedit.ErrTooLong):
			t.bare = true
			fmt.Fprintf(t.out, "plimsoll: %v: put it where a tool of the agent can read it\n", err)
			continue
		case err != nil:
			return 0, err
		}
		pressed = false
		switch text = strings.TrimSpace(text); {
		case text == "":
		case t.isCommand(text):
			if ended := t.runCommand(ctx, text); ended {
				return 0, nil
			}
		default:
			if status, err := t.askQuestion(ctx, text); status != 0 || err != nil {
				return status, err
			}
		}
	}
}

// isCommand reports whether a text is a command and not a question: a single line that begins with a slash and a word, which a path
// ("/etc/hosts is …") does not.
func (t *talking) isCommand(text string) bool {
	word, _, _ := strings.Cut(text, " ")
	return strings.HasPrefix(word, "/") && !strings.Contains(text, "\n") && !strings.Contains(word[1:], "/")
}

// askQuestion asks one question and shows the answer. A status other than 0, or an error, ends the chat.
func (t *talking) askQuestion(ctx context.Context, text string) (status int, err error) {
	ctx, stop := core.Interruptible(ctx, 0)
	defer stop()
	r, err := t.chat.Ask(ctx, text, t.view.Event)
	if err != nil {
		t.view.Close()
		t.bare = true
		if by := interruptedBy(ctx); by != 0 {
			return t.interrupted(by), nil
		}
		if t.lines.Terminal() { // the next question may do better
			fmt.Fprintf(t.out, "plimsoll: %v\n", err)
			return 0, nil
		}
		return 0, err
	}
	by := interruptedBy(ctx)
	t.bare = t.bare || !r.Answered()
	if by != 0 {
		t.view.Close()
		return t.interrupted(by), nil
	}
	if err := t.view.Show(r); err != nil {
		return 0, err
	}
	if r.Answered() {
		t.view.Note("  %s", t.statusLine(r.Steps, r.Calls))
	}
	return 0, nil
}

// interrupted returns the status with which a signal during an answer ends the chat; 0 to continue, because Ctrl-C on a terminal stops only
// the answer.
func (t *talking) interrupted(by int) (status int) {
	if by == int(syscall.SIGINT) && t.lines.Terminal() {
		t.view.Note("  stopped; what was asked stays in the conversation")
		return 0
	}
	return 128 + by
}

// statusLine returns a line about the last answer's steps and calls, and the usage of the chat so far. 0 steps or calls are left out.
func (t *talking) statusLine(steps, calls int) string {
	parts := []string{}
	if steps > 0 {
		parts = append(parts, limit.Count(steps, "step"))
	}
	if calls > 0 {
		parts = append(parts, limit.Count(calls, "call"))
	}
	if t.chat.Window > 0 {
		parts = append(parts, fmt.Sprintf("window %s of %s (%d %%)", limit.Tokens(int64(t.chat.InWindow)), limit.Tokens(int64(t.chat.Window)), 100*t.chat.InWindow/t.chat.Window))
	} else {
		parts = append(parts, "window "+limit.Tokens(int64(t.chat.InWindow)))
	}
	u := t.chat.Usage
	so := fmt.Sprintf("so far %s in", limit.Tokens(int64(u.Input)))
	if u.Cached > 0 {
		so += fmt.Sprintf(" (%s of them cached)", limit.Tokens(int64(u.Cached)))
	}
	parts = append(parts, so+fmt.Sprintf(", %s out", limit.Tokens(int64(u.Output))))
	if t.chat.Priced {
		parts = append(parts, fmt.Sprintf("$%.4f", t.chat.Cost))
	}
	return strings.Join(parts, " · ")
}

// runCommand carries out a command, a line that begins with "/". ended reports that it ends the chat.
func (t *talking) runCommand(ctx context.Context, text string) (ended bool) {
	word, rest, _ := strings.Cut(text, " ")
	rest = strings.TrimSpace(rest)
	switch word {
	case "/quit", "/exit", "/q":
		return true
	case "/help", "/?":
		fmt.Fprintln(t.out, chatHelp)
	case "/clear", "/new":
		t.chat.Clear()
		fmt.Fprintln(t.out, "plimsoll: begun anew")
	case "/window", "/cost":
		fmt.Fprintln(t.out, "plimsoll: "+t.statusLine(0, 0))
	case "/tools":
		t.printTools(ctx)
	case "/save":
		if err := t.save(rest); err != nil {
			fmt.Fprintf(t.out, "plimsoll: %v\n", err)
		}
	default:
		fmt.Fprintf(t.out, "plimsoll: there is no command %s; these are: %s; a question that begins with a slash goes behind a space in three quotes\n", printable.Text(limit.ShortRunes(word, 40)), strings.Join(chatCommands, ", "))
	}
	return false
}

// printTools prints the tools that the agent may call.
func (t *talking) printTools(ctx context.Context) {
	list, err := t.chat.Tools(ctx)
	if err != nil {
		fmt.Fprintf(t.out, "plimsoll: %v\n", err)
		return
	}
	if len(list) == 0 {
		fmt.Fprintln(t.out, `plimsoll: no tools; --mcp "COMMAND" gives the agent those of an MCP server, --mcp-config FILE those of a client's file`)
		return
	}
	for _, tool := range list {
		fmt.Fprintf(t.out, "  %s  %s\n", tool.Name, limit.ShortRunes(printable.Text(tool.Description), max(20, 76-len(tool.Name))))
	}
}

// save writes the conversation into a new file; "" means a name by the session. An existing file is an error.
func (t *talking) save(path string) (err error) {
	if t.chat.Empty() {
		return errors.New("nothing was said yet")
	}
	if path == "" {
		path = "chat.md"
		if t.chat.Session != "" {
			path = "chat-" + config.SafeName(t.chat.Session) + ".md"
		}
	}
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			path = filepath.Join(home, rest)
		}
	}
	folder, name, err := config.OpenFolder(path)
	if err != nil {
		return fmt.Errorf("write the conversation down: %w", err)
	}
	defer folder.Close()
	f, err := folder.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("there is a file %s already; name another: /save FILE", printable.Text(path))
	}
	if err != nil {
		return fmt.Errorf("write the conversation down: %w", err)
	}
	text := t.chat.Markdown()
	_, err = io.WriteString(f, text)
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(fmt.Errorf("write the conversation down: %w", err), folder.Remove(name))
	}
	fmt.Fprintf(t.out, "plimsoll: written to %s, %s\n", printable.Text(path), limit.Bytes(len(text)).Human())
	return nil
}
