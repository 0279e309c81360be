package main

import (
	"os"

	"github.com/spf13/cobra"

	"github.com/plimsoll/plimsoll/internal/app/watch"
)

func newMCPRunsCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "runs",
		Short: "The MCP server by which an agent learns of its own limits and of earlier runs",
		Long: `Serves what Plimsoll knows of runs to an agent over MCP, on standard streams: what the run that the agent
is in uses and what is left (run_status), what ran in this project and what came of it (list_runs, show_run), and
what a command is expected to need (predict_run). All of them only read.

The plugin for Claude Code in deploy/claude-plugin has it.`,
		Example: `  plimsoll mcp runs
  claude mcp add plimsoll -- plimsoll mcp runs`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			a, err := openApp(cmd, nil)
			if err != nil {
				return err
			}
			return watch.ServeTools(cmd.Context(), a, watch.ToolsOptions{Stdin: os.Stdin, Stdout: os.Stdout, Version: version()})
		},
	}
}
