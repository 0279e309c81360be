package notify

import (
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/plimsoll/plimsoll/internal/watch/runs"
)

// FuzzNames: whatever an agent calls its processes and a project itself, nothing of it reaches a terminal or a desktop but as text, and
// no notice is long.
func FuzzNames(f *testing.F) {
	f.Add("claude", "shop", "jest", "TERM=xterm")
	f.Add("a\x1b]0;x\a", "b;c\n<a href='x'>", "\u202egnp.exe\x9b2J", "TERM=foot")
	f.Add("\xff\xfe", "", "--help\x00", "TMUX=1")
	f.Fuzz(func(t *testing.T, tool, project, name, env string) {
		e := runs.Entry{ID: "w2vh6evefcly", Kind: runs.KindRun, Tool: tool, Project: project}
		n := newNotice(ChildKilled, &e, time.Now(), killText(&runs.Kill{Name: name, PID: 1, Bytes: 1, By: "kernel"}))
		for _, text := range []string{n.Title, n.Text, n.Tool, n.Project} {
			if strings.ContainsFunc(text, unicode.IsControl) || strings.ContainsRune(text, '\u202e') || !utf8.ValidString(text) || len(text) > maxText+8 {
				t.Fatalf("%q", text)
			}
		}
		shown := terminalSequence(&n, []string{"TERM=xterm", env})
		body := strings.NewReplacer("\x1bPtmux;", "", "\x1b\x1b", "", "\x1b]9;", "", "]9;", "", "\x1b]777;", "", "]777;", "", "\x1b\\", "", "\a", "").Replace(shown)
		if strings.ContainsFunc(body, unicode.IsControl) {
			t.Fatalf("%q in %q", body, shown)
		}
		args := argv("notify-send", "linux", &n)
		if args[len(args)-3] != "--" || strings.ContainsAny(strings.Join(args[len(args)-2:], ""), "<>") {
			t.Fatalf("%q", args)
		}
	})
}
