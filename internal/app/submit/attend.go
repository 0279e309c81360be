package submit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/jobs"
)

var errSlow = errors.New("no answer within " + askTime.String())

// askAgain is the time between two questions to an engine that does not answer a submitter who stays.
const askAgain = 5 * time.Second

// exitFailed is the status of Plimsoll's own failures.
const exitFailed = 125

// Attend copies what a job writes until it has ended, and returns its exit status. Ctrl-C, or a request to end, cancels the job; a second one
// leaves it. say is called with what a person should know.
func Attend(ctx context.Context, c *core.Core, p *Plan, out, errs io.Writer, say func(string)) (status int) {
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	defer signal.Stop(signals)
	ctx, leave := context.WithCancel(ctx)
	defer leave()
	ended := make(chan error, 1)
	go func() {
		err := p.engine.Output(ctx, p.record.Ref, out, errs)
		if err != nil && ctx.Err() == nil {
			say("its output is not shown any more: " + err.Error())
		}
		ended <- err
	}()
	cancelled := make(chan error, 1)
	for asked := 0; ; {
		select {
		case s := <-signals:
			if asked++; asked > 1 {
				select { // it was to be cancelled all the same
				case <-cancelled:
				case <-signals:
				case <-time.After(askTime):
				}
				say(fmt.Sprintf("left %s; plimsoll runs %[1]s shows what becomes of it", p.Name))
				return 128 + int(s.(syscall.Signal))
			}
			say(fmt.Sprintf("cancels %s; once more leaves it to itself", p.Name))
			go func() {
				bounded, stop := context.WithTimeoutCause(ctx, handTime, fmt.Errorf("%s has not answered within %s", p.Engine, handTime))
				defer stop()
				cancelled <- end(bounded, c, p.engine, p.record.Ref)
			}()
		case err := <-cancelled:
			if err != nil {
				say("it was not cancelled: " + err.Error())
			}
		case <-ended:
			return p.result(ctx, c, signals, say)
		}
	}
}

// result waits until the engine says how a job ended, after its last output.
func (p *Plan) result(ctx context.Context, c *core.Core, signals <-chan os.Signal, say func(string)) int {
	told := ""
	quiet := c.Telling(func(string) {})
	for pause := time.Second / 4; ; pause = min(2*pause, askAgain) {
		if err := Refresh(ctx, quiet, p.Name); err != nil {
			say(err.Error())
			return exitFailed
		}
		r, _, err := find(quiet, p.Name)
		switch {
		case err != nil:
			say(err.Error())
			return exitFailed
		case r.Status.Phase == jobs.Lost:
			say(fmt.Sprintf("%s is lost: %s", p.Name, r.Status.Words()))
			return exitFailed
		case r.Status.Phase == jobs.Ended:
			if words := r.Status.Words(); r.Status.ExitCode != 0 && words != "" && words != "FAILED" {
				say(fmt.Sprintf("%s ended: %s", p.Name, words))
			}
			return r.Status.ExitCode
		case r.Unanswered != "" && told != r.Unanswered:
			told = r.Unanswered
			say(told + "; asks again until it does, Ctrl-C leaves it")
		}
		select {
		case s := <-signals:
			say(fmt.Sprintf("left %s; plimsoll runs %[1]s shows what becomes of it", p.Name))
			return 128 + int(s.(syscall.Signal))
		case <-time.After(pause):
		}
	}
}
