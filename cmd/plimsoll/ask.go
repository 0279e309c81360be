package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/plimsoll/plimsoll/internal/app"
	"github.com/plimsoll/plimsoll/internal/app/agents"
	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/limit"
)

// newAskCommand returns the command ask, which puts one question to an agent and prints the answer.
func newAskCommand() *cobra.Command {
	var o agents.AskOptions
	var asJSON, events bool
	cmd := &cobra.Command{
		Use:   "ask [flags] QUESTION",
		Short: "Ask an agent one question",
		Long: `Asks one of the agents of [agents], or the built-in one for Argo CD, and prints its answer; where neither is
configured, a model without tools. On a terminal the answer appears as it is written, and what the agent
does meanwhile above it.

The agent stays inside its limits: the steps it may take, the window of its model, the size of what
its tools answer. It notices when it runs in circles. Which model: --model, else what is configured,
else the first key in the environment: of Anthropic, OpenAI, Gemini, OpenRouter, Groq, Mistral,
DeepSeek, xAI, Together, Cerebras (ANTHROPIC_API_KEY, OPENAI_API_KEY …). --model ollama/NAME and
lmstudio/NAME need none; --model standin is no model: it goes by keywords.

Exits with 0 when there is an answer, with 1 when there is none, with 128+N when signal N ended it, and
with 125 when nothing could be asked; it says why.`,
		Example: `  plimsoll ask hi
  plimsoll ask --model ollama/qwen3 "what is a load line?"
  plimsoll ask "which applications of team payments are degraded, and why?"
  plimsoll ask --mcp-config .mcp.json "what is in this folder?"
  PLIMSOLL_MCP_ARGOCD_SIMULATOR=on plimsoll ask --model standin "list projects"
  plimsoll ask --session morning "and the others?"
  git diff | plimsoll ask --agent reviewer -`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			a, err := openApp(cmd, nil)
			if err != nil {
				return err
			}
			if o.Question, err = readQuestion(args, cmd.InOrStdin()); err != nil {
				return err
			}
			if cmd.Flags().Changed("max-steps") && o.MaxSteps < 1 {
				return fmt.Errorf("--max-steps %d: write a number from 1 on", o.MaxSteps)
			}
			if o.Existing && o.Session == "" {
				return fmt.Errorf("--continue goes on with a session; name it with --session")
			}
			o.Version, o.Stderr = version(), os.Stderr
			return askAndPrint(cmd, a, o, asJSON, events)
		},
	}
	f := cmd.Flags()
	agentFlags(cmd, &o.AgentOptions)
	mcpFlags(cmd, &o.AgentOptions)
	f.StringVar(&o.Session, "session", "", "keep the conversation under this name, and go on with it next time")
	f.BoolVar(&o.Existing, "continue", false, "fail when the session does not exist")
	f.IntVar(&o.MaxSteps, "max-steps", 0, "most requests to the model (default: of the agent, 20)")
	f.BoolVar(&asJSON, "json", false, "print one JSON object at the end: outcome, answer, calls, tokens")
	f.BoolVar(&events, "events", false, "print what happens as it happens, one JSON object a line; the last is the result")
	f.BoolVarP(&o.Quiet, "quiet", "q", false, "only the answer")
	cmd.MarkFlagsMutuallyExclusive("json", "events")
	return cmd
}

// askAndPrint asks, and prints the events and the answer for a person, or as JSON. If there is no answer, or the run of the question was
// ended, an *exitError has the exit status: what happened was printed already then.
func askAndPrint(cmd *cobra.Command, a *core.Core, o agents.AskOptions, asJSON, events bool) error {
	out := cmd.OutOrStdout()
	view := newAskView(out, cmd.ErrOrStderr(), term.IsTerminal(int(os.Stdout.Fd())) && !asJSON && !events, stderrIsTerminal() && !o.Quiet)
	end := view.showEnd
	switch {
	case events:
		o.Quiet, o.Events = true, func(e agents.Event) { _ = app.WriteJSON(out, e, "") }
		end = func(r agents.AskReport) error {
			return app.WriteJSON(out, struct {
				Kind string `json:"kind"`
				agents.AskReport
			}{"end", r}, "")
		}
	case asJSON:
		o.Quiet, end = true, func(r agents.AskReport) error { return printJSON(out, r) }
	default:
		o.Begun, o.Events = view.begin, view.Event
	}
	r, err := agents.Ask(cmd.Context(), a, o)
	if err != nil {
		return err
	}
	if err := end(r); err != nil {
		return err
	}
	if status := r.Status(); status != 0 {
		return &exitError{code: status}
	}
	return nil
}

// agentFlags adds --model and --base-url, and --agent to the command ask, which does not name its agent otherwise.
func agentFlags(cmd *cobra.Command, o *agents.AgentOptions) {
	f := cmd.Flags()
	if f.Lookup("agent") == nil && cmd.Name() == "ask" {
		f.StringVar(&o.Name, "agent", "", "which agent to ask: one of [agents], or argocd (default: yours, if you have one)")
		_ = cmd.RegisterFlagCompletionFunc("agent", completeAgents)
	}
	f.StringVar(&o.Model, "model", "", "NAME or PROVIDER/NAME in the place of the configured model (ollama/…, openrouter/…, gemini-…); standin is the one that needs no key")
	f.StringVar(&o.BaseURL, "base-url", "", "ask the model at this address (https://HOST/v1), with the key in the environment")
	_ = cmd.RegisterFlagCompletionFunc("model", cobra.FixedCompletions(append([]cobra.Completion{agents.StandinModel}, agents.Services()...), cobra.ShellCompDirectiveNoFileComp|cobra.ShellCompDirectiveNoSpace))
}

// mcpFlags adds the flags that give an agent more tools.
func mcpFlags(cmd *cobra.Command, o *agents.AgentOptions) {
	f := cmd.Flags()
	f.StringArrayVar(&o.MCP, "mcp", nil, "command of an MCP server whose tools the agent may use too, in quotes; no shell runs it (may be repeated)")
	f.StringArrayVar(&o.MCPConfig, "mcp-config", nil, "file of a client (.mcp.json, ~/.codex/config.toml …) whose MCP servers the agent may use too (may be repeated)")
	_ = cmd.MarkFlagFilename("mcp-config", "json", "toml")
}

// completeAgents completes the names of agents that begin with what is typed. It reads the configuration, and completes nothing if that has
// mistakes.
func completeAgents(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	a, err := openApp(cmd, nil)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	list, err := agents.List(a)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var out []string
	for _, l := range list {
		if strings.HasPrefix(l.Name, typed) {
			out = append(out, l.Name)
		}
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// maxQuestion bounds a question from standard input; the agent has a bound of its own (1 MiB).
const maxQuestion = 2 << 20

// readQuestion returns the question in the arguments, with standard input in the place of "-". There, maxQuestion bytes or more are an error;
// arguments have no bound here.
func readQuestion(args []string, in io.Reader) (string, error) {
	var words []string
	for _, a := range args {
		if a != "-" {
			words = append(words, a)
			continue
		}
		text, err := io.ReadAll(io.LimitReader(in, maxQuestion))
		if err != nil {
			return "", fmt.Errorf("read the question from standard input: %w", err)
		}
		if len(text) == maxQuestion {
			return "", fmt.Errorf("what comes on standard input is larger than %s; put it where a tool of the agent can read it", limit.Bytes(maxQuestion).Human())
		}
		words = append(words, string(text))
	}
	return strings.TrimSpace(strings.Join(words, " ")), nil
}

// newChatCommand returns the command chat, which talks with an agent on the terminal.
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
