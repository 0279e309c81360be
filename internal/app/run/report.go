package run

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/atomicfile"
	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/fleet/hosts"
	"github.com/plimsoll/plimsoll/internal/jobs"
	"github.com/plimsoll/plimsoll/internal/printable"
	"github.com/plimsoll/plimsoll/internal/process/termination"
	"github.com/plimsoll/plimsoll/internal/secrets"
	"github.com/plimsoll/plimsoll/internal/watch/runs"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/process/admission"
	"github.com/plimsoll/plimsoll/process/sandbox"
)

// report is the account of one run: warnings as they come, the journal, and at the end the result. It begins before there is a decision,
// because a run that is refused is reported too.
type report struct {
	opts     *Options
	say      *speaker
	early    []journal.Warned // before there is a journal
	journal  *journal.Journal // nil before begin
	reporter *journal.Reporter
	requests runs.Requests
	store    *runs.Writer   // nil when nothing is kept of the run
	told     *core.EventLog // nil where nothing is told meanwhile
	notices  *core.OwnNotices
	own      *hosts.Own // nil without a fleet
	untell   func()     // ends what the other hosts are told
	// container writes the message for whoever finds a dead container; nil outside of one.
	container *termination.Watch
	// folder is the directory for the report's file, as it was found before the run; "" before that.
	folder  string
	hidden  *secrets.Values
	failed  string // why the command did not start
	id      string // of the run
	outcome journal.Outcome
	status  Status
	// fleetTold is true once somebody was told that the fleet is away.
	fleetTold bool
}

func newReport(o *Options) *report {
	hidden := secrets.Environ(os.Environ())
	return &report{opts: o, say: newSpeaker(o, hidden), hidden: hidden, id: admission.NewID(), untell: func() {}}
}

// begin opens the journal with start, the part of the report known before the run, and the file of the run. A dry run has no file.
func (r *report) begin(c *core.Core, start journal.Report, decided runs.Decision) {
	start.Command = r.hidden.Argv(start.Command)
	r.reporter = journal.NewReporter(start)
	observers := []journal.Observer{r.reporter, &r.requests}
	if settings, err := c.Config.For(""); err == nil && !r.opts.DryRun {
		h := runs.Header{ID: r.id, Kind: runs.KindRun, Parent: core.InsideRun(), Decision: decided, Report: start}
		if h.Parent == "" && jobs.CheckID(os.Getenv(runs.JobName)) == nil {
			h.Job = os.Getenv(runs.JobName)
		}
		r.notices = core.NotifyOf(settings, &h, r.say.warn)
		observers = append(observers, r.notices.Observers()...)
		if !r.opts.StderrIsTerminal && !r.opts.Quiet { // on a terminal the screen is the command's, and the report comes at the end
			r.told = core.NewLog(r.say)
			observers = append(observers, r.told)
		}
		if o, ok := c.RunStore(settings); ok {
			r.store = runs.Begin(o, h)
			observers = append(observers, r.store)
		}
		if settings.Fleet.URL != "" {
			r.own = hosts.Follow(h, os.Getpid())
			observers = append(observers, r.own)
			r.untell = c.AnnounceHost(settings, r.own)
		}
	}
	r.journal = journal.New(journal.Options{Observers: observers})
	for _, w := range r.early {
		r.journal.Append(w)
	}
	r.early = nil
}

// warn prints a warning for the user and puts it into the report.
func (r *report) warn(about, text string) {
	r.say.warn(text)
	r.note(about, text)
}

// alert is warn that --quiet does not silence: something that the user relies on was not done.
func (r *report) alert(about, text string) {
	r.say.alert(text)
	r.note(about, text)
}

// note appends a warning, without secrets, to the journal. Until there is one it is kept, at most maxSaid of them.
func (r *report) note(about, text string) {
	if w := (journal.Warned{About: about, Text: r.hidden.Text(text)}); r.journal != nil {
		r.journal.Append(w)
	} else if len(r.early) < maxSaid {
		r.early = append(r.early, w)
	}
}

