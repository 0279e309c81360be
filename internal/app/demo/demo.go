// Package demo plays the main job on stand-ins, `plimsoll demo` and `plimsoll demo argocd`.
//
//	report, err := demo.Play(ctx, demo.Options{Out: os.Stdout}, showRun)
//	ok := err == nil && report.OK()
//
// It starts this very program in processes of its own, as a user would: the agent under `plimsoll run`. The demo is the agent's client over A2A, reads its
// journal, and looks at what the limits did. One at a time per process: it takes over its signals.
// The package is tested by its own tests and by e2e.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/plimsoll/plimsoll/internal/app/agents"
	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

// Options are the settings of `plimsoll demo`.
type Options struct {
	// ArgoCD plays the scenes of the agent for Argo CD, on a simulated one.
	ArgoCD bool
	// Model replaces the stand-in, with the key in the environment; "" asks the
	// stand-in. RealArgoCD takes the Argo CD of the environment in the place of the simulated one.
	Model      string
	RealArgoCD bool
	// Out gets what happens, line by line; Colour is true when that is a terminal that shows colours.
	Out    io.Writer
	Colour bool
	// Each is called with every scene when it is over; nil is not.
	Each func(Scene)
	// Stay is called after the report; then the dashboard shows what happened, until ctx ends or somebody asks for the end. The address that it
	// is given is that of the run's page. nil does not stay.
	Stay func(r Report, address string)
}

// Scene is the result of one scene.
type Scene struct {
	Scene      string `json:"scene"`
	Question   string `json:"question"`
	Outcome    string `json:"outcome"`
	OK         bool   `json:"ok"`
	Note       string `json:"note"`
	DurationMS int64  `json:"duration_ms"`
}

// Report is the result of all scenes.
type Report struct {
	Scenes []Scene        `json:"scenes"`
	Run    journal.Report `json:"run"`

	scenes int // that were to be played
}

// OK reports whether every scene was played and ended as it should.
func (r Report) OK() bool {
	for _, s := range r.Scenes {
		if !s.OK {
			return false
		}
	}
	return len(r.Scenes) == r.scenes
}

const (
	// memory is the limit of the run. The agent takes a tenth of it; what the build takes does not fit.
	memory   = 384 * limit.MiB
	buildMiB = 1024
	// buildSeconds is the time for which the build would keep what it takes, as a linker does. The kernel ends it before; where only Plimsoll
	// watches the memory, twice a second, a build that takes and leaves all of it in between would go unnoticed.
	buildSeconds = 3
	// windowTokens is the stand-in's window in tokens, which a few pages of a log fill. The tools for Argo CD alone take a good part of
	// argocdTokens.
	windowTokens = 10000
	argocdTokens = 16000
	// maxTime bounds the whole.
	maxTime = 3 * time.Minute
)

// Play plays the demo with a stand-in for the model: an agent under a real run, whose report showRun prints; with ArgoCD the agent for Argo
// CD, on a simulated one. An error means that it could not be played; scenes that failed are in the report.
func Play(ctx context.Context, o Options, showRun func(w io.Writer, colour bool, r journal.Report)) (_ Report, err error) {
	whole, stop := core.Interruptible(ctx, 0)
	defer stop()
	ctx, cancel := context.WithTimeout(whole, maxTime)
	defer cancel()
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	if o.Out != nil {
		o.Out = &watched{o.Out, giveUp}
	}
	defer keepFromPipes()()
	view := &view{w: o.Out, colour: o.Colour, showRun: showRun}
	played := scripts
	if o.ArgoCD {
		played = argocdScripts
	}
	report := Report{scenes: len(played)}
	stage, err := openStage(ctx, o, view)
	if err != nil {
		return report, interruptedOr(ctx, err)
	}
	closed := false
	defer func() {
		if !closed {
			_, e := stage.Close()
			err = errors.Join(err, e)
		}
		err = errors.Join(err, stage.clear())
	}()
	view.opening(stage)
	for i, script := range played {
		view.scene(i+1, len(played), script)
		began := time.Now()
		scene := Scene{Scene: script.name, Question: script.question}
		stage.from = stage.heard.len()
		note, err := script.play(ctx, stage, &scene)
		if ctx.Err() != nil {
			return report, interruptedOr(ctx, err)
		}
		scene.Note, scene.OK, scene.DurationMS = note, err == nil, time.Since(began).Milliseconds()
		if err != nil {
			scene.Note = err.Error()
		}
		report.Scenes = append(report.Scenes, scene)
		view.verdict(scene)
		if o.Each != nil {
			o.Each(scene)
		}
	}
	closed = true
	if report.Run, err = stage.Close(); err != nil {
		return report, err
	}
	view.report(report.Run)
	if o.Stay != nil {
		cancel() // what is limited is the play
		err = stage.show(whole, func(address string) { o.Stay(report, address) })
	}
	return report, err
}

// keepFromPipes keeps this process from dying of SIGPIPE until release is called: nobody would end and remove then what the demo has started.
func keepFromPipes() (release func()) {
	unheard := make(chan os.Signal, 1) // written to by any broken connection; what counts is the error of the output
	signal.Notify(unheard, syscall.SIGPIPE)
	return func() { signal.Stop(unheard) }
}

// watched is the output of the demo. When its reader has gone, as head has after ten lines, the demo gives up as after a signal.
type watched struct {
	io.Writer
	giveUp context.CancelCauseFunc
}

// Write implements [io.Writer].
func (w *watched) Write(p []byte) (int, error) {
	n, err := w.Writer.Write(p)
	if errors.Is(err, syscall.EPIPE) {
		w.giveUp(&core.Interrupted{Signal: int(syscall.SIGPIPE)})
	}
	return n, err
}

// interruptedOr returns an error that says so if a signal or the time limit has ended ctx; otherwise it returns err.
func interruptedOr(ctx context.Context, err error) error {
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("the demo took more than %s and was ended; this machine may be very busy: try again", maxTime)
	case ctx.Err() != nil:
		return &endedBySignal{context.Cause(ctx)}
	}
	return err
}

// endedBySignal is the error of a command that somebody has ended.
type endedBySignal struct{ cause error }

func (*endedBySignal) Error() string {
	return "interrupted: everything that was started has been ended"
}

// SignalOf returns the signal that ended a command, 0 when none did.
func SignalOf(err error) int {
	if e, ok := errors.AsType[*endedBySignal](err); ok {
		if by, ok := errors.AsType[*core.Interrupted](e.cause); ok {
			return by.Signal
		}
	}
	return 0
}

// Offers returns the real things in the environment that the demo could use: a model as --model takes it, and the address of an Argo CD with its
// token; "" for what is not there.
func Offers(getenv func(string) string) (model, argocd string) {
	model = agents.ModelOfKey(getenv)
	if getenv("ARGOCD_SERVER") != "" && getenv("ARGOCD_AUTH_TOKEN") != "" {
		argocd = getenv("ARGOCD_SERVER")
	}
	return model, argocd
}
