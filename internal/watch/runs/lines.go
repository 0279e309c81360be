package runs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/plimsoll/plimsoll/internal/secrets"
	"github.com/plimsoll/plimsoll/journal"
)

// Schema is the version of the files. A reader takes from a newer one what it knows.
const Schema = 1

// What a run is.
const (
	KindRun     = "run"     // of a command under `plimsoll run`
	KindGateway = "gateway" // of an MCP gateway, often inside a run, which is its parent
	KindServe   = "serve"   // a day of `plimsoll serve`
	KindAsk     = "ask"     // a question to the built-in agent
	KindChat    = "chat"    // a conversation with it
	KindJob     = "job"     // a job that an engine places, as long as there is no run of it here
)

// JobName is the variable by which a run learns the name of the job that it is of.
const JobName = "PLIMSOLL_JOB"

// Header is the first line of a run's file.
type Header struct {
	Schema int    `json:"schema"`
	ID     string `json:"id"`
	Kind   string `json:"kind"`
	// Parent is the ID of the run around this one, "" for none.
	Parent string `json:"parent,omitempty"`
	// Job is the name of the job that the run is of, "" for none.
	Job     string    `json:"job,omitempty"`
	PID     int       `json:"pid"`
	Version string    `json:"version,omitempty"`
	Started time.Time `json:"started"`
	// Notifies names the way by which the run's own plimsoll sends notices about it (see package notify), "" for none: who watches all runs
	// by the same way leaves those to it. "-" means that nobody is to be notified.
	Notifies string `json:"notifies,omitempty"`
	// Decision has what was known of the host when the run's limits were decided.
	Decision Decision `json:"decision,omitzero"`
	// Report is the part of the report known before the run: tool, project, command (masked), estimate, limits.
	Report journal.Report `json:"report"`
}

// Decision is the memory of the host when a run was decided about. Sizes are in bytes.
type Decision struct {
	AvailableBytes int64 `json:"available_bytes,omitempty"`
	MinFreeBytes   int64 `json:"min_free_bytes,omitempty"`
	// BoundBy is "host", or the cgroup that leaves the least.
	BoundBy string `json:"bound_by,omitempty"`
	// LimitNote says why the memory limit is not the one asked for, or that it is more than the machine has; "" for neither.
	LimitNote string `json:"limit_note,omitempty"`
	// CeilingBytes is the highest memory limit that was possible, and CeilingOf what sets it, in words: "this machine", or a control group.
	CeilingBytes int64  `json:"ceiling_bytes,omitempty"`
	CeilingOf    string `json:"ceiling_of,omitempty"`
}

// Sample is the use of a run in one interval: the highest values in it. Sizes are in bytes.
type Sample struct {
	// AtMS is the end of the interval, in milliseconds since the run began, by a clock that does not jump.
	AtMS int64 `json:"at_ms"`
	// Working is the memory that can't be reclaimed; Charged is all that counts against the limit, file cache included (0 where nobody
	// counts it).
	Working int64 `json:"working_bytes"`
	Charged int64 `json:"charged_bytes,omitempty"`
	// CPUMS is the processor time since the run began, in milliseconds.
	CPUMS     int64 `json:"cpu_ms,omitempty"`
	Processes int   `json:"processes,omitempty"`
	// WindowTokens and WindowLimit are those of the request in the interval that filled its window the most.
	WindowTokens int64 `json:"window_tokens,omitempty"`
	WindowLimit  int64 `json:"window_limit,omitempty"`
	// DiskBytes is the number of bytes that the run has written to disks.
	DiskBytes int64 `json:"disk_bytes,omitempty"`
	// Compactions counts the compactions since the run began, Kills the processes that were ended for memory or at another limit: a reader
	// of the last sample need not read the lines before it.
	Compactions int64 `json:"compactions,omitempty"`
	Kills       int64 `json:"kills,omitempty"`
	// TurnMS is the time since when the run waits for its user and IdleMS that since when it is idle, as AtMS; 0 while it does not, and of
	// both one at most.
	TurnMS int64 `json:"turn_ms,omitempty"`
	IdleMS int64 `json:"idle_ms,omitempty"`
}

// End is the last line of a run's file.
type End struct {
	Time time.Time `json:"time"`
	// Died is true when the writer was killed, and somebody else wrote this line.
	Died bool `json:"died,omitempty"`
	// Dropped counts the lines that found no room.
	Dropped int64          `json:"dropped,omitempty"`
	Report  journal.Report `json:"report"`
}

// line is one line of a file. One of its fields is not nil.
type line struct {
	header *Header
	sample *Sample
	shares *Shares
	end    *End
	record *journal.Record
}

