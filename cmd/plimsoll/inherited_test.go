//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/testing/wait"
)

// TestWhatTheParentSetPassesOn: the working directory, umask and ignored signals are the command's.
func TestWhatTheParentSetPassesOn(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, layer := range layersHere() {
		s.wrap = []string{"sh", "-c", `umask 077; trap "" HUP INT; exec "$@"`, "sh"}
		o := s.plimsoll("run", "--enforcement", "off", "--layer", layer, "--", "agent", "around")
		if want := "umask 077\nhup ignored true\nint ignored true\n"; o.stdout != want {
			t.Errorf("%s: %q, want %q; %s", layer, o.stdout, want, o.stderr)
		}
		s.wrap = nil
		if o := s.plimsoll("run", "--enforcement", "off", "--layer", layer, "--", "agent", "around"); !strings.Contains(o.stdout, "hup ignored false\nint ignored false") {
			t.Errorf("%s: %q", layer, o.stdout)
		}
		if o := s.plimsoll("run", "--enforcement", "off", "--layer", layer, "--", "pwd"); strings.TrimSpace(o.stdout) != s.dir {
			t.Errorf("%s: in %q, want %q", layer, o.stdout, s.dir)
		}
	}
}

func TestClosedStreamsStopNothing(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, c := range []struct {
		closed, command, want string
	}{
		{"<&-", "echo out; echo err >&2", "out\n"},
		{">&-", "echo err >&2; touch ran; exit 0", ""},
		{"2>&-", "echo out", "out\n"},
		{"<&- >&- 2>&-", "touch ran; exit 0", ""},
	} {
		for _, layer := range layersHere() {
			ran := filepath.Join(s.dir, "ran")
			_ = os.Remove(ran)
			s.wrap = []string{"sh", "-c", `exec "$@" ` + c.closed, "sh"}
			o := s.plimsoll("run", "--layer", layer, "--", "sh", "-c", c.command)
			if o.code != 0 || o.stdout != c.want {
				t.Errorf("%s with %s: status %d, stdout %q, stderr %q", layer, c.closed, o.code, o.stdout, o.stderr)
			}
			if _, err := os.Stat(ran); strings.Contains(c.command, "ran") && err != nil {
				t.Errorf("%s with %s: it did not run", layer, c.closed)
			}
		}
	}
}

// TestClosedStreamsAreNotAnotherFile: with a closed stream the lowest descriptors are free, and
// what we open must not become the command's standard output.
func TestClosedStreamsAreNotAnotherFile(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	file := filepath.Join(s.dir, "fds")
	for _, layer := range layersHere() {
		s.wrap = []string{"sh", "-c", `exec "$@" <&- >&- 2>&-`, "sh"}
		s.plimsoll("run", "--layer", layer, "--", "sh", "-c", "for fd in 0 1 2; do readlink /proc/$$/fd/$fd; done 3>&- >"+file)
		body, err := os.ReadFile(file)
		if err != nil {
			t.Skip("no /proc here")
		}
		for line := range strings.Lines(string(body)) {
			if line = strings.TrimSpace(line); line != "/dev/null" && line != file {
				t.Errorf("%s: a stream of the command is %s", layer, line)
			}
		}
	}
}

func TestNohupSurvivesAHangup(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("nohup"); err != nil {
		t.Skip("no nohup")
	}
	s := newSite(t)
	s.wrap = []string{"nohup"}
	ready := filepath.Join(s.dir, "ready")
	cmd := s.command("run", "--", "agent", "ready", ready)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the agent is ready", func() bool { info, err := os.Stat(ready); return err == nil && info.Size() > 0 })
	if err := exec.Command("kill", "-HUP", pidOf(cmd)).Run(); err != nil {
		t.Fatal(err)
	}
	if slots := s.live().Runs; len(slots) != 1 {
		t.Errorf("%d slots after SIGHUP, want 1", len(slots))
	}
	in.Close()
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	select {
	case err := <-done:
		if err != nil {
			t.Errorf("it ended with %v", err)
		}
	case <-time.After(time.Minute):
		_ = cmd.Process.Kill()
		t.Error("it does not end")
	}
}
