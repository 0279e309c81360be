// Package notify informs a person who has no Prometheus of what they would want to hear of a run: it was killed for memory, reached a limit, was
// refused, waits for longer than [LongWait], got its turn, or its plimsoll was killed.
//
//	way, err := notify.Open(words, notify.Options{Terminal: os.Stderr}) // "desktop", a URL, or a command
//	sender := notify.NewSender(way, notify.SenderOptions{Fail: warn})
//	own := notify.NewOwn(sender, header)                                // a journal.Observer of this process's own run
//	err = notify.Watch(ctx, notify.WatchOptions{StateDir: dir, Sender: sender, ID: notify.ID(words)})
//
// Each cause is told once for a run: one that tells of itself names the way in its header, and who watches the store by the same way tells only
// of its death. A URL gets the [Notice] as JSON, at most three times and without redirects to other hosts; a command gets it on standard
// input, without a shell, and is killed with what it started when its time is over. Names are made harmless before they are shown.
//
// A [Sender] never makes its caller wait: [MaxQueue] notices wait, what finds no room is counted, and each is sent within [Timeout].
package notify

import (
	"fmt"
	"time"

	"github.com/plimsoll/plimsoll/internal/printable"
	"github.com/plimsoll/plimsoll/internal/secrets"
	"github.com/plimsoll/plimsoll/internal/watch/runs"
	"github.com/plimsoll/plimsoll/limit"
)

// Cause is the reason for a notice.
type Cause string

// The causes.
const (
	OOM         Cause = "oom"          // the command itself was killed for memory
	ChildKilled Cause = "child_killed" // a child of it was, or an MCP server
	Limit       Cause = "limit"        // it was ended at another limit
	Refused     Cause = "refused"      // it was not admitted
	Waiting     Cause = "waiting"      // it waits for longer than LongWait
	Turn        Cause = "turn"         // it got its turn after TurnAfter or more
	Loop        Cause = "loop"         // the agent repeats itself
	Spend       Cause = "spend"        // it has spent four fifths, or all, of what it may
	Died        Cause = "died"         // its plimsoll was killed
	Forgotten   Cause = "forgotten"    // when it started, idle runs held more than a quarter of the machine
)

const (
	// LongWait is the wait of a run after which a notice is given.
	LongWait = 5 * time.Minute
	// TurnAfter is the least wait of a run for a notice of its turn.
	TurnAfter = time.Minute
)

// Schema is the version of a notice's JSON. Keys are only added within a version.
const Schema = 1

// Notice is the message, as a webhook and a command get it in JSON. Sizes are in bytes.
type Notice struct {
	Schema int   `json:"schema"`
	Cause  Cause `json:"cause"`
	// Title is the cause in a few words, Text a sentence that names tool and project too.
	Title   string    `json:"title"`
	Text    string    `json:"text"`
	Time    time.Time `json:"time"`
	Run     string    `json:"run"` // for plimsoll runs
	Kind    string    `json:"kind"`
	Tool    string    `json:"tool"`
	Project string    `json:"project"`
	// Outcome is that of the run's entry: "running" while it lives.
	Outcome    string `json:"outcome"`
	PeakBytes  int64  `json:"peak_bytes,omitempty"`
	LimitBytes int64  `json:"limit_bytes,omitempty"`
	WaitedMS   int64  `json:"waited_ms,omitempty"`
}

// titles are the causes in words.
var titles = map[Cause]string{
	OOM: "killed for memory", ChildKilled: "a process was killed for memory", Limit: "ended at a limit", Refused: "not admitted",
	Waiting: "still waiting", Turn: "got its turn", Loop: "an agent repeats itself", Spend: "near its limit of spending", Died: "died", Forgotten: "idle runs hold much memory",
}

// Bounds of what is told, in bytes.
const (
	maxName = 80
	maxText = 400
)

// newNotice puts a cause into words. event describes what happened, without tool and project.
func newNotice(c Cause, e *runs.Entry, at time.Time, event string) Notice {
	n := Notice{
		Schema: Schema, Cause: c, Title: "plimsoll: " + titles[c], Time: at.UTC(), Run: e.ID, Kind: e.Kind, Tool: cleanText(e.Tool, maxName),
		Project: cleanText(e.Project, maxName), Outcome: e.Outcome, PeakBytes: e.PeakBytes, LimitBytes: e.LimitBytes,
	}
	subject := n.Tool
	if n.Project != "" {
		subject += " in " + n.Project
	}
	n.Text = cleanText(subject+": "+event, maxText)
	return n
}

// cleanText makes the words of others fit for a terminal, with at most maxBytes bytes, and masks credentials in them.
func cleanText(text string, maxBytes int) string {
	return limit.Short(printable.Name(secrets.Text(text)), maxBytes)
}

// killText returns words about a kill for memory: which process it was, at how many bytes, and who killed it.
func killText(k *runs.Kill) string {
	text := cleanText(k.Name, maxName)
	if k.PID > 0 {
		text += fmt.Sprintf(" (pid %d)", k.PID)
	}
	if k.By == runs.ByServerLimit {
		return fmt.Sprintf("the MCP server %s was killed at its memory limit, with %s", text, limit.Bytes(k.Bytes).Human())
	}
	text += " was killed for memory"
	if k.Bytes > 0 {
		text += " at " + limit.Bytes(k.Bytes).Human()
	}
	switch k.By {
	case "kernel":
		return text + " by the kernel"
	case "plimsoll":
		return text + " by Plimsoll"
	}
	return text + " by " + cleanText(k.By, maxName)
}