// fail ends a run that did not start because of err, which it prints, with a report where one was begun. It returns this process's status.
func (r *report) fail(err error) Status {
	r.status = Status{Code: exitFailed}
	r.outcome = journal.OutcomeFailed
	if e, ok := errors.AsType[*sandbox.ExecError](err); ok {
		r.status.Code = e.Status
	}
	if _, ok := errors.AsType[*admission.Refused](err); ok {
		r.outcome = journal.OutcomeRefused
	}
	if _, ok := errors.AsType[*core.NotCoordinatedError](err); ok {
		r.outcome = journal.OutcomeRefused
	}
	if _, ok := errors.AsType[*notAdmittedError](err); ok {
		r.outcome = journal.OutcomeRefused
	}
	if _, ok := errors.AsType[*admission.UncheckedError](err); ok {
		r.outcome = journal.OutcomeRefused
	}
	if _, ok := errors.AsType[*notReclaimable](err); ok {
		r.outcome = journal.OutcomeRefused
	}
	refusedBy := ""
	if e, ok := errors.AsType[*sandbox.NotEnforced](err); ok {
		r.outcome = journal.OutcomeRefused
		if !e.Reclaims {
			refusedBy = journal.RefusedByEnforcement
		}
	}
	signal := 0
	if errors.Is(err, context.Canceled) {
		signal = 2 // SIGINT
		if e, ok := errors.AsType[*core.Interrupted](err); ok {
			signal = e.Signal
		}
		r.status = Status{Code: 128 + signal, Signal: signal}
		r.outcome = journal.OutcomeSignalled
		r.say.clear()
	} else {
		r.say.fail(err)
		r.failed = r.hidden.Text(err.Error())
	}
	if r.journal != nil {
		if r.outcome == journal.OutcomeRefused {
			r.journal.Append(journal.Refused{Reason: r.hidden.Text(err.Error()), By: refusedBy})
		} else {
			if r.failed != "" { // or nobody would know it the next morning
				r.journal.Append(journal.Warned{About: "start", Text: r.failed})
			}
			r.journal.Append(journal.RunEnded{ExitCode: r.status.Code, Signal: sandbox.SignalName(signal), Outcome: r.outcome})
		}
		r.write()
		r.close()
	}
	return r.status
}

// lastWords returns, for the container's termination message, why the run did not start or was ended at a limit or for memory; else "".
func (r *report) lastWords(basis runs.Decision) string {
	switch {
	case r.failed != "":
		return r.failed
	case r.outcome == journal.OutcomeOOM || r.outcome == journal.OutcomeLimit:
		all := r.reporter.Report()
		next := strings.Join(Advice(all, basis), "; ")
		return all.Tool + ": " + strings.TrimSuffix(inOneLine(all, next), "; ")
	}
	return ""
}

// close closes the log and the stored file of the run, which gets the report. A second call does nothing.
func (r *report) close() {
	if r.told != nil {
		_ = r.told.Close()
		r.told = nil
	}
	if r.store != nil {
		if err := r.store.End(r.reporter.Report()); err != nil {
			r.say.warn(err.Error())
		}
		r.store = nil
	}
	r.untell() // what the run spent is in the store
	r.untell = func() {}
}

// end records how the command ended.
func (r *report) end(result *sandbox.Result) {
	r.status = Status{Code: result.ExitCode, Signal: result.Signal}
	r.outcome = result.Outcome()
	r.journal.Append(journal.RunEnded{
		LimitReached: result.Reached,
		ExitCode:     result.ExitCode, Signal: sandbox.SignalName(result.Signal), Outcome: r.outcome, Duration: result.Duration,
		PeakBytes: int64(result.Peak.Bytes), PeakAnonBytes: int64(result.Peak.Working),
		PeakMethod: result.Peak.Method, PeakExact: result.Peak.Exact, OOMKills: result.OOMKills,
		RanInto: string(result.RanInto), RanIntoBytes: int64(result.RanIntoBytes),
	})
}

// finish writes the report to its file and shows it: whole on a terminal, else as one line, when there is advice. used is the processor
// time of the run, or a lower bound of it unless exact is true.
func (r *report) finish(d *decision, used time.Duration, exact bool) {
	r.write()
	r.close()
	all := r.reporter.Report()
	if r.opts.StderrIsTerminal && !r.opts.Quiet {
		r.say.report(all, d.basis(), used, exact)
		return
	}
	if next := Advice(all, d.basis()); len(next) > 0 {
		r.say.warn(inOneLine(all, next[0]))
	}
}

// write writes the run report to the file that was asked for, if any. A regular file is replaced whole or not at all. A symbolic link in
// the last element is refused: whoever can write into the directory would choose which file of ours is replaced. A device or a pipe is
// appended to, and so is a name such as /dev/stdout, which leads to a regular file when a shell redirects it. In the container's termination
// message it comes after the last words, see leave.
func (r *report) write() {
	file := r.opts.ReportFile
	if file == "" || r.container != nil && inMessage(file) {
		return
	}
	body, err := json.MarshalIndent(r.reporter.Report(), "", "  ")
	if err == nil {
		err = putReport(file, r.folder, append(printable.EscapeJSON(body), '\n'))
	}
	if err != nil {
		r.say.warn("the report was not written: " + err.Error())
	}
}

// endContainer ends the watch of the container's memory, and writes the last words into the container's termination message. If the report
// was asked for in that file, it becomes the last line.
func (r *report) endContainer(d *decision) {
	r.container.End(r.lastWords(d.basis()))
	file := r.opts.ReportFile
	if r.container == nil || file == "" || !inMessage(file) {
		return
	}
	all := r.reporter.Report()
	err := appendTo(file, jobs.FormatMessage(&all), func(flag int) (*os.File, error) { return os.OpenFile(file, flag, 0o600) })
	if err != nil {
		r.say.warn("the report was not written: " + err.Error())
	}
}

