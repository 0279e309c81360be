package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/plimsoll/plimsoll/internal/app/agents"
)

func newChatCommand() *cobra.Command {
	var o agents.ChatOptions
	cmd := &cobra.Command{
		Use:   "chat [AGENT]",
		Short: "Talk with an agent on the terminal",
		Long: `Opens one of the agents of [agents], the built-in one for Argo CD, or a model without tools where neither is
configured, and talks with it: each line is a question, and the answer appears as it is written. Which model
is asked, and with what tools, is said as for plimsoll ask.

  Enter   sends; Ctrl-J or Alt-Enter begins a new line
  """     on a line of its own begins and ends a text of several lines; a paste is one text, and a line that ends in \ goes on in the next
  Ctrl-C  stops the answer and not the chat; twice, or Ctrl-D, ends it

  /tools   what the agent may call
  /window  what is in the window, and what it took so far
  /save    [FILE] writes the conversation down, in Markdown
  /clear   begin anew
  /help    this list
  /quit    end

Conversations are kept under the name that is said at the end: --session NAME goes on with one, --continue with
the last one, and --private keeps nothing. plimsoll agent sessions lists them.

Without a terminal the questions are the lines of standard input, and only answers go to standard output.
Exits with 0; without a terminal with 1 when a question had no answer; with 128+N when signal N ended it.`,
		Example: `  plimsoll chat
  plimsoll chat --model ollama/qwen3
  plimsoll chat reviewer --continue
  plimsoll chat --mcp "npx -y @modelcontextprotocol/server-filesystem ."
  plimsoll chat --mcp-config .mcp.json
  PLIMSOLL_MCP_ARGOCD_SIMULATOR=on plimsoll chat --model standin`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeAgents,
		RunE: func(cmd *cobra.Command, args []string) error {
			a, err := openApp(cmd, nil)
			if err != nil {
				return err
			}
			if len(args) == 1 {
				o.Name = args[0]
			}
			if cmd.Flags().Changed("max-steps") && o.MaxSteps < 1 {
				return fmt.Errorf("--max-steps %d: write a number from 1 on", o.MaxSteps)
			}
			o.Version, o.Stderr = version(), os.Stderr
			stderr := cmd.ErrOrStderr()
			view := newAskView(cmd.OutOrStdout(), stderr, term.IsTerminal(int(os.Stdout.Fd())), stderrIsTerminal() && !o.Quiet)
			status, err := agents.Talk(cmd.Context(), a, agents.TalkOptions{ChatOptions: o, In: os.Stdin, Terminal: os.Stderr, Out: plainWriter(stderr), View: view})
			if err == nil && status != 0 {
				return &exitError{code: status}
			}
			return err
		},
	}
	f := cmd.Flags()
	agentFlags(cmd, &o.AgentOptions)
	mcpFlags(cmd, &o.AgentOptions)
	f.StringVar(&o.Session, "session", "", "go on with the conversation of this name, or begin it")
	f.BoolVarP(&o.Existing, "continue", "c", false, "go on with the conversation used last; with --session, fail when it does not exist")
	f.BoolVar(&o.Private, "private", false, "keep nothing of what is said")
	f.IntVar(&o.MaxSteps, "max-steps", 0, "most requests to the model for one question (default: of the agent, 20)")
	f.BoolVarP(&o.Quiet, "quiet", "q", false, "only questions and answers")
	return cmd
}