var (
	headerStart = []byte(`{"header":`)
	sampleStart = []byte(`{"sample":`)
	sharesStart = []byte(`{"shares":`)
	endStart    = []byte(`{"end":`)
)

var errNoLine = errors.New("no line of a run")

// parse decodes one line of a run's file. The error may wrap errNoLine.
func parse(text []byte) (l line, err error) {
	if s, ok := parseSample(text); ok {
		return line{sample: &s}, nil
	}
	var wrapped struct {
		Header *Header `json:"header"`
		Sample *Sample `json:"sample"`
		Shares *Shares `json:"shares"`
		End    *End    `json:"end"`
	}
	switch {
	case bytes.HasPrefix(text, headerStart), bytes.HasPrefix(text, sampleStart), bytes.HasPrefix(text, sharesStart), bytes.HasPrefix(text, endStart):
		if err = json.Unmarshal(text, &wrapped); err != nil {
			return line{}, err
		}
		l.header, l.sample, l.shares, l.end = wrapped.Header, wrapped.Sample, wrapped.Shares, wrapped.End
		if l.header == nil && l.sample == nil && l.shares == nil && l.end == nil {
			return line{}, errNoLine
		}
		return l, nil
	}
	l.record = &journal.Record{}
	if err = l.record.UnmarshalJSON(text); err != nil {
		return line{}, fmt.Errorf("%w: %w", errNoLine, err)
	}
	return l, nil
}

// parseSample decodes a sample as a writer of this version writes it: most lines are samples, and encoding/json takes ten times as long. ok
// is false for any other line.
func parseSample(text []byte) (s Sample, ok bool) {
	rest, ok := bytes.CutPrefix(text, sampleStart)
	if !ok || len(rest) == 0 || rest[0] != '{' {
		return s, false
	}
	for rest = rest[1:]; ; rest = rest[1:] {
		if len(rest) == 0 || rest[0] != '"' {
			return s, false
		}
		end := bytes.IndexByte(rest[1:], '"') + 1
		if end <= 0 || end+2 >= len(rest) || rest[end+1] != ':' {
			return s, false
		}
		name := rest[1:end]
		rest = rest[end+2:]
		n, digits := int64(0), 0
		for digits < len(rest) && digits < 18 && '0' <= rest[digits] && rest[digits] <= '9' { // 19 could be more than an int64 holds
			n = n*10 + int64(rest[digits]-'0')
			digits++
		}
		if digits == 0 || digits > 1 && rest[0] == '0' || digits == len(rest) {
			return s, false
		}
		switch string(name) {
		case "at_ms":
			s.AtMS = n
		case "working_bytes":
			s.Working = n
		case "charged_bytes":
			s.Charged = n
		case "cpu_ms":
			s.CPUMS = n
		case "processes":
			if s.Processes = int(n); int64(s.Processes) != n {
				return s, false
			}
		case "window_tokens":
			s.WindowTokens = n
		case "window_limit":
			s.WindowLimit = n
		case "disk_bytes":
			s.DiskBytes = n
		case "compactions":
			s.Compactions = n
		case "kills":
			s.Kills = n
		case "turn_ms":
			s.TurnMS = n
		case "idle_ms":
			s.IdleMS = n
		default:
			return s, false
		}
		switch rest = rest[digits:]; rest[0] {
		case ',':
		case '}':
			return s, string(rest) == "}}"
		default:
			return s, false
		}
	}
}

// encoder encodes lines, with credentials masked.
type encoder struct{ values *secrets.Values }

// encodeLine returns {"key":v} as a line with secrets masked; nil if v cannot be encoded.
func (e encoder) encodeLine(key string, v any) []byte {
	body, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	out := make([]byte, 0, len(body)+len(key)+6)
	out = append(out, `{"`...)
	out = append(out, key...)
	out = append(out, `":`...)
	out = append(out, body...)
	out = append(out, '}', '\n')
	return e.values.Hide(out)
}

// encodeRecord returns a record as a line with secrets masked; nil if it cannot be encoded.
func (e encoder) encodeRecord(r journal.Record) []byte {
	r.Event = secrets.Masked(e.values, r.Event)
	body, err := json.Marshal(r)
	if err != nil {
		return nil
	}
	return e.values.Hide(append(body, '\n'))
}

// maskReport returns a report with credentials masked in its command, warnings and errors.
func (e encoder) maskReport(r journal.Report) journal.Report {
	r.Command = e.values.Argv(r.Command)
	r.Warnings = secrets.Masked(e.values, r.Warnings)
	r.Window.SummaryError = secrets.Text(r.Window.SummaryError)
	return r
}
