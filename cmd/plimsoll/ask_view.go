package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/app"
	"github.com/plimsoll/plimsoll/internal/app/agents"
	"github.com/plimsoll/plimsoll/limit"
)

// askView shows a question being answered: the answer on standard output, what happens meanwhile on standard error, for a person.
type askView struct {
	out, err io.Writer
	// live is true when pieces of the answer are shown as they come; else the answer is printed at
	// the end, when it is certain.
	live, person bool
	open         bool // a line without an end is on the screen
	shown        int  // bytes of this step's text
}

// newAskView returns a view that writes the answer to out and notes to err. With live the text is shown as it comes; without person the notes are
// left out.
func newAskView(out, err io.Writer, live, person bool) *askView {
	return &askView{out: plainWriter(out), err: plainWriter(err), live: live, person: person}
}

// begin notes who is asked of which model: for a person, and for the stand-in for a model always.
func (v *askView) begin(who agents.AskedAgent) {
	if who.Standin {
		fmt.Fprintf(v.err, "plimsoll: %s is asked of %s: it goes by keywords\n", who.Agent, who.Model)
	} else if v.person {
		fmt.Fprintf(v.err, "plimsoll: %s asks %s\n", who.Agent, who.Model)
	}
}

// Note writes a line for a person, dimmed on a terminal that has colours. Without a person it writes nothing.
func (v *askView) Note(format string, args ...any) {
	if !v.person {
		return
	}
	v.Close()
	text := fmt.Sprintf(format, args...)
	if os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" {
		// Not through plain, which lets no escape pass: the text has gone through it.
		fmt.Fprintf(unwrapWriter(v.err), "\x1b[2m%s\x1b[0m\n", app.Printable(text))
		return
	}
	fmt.Fprintln(v.err, text)
}

// Close ends the line of a text that is being shown, if there is one. The view can be used on.
func (v *askView) Close() {
	if v.open {
		fmt.Fprintln(v.out)
		v.open = false
	}
}

// Event shows an event while a question is answered: the text as it comes, if the answer is shown live, and notes for a person about calls
// of tools and what holds it up. Other events are not shown.
func (v *askView) Event(e agents.Event) {
	switch e.Kind {
	case "queued":
		v.Note("  waiting: %s", e.Text)
	case "step":
		v.Close()
		v.shown = 0
	case "text":
		if v.live {
			fmt.Fprint(v.out, e.Text)
			v.open = v.open || e.Text != ""
			if strings.HasSuffix(e.Text, "\n") {
				v.open = false
			}
			v.shown += len(e.Text)
		}
	case "discarded":
		if v.shown > 0 {
			v.Note("  that broke off and is asked for again")
		}
	case "call":
		v.Note("  → %s %s", e.Call.Name, shortArguments(e.Call.Arguments))
	case "result":
		v.Note("  %s", resultNote(e))
	case "retry":
		v.Note("  again in %s (try %d): %s", e.Wait.Round(100*time.Millisecond), e.Tries, e.Err)
	case "room":
		v.Note("  the conversation is shortened: %s", e.Text)
	case "nudge":
		v.Note("  it repeats itself and is told so: %s", e.Text)
	case "warning":
		v.Note("  %s", e.Text)
	}
}

// resultNote returns a note on the result of a call: its size, its time and whether it failed.
func resultNote(e agents.Event) string {
	name, text := "", ""
	if e.Call != nil {
		name = e.Call.Name
	}
	r := e.Result
	if r == nil {
		return "← " + name
	}
	text = fmt.Sprintf("← %s %s in %s", name, limit.Bytes(r.Size).Human(), r.Took.Round(10*time.Millisecond))
	if r.Failed {
		text += ", failed: " + firstLine(r.Text)
	}
	return text
}

// firstLine returns the first line that is not empty, of at most 160 characters.
func firstLine(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return clipped(s)
}

// shortArguments returns arguments in one line of bounded length; "" for an empty object.
func shortArguments(s string) string {
	var b bytes.Buffer
	if json.Compact(&b, []byte(s)) == nil {
		s = b.String()
	}
	if s == "{}" {
		return ""
	}
	return clipped(strings.ReplaceAll(s, "\n", " "))
}

// showEnd shows how a question ended, and a note on how much it took.
func (v *askView) showEnd(r agents.AskReport) error {
	if err := v.Show(r); err != nil {
		return err
	}
	if r.Answered() && r.Outcome == "completed" && v.person {
		v.Note("  %s, %s, %d tokens in, %d out", limit.Count(r.Steps, "step"), limit.Count(r.Calls, "call"), r.Usage.Input, r.Usage.Output)
	}
	return nil
}

// Show prints the answer, unless its text was shown as it came, and then the reason if there is none or it did not come to its end.
func (v *askView) Show(r agents.AskReport) error {
	v.Close()
	if !v.live && r.Answer != "" {
		if _, err := fmt.Fprintln(v.out, strings.TrimRight(r.Answer, "\n")); err != nil {
			return err
		}
	}
	if r.Answered() && r.Outcome == "completed" {
		return nil
	}
	text := string(r.Outcome)
	if r.Detail != "" {
		text += ": " + r.Detail
	}
	if r.Error != "" && !strings.Contains(text, r.Error) {
		text += ": " + r.Error
	}
	fmt.Fprintln(v.err, "plimsoll: "+text)
	return nil
}

// clipped returns a text of at most 160 characters.
func clipped(s string) string {
	return limit.ShortRunes(s, 160)
}
