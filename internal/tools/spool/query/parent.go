package query

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/limit"
)

// turns has an element for each child that this program runs.
var turns = make(chan struct{}, Running)

// Run answers a query, in a child process with bounds of time and memory; at most Running run at once, others wait. If its author can do
// something about an error it is an *Error, and the Answer has the values that came before it; any other error comes from ctx or from the
// machine.
func Run(ctx context.Context, r Request) (Answer, error) {
	r.MaxBytes = cmp.Or(r.MaxBytes, DefaultBytes)
	r.Timeout = cmp.Or(r.Timeout, DefaultTimeout)
	r.Memory = max(cmp.Or(r.Memory, DefaultMemory), LeastMemory)
	if len(r.Query) > MaxQuery {
		return Answer{}, errorf(Syntax, "the query has %d bytes, at most %d are taken: write a shorter one", len(r.Query), MaxQuery)
	}
	if len(r.Command) == 0 {
		return Answer{}, errors.New("query: no command that starts the child")
	}
	if err := awaitSlot(ctx, r.Timeout); err != nil {
		return Answer{}, err
	}
	defer func() { <-turns }()

	first, err := json.Marshal(order{
		Query: r.Query, Size: r.Size, Shape: r.Shape, Broken: r.Broken, Path: r.Path,
		MaxBytes: r.MaxBytes, Millis: r.Timeout.Milliseconds(), Memory: int64(r.Memory),
	})
	if err != nil {
		return Answer{}, err
	}
	timed, cancel := context.WithTimeout(ctx, r.Timeout+Grace)
	defer cancel()
	cmd := exec.CommandContext(timed, r.Command[0], r.Command[1:]...)
	cmd.Env = []string{}
	cmd.Stdin = io.MultiReader(bytes.NewReader(append(first, '\n')), r.Document)
	// One byte more than the bound, for the newline of a value that fills it.
	out, report := &limit.Head{Max: r.MaxBytes + 1}, &limit.Head{Max: maxReport}
	cmd.Stdout, cmd.Stderr = out, report
	cmd.WaitDelay = Grace // so a document that does not end does not delay the answer
	err = cmd.Run()
	if ctx.Err() != nil {
		return Answer{}, ctx.Err()
	}
	return answerOf(r, out, report, err, timed.Err() != nil)
}

// awaitSlot waits until a child may be started, and takes its place in turns. It fails after longest, as *Error, and when ctx ends.
func awaitSlot(ctx context.Context, longest time.Duration) error {
	timer := time.NewTimer(longest)
	defer timer.Stop()
	select {
	case turns <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return errorf(Busy, "%d queries are running and none ended within %s: try again, or use result_search", Running, longest)
	}
}

// maxReport bounds what is read from the child's standard error, in bytes: a report, or the first lines of the runtime's message.
const maxReport = 16 << 10

// answerOf returns the answer that the child's output and report give; failed is the error of running it, and late means that it was killed for
// its time.
func answerOf(r Request, out, said *limit.Head, failed error, late bool) (Answer, error) {
	var end report
	answer := Answer{Output: out.Bytes()}
	if err := json.Unmarshal(said.Bytes(), &end); err == nil {
		answer.Values, answer.Cut, answer.Items = end.Values, end.Cut, end.Items
		answer.Skipped, answer.FirstSkipped = end.Skipped, end.FirstSkipped
		if end.Kind != "" {
			return answer, &Error{Kind: end.Kind, Text: end.Text, Offset: end.Offset}
		}
		return answer, nil
	}
	// It died before it could say anything: whole lines of its output are values.
	answer.Output = answer.Output[:bytes.LastIndexByte(answer.Output, '\n')+1]
	answer.Values = int64(bytes.Count(answer.Output, []byte{'\n'}))
	switch complaint, status := said.String(), fmt.Sprint(failed); {
	case late:
		return answer, timeoutError(r.Timeout)
	case strings.HasPrefix(strings.ToLower(status), "signal: cpu"):
		return answer, timeoutError(r.Timeout)
	case strings.Contains(complaint, "fatal error"), strings.HasPrefix(complaint, "SIG"), complaint == "" && status == "exit status 2":
		// The runtime got no memory. Often it says so; sometimes it crashes for lack of it, or cannot even report
		// that.
		return answer, memoryError(r.Memory)
	case strings.HasPrefix(status, "signal: killed"):
		return answer, memoryError(r.Memory) // by the kernel: no other process knows this one
	}
	return answer, fmt.Errorf("query: the process that runs queries ended without an answer: %w", cmp.Or(failed, errors.New("it wrote no report")))
}

// timeoutError returns the error for a query that took too long.
func timeoutError(timeout time.Duration) *Error {
	return errorf(Time, "the query took longer than %s and was stopped: make it end sooner (no endless recursion, `first(…)` or `limit(20; …)` around it), or use result_search", timeout)
}

func memoryError(memory limit.Bytes) *Error {
	return errorf(Memory, "the query needed more than %s of memory and was stopped: select before collecting, go item by item (`.[] | select(…)`), do not build large strings or arrays", memory.Human())
}
