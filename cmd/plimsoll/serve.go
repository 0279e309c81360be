package main

import (
	"github.com/spf13/cobra"

	"github.com/plimsoll/plimsoll/internal/app/daemon"
	"github.com/plimsoll/plimsoll/internal/app/listen"
	"github.com/plimsoll/plimsoll/internal/config"
)

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
