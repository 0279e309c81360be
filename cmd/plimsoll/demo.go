package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/plimsoll/plimsoll/internal/app"
	"github.com/plimsoll/plimsoll/internal/app/demo"
	"github.com/plimsoll/plimsoll/internal/app/run"
)

// newDemoCommand returns the command demo, which shows what Plimsoll does without a key or a network.
func newDemoCommand() *cobra.Command {
	cmd := demoCommand(demo.Options{}, &cobra.Command{
		Use:   "demo",
		Short: "See what Plimsoll does: no key, no network, nothing to set up",
		Long: `Starts a stand-in for a model that goes by keywords, and an agent under a real "plimsoll run": in a sandbox,
after admission, behind the proxy, with its tools behind the gateway. Then it does to the agent what agents die of:
a build that takes all memory, a history too long, a tool that answers with 20 MB, a bill without end. It prints
what each limit did, and the report of the run. On a terminal the dashboard then shows the run in a browser, until Ctrl-C. Nothing
stays behind.

With a key of a model in the environment it asks, on a terminal, whether to use that; --model does so without asking.`,
		Example: `  plimsoll demo
  plimsoll demo --json
  plimsoll demo --model anthropic/claude-sonnet-5
  plimsoll demo argocd`,
	})
	cmd.AddCommand(demoCommand(demo.Options{ArgoCD: true}, &cobra.Command{
		Use:   "argocd",
		Short: "The same with the agent for Argo CD, on a simulated one",
		Long: `Starts a simulated Argo CD with 819 applications, and under "plimsoll run" the agent for Argo CD: a large list, a
search, its next page, a call without a result, a loop, a client that goes away.

With a key of a model or the address of an Argo CD in the environment it asks, on a terminal, whether to
use those; --model and --real-argocd do so without asking. An Argo CD is only read.`,
		Example: `  plimsoll demo argocd
  plimsoll demo argocd --real-argocd`,
	}))
	return cmd
}

// demoCommand gives cmd its flags and makes it play the scenes of o. On a terminal the dashboard is shown at the end until Ctrl-C, unless a
// flag says otherwise. A scene that did not end as it should makes the exit status.
func demoCommand(o demo.Options, cmd *cobra.Command) *cobra.Command {
	var asJSON, yes, stay, leave bool
	cmd.Args, cmd.RunE = cobra.NoArgs, func(cmd *cobra.Command, _ []string) error {
		if stay && (asJSON || leave) {
			return errors.New("--stay shows the dashboard at the end, --json and --no-dashboard end before it: leave one of them out")
		}
		if _, err := openApp(cmd, nil); err != nil {
			return err
		}
		offerDemo(cmd, &o, yes || asJSON)
		out := cmd.OutOrStdout()
		if !asJSON {
			out = wrapped(out, os.Stdout)
		}
		if asJSON {
			o.Each = func(s demo.Scene) { _ = app.WriteJSON(out, s, "") }
		} else {
			o.Out = wrapped(unwrapWriter(cmd.OutOrStdout()), os.Stdout) // it draws, of texts that it has made plain
			o.Colour = term.IsTerminal(int(os.Stdout.Fd())) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
		}
		if !asJSON && !leave && (stay || term.IsTerminal(int(os.Stdout.Fd())) && term.IsTerminal(int(os.Stdin.Fd()))) {
			o.Stay = func(r demo.Report, address string) {
				_ = printClosing(out, r)
				fmt.Fprintf(out, "\nthe same in your browser, until Ctrl-C:  %s\n", address)
			}
		}
		r, err := demo.Play(cmd.Context(), o, run.Show)
		if n := demo.SignalOf(err); n != 0 {
			fmt.Fprintln(cmd.ErrOrStderr(), "plimsoll: "+err.Error())
			return &exitError{code: 128 + n}
		}
		if err != nil {
			return err
		}
		if asJSON {
			return demoStatus(r, app.WriteJSON(out, map[string]any{"scene": "report", "ok": r.OK(), "run": r.Run}, ""))
		}
		if o.Stay != nil {
			return demoStatus(r, nil)
		}
		return demoStatus(r, printClosing(out, r))
	}
	f := cmd.Flags()
	f.StringVar(&o.Model, "model", "", "ask this model, as PROVIDER/NAME, with the key in the environment, in the place of the stand-in")
	if o.ArgoCD {
		f.BoolVar(&o.RealArgoCD, "real-argocd", false, "use the Argo CD of ARGOCD_SERVER and ARGOCD_AUTH_TOKEN, in the place of the simulated one")
	}
	f.BoolVarP(&yes, "no-questions", "y", false, "do not ask whether to use what is in the environment")
	f.BoolVar(&asJSON, "json", false, "print one JSON object for each scene, and one for the report")
	f.BoolVar(&stay, "stay", false, "show the dashboard at the end although this is no terminal, until a signal")
	f.BoolVar(&leave, "no-dashboard", false, "end after the report")
	return cmd
}

// demoStatus returns the exit status: a scene that did not end as it should is a failure.
func demoStatus(r demo.Report, err error) error {
	if err == nil && !r.OK() {
		err = &exitError{code: 1}
	}
	return err
}

// printClosing prints the outcome of all scenes, and what is next.
func printClosing(out io.Writer, r demo.Report) error {
	failed := 0
	for _, s := range r.Scenes {
		if !s.OK {
			failed++
		}
	}
	if failed > 0 {
		_, err := fmt.Fprintf(out, "\n%d of %d did not end as they should: see ✗ above; plimsoll doctor tells what this machine can enforce\n", failed, len(r.Scenes))
		return err
	}
	_, err := fmt.Fprintf(out, "\nall %d ended as they should. Your own agent, without a change in it:  plimsoll run -- claude\n", len(r.Scenes))
	return err
}

// offerDemo tells which key of a model and which Argo CD are in the environment. On a terminal it asks whether to use them, and sets them in
// o if so. With quiet it does nothing.
func offerDemo(cmd *cobra.Command, o *demo.Options, quiet bool) {
	if quiet {
		return
	}
	model, argocd := demo.Offers(os.Getenv)
	errs := wrapped(plainWriter(cmd.ErrOrStderr()), os.Stderr)
	person := term.IsTerminal(int(os.Stdin.Fd())) && stderrIsTerminal()
	ask := func(what, flag string) bool {
		if !person {
			fmt.Fprintf(errs, "plimsoll: %s is in the environment; with %s it is used in the place of the stand-in\n", what, flag)
			return false
		}
		fmt.Fprintf(errs, "plimsoll: use %s, in the place of the stand-in? [y/N] ", what)
		return saysYes(cmd)
	}
	if model != "" && o.Model == "" && ask("a key for "+model+" (it costs some cents)", "--model "+model) {
		o.Model = model
	}
	if argocd != "" && o.ArgoCD && !o.RealArgoCD && ask("the Argo CD at "+argocd+" (it is only read)", "--real-argocd") {
		o.RealArgoCD = true
	}
}
