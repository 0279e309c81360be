package submit

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/jobs"
)

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
	ended, cancelled := make(chan error, 1), make(chan error, 1)
	go func() { ended <- p.engine.Output(ctx, p.record.Ref, out, errs) }()
	var look <-chan time.Time // after its last output: the engine is asked until it says how the job has ended
	pause, told := time.Second/4, ""
	for asked := 0; ; {
		select {
		case s := <-signals:
			if asked++; asked == 1 && look == nil {
				say(fmt.Sprintf("cancels %s; once more leaves it to itself", p.Name))
				go func() { cancelled <- end(ctx, c, p.engine, p.record) }()
				continue
			}
			if look == nil {
				select { // it was to be cancelled all the same
				case <-cancelled:
				case <-signals:
				case <-time.After(askTime):
				}
			}
			say(fmt.Sprintf("left %s; plimsoll runs %[1]s shows what becomes of it", p.Name))
			return 128 + int(s.(syscall.Signal))
		case err := <-cancelled:
			if err != nil {
				say("it was not cancelled: " + err.Error())
			}
		case err := <-ended:
			if err != nil && ctx.Err() == nil {
				say("its output is not shown any more: " + err.Error())
			}
			look = time.After(0)
		case <-look:
			r, err := refreshed(ctx, c.Telling(func(string) {}), p.Name)
			words := r.Status.Words()
			switch {
			case err != nil:
				say(err.Error())
				return exitFailed
			case r.Status.Phase == jobs.Lost:
				say(fmt.Sprintf("%s is lost: %s", p.Name, words))
				return exitFailed
			case r.Status.Phase == jobs.Ended:
				if r.Status.ExitCode != 0 && words != "" && words != "FAILED" {
					say(fmt.Sprintf("%s ended: %s", p.Name, words))
				}
				return r.Status.ExitCode
			case r.Unanswered != "" && told != r.Unanswered:
				told = r.Unanswered
				say(told + "; asks again until it does, Ctrl-C leaves it")
			}
			look, pause = time.After(pause), min(2*pause, askAgain)
		}
	}
}
