package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/plimsoll/plimsoll/internal/app/container"
	"github.com/plimsoll/plimsoll/internal/app/daemon"
	"github.com/plimsoll/plimsoll/internal/app/listen"
	"github.com/plimsoll/plimsoll/internal/config"
)

// newServeCommand returns the command serve, the daemon with the gateways and the agents.
func newServeCommand() *cobra.Command {
	var o daemon.Options
	var address, mode string
	var events bool
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve the model gateway, the MCP gateway and agents over A2A, with metrics",
		Long: `Listens on a loopback address and stands between agents and their model providers:
it counts every request before it is sent, pairs tool calls and results again, makes room
when the context window is nearly full, and lets everything else through byte for byte.

  /openai/v1/…  and /anthropic/v1/…, /gemini/v1beta/…: the providers of [upstream]
  /mcp/NAME     the servers of [mcp.servers]; /mcp has them as one
  /mcp/argocd   the Argo CD of [mcp.argocd]
  /a2a/NAME     the agents of [agents]
  /metrics      and /healthz, /readyz

plimsoll run does the same for one run by itself; the daemon is for agents that are not
started by plimsoll run. Beyond loopback it demands a token and TLS: see [serve].

Under systemd it tells when it is ready, answers the watchdog, takes a socket that was opened for
it in place of --listen, and reads credentials: docs/systemd.md.`,
		Example: `  plimsoll serve
  ANTHROPIC_BASE_URL=http://127.0.0.1:4620/anthropic claude
  plimsoll serve --listen 127.0.0.1:0 --ready-file /tmp/plimsoll.url`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if o.Service, err = listen.TakeService(); err != nil {
				return err
			}
			var flags []config.Flag
			if cmd.Flags().Changed("listen") {
				flags = append(flags, config.Flag{Name: "--listen", Key: "serve.listen", Value: address})
			}
			if cmd.Flags().Changed("mode") {
				flags = append(flags, config.Flag{Name: "--mode", Key: "window.mode", Value: mode})
			}
			a, err := openApp(cmd, flags)
			if err != nil {
				return err
			}
			o.Stderr, o.Version = cmd.ErrOrStderr(), version()
			if events {
				o.Log = cmd.OutOrStdout()
			}
			return daemon.Run(cmd.Context(), a, o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&address, "listen", "", "address to listen on (default: 127.0.0.1:4620, or [serve] listen)")
	f.StringVar(&mode, "mode", "", "enforce, observe (count and report, change nothing) or off")
	f.StringVar(&o.ReadyFile, "ready-file", "", "write the base URL into this file when ready, remove it at the end")
	f.BoolVar(&events, "events", false, "print every event as one line of JSON on standard output")
	f.BoolVarP(&o.Quiet, "quiet", "q", false, "do not say where it listens")
	_ = cmd.RegisterFlagCompletionFunc("mode", cobra.FixedCompletions(choicesOf("window.mode"), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// exitUnhealthy is the status of plimsoll health without a good answer: 1, as a HEALTHCHECK of a container has it.
const exitUnhealthy = 1

// newHealthCommand returns the command health, which asks plimsoll serve whether it takes requests.
func newHealthCommand() *cobra.Command {
	o := container.HealthOptions{Timeout: container.HealthTimeout}
	cmd := &cobra.Command{
		Use:    "health",
		Hidden: true, // for the probes of a container
		Short:  "Ask plimsoll serve whether it takes requests: for the probes of a container",
		Long: "Ask the daemon at the address of [serve] listen for /readyz. It is for containers whose image has no curl.\n\n" +
			"The exit status is 0 if it takes requests, and 1 if it does not or does not answer.",
		Example: "  plimsoll health\n  plimsoll health --live --url http://127.0.0.1:4620",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.Timeout <= 0 {
				return errors.New("--timeout is not above zero; give it as in 3s")
			}
			a, err := openApp(cmd, nil)
			if err != nil {
				return err
			}
			if err := container.Health(cmd.Context(), a, o); err != nil {
				showError(cmd.ErrOrStderr(), err)
				return &exitError{exitUnhealthy}
			}
			said := "ready"
			if o.Live {
				said = "ok"
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), said)
			return err
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.URL, "url", "", "address of the daemon (default: that of [serve] listen)")
	f.BoolVar(&o.Live, "live", false, "ask only whether it is there (/healthz)")
	f.DurationVar(&o.Timeout, "timeout", o.Timeout, "how long it has to answer")
	return cmd
}

// newCopyToCommand returns the command copy-to, which puts a copy of this program into a directory.
func newCopyToCommand() *cobra.Command {
	return &cobra.Command{
		Use:    "copy-to DIRECTORY",
		Hidden: true, // for init containers
		Short:  "Put a copy of this program into a directory: for init containers",
		Long: "Put a copy of this program into a directory, as DIRECTORY/plimsoll, for everybody to run. An init container does so with a\n" +
			"volume, and the agent's own image then starts with DIRECTORY/plimsoll run -- COMMAND: docs/kubernetes.md.",
		Example: "  plimsoll copy-to /plimsoll-bin",
		Args:    oneArg("directory", "plimsoll copy-to /plimsoll-bin"),
		RunE: func(cmd *cobra.Command, args []string) error {
			path, err := container.CopyTo(args[0])
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), path)
			return err
		},
	}
}
