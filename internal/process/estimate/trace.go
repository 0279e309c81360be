package estimate

import (
	"bufio"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/limit"
)

// Bounds of a trace.
const (
	// MaxTraceLine is the longest record, in bytes.
	MaxTraceLine = 1 << 20
	// MaxTraceTasks bounds the tasks that are read.
	MaxTraceTasks = 1 << 20

	maxColumns = 1024
	maxProcess = 300
)

// ErrTrace is wrapped by every error about the content of a trace.
var ErrTrace = errors.New("not a usable trace")

// TraceCount counts the rows of a trace by their fate.
type TraceCount struct {
	// Rows is the number of all; those that are not tasks were left out because they
	// failed or did not run (NotCompleted), have no peak (NoPeak), no time (NoTime), or are
	// the last line of a file that ends inside it (Truncated).
	Rows, NotCompleted, NoPeak, NoTime, Truncated int
}

// ReadTrace reads the tasks of a Nextflow trace (`-with-trace`), tab-separated or CSV with quotes,
// raw (milliseconds, bytes) or for people ("1m 2s", "1.2 GB"), columns in any order. It needs
// peak_rss, process or name, and realtime or start and complete; it uses status, submit, memory and
// attempt where they are. Missing values are empty or "-". Units are binary, as Nextflow's are. name is
// the file's, for errors, which say file:line:column and wrap [ErrTrace].
//
// It holds one record (at most [MaxTraceLine] bytes) and the tasks in memory. Tasks without any date
// follow one another.
func ReadTrace(r io.Reader, name string) ([]Task, TraceCount, error) {
	t := &trace{reader: bufio.NewReaderSize(r, 64<<10), name: name}
	if err := t.readHeader(); err != nil {
		return nil, TraceCount{}, err
	}
	var (
		tasks []Task
		count TraceCount
		clock time.Time // of tasks without a date
	)
	for {
		fields, err := t.nextRecord()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, count, err
		}
		count.Rows++
		if len(fields) != len(t.columns) {
			if t.cut {
				count.Truncated++
				break
			}
			return nil, count, t.errorAt("", "it has %d fields, the header has %d", len(fields), len(t.columns))
		}
		task, ok, err := t.parseTask(fields, &count)
		if err != nil {
			return nil, count, err
		}
		if !ok {
			continue
		}
		if task.Start.IsZero() {
			task.Start, task.End = clock, clock.Add(task.Runtime)
			clock = task.End
		}
		if len(tasks) >= MaxTraceTasks {
			return nil, count, t.errorAt("", "it has more than %d tasks; split it", MaxTraceTasks)
		}
		tasks = append(tasks, task)
	}
	return tasks, count, nil
}

type trace struct {
	reader                                                                         *bufio.Reader
	name                                                                           string
	line                                                                           int // of the record's first line
	next                                                                           int // lines read
	comma                                                                          bool
	cut                                                                            bool // the last record ended without a newline
	columns                                                                        []string
	process, tag, status, peak, memory, attempt, realtime, submit, start, complete int
}

// errorAt returns an error that wraps [ErrTrace] and names the file, the line and, unless it is "", the column.
func (t *trace) errorAt(column, format string, args ...any) error {
	place := fmt.Sprintf("%s:%d", t.name, t.line)
	if column != "" {
		place += ":" + column
	}
	return fmt.Errorf("%s: %w: %s", place, ErrTrace, fmt.Sprintf(format, args...))
}

// readHeader reads the column names and notes the places of those that are needed.
func (t *trace) readHeader() error {
	line, err := t.readLine(MaxTraceLine)
	if err != nil {
		if errors.Is(err, io.EOF) {
			t.line = 1
			return t.errorAt("", "the file is empty; write one with `nextflow run … -with-trace`")
		}
		return err
	}
	line = strings.TrimPrefix(line, "\ufeff")
	t.line = t.next
	t.comma = !strings.Contains(line, "\t")
	if t.columns, err = t.splitFields(line); err != nil {
		return err
	}
	if len(t.columns) > maxColumns {
		return t.errorAt("", "it has %d columns", len(t.columns))
	}
	find := func(names ...string) int {
		for _, n := range names {
			if at := slices.IndexFunc(t.columns, func(c string) bool { return strings.EqualFold(strings.TrimSpace(c), n) }); at >= 0 {
				return at
			}
		}
		return -1
	}
	t.process, t.tag, t.status, t.peak, t.memory, t.attempt = find("process"), find("name"), find("status"), find("peak_rss"), find("memory"), find("attempt")
	t.realtime, t.submit, t.start, t.complete = find("realtime"), find("submit"), find("start"), find("complete")
	switch {
	case t.process < 0 && t.tag < 0:
		return t.errorAt("", "the header names neither process nor name; set trace.fields in nextflow.config")
	case t.peak < 0:
		return t.errorAt("", "the header has no peak_rss; set trace.fields in nextflow.config")
	case t.realtime < 0 && (t.start < 0 || t.complete < 0):
		return t.errorAt("", "the header has neither realtime nor start and complete; set trace.fields in nextflow.config")
	}
	return nil
}

