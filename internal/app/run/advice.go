package run

import (
	"cmp"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/config/profile"
	"github.com/plimsoll/plimsoll/internal/printable"
	"github.com/plimsoll/plimsoll/internal/process/runtimes"
	"github.com/plimsoll/plimsoll/internal/secrets"
	"github.com/plimsoll/plimsoll/internal/watch/runs"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/process/admission"
	"github.com/plimsoll/plimsoll/process/sandbox"
)

// Advice returns what the user of the run can do next when something was killed or refused, or the agent can be resumed; else nil.
func Advice(r journal.Report, basis runs.Decision) []string {
	var list []string
	switch {
	case r.OOMDKills > 0:
		// Not the run's own limit: a higher one would make it worse.
		list = append(list, fmt.Sprintf("systemd-oomd ended it because the machine was short of memory, at a limit of %s; run fewer at once (max_concurrent), "+
			"set a lower --memory-max or add swap; what it saw: journalctl -u systemd-oomd", limit.Bytes(r.LimitBytes).Human()))
	case r.Outcome == journal.OutcomeOOM:
		list = append(list, outOfMemory(r, basis))
	case r.OOMKills > 0 || len(r.KilledChildren) > 0:
		list = append(list, "the agent went on; for a larger build or test: "+moreMemory(r, basis, 0))
	case isJVM(r) && r.Outcome == journal.OutcomeFailed && r.PeakBytes >= r.LimitBytes/4*4/5 && r.PeakBytes <= r.LimitBytes/2:
		list = append(list, "if it was a java.lang.OutOfMemoryError: a JVM takes a quarter of the limit for its heap; -XX:MaxRAMPercentage=75 gives it more")
	case r.LimitReached == sandbox.LimitTime:
		list = append(list, fmt.Sprintf("its time was up: --time-max %s, or time_max in [tools.%s]", time.Duration(2*limitOf(r, sandbox.LimitTime).Hard)*time.Millisecond, r.Tool))
	case r.LimitReached == limitIdle:
		list = append(list, fmt.Sprintf("nobody used it: --idle-max %s, or idle_max in [tools.%s]", time.Duration(2*limitOf(r, limitIdle).Hard)*time.Millisecond, r.Tool))
	case r.RefusedBy == journal.RefusedByEnforcement:
		list = append(list, "plimsoll doctor shows what the kernel holds here and what it takes; --enforcement best-effort goes on with the strongest layer there is")
	case r.Outcome == journal.OutcomeRefused && r.ReservationBytes > 0:
		list = append(list, "plimsoll top shows who holds the memory; --wait waits for it, --force starts nevertheless")
	case r.LimitReached == "pids":
		list = append(list, fmt.Sprintf("it reached the limit of %d processes: --pids-max %d", r.PidsLimit, 2*r.PidsLimit))
	}
	if r.Resume != "" && r.Outcome != journal.OutcomeRefused {
		list = append(list, "to go on where it stopped, in the same directory: "+r.Resume)
	}
	return list
}

// outOfMemory returns the sentence that names the limit at which a command died, and how to raise it.
func outOfMemory(r journal.Report, basis runs.Decision) string {
	bound, own := limit.Bytes(r.RanIntoBytes).Human(), limit.Bytes(r.LimitBytes)
	_, agent := profile.Find(r.Tool)
	starting := agent && r.DurationMS < 5000 && own > 0 && own < startUpLimit && r.Estimate.Samples == 0 && r.Window.Requests == 0
	switch {
	case r.RanInto == string(sandbox.RanIntoHeap) && limit.Bytes(r.RanIntoBytes) != runtimes.V8Heap(limit.Bytes(cmp.Or(r.FirstLimitBytes, r.LimitBytes))):
		return fmt.Sprintf("its heap was full at %s, as --max-old-space-size says: raise that, or leave it out for a heap that goes by the limit (%s)", bound, own.Human())
	case r.RanInto == string(sandbox.RanIntoHeap):
		return fmt.Sprintf("its heap was full at %s, which goes by the limit: %s", bound, moreMemory(r, basis, 0))
	case r.RanInto == string(sandbox.RanIntoProcess):
		return fmt.Sprintf("an allocation failed, since each process may have %s here (layer rlimit): %s", bound, moreMemory(r, basis, 0))
	case r.PeakExact && own > 0 && r.PeakBytes < r.LimitBytes/10*9:
		return fmt.Sprintf("not its own limit was reached, but one around it: it had %s of %s; run fewer at once, or raise what is around it", limit.Bytes(r.PeakBytes).Human(), own.Human())
	case starting:
		return fmt.Sprintf("it ran out of memory while starting: %s is less than %s needs to start; %s", own.Human(), r.Tool, moreMemory(r, basis, limit.GiB))
	}
	return fmt.Sprintf("give it more: %s (memory_max in %s of your config.toml); the next estimate is higher by itself", moreMemory(r, basis, 0), admission.ToolTable(r.Tool))
}

