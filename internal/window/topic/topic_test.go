package topic_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/window/topic"
	"github.com/plimsoll/plimsoll/window/wire"
)

// A talk is written in Anthropic's dialect or OpenAI's, message by message.
type talk struct {
	chat bool
	list []string
}

func (k *talk) user(text string) *talk {
	k.list = append(k.list, fmt.Sprintf(`{"role":"user","content":%q}`, text))
	return k
}

func (k *talk) says(text string) *talk {
	k.list = append(k.list, fmt.Sprintf(`{"role":"assistant","content":%q}`, text))
	return k
}

func (k *talk) system(text string) *talk {
	k.list = append(k.list, fmt.Sprintf(`{"role":"system","content":%q}`, text))
	return k
}

func (k *talk) call(tool, arguments, result string, failed bool) *talk {
	id := fmt.Sprintf("call_%d", len(k.list))
	if k.chat {
		k.list = append(k.list, fmt.Sprintf(`{"role":"assistant","content":null,"tool_calls":[{"id":%q,"type":"function","function":{"name":%q,"arguments":%q}}]}`, id, tool, arguments),
			fmt.Sprintf(`{"role":"tool","tool_call_id":%q,"content":%q}`, id, result))
		return k
	}
	k.list = append(k.list, fmt.Sprintf(`{"role":"assistant","content":[{"type":"tool_use","id":%q,"name":%q,"input":%s}]}`, id, tool, arguments),
		fmt.Sprintf(`{"role":"user","content":[{"type":"tool_result","tool_use_id":%q,"content":%q,"is_error":%v}]}`, id, result, failed))
	return k
}

func (k *talk) request(t testing.TB) *wire.Request {
	t.Helper()
	d := wire.Messages
	if k.chat {
		d = wire.Chat
	}
	return parsed(t, d, []byte(`{"model":"m","max_tokens":9,"messages":[`+strings.Join(k.list, ",")+`]}`))
}

func newTalk(chat bool) *talk { return &talk{chat: chat} }

func todos(items ...string) string {
	var list []string
	for _, item := range items {
		list = append(list, fmt.Sprintf(`{"content":%q,"status":"pending","activeForm":"x"}`, item))
	}
	return `{"todos":[` + strings.Join(list, ",") + `]}`
}

func shell(command string) string { return fmt.Sprintf(`{"command":%q}`, command) }

