package slurm

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/jobs"
)

// columns lists the fields that squeue prints, with their widths. A value that is wider is cut by it.
var columns = []struct {
	name  string
	width int
}{{"JobID", 20}, {"Name", 60}, {"State", 20}, {"exit_code", 12}, {"RestartCnt", 8}, {"NodeList", 80}, {"StartTime", 20}, {"EndTime", 20}, {"Reason", 100}}

// row is a line of squeue by the names of the columns.
type row map[string]string

// parseRow reads a line; ok is false for one that is too short.
func parseRow(line string) (r row, ok bool) {
	r = row{}
	for _, c := range columns {
		text := line[:min(len(line), c.width)]
		line = line[len(text):]
		r[c.name] = strings.TrimSpace(text)
	}
	_, err := strconv.Atoi(r["JobID"])
	return r, err == nil && r["State"] != ""
}

// phases are Slurm's states. What is not listed has ended.
var phases = map[string]jobs.Phase{
	"PENDING": jobs.Queued, "REQUEUED": jobs.Queued, "REQUEUE_HOLD": jobs.Queued, "REQUEUE_FED": jobs.Queued, "SPECIAL_EXIT": jobs.Queued, "RESV_DEL_HOLD": jobs.Queued,
	"CONFIGURING": jobs.Starting,
	"RUNNING":     jobs.Running, "COMPLETING": jobs.Running, "SUSPENDED": jobs.Running, "STOPPED": jobs.Running, "SIGNALING": jobs.Running,
	"RESIZING": jobs.Running, "STAGE_OUT": jobs.Running,
}

// status returns what a row says. Its words are Slurm's: the reason while a job waits, the state afterwards.
func (r row) status() jobs.Status {
	s := jobs.Status{Phase: jobs.Ended, Node: r["NodeList"], Started: parseTime(r["StartTime"]), Reason: r["State"]}
	if phase, going := phases[r["State"]]; going {
		s.Phase = phase
	}
	switch s.Phase {
	case jobs.Queued:
		s.Started = time.Time{} // when it is expected to start
		if r["Reason"] != "None" {
			s.Reason = r["Reason"]
		}
	case jobs.Starting:
	case jobs.Running:
		if s.Reason == "RUNNING" {
			s.Reason = ""
		}
	default:
		s.Ended = parseTime(r["EndTime"])
		status, _ := strconv.Atoi(r["exit_code"]) // as wait(2) has it
		setExit(&s, status>>8&0xff, status&0x7f)
	}
	if n, _ := strconv.Atoi(r["RestartCnt"]); n > 0 {
		s.Detail = restarted(n)
	}
	return s
}

// setExit sets how a job ended. One that Slurm has ended, by a limit of time, say, has failed also where its status is 0.
func setExit(s *jobs.Status, code, signal int) {
	s.ExitCode = code
	if signal > 0 {
		s.ExitCode = 128 + signal
	}
	if s.ExitCode == 0 && s.Reason != "COMPLETED" {
		s.ExitCode = 1
	}
}

func restarted(n int) string { return fmt.Sprintf("Slurm has started it again, %d times so far", n) }

// parseTime reads a time of Slurm's, the zero time for none.
func parseTime(text string) time.Time {
	t, err := time.ParseInLocation("2006-01-02T15:04:05", text, time.Local)
	if err != nil {
		return time.Time{}
	}
	return t.UTC()
}

// Status implements [jobs.Engine]. A job of the same number that has another name is another cluster's, and not known.
func (e *Engine) Status(ctx context.Context, refs []jobs.Ref) (map[string]jobs.Status, error) {
	answers := map[string]jobs.Status{}
	byCluster := map[string][]jobs.Ref{}
	for _, ref := range refs {
		_, cluster, _ := strings.Cut(ref.At, ";")
		byCluster[cluster] = append(byCluster[cluster], ref)
	}
	for _, refs := range byCluster {
		if err := e.ask(ctx, refs, answers); err != nil {
			return nil, err
		}
	}
	return answers, nil
}

// ask asks one cluster, and its accounting for what it no longer knows.
func (e *Engine) ask(ctx context.Context, refs []jobs.Ref, answers map[string]jobs.Status) error {
	_, cluster := split(refs[0].At)
	var format []string
	for _, c := range columns {
		format = append(format, c.name+":"+strconv.Itoa(c.width))
	}
	answer, err := call(ctx, "", "squeue", append(cluster, "--noheader", "--states=all", "--Format="+strings.Join(format, ","), "--jobs="+numbers(refs))...)
	if err != nil && !strings.Contains(err.Error(), "Invalid job id") {
		return err
	}
	take := func(at, name string, s jobs.Status) {
		for _, ref := range refs {
			if number, _ := split(ref.At); strconv.Itoa(number) == at && ref.ID == name {
				answers[ref.ID] = s
			}
		}
	}
	for line := range strings.Lines(answer) {
		if r, ok := parseRow(strings.TrimRight(line, "\n")); ok {
			take(r["JobID"], r["Name"], r.status())
		}
	}
	missing := slices.DeleteFunc(slices.Clone(refs), func(r jobs.Ref) bool { _, known := answers[r.ID]; return known })
	if len(missing) == 0 {
		return nil
	}
	// Without accounting sacct fails, and the report has to say how it ended.
	answer, err = call(ctx, "", "sacct", append(cluster, "--noheader", "--parsable2", "--allocations",
		"--format=JobIDRaw,JobName,State,ExitCode,NodeList,Start,End", "--jobs="+numbers(missing))...)
	if err != nil {
		return nil
	}
	for line := range strings.Lines(answer) {
		if at, name, s, ok := parseAccount(strings.TrimRight(line, "\n")); ok {
			take(at, name, s)
		}
	}
	return nil
}

// numbers lists jobs for an option.
func numbers(refs []jobs.Ref) string {
	var list []string
	for _, ref := range refs {
		number, _ := split(ref.At)
		list = append(list, strconv.Itoa(number))
	}
	return strings.Join(list, ",")
}

// parseAccount reads a line of sacct.
func parseAccount(line string) (at, name string, s jobs.Status, ok bool) {
	fields := strings.Split(line, "|")
	if len(fields) != 7 {
		return "", "", s, false
	}
	state, _, _ := strings.Cut(fields[2], " ") // "CANCELLED by 1000"
	phase, going := phases[state]
	if !going {
		phase = jobs.Ended
	}
	s = jobs.Status{Phase: phase, Reason: state, Node: fields[4], Started: parseTime(fields[5]), Ended: parseTime(fields[6])}
	if phase == jobs.Ended {
		code, signal, _ := strings.Cut(fields[3], ":")
		c, _ := strconv.Atoi(code)
		n, _ := strconv.Atoi(signal)
		setExit(&s, c, n)
	}
	return fields[0], fields[1], s, true
}
