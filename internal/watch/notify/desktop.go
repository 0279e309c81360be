package notify

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"
)

// desktop shows notices on the screen.
type desktop struct{ o Options }

// String returns the word for the desktop.
func (d *desktop) String() string { return Desktop }

// desktopTime is the time that the desktop's program gets before the terminal takes its place.
const desktopTime = time.Second

// Check returns an error when there is neither a program nor a terminal.
func (d *desktop) Check() error {
	_, err := d.program()
	if err == nil || d.o.Terminal != nil {
		return nil
	}
	return err
}

// program returns the path of the program that shows a notice here.
func (d *desktop) program() (string, error) {
	name, install := "notify-send", "install it (libnotify-bin, or libnotify)"
	switch d.o.GOOS {
	case "windows":
		return "", errors.New("notices on the desktop of Windows are not in this version; name a URL or a command")
	case "darwin":
		name, install = "osascript", "it comes with macOS"
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("%s is not in PATH: %s, or name a URL or a command", name, install)
	}
	return path, nil
}

// Send shows the notice by the desktop's program, and where there is none or it fails, on the terminal, if there is one.
func (d *desktop) Send(ctx context.Context, n Notice) error {
	path, err := d.program()
	if err == nil {
		timed := ctx
		if d.o.Terminal != nil {
			var cancel context.CancelFunc
			timed, cancel = context.WithTimeout(ctx, desktopTime)
			defer cancel()
		}
		if err = runProgram(timed, argv(path, d.o.GOOS, &n), d.o.Environ, nil); err == nil {
			return nil
		}
	}
	if d.o.Terminal == nil || d.o.GOOS == "windows" {
		return err
	}
	_, err = io.WriteString(d.o.Terminal, terminalSequence(&n, d.o.Environ))
	return err
}

// argv returns the command line that shows a notice. No text of it can be taken for a flag or for a script.
func argv(path, goos string, n *Notice) []string {
	if goos == "darwin" {
		return []string{
			path, "-e", "on run argv", "-e", "display notification (item 2 of argv) with title (item 1 of argv)", "-e", "end run",
			n.Title, n.Text,
		}
	}
	urgency := "critical"
	if n.Cause == Turn || n.Cause == Waiting {
		urgency = "normal"
	}
	return []string{path, "--app-name=plimsoll", "--urgency=" + urgency, "--", markup.Replace(n.Title), markup.Replace(n.Text)}
}

// markup escapes what a notification server would read as markup (Desktop Notifications Specification 1.2, section Markup).
var markup = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// terminalSequence returns the sequences by which a terminal shows a notice, and its bell: OSC 777 (urxvt, foot), else OSC 9 (iTerm2, WezTerm, kitty,
// Ghostty and others). A terminal that knows neither leaves them out, but the console of Linux and dumb ones get the bell alone.
func terminalSequence(n *Notice, environ []string) string {
	env := func(name string) (value string) {
		for _, e := range environ {
			if v, ok := strings.CutPrefix(e, name+"="); ok {
				value = v
			}
		}
		return value
	}
	term := env("TERM")
	title, text := cleanText(n.Title, maxName), cleanText(n.Text, maxText)
	var osc string
	switch {
	case term == "" || term == "dumb" || term == "linux":
		return "\a"
	case strings.HasPrefix(term, "foot") || strings.HasPrefix(term, "rxvt"):
		// A semicolon ends the title.
		osc = "\x1b]777;notify;" + strings.ReplaceAll(title, ";", ",") + ";" + text + "\x1b\\"
	default:
		osc = "\x1b]9;" + title + ": " + text + "\x1b\\"
	}
	if env("TMUX") != "" { // tmux lets it through with allow-passthrough
		osc = "\x1bPtmux;" + strings.ReplaceAll(osc, "\x1b", "\x1b\x1b") + "\x1b\\"
	}
	return osc + "\a"
}