// moreMemory returns words for how to get a higher limit than the one that was reached: by the flag, or, where that cannot set so high a
// limit, by what surrounds the run. least is the smallest limit that is suggested.
func moreMemory(r journal.Report, basis runs.Decision, least limit.Bytes) string {
	reached := max(r.LimitBytes, r.RanIntoBytes)
	if held := sandbox.Mechanism(r.Enforcement.Memory); held == sandbox.ByProcess || held == sandbox.ByWatching {
		reached = max(reached, r.PeakBytes) // it had passed the limit before it was ended
	}
	more := max(least, moreThan(limit.Bytes(reached)))
	if r.LimitBytes <= 0 { // what was reached is somebody else's
		more = moreThan(limit.Bytes(r.PeakBytes))
	}
	if r.Estimate.Samples > 0 { // what earlier runs have needed
		more = max(more, moreThan(limit.Bytes(r.Estimate.Bytes)*2/3))
	}
	if most := limit.Bytes(basis.CeilingBytes); most > 0 && more > most {
		return fmt.Sprintf("raise what %s allows, no run in it can have more than %s", basis.CeilingOf, most.Human())
	}
	return "--memory-max " + more.String()
}

// moreThan returns half as much again as b, rounded up to a figure that people write; always more than b.
func moreThan(b limit.Bytes) limit.Bytes {
	more := b + b/2 + 1
	step := 64 * limit.MiB
	for step < more/8 {
		step *= 2
	}
	return (more - 1 + step - 1) / step * step
}

// isJVM reports whether the command is a JVM that sees the run's limit, of which it takes a quarter.
func isJVM(r journal.Report) bool {
	return len(r.Command) > 0 && filepath.Base(r.Command[0]) == "java" && r.Enforcement.Memory == string(sandbox.ByKernel)
}

// limitOf returns the limit of this name in the report; one without lines when there is none.
func limitOf(r journal.Report, name string) journal.Limit {
	for _, l := range r.Limits {
		if l.Name == name {
			return l
		}
	}
	return journal.Limit{Name: name}
}

// startUpLimit is the limit under which an agent that fails early, before it has asked a model, had too little memory to start:
// the largest of the agent CLIs that were measured takes 869 MB for one turn. Of other commands nobody knows what they were at.
const startUpLimit = 1 * limit.GiB

// Again returns the command line that runs a command once more, with more memory than what ended it or a process of it; "" where more memory is
// not what helps or cannot be had by the flag, or a part of the command was masked or cannot be typed.
func Again(r journal.Report, basis runs.Decision) string {
	if r.OOMDKills > 0 || r.Outcome != journal.OutcomeOOM && r.OOMKills == 0 && len(r.KilledChildren) == 0 {
		return ""
	}
	flag := moreMemory(r, basis, 0)
	if !strings.HasPrefix(flag, "--memory-max ") || len(r.Command) == 0 {
		return ""
	}
	var line strings.Builder
	line.WriteString("plimsoll run " + flag + " --")
	for _, word := range r.Command {
		if strings.Contains(word, secrets.Hidden) || printable.Text(word) != word || strings.ContainsAny(word, "\n\r\t") {
			return ""
		}
		if word == "" || strings.ContainsFunc(word, quotes) {
			word = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
		line.WriteString(" " + word)
	}
	return line.String()
}

// quotes reports whether a word with this character is to be quoted for a shell.
func quotes(c rune) bool {
	return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune("-_./=:,@%+", c)
}
