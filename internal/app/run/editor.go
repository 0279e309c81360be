package run

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/plimsoll/plimsoll/internal/printable"
	"github.com/plimsoll/plimsoll/internal/tools/acp"
	"github.com/plimsoll/plimsoll/internal/tools/wrap"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/process/admission"
	"github.com/plimsoll/plimsoll/process/sandbox"
)

const (
	// editorPatience bounds the wait of an editor that has asked for the agent to be admitted.
	editorPatience = 15 * time.Second
	// editorNote is the time between two notes of the traffic while sessions neither begin nor end.
	editorNote = time.Minute
	// lastOutput bounds the time for the agent's last words to pass when it has ended: what it left behind may hold its output open.
	lastOutput = time.Second
	// maxNotedSessions bounds the sessions in one note.
	maxNotedSessions = 16
)

// editor is the relay between an editor and an agent that speak the Agent Client Protocol over the streams of a run.
type editor struct {
	relay    *acp.Relay
	inRun    string // the file of [EnterRun], "" where MCP servers stay as they are
	answered int64
	queue    atomic.Pointer[admission.Progress] // where the run stands
}

// startRelay sets x.editor to a relay between an editor and the command, if the command may speak the editor's protocol and both standard
// streams are pipes. Otherwise x.editor stays nil and the command has the streams for itself. SIGPIPE no longer ends this process then.
func (x *process) startRelay() {
	if !acp.Spoken(x.opts.Command) || !isPipe(os.Stdin) || !isPipe(os.Stdout) {
		return
	}
	// What is written to an editor that has died would end this process before it has cleaned up.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	e := &editor{}
	e.relay = acp.New(acp.Options{In: os.Stdin, Out: os.Stdout, Gateway: x.gatewayOf(e), Changed: func(s acp.State) { x.noteEditor(e, s) }})
	x.editor = e
}

// isPipe reports whether f is a pipe or a socket; false if that is not known.
func isPipe(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&(os.ModeNamedPipe|os.ModeSocket) != 0
}

// gatewayOf returns a function that puts an MCP server which the editor names behind the gateway, by returning another command and arguments for
// it ("" for none); nil when [mcp] wrap is off or the path of this program is not known.
func (x *process) gatewayOf(e *editor) acp.Gateway {
	self, err := os.Executable()
	if x.decision.Settings.MCP.Wrap == "off" || err != nil {
		return nil
	}
	return func(name, command string, args []string) (string, []string) {
		if e.inRun == "" {
			return "", nil
		}
		return wrap.Options{Command: self, InRun: e.inRun}.Before(name, command, args)
	}
}

// awaitEditor returns a context for the wait for admission. It is cancelled with a notAdmittedError editorPatience after the editor has
// asked for something; without an editor it is ctx. The function returned ends the wait.
func (x *process) awaitEditor(ctx context.Context) (context.Context, func()) {
	if x.editor == nil {
		return ctx, func() {}
	}
	waiting, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-waiting.Done():
			return
		case <-x.editor.relay.Asked():
		}
		select {
		case <-waiting.Done():
		case <-time.After(editorPatience):
			cancel(&notAdmittedError{x.editor.queue.Load()})
		}
	}()
	return waiting, func() { cancel(nil) }
}

// notAdmittedError means that the run was not admitted for as long as an editor waits. at is its last place in the queue, nil if unknown.
type notAdmittedError struct{ at *admission.Progress }

func (e *notAdmittedError) Error() string {
	text := fmt.Sprintf("not admitted within %s, which is as long as an editor waits", printable.Duration(editorPatience))
	if e.at != nil {
		text += fmt.Sprintf(": %d in the queue, for %s", e.at.Position, e.at.Reason)
	}
	return text + "; plimsoll top shows who holds what"
}

// connectEditor gives the command streams of its own, which the relay reads and writes. When the command runs, started closes its ends of
// them in this process and connects the relay. Without an editor it does nothing.
func (x *process) connectEditor(spec *sandbox.Spec) (started func(), err error) {
	e := x.editor
	if e == nil {
		return func() {}, nil
	}
	if folder, err := x.privateFolder(spec.ID); err == nil && x.decision.Settings.MCP.Wrap != "off" {
		file := filepath.Join(folder, "run.env")
		if err = os.MkdirAll(folder, 0o700); err == nil {
			x.closer.Do(func() { _ = os.RemoveAll(filepath.Dir(folder)) })
			err = writeRunEnv(file, spec.ID, spec.Env)
		}
		if err != nil {
			x.report.warn("mcp", "MCP servers of the editor are not behind the gateway: "+err.Error())
		} else {
			e.inRun = file
		}
	}
	in, toAgent, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	fromAgent, out, err := os.Pipe()
	if err != nil {
		_ = in.Close()
		_ = toAgent.Close()
		return nil, err
	}
	spec.Files = []*os.File{in, out, os.Stderr}
	if spec.Caller != nil {
		spec.Caller.Needed = func() bool { return e.relay.State().Confirmed }
	}
	return func() {
		_ = in.Close()
		_ = out.Close()
		e.relay.Connect(toAgent, fromAgent)
	}, nil
}