// inMessage reports whether a file is the container's termination message.
func inMessage(file string) bool {
	path, err := termination.Path(os.Getenv)
	return err == nil && filepath.Clean(file) == path
}

// putReport writes body to file. folder is the directory of the file as it was found before the run. It is looked up again, since the run
// may have deleted it and made it anew; when it leads elsewhere now, that is an error.
func putReport(file, folder string, body []byte) error {
	// Opened again a stream would have an offset of its own, and write over what is there.
	switch filepath.Clean(file) {
	case "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1":
		_, err := os.Stdout.Write(body)
		return err
	case "/dev/stderr", "/dev/fd/2", "/proc/self/fd/2":
		_, err := os.Stderr.Write(body)
		return err
	}
	if ofSystem(file) {
		return appendTo(file, body, func(flag int) (*os.File, error) { return os.OpenFile(file, flag, 0o600) })
	}
	if now, err := config.Destination(filepath.Dir(file)); err == nil && folder != "" && now != folder {
		return fmt.Errorf("the folder of %s was %s before the run and leads to %s now: name a file that the run does not move", file, folder, now)
	}
	root, name, err := config.OpenFolder(file)
	if err != nil {
		return err
	}
	defer root.Close()
	info, err := root.Lstat(name)
	switch {
	case err == nil && info.Mode()&fs.ModeSymlink != 0:
		return isLink(file)
	case err == nil && !info.Mode().IsRegular():
		return appendTo(file, body, func(flag int) (*os.File, error) { return root.OpenFile(name, flag, 0o600) })
	}
	return atomicfile.Replacement{Root: root, Name: name, Perm: 0o600, Kept: atomicfile.Durable}.Write(body)
}

// isLink returns the error for a file that is a symbolic link, or that of reading it as one: it is never nil.
func isLink(file string) error {
	target, err := os.Readlink(file)
	if err != nil {
		return err
	}
	return fmt.Errorf("%s is a symbolic link to %s, which is not followed, because who can write there decides where it leads; name the file itself", file, target)
}

// ofSystem reports whether a name is below /dev or /proc (/dev/stdout, /proc/self/fd/3): it stands for an open file, and neither that file
// nor the name may be replaced.
func ofSystem(name string) bool {
	abs, err := filepath.Abs(name)
	return err != nil || strings.HasPrefix(abs, "/dev/") || strings.HasPrefix(abs, "/proc/")
}

// reportPatience bounds the wait for the reader of a pipe: the run has ended, and its exit status waits.
const reportPatience = 5 * time.Second

// appendTo appends body to a device, a pipe or the like, which open opens. It never waits for long: nobody may read a pipe that the run made.
func appendTo(file string, body []byte, open func(flag int) (*os.File, error)) error {
	f, err := open(os.O_WRONLY | os.O_CREATE | os.O_APPEND | syscall.O_NONBLOCK)
	if errors.Is(err, syscall.ENXIO) {
		return fmt.Errorf("%s is a pipe or a socket that nobody reads", file)
	}
	if err != nil {
		return err
	}
	_ = f.SetWriteDeadline(time.Now().Add(reportPatience)) // what has no deadline takes bytes without a reader
	_, err = f.Write(body)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		err = fmt.Errorf("the reader of %s did not take it within %s", file, reportPatience)
	}
	return errors.Join(err, f.Close())
}

// checkReportFile returns the directory that the report will be written to, "" for no file, or an error when that would fail after the run.
func checkReportFile(file string) (dir string, err error) {
	if file == "" {
		return "", nil
	}
	if ofSystem(file) {
		dir = filepath.Dir(file)
	} else {
		dir, err = config.Destination(filepath.Dir(file))
	}
	if err == nil {
		var info fs.FileInfo
		if info, err = os.Stat(dir); err == nil && !info.IsDir() {
			err = fmt.Errorf("%s is not a directory", dir)
		}
	}
	if err == nil {
		if into, statErr := os.Lstat(file); statErr == nil && into.IsDir() {
			err = fmt.Errorf("%s is a directory", file)
		} else if statErr == nil && into.Mode()&os.ModeSymlink != 0 && !ofSystem(file) {
			err = isLink(file)
		}
	}
	if err == nil && !exists(file) {
		var trial *os.File
		if trial, err = os.CreateTemp(dir, ".plimsoll-"); err == nil {
			_ = trial.Close()
			err = os.Remove(trial.Name())
		} else {
			err = fmt.Errorf("%s can't be written to", dir)
		}
	}
	if err != nil {
		if _, ok := errors.AsType[*config.LinkError](err); ok {
			return "", fmt.Errorf("--report %s: %w", file, err)
		}
		return "", fmt.Errorf("--report %s: %w; name a file in a directory that exists and is yours to write to", file, err)
	}
	return dir, nil
}

func exists(file string) bool {
	_, err := os.Lstat(file)
	return err == nil
}