// nextRecord returns the fields of the next record that is not empty; nil, nil if the file ends inside it, and io.EOF after the last.
func (t *trace) nextRecord() ([]string, error) {
	for {
		line, err := t.readLine(MaxTraceLine)
		if err != nil {
			return nil, err
		}
		t.line = t.next
		if t.comma && strings.Count(line, `"`)%2 == 1 {
			if line, err = t.readQuoted(line); err != nil {
				return nil, err
			}
			if t.cut && line == "" {
				return nil, nil // the file ends inside the quotes
			}
		}
		if strings.TrimSpace(line) == "" {
			continue
		}
		fields, err := t.splitFields(line)
		if err != nil && t.cut {
			return nil, nil
		}
		return fields, err
	}
}

// readQuoted returns a CSV record whose first line ends inside a quoted field, with all its lines; "" when the file ends first.
func (t *trace) readQuoted(first string) (string, error) {
	var record strings.Builder
	record.WriteString(first)
	for {
		line, err := t.readLine(MaxTraceLine)
		if errors.Is(err, io.EOF) {
			t.cut = true
			return "", nil
		}
		if err != nil {
			return "", err
		}
		if record.Len()+1+len(line) > MaxTraceLine {
			return "", t.tooLongError()
		}
		record.WriteByte('\n')
		record.WriteString(line)
		if strings.Count(line, `"`)%2 == 1 { // closes what the line before left open
			return record.String(), nil
		}
	}
}

// tooLongError returns the error of a record of more than [MaxTraceLine] bytes.
func (t *trace) tooLongError() error {
	return t.errorAt("", "the record is longer than %v", limit.Bytes(MaxTraceLine).Human())
}

// splitFields returns the fields of a record, separated by tabs or as CSV.
func (t *trace) splitFields(line string) ([]string, error) {
	if !t.comma {
		return strings.Split(line, "\t"), nil
	}
	r := csv.NewReader(strings.NewReader(line))
	fields, err := r.Read()
	if err != nil {
		if parse, ok := errors.AsType[*csv.ParseError](err); ok {
			return nil, t.errorAt("", "%v", parse.Err)
		}
		return nil, t.errorAt("", "%v", err)
	}
	return fields, nil
}

// readLine returns the next line without its end; io.EOF after the last. A line of more than maxBytes is an error.
func (t *trace) readLine(maxBytes int) (string, error) {
	var line []byte
	for {
		part, err := t.reader.ReadSlice('\n')
		if len(line)+len(part) > maxBytes {
			t.line = t.next + 1
			return "", t.tooLongError()
		}
		line = append(line, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF):
			if len(line) == 0 {
				return "", io.EOF
			}
			t.cut = true
		case err != nil:
			return "", fmt.Errorf("%s:%d: %w", t.name, t.next+1, err)
		}
		t.next++
		return strings.TrimRight(string(line), "\r\n"), nil
	}
}

// isMissing reports whether a field has no value.
func isMissing(value string) bool { return value == "" || value == "-" }

// parseTask returns a record as a task; ok is false for one that is left out, which is counted in count.
func (t *trace) parseTask(fields []string, count *TraceCount) (task Task, ok bool, err error) {
	value := func(at int) string {
		if at < 0 {
			return ""
		}
		return strings.TrimSpace(fields[at])
	}
	if status := value(t.status); !isMissing(status) && !strings.EqualFold(status, "COMPLETED") {
		count.NotCompleted++
		return Task{}, false, nil
	}
	peak := value(t.peak)
	if isMissing(peak) {
		count.NoPeak++
		return Task{}, false, nil
	}
	bytes, err := limit.ParseBytes(peak)
	if err != nil || bytes > maxPeak {
		return Task{}, false, t.errorAt("peak_rss", "%.60q is not a size; it is bytes or like 1.2 GB", peak)
	}
	if bytes == 0 {
		count.NoPeak++
		return Task{}, false, nil
	}
	task.Sample = Sample{Demand: bytes, Exact: true}
	if memory := value(t.memory); !isMissing(memory) {
		if task.Requested, err = limit.ParseBytes(memory); err != nil {
			return Task{}, false, t.errorAt("memory", "%.60q is not a size; it is bytes or like 1.2 GB", memory)
		}
		// The trace has what the last attempt asked for. Workflows ask for more with each, by Nextflow's own pattern `memory { 2.GB * task.attempt }`.
		if attempt, err := strconv.Atoi(value(t.attempt)); err == nil && attempt > 1 {
			task.Requested /= limit.Bytes(attempt)
		}
	}
	if task.Process = value(t.process); isMissing(task.Process) {
		task.Process, _, _ = strings.Cut(value(t.tag), " (")
	}
	task.Process = limit.Clip(task.Process, maxProcess)
	submit, err := t.parseDateField("submit", value(t.submit))
	if err != nil {
		return Task{}, false, err
	}
	if task.Start, err = t.parseDateField("start", value(t.start)); err != nil {
		return Task{}, false, err
	}
	if task.End, err = t.parseDateField("complete", value(t.complete)); err != nil {
		return Task{}, false, err
	}
	if task.Start.IsZero() {
		task.Start = submit
	}
	if text := value(t.realtime); !isMissing(text) {
		if task.Runtime, err = parseDuration(text); err != nil {
			return Task{}, false, t.errorAt("realtime", "%v", err)
		}
	} else if !task.Start.IsZero() && !task.End.IsZero() {
		task.Runtime = max(task.End.Sub(task.Start), 0)
	} else {
		count.NoTime++
		return Task{}, false, nil
	}
	if !task.Start.IsZero() && task.End.IsZero() {
		task.End = task.Start.Add(task.Runtime)
	}
	if task.Start.IsZero() && !task.End.IsZero() {
		task.Start = task.End.Add(-task.Runtime)
	}
	return task, true, nil
}