// TestBoundaries goes through what is a boundary and what is none, as "message sign" each.
func TestBoundaries(t *testing.T) {
	work := func(k *talk) *talk { return k.user("Mend it.").call("Bash", shell("make"), "ok", false) }
	for name, c := range map[string]struct {
		talk  func(*talk) *talk
		want  string
		stand bool // the request stands at the last of them
	}{
		"the task":                 {func(k *talk) *talk { return k.user("Mend it.") }, "", false},
		"a prompt after an answer": {func(k *talk) *talk { return work(k).says("Done.").user("And now the docs.") }, "4 prompt", true},
		"and the work that follows": {func(k *talk) *talk {
			return work(k).says("Done.").user("And now the docs.").call("Bash", shell("ls"), "x", false)
		}, "4 prompt", false},
		"a prompt while tools run":    {func(k *talk) *talk { return work(k).user("Faster!") }, "", false},
		"two answers, two boundaries": {func(k *talk) *talk { return work(k).says("Done.").user("And a?").says("Yes.").user("And b?") }, "4 prompt, 6 prompt", true},
		"a word of the system between": {func(k *talk) *talk {
			return work(k).says("Done.").system("Agents: x").user("And now the docs.")
		}, "5 prompt", true},
		"a reminder of the client": {func(k *talk) *talk {
			return work(k).says("Done.").user("<system-reminder>\nGo on.\n</system-reminder>")
		}, "", false},
		"a notification": {func(k *talk) *talk {
			return work(k).says("Done.").user("<task-notification>done</task-notification>")
		}, "", false},
		"a note in brackets": {func(k *talk) *talk { return work(k).says("Done.").user("[Request interrupted by user]") }, "", false},
		"a reminder, then a prompt": {func(k *talk) *talk {
			return work(k).says("Done.").user("<system-reminder>\nx\n</system-reminder>").user("And now the docs.")
		}, "4 prompt", true},
		"a client's opening words": {func(k *talk) *talk {
			return k.user("This is the Gemini CLI. We are setting up the context for our chat. Today is").says("Got it.").user("Mend it.")
		}, "", false},
		"the list grows": {func(k *talk) *talk {
			return work(k).call("TodoWrite", todos("read it", "mend it"), "ok", false).call("TodoWrite", todos("read it", "mend it", "test it"), "ok", false)
		}, "", false},
		"another list": {func(k *talk) *talk {
			return work(k).call("TodoWrite", todos("read it", "mend it"), "ok", false).call("TodoWrite", todos("write docs", "send them"), "ok", false)
		}, "5 todos", true},
		"another list after a prompt": {func(k *talk) *talk {
			return work(k).call("TodoWrite", todos("read it", "mend it"), "ok", false).says("Done.").user("And now the docs.").
				call("Read", `{"file_path":"a.md"}`, "x", false).call("TodoWrite", todos("write docs", "send them"), "ok", false)
		}, "6 todos", true},
		"a branch": {func(k *talk) *talk {
			return work(k).call("Bash", shell("cd /repo && git switch -c docs"), "Switched to a new branch 'docs'", false)
		}, "3 branch", true},
		"the same branch": {func(k *talk) *talk {
			return work(k).call("Bash", shell("git checkout -b docs"), "ok", false).call("Bash", shell("git checkout docs"), "ok", false)
		}, "3 branch", false},
		"a file is checked out": {func(k *talk) *talk {
			return work(k).call("Bash", shell("git checkout -- main.go"), "", false).call("Bash", shell("git checkout main.go"), "", false)
		}, "", false},
		"words about branches": {func(k *talk) *talk {
			return work(k).call("Bash", shell("echo git switch docs"), "git switch -c docs", false)
		}, "", false},
		"the client began anew": {func(k *talk) *talk {
			return work(k).user("<command-name>/clear</command-name>\n<command-message>clear</command-message>").user("Mend something else.")
		}, "3 clear", true},
		"another directory": {func(k *talk) *talk {
			return k.user("<environment_context>\n<cwd>/a</cwd>\n</environment_context>").user("Mend it.").call("Bash", shell("make"), "ok", false).
				user("<environment_context>\n<cwd>/b</cwd>\n</environment_context>").user("And here.")
		}, "4 directory", true},
		"the same directory": {func(k *talk) *talk {
			return k.user("<environment_context>\n<cwd>/a</cwd>\n</environment_context>").user("Mend it.").call("Bash", shell("make"), "ok", false).
				user("<environment_context>\n<cwd>/a</cwd>\n</environment_context>").user("And here.")
		}, "", false},
	} {
		for _, chat := range []bool{false, true} {
			r := c.talk(newTalk(chat)).request(t)
			var got []string
			for _, b := range topic.Boundaries(r, topic.Options{}) {
				got = append(got, fmt.Sprintf("%d %s", b.At, b.Sign))
			}
			if strings.Join(got, ", ") != c.want {
				t.Errorf("%s (chat %v): %v, want %s", name, chat, got, c.want)
			}
			if _, ok := topic.Newest(r, topic.Options{}); ok != c.stand {
				t.Errorf("%s (chat %v): stands at one: %v", name, chat, ok)
			}
		}
	}
	// An error of git is no new branch.
	r := work(newTalk(false)).call("Bash", shell("git switch docs"), "fatal: invalid reference: docs", true).request(t)
	if b, ok := topic.Newest(r, topic.Options{}); ok {
		t.Errorf("a switch that failed: %+v", b)
	}
}

// A prompt after half an hour begins something new also where the agent was interrupted; a result that took as long does not.
func TestIdle(t *testing.T) {
	r := newTalk(false).user("Mend it.").call("Bash", shell("make"), "ok", false).user("Leave it. What about the docs?").request(t)
	for idle, want := range map[time.Duration]bool{0: false, topic.IdleAfter - 1: false, topic.IdleAfter: true} {
		if b, ok := topic.Newest(r, topic.Options{Idle: idle}); ok != want || ok && (b.Sign != topic.Idle || b.At != 3) {
			t.Errorf("after %v: %+v, %v", idle, b, ok)
		}
	}
	r = newTalk(false).user("Mend it.").call("Bash", shell("make"), "ok", false).request(t)
	if b, ok := topic.Newest(r, topic.Options{Idle: 2 * topic.IdleAfter}); ok {
		t.Errorf("a slow tool: %+v", b)
	}
}

// Where a profile says what was typed, nothing else is a prompt.
func TestTypedDecides(t *testing.T) {
	r := newTalk(false).user("Mend it.").says("Done.").user("And now the docs.").request(t)
	typed := false
	o := topic.Options{Typed: func(*wire.Request, int) bool { return typed }, Idle: time.Hour}
	if b, ok := topic.Newest(r, o); ok {
		t.Errorf("nobody typed, and yet %+v", b)
	}
	typed = true
	if b, ok := topic.Newest(r, o); !ok || b.At != 2 {
		t.Errorf("typed: %+v, %v", b, ok)
	}
}
