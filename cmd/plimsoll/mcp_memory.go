package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/plimsoll/plimsoll/internal/app/mcp"
	"github.com/plimsoll/plimsoll/internal/app/run"
	"github.com/plimsoll/plimsoll/internal/config"
)

func newMCPMemoryCommand() *cobra.Command {
	var o mcp.MemoryOptions
	var maxOutput, inRun string
	var events bool
	cmd := &cobra.Command{
		Use:   "memory",
		Short: "The MCP server of the memory: search it, note things down",
		Long: `Serves the memory to an agent over MCP: search_memory and get_memory find what was said in earlier conversations,
manage_memory and memory (Anthropic's memory tool, over Markdown files) note things down. What an agent
writes has the origin "agent": it is found when it is asked for, and never put before a model by itself.

It writes into the namespace of the project of the working directory, and finds what is there and what is the user's.`,
		Example: `  plimsoll mcp memory
  plimsoll mcp memory --read-only
  claude mcp add memory -- plimsoll mcp memory`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if inRun != "" {
				if err := run.EnterRun(inRun); err != nil {
					return err
				}
			}
			var flags []config.Flag
			if cmd.Flags().Changed("max-output") {
				flags = append(flags, config.Flag{Name: "--max-output", Key: "mcp.max_output", Value: maxOutput})
			}
			a, err := openApp(cmd, flags)
			if err != nil {
				return err
			}
			o.Version, o.Stdin, o.Stdout, o.Stderr = version(), os.Stdin, os.Stdout, os.Stderr
			if events {
				if o.Listen == "" {
					return fmt.Errorf("--events needs --listen: without it standard output is the client's")
				}
				o.Events = cmd.OutOrStdout()
			}
			return mcp.ServeMemory(cmd.Context(), a, o)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.ReadOnly, "read-only", false, "only the tools that change nothing")
	f.StringVar(&o.Namespace, "namespace", "", "where it writes, and finds beside what is the user's: project/ID, agent/NAME or user (default: this directory's project)")
	f.StringVar(&inRun, "in-run", "", "file that plimsoll run has written for the gateways within it")
	_ = f.MarkHidden("in-run")
	f.StringVar(&o.Listen, "listen", "", "serve streamable HTTP on this address instead of standard streams")
	f.StringVar(&o.ReadyFile, "ready-file", "", "write the endpoint's URL into this file when ready, remove it at the end")
	f.StringVar(&maxOutput, "max-output", "", "largest text of a result that is not paged, as 20K (default: by the client, 10K for one not known)")
	f.BoolVar(&events, "events", false, "print every event as one line of JSON on standard output (with --listen)")
	f.BoolVarP(&o.Quiet, "quiet", "q", false, "do not say where it listens")
	return cmd
}
