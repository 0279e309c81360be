package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/plimsoll/plimsoll/internal/app/container"
)

// exitUnhealthy is the status of plimsoll health without a good answer: 1, as a HEALTHCHECK of a container has it.
const exitUnhealthy = 1

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
