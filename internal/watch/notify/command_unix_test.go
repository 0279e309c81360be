//go:build unix

package notify_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/testing/wait"
	"github.com/plimsoll/plimsoll/internal/watch/notify"
)

// script writes an executable.
func script(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return file
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestACommandGetsTheNoticeTwice(t *testing.T) {
	to := t.TempDir()
	file := script(t, "tell", `cat >"$1/in"; env >"$1/env"; pwd >"$1/pwd"; printf '%s\n' "$@" >"$1/args"; head -c 10000000 /dev/zero`)
	home := t.TempDir()
	t.Setenv("HOME", home)
	n := sample
	n.Text = `$(touch /tmp/no) "; ` + "`id`"
	if err := open(t, notify.Options{}, file, to, "a b", "$HOME;").Send(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	var got notify.Notice
	if err := json.Unmarshal([]byte(read(t, to+"/in")), &got); err != nil || got != n {
		t.Errorf("%+v: %v", got, err)
	}
	env := strings.Split(read(t, to+"/env"), "\n")
	for _, want := range []string{
		"PLIMSOLL_NOTICE_CAUSE=oom", "PLIMSOLL_NOTICE_TEXT=" + n.Text, "PLIMSOLL_NOTICE_RUN=w2vh6evefcly", "PLIMSOLL_NOTICE_TOOL=claude",
		"PLIMSOLL_NOTICE_PROJECT=shop", "PLIMSOLL_NOTICE_LIMIT_BYTES=4294967296", "PLIMSOLL_NOTICE_TIME=2026-11-24T09:00:00Z", "HOME=" + home,
	} {
		if !slices.Contains(env, want) {
			t.Errorf("the environment has no %s", want)
		}
	}
	if args := read(t, to+"/args"); args != to+"\na b\n$HOME;\n" {
		t.Errorf("%q", args)
	}
	if dir, _ := filepath.EvalSymlinks(home); strings.TrimSpace(read(t, to+"/pwd")) != dir {
		t.Errorf("it runs in %s, not at home", read(t, to+"/pwd"))
	}
}

func TestACommandThatFailsSaysWhy(t *testing.T) {
	for text, want := range map[string]string{
		`echo first; printf 'no route\033[2J to host\n' >&2; exit 3`: "exit status 3: no route�[2J to host",
		"exit 4": "exit status 4",
	} {
		if err := open(t, notify.Options{}, script(t, "tell", text)).Send(t.Context(), sample); err == nil || err.Error() != want {
			t.Errorf("%q, not %q", err, want)
		}
	}
	missing := open(t, notify.Options{}, "no-such-program-anywhere")
	if err := missing.Check(); err == nil || !strings.Contains(err.Error(), "no-such-program-anywhere") {
		t.Error(err)
	}
	if err := missing.Send(t.Context(), sample); err == nil {
		t.Error("it was given by a program that is not there")
	}
	if err := open(t, notify.Options{}, "sh").Check(); err != nil {
		t.Error(err)
	}
}

// A command that hangs is killed with its children, and one that leaves something behind too.
func TestACommandIsKilledWithWhatItStarted(t *testing.T) {
	for what, text := range map[string]string{
		"it hangs":          `sleep 100 & echo $! >"$1"; wait`,
		"it leaves a child": `sleep 100 & echo $! >"$1"`,
	} {
		pid := filepath.Join(t.TempDir(), "pid")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		began := time.Now()
		err := open(t, notify.Options{}, script(t, "tell", text), pid).Send(ctx, sample)
		cancel()
		if (err != nil) != (what == "it hangs") || time.Since(began) > 10*time.Second {
			t.Errorf("%s: %v after %s", what, err, time.Since(began))
		}
		child, err := strconv.Atoi(strings.TrimSpace(read(t, pid)))
		if err != nil {
			t.Fatal(err)
		}
		wait.Until(t, what+", and its child ends", func() bool { return !lives(child) })
	}
}

// lives says that a process runs. Nobody may be there to take the status of one that has ended.
func lives(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err != nil || !bytes.Contains(stat, []byte(") Z "))
}

// programs puts the named scripts, and nothing else but the system's own, on PATH.
func programs(t *testing.T, texts map[string]string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range texts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir)
}

func TestTheDesktopIsToldWithoutMarkupAndFlags(t *testing.T) {
	to := filepath.Join(t.TempDir(), "args")
	programs(t, map[string]string{
		"notify-send": `printf '%s\n' "$@" >` + to,
		"osascript":   `printf '%s\n' "$@" >` + to,
	})
	var screen bytes.Buffer
	n := sample
	n.Title = "--help"
	if err := open(t, notify.Options{GOOS: "linux", Terminal: &screen}, "desktop").Send(t.Context(), n); err != nil {
		t.Fatal(err)
	}
	want := "--app-name=plimsoll\n--urgency=critical\n--\n--help\nclaude in &lt;b&gt;shop&lt;/b&gt; &amp; co: killed at its memory limit of 4 GiB\n"
	if got := read(t, to); got != want {
		t.Errorf("%s, not\n%s", got, want)
	}
	if err := open(t, notify.Options{GOOS: "darwin", Terminal: &screen}, "desktop").Send(t.Context(), sample); err != nil {
		t.Fatal(err)
	}
	want = "-e\non run argv\n-e\ndisplay notification (item 2 of argv) with title (item 1 of argv)\n-e\nend run\n" + sample.Title + "\n" + sample.Text + "\n"
	if got := read(t, to); got != want || screen.Len() != 0 {
		t.Errorf("%s, not\n%s, and on the screen %q", got, want, screen.String())
	}
}

func TestATerminalTakesThePlaceOfTheDesktop(t *testing.T) {
	text := sample.Title + ": " + sample.Text
	for what, c := range map[string]struct {
		program string
		env     []string
		want    string
	}{
		"none":    {"", []string{"TERM=xterm-256color"}, "\x1b]9;" + text + "\x1b\\\a"},
		"fails":   {"echo no bus; exit 1", []string{"TERM=xterm-kitty"}, "\x1b]9;" + text + "\x1b\\\a"},
		"hangs":   {"/bin/sleep 100", []string{"TERM=xterm"}, "\x1b]9;" + text + "\x1b\\\a"},
		"foot":    {"", []string{"TERM=dumb", "TERM=foot"}, "\x1b]777;notify;" + sample.Title + ";" + sample.Text + "\x1b\\\a"},
		"tmux":    {"", []string{"TERM=tmux-256color", "TMUX=/tmp/x,1,0"}, "\x1bPtmux;\x1b\x1b]9;" + text + "\x1b\x1b\\\x1b\\\a"},
		"console": {"", []string{"TERM=linux"}, "\a"},
	} {
		texts := map[string]string{}
		if c.program != "" {
			texts["notify-send"] = c.program
		}
		programs(t, texts)
		var screen bytes.Buffer
		way := open(t, notify.Options{GOOS: "linux", Terminal: &screen, Environ: c.env}, "desktop")
		if err := way.Send(t.Context(), sample); err != nil || way.Check() != nil || screen.String() != c.want {
			t.Errorf("%s: %v, %v, %q, not %q", what, err, way.Check(), screen.String(), c.want)
		}
	}
}

func TestWhereNothingCanShowANoticeThatIsSaid(t *testing.T) {
	programs(t, nil)
	for system, want := range map[string]string{"linux": "notify-send is not in PATH", "darwin": "osascript is not in PATH", "windows": "name a URL or a command"} {
		way := open(t, notify.Options{GOOS: system}, "desktop")
		for _, err := range []error{way.Check(), way.Send(t.Context(), sample)} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v, not %q", system, err, want)
			}
		}
	}
}
