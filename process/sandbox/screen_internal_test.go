package sandbox

import (
	"strings"
	"testing"
)

// TestWhatATerminalIsSent: nothing where there are no control sequences, nothing that a console of the kernel might show, and no move of the
// cursor where a multiplexer keeps a place of its own.
func TestWhatATerminalIsSent(t *testing.T) {
	sent := func(variables ...string) string {
		return afterFullScreen(func(name string) string {
			for _, v := range variables {
				if value, ok := strings.CutPrefix(v, name+"="); ok {
					return value
				}
			}
			return ""
		})
	}
	if sent() != "" || sent("TERM=dumb") != "" {
		t.Error("control sequences for a terminal without")
	}
	if strings.ContainsAny(sent("TERM=linux"), "<=u") {
		t.Error("the kernel's console is sent what it may show")
	}
	for _, multiplexed := range []string{sent("TERM=xterm", "TMUX=1"), sent("TERM=tmux-256color"), sent("TERM=screen.xterm"), sent("TERM=xterm", "STY=1")} {
		if strings.Contains(multiplexed, "1049") || !strings.Contains(multiplexed, "1047") {
			t.Errorf("a multiplexer is sent %q", multiplexed)
		}
	}
	if !strings.Contains(sent("TERM=xterm-256color"), "1049") {
		t.Error("the cursor does not go back to where it was")
	}
}