// watchEditor writes the state of the traffic to the journal once a minute when it has changed, until stop is called, which also waits for
// lastOutput at most until the agent's output has passed.
func (x *process) watchEditor() (stop func()) {
	e := x.editor
	if e == nil {
		return func() {}
	}
	quit, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		t := time.NewTicker(editorNote)
		defer t.Stop()
		var before acp.State
		for {
			select {
			case <-quit:
				return
			case <-t.C:
			}
			if s := e.relay.State(); s.Confirmed && (s.Requests != before.Requests || s.LongestLine != before.LongestLine || lastActive(s).After(lastActive(before))) {
				x.noteEditor(e, s)
				before = s
			}
		}
	}()
	return func() {
		close(quit)
		<-over
		select {
		case <-e.relay.Passed():
		case <-time.After(lastOutput):
		}
	}
}

// lastActive returns when one of the sessions was active last, zero without sessions.
func lastActive(s acp.State) (last time.Time) {
	for _, one := range s.Sessions {
		if one.Active.After(last) {
			last = one.Active
		}
	}
	return last
}

// noteEditor writes the state of the editor's traffic to the journal, with the last maxNotedSessions sessions.
func (x *process) noteEditor(e *editor, s acp.State) {
	said := journal.Editor{
		Open: len(s.Sessions), Opened: s.Opened, Requests: s.Requests, Answered: e.answered, LongestLine: s.LongestLine, Servers: s.Wrapped, Missed: s.Missed,
	}
	for _, one := range s.Sessions[max(0, len(s.Sessions)-maxNotedSessions):] {
		said.Sessions = append(said.Sessions, journal.EditorSession{
			ID: one.ID, Folder: one.Folder, Began: one.Began.UTC().Format(time.RFC3339), Active: one.Active.UTC().Format(time.RFC3339),
			UsedTokens: one.Used, SizeTokens: one.Size,
		})
	}
	x.report.journal.Append(journal.EditorSeen{Editor: said})
}

// answerEditor answers the requests that the agent has left open with an error, if the run did not start, was ended by a limit or a signal, or ran
// out of memory; otherwise the editor would wait for ever. After an agent that ended by itself it answers nothing. The last state of the traffic
// goes into the journal.
func (x *process) answerEditor() {
	e := x.editor
	if e == nil {
		return
	}
	r := x.report
	all := r.reporter.Report()
	said := ""
	switch {
	case r.failed != "":
		said = r.failed
	case r.outcome == journal.OutcomeOOM || r.outcome == journal.OutcomeLimit:
		said = r.lastWords(x.decision.basis())
	case r.outcome == journal.OutcomeSignalled:
		said = fmt.Sprintf("%s was ended by %s", all.Tool, all.Signal)
	}
	if said != "" {
		f := acp.Failure{Reason: string(r.outcome), Limit: all.LimitBytes, Peak: all.PeakBytes}
		for _, p := range all.KilledChildren {
			f.Killed = append(f.Killed, printable.Name(p.Name))
		}
		if r.outcome == journal.OutcomeOOM {
			f.Killed = append(f.Killed, all.Tool)
		}
		said, _, _ = strings.Cut(said, "\n") // what follows are sums, for a terminal
		e.answered += int64(e.relay.Fail(printable.Text(said), f))
	}
	if s := e.relay.State(); s.Confirmed && r.store != nil {
		x.noteEditor(e, s)
	}
}

// mostVariants bounds the sizes by which runs with an editor are told apart.
const mostVariants = 8

// historyVariant returns the name under which the history keeps runs like this one: "N-sessions" if an editor had N sessions at once, since
// each takes memory of its own; else the decision's variant.
func (x *process) historyVariant() string {
	if x.editor != nil {
		if n := min(x.editor.relay.State().Most, mostVariants); n > 1 {
			return fmt.Sprintf("%d-sessions", n)
		}
	}
	return x.decision.Variant
}

// fail ends a run that did not start, tells the editor, and returns the status of this process.
func (x *process) fail(err error) Status {
	status := x.report.fail(err)
	x.answerEditor()
	return status
}

// findCaller returns the program that talks to the command over standard input, such as an editor, with which the run ends; nil for none. If the
// run has a claim, it starts a guard process that cleans up in case that program's end kills both the command and this process.
func (x *process) findCaller() *sandbox.Caller {
	caller, ok := sandbox.FindCaller()
	if !ok {
		return nil
	}
	self, err := os.Executable()
	if err == nil && x.claim != nil {
		var dismiss func()
		if dismiss, err = sandbox.Guard(self, self, "gc"); err == nil {
			x.closer.Do(dismiss)
		}
	}
	if err != nil {
		x.report.warn("caller", "what the run leaves if both it and plimsoll are killed waits for the next command: "+err.Error())
	}
	return &caller
}
