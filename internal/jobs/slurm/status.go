package slurm

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/jobs"
)

// What squeue and sacct are asked for: seven fields that both have, and two of squeue's own. A value of squeue's is cut at its width.
const (
	ofQueue      = "JobID:20|,Name:60|,State:20|,exit_code:12|,NodeList:80|,StartTime:20|,EndTime:20|,RestartCnt:8|,Reason:100"
	ofAccounting = "JobIDRaw,JobName,State,ExitCode,NodeList,Start,End"
)

// phases are Slurm's states. What is not listed has ended.
var phases = map[string]jobs.Phase{
	"PENDING": jobs.Queued, "REQUEUED": jobs.Queued, "REQUEUE_HOLD": jobs.Queued, "REQUEUE_FED": jobs.Queued, "SPECIAL_EXIT": jobs.Queued, "RESV_DEL_HOLD": jobs.Queued,
	"CONFIGURING": jobs.Starting,
	"RUNNING":     jobs.Running, "COMPLETING": jobs.Running, "SUSPENDED": jobs.Running, "STOPPED": jobs.Running, "SIGNALING": jobs.Running,
	"RESIZING": jobs.Running, "STAGE_OUT": jobs.Running,
}

// parseLine parses one line of squeue or sacct; ok is false if it is none. The reason in the status is in Slurm's words: why a job waits, else
// its state.
func parseLine(line string) (number, name string, s jobs.Status, ok bool) {
	f := strings.SplitN(line, "|", 9)
	for i := range f {
		f[i] = strings.TrimSpace(f[i])
	}
	if _, err := strconv.Atoi(f[0]); err != nil || len(f) < 7 || f[2] == "" {
		return "", "", s, false
	}
	state, _, _ := strings.Cut(f[2], " ") // "CANCELLED by 1000"
	s = jobs.Status{Phase: jobs.Ended, Reason: state, Node: f[4], Started: parseTime(f[5])}
	if phase, going := phases[state]; going {
		s.Phase = phase
	}
	restarts, why := 0, "None"
	if len(f) == 9 {
		restarts, _ = strconv.Atoi(f[7])
		why = f[8]
	}
	switch {
	case s.Phase == jobs.Queued:
		s.Started = time.Time{} // when it is expected to start
		if why != "None" {
			s.Reason = why
		}
	case state == "RUNNING":
		s.Reason = ""
	case s.Phase == jobs.Ended:
		s.Ended, s.ExitCode = parseTime(f[6]), parseExitCode(f[3])
		if s.ExitCode == 0 && state != "COMPLETED" { // Slurm has ended it, by a limit of time, say
			s.ExitCode = 1
		}
	}
	if restarts > 0 {
		s.Detail = fmt.Sprintf("Slurm has started it again, %d times so far", restarts)
	}
	return f[0], f[1], s, true
}

// parseExitCode returns the exit status in a text of squeue, encoded as wait(2) does it, or of sacct, as CODE:SIGNAL. A signal n is 128+n.
func parseExitCode(text string) int {
	first, second, apart := strings.Cut(text, ":")
	code, _ := strconv.Atoi(first)
	signal, _ := strconv.Atoi(second)
	if !apart {
		code, signal = code>>8&0xff, code&0x7f
	}
	if signal > 0 {
		return 128 + signal
	}
	return code
}

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
	byCluster := map[string]map[string]string{} // numbers by names
	for _, ref := range refs {
		number, cluster := splitNumber(ref.At)
		if byCluster[cluster] == nil {
			byCluster[cluster] = map[string]string{}
		}
		byCluster[cluster][ref.ID] = number
	}
	for cluster, numbers := range byCluster {
		ask := func(command string, args ...string) error {
			args = append(clusterFlag(cluster), append(args, "--noheader", "--jobs="+strings.Join(slices.Sorted(maps.Values(numbers)), ","))...)
			answer, err := runCommand(ctx, "", command, args...)
			for line := range strings.Lines(answer) {
				if number, name, s, ok := parseLine(line); ok && numbers[name] == number {
					answers[name] = s
					delete(numbers, name)
				}
			}
			return err
		}
		if err := ask("squeue", "--states=all", "--Format="+ofQueue); err != nil && !strings.Contains(err.Error(), unknownJob) {
			return nil, err
		}
		if len(numbers) > 0 { // without accounting it fails, and the report has to say how they ended
			_ = ask("sacct", "--parsable2", "--allocations", "--format="+ofAccounting)
		}
	}
	return answers, nil
}