// parseDateField parses a field of a column; the zero time if it is missing.
func (t *trace) parseDateField(column, text string) (time.Time, error) {
	if isMissing(text) {
		return time.Time{}, nil
	}
	at, err := parseDate(text)
	if err != nil {
		return time.Time{}, t.errorAt(column, "%v", err)
	}
	return at, nil
}

const (
	maxPeak    = limit.Bytes(1) << 50       // 1 PiB: damage, not a task
	maxRuntime = 100 * 365 * 24 * time.Hour // likewise
	maxMillis  = int64(253402300799) * 1000 // the end of the year 9999
)

// dateForms are the layouts of dates that Nextflow writes, and spreadsheets that a trace has passed through.
var dateForms = []string{"2006-01-02 15:04:05.999999999", time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02 15:04:05 -0700", "02-Jan-2006 15:04:05"}

// parseDate reads milliseconds since 1970 or a date and time, which is taken as UTC where it names no zone: only differences matter.
func parseDate(text string) (time.Time, error) {
	if ms, err := strconv.ParseFloat(text, 64); err == nil {
		if !(ms >= 0 && ms <= float64(maxMillis)) {
			return time.Time{}, fmt.Errorf("%.60q is not a date; it is milliseconds since 1970 or like 2024-02-09 14:44:43.053", text)
		}
		return time.UnixMilli(int64(ms)).UTC(), nil
	}
	for _, form := range dateForms {
		if at, err := time.Parse(form, text); err == nil {
			return at.UTC(), nil
		}
	}
	return time.Time{}, fmt.Errorf("%.60q is not a date; it is milliseconds since 1970 or like 2024-02-09 14:44:43.053", text)
}

var durationUnits = map[string]time.Duration{
	"ms": time.Millisecond, "milli": time.Millisecond, "millis": time.Millisecond,
	"s": time.Second, "sec": time.Second, "secs": time.Second, "second": time.Second, "seconds": time.Second,
	"m": time.Minute, "min": time.Minute, "mins": time.Minute, "minute": time.Minute, "minutes": time.Minute,
	"h": time.Hour, "hour": time.Hour, "hours": time.Hour,
	"d": 24 * time.Hour, "day": 24 * time.Hour, "days": 24 * time.Hour,
}

// parseDuration reads milliseconds or numbers with units, like "4h 56m 8s", "1.2s", "325ms".
func parseDuration(text string) (time.Duration, error) {
	fail := func() (time.Duration, error) {
		return 0, fmt.Errorf("%.60q is not a duration; it is milliseconds or like 1m 2s", text)
	}
	if ms, err := strconv.ParseFloat(text, 64); err == nil {
		if !(ms >= 0 && ms <= float64(maxRuntime/time.Millisecond)) {
			return fail()
		}
		return time.Duration(ms * float64(time.Millisecond)), nil
	}
	total := 0.0
	rest := strings.TrimSpace(text)
	if rest == "" {
		return fail()
	}
	for rest != "" {
		digits := strings.IndexFunc(rest, func(r rune) bool { return (r < '0' || r > '9') && r != '.' })
		if digits <= 0 {
			return fail()
		}
		number, err := strconv.ParseFloat(rest[:digits], 64)
		if err != nil {
			return fail()
		}
		rest = strings.TrimLeft(rest[digits:], " ")
		end := strings.IndexFunc(rest, func(r rune) bool { return r < 'a' || r > 'z' })
		if end < 0 {
			end = len(rest)
		}
		unit, ok := durationUnits[rest[:end]]
		if !ok {
			return fail()
		}
		if total += number * float64(unit); total > float64(maxRuntime) {
			return fail()
		}
		rest = strings.TrimLeft(rest[end:], " ")
	}
	return time.Duration(total), nil
}
