package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/plimsoll/plimsoll/internal/app"
	"github.com/plimsoll/plimsoll/internal/app/agents"
	"github.com/plimsoll/plimsoll/internal/app/listen"
	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/limit"
)

// newAgentCommand returns the command agent with the commands that serve, list and define agents and keep their conversations.
func newAgentCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "agent",
		Short: "Plimsoll's own agents: serve them over A2A, list and define them",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newAgentServeCommand(), newAgentListCommand(), newAgentInitCommand(), newAgentSessionsCommand())
	return cmd
}

// newAgentServeCommand returns the command agent serve, which serves the agents named, or all there are, over A2A until it is stopped.
func newAgentServeCommand() *cobra.Command {
	var o agents.ServeOptions
	var events bool
	cmd := &cobra.Command{
		Use:   "serve [NAME...]",
		Short: "Serve agents over A2A 1.0 and 0.3: JSON-RPC, REST, streams, push notifications",
		Long: `Serves the agents of [agents], or the built-in one for Argo CD, each at /a2a/NAME with its card at
/a2a/NAME/.well-known/agent-card.json. Conversations and tasks survive a restart; every task ends in
a final state, whatever becomes of its client, its model or this process.

plimsoll serve does the same beside its gateways.`,
		Example: `  PLIMSOLL_MCP_ARGOCD_SIMULATOR=on plimsoll agent serve --model standin
  plimsoll run -- plimsoll agent serve reviewer --listen 127.0.0.1:7100`,
		ValidArgsFunction: completeAgents,
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if o.Service, err = listen.TakeService(); err != nil {
				return err
			}
			a, err := openApp(cmd, nil)
			if err != nil {
				return err
			}
			o.Names = args
			o.Version, o.Stderr = version(), os.Stderr
			if events {
				o.Events = cmd.OutOrStdout()
			}
			return agents.Serve(cmd.Context(), a, o)
		},
	}
	f := cmd.Flags()
	agentFlags(cmd, &o.AgentOptions)
	f.StringVar(&o.Listen, "listen", "", "address to listen on (default: 127.0.0.1:4620, or [serve] listen)")
	f.StringVar(&o.ReadyFile, "ready-file", "", "write the base URL into this file when ready, remove it at the end")
	f.BoolVar(&events, "events", false, "print every event as one line of JSON on standard output")
	f.BoolVar(&o.Lab, "lab", false, "also tools that flood, hang, fail and take memory, to see what comes of it")
	f.BoolVarP(&o.Quiet, "quiet", "q", false, "do not say where it listens")
	return cmd
}

// newAgentListCommand returns the command agent list, which lists the agents with their models and tools.
func newAgentListCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the agents: their models, tools and where they are defined",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			a, err := openApp(cmd, nil)
			if err != nil {
				return err
			}
			list, err := agents.List(a)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), list)
			}
			t := tabwriter.NewWriter(plainWriter(cmd.OutOrStdout()), 0, 0, 2, ' ', 0)
			fmt.Fprintln(t, "AGENT\tMODEL\tTOOLS\tA2A\tFROM")
			reasons := map[string][]string{} // why agents have no model
			for _, l := range list {
				model, tools, served := l.Model, strings.Join(l.Servers, ", "), "no"
				why := ""
				if model == "" {
					model, why = "none", l.Why
				}
				if l.Builtin != "" {
					tools = strings.TrimSuffix(l.Builtin+", "+tools, ", ")
				}
				if l.Served {
					served = "yes"
				}
				// At most 80 columns with the 8 between them and the 3 of A2A; what is longer is in the JSON.
				fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", limit.ShortRunes(l.Name, 16), limit.ShortRunes(model, 25), limit.ShortRunes(tools, 15), served, shortPath(l.From, 13))
				if why != "" {
					reasons[why] = append(reasons[why], l.Name)
				}
			}
			if err := t.Flush(); err != nil {
				return err
			}
			for _, why := range slices.Sorted(maps.Keys(reasons)) {
				fmt.Fprintf(plainWriter(cmd.OutOrStdout()), "\n%s: %s\n", strings.Join(reasons[why], ", "), why)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// shortPath returns the end of a path and its line, at most so many characters of it: the end is what tells files apart.
func shortPath(text string, most int) string {
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return limit.Ellipsis + string(runes[len(runes)-most+1:])
}

// newAgentSessionsCommand returns the command agent sessions, which lists the conversations that are kept, or removes one.
func newAgentSessionsCommand() *cobra.Command {
	var remove string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "sessions [NAME]",
		Short: "List the conversations that an agent keeps, or remove one",
		Example: `  plimsoll agent sessions
  plimsoll agent sessions argocd --remove morning`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: completeAgents,
		RunE: func(cmd *cobra.Command, args []string) error {
			a, err := openApp(cmd, nil)
			if err != nil {
				return err
			}
			name := strings.Join(args, "")
			if cmd.Flags().Changed("remove") {
				return agents.RemoveSession(cmd.Context(), a, name, remove)
			}
			list, err := agents.Sessions(a, name)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), list)
			}
			t := tabwriter.NewWriter(plainWriter(cmd.OutOrStdout()), 0, 0, 2, ' ', 0)
			fmt.Fprintln(t, "SESSION\tMESSAGES\tSIZE\tLAST USED\tFIRST QUESTION")
			for _, s := range list {
				fmt.Fprintf(t, "%s\t%d\t%s\t%s\t%s\n", app.Printable(s.Session), s.Messages, limit.Bytes(s.Bytes).Human(), s.Updated.Local().Format("2006-01-02 15:04"), app.Printable(s.Title))
			}
			return t.Flush()
		},
	}
	cmd.Flags().StringVar(&remove, "remove", "", "remove the conversation of this name")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// newAgentInitCommand returns the command agent init, which adds an agent to the configuration file.
func newAgentInitCommand() *cobra.Command {
	var dryRun bool
	cmd := &cobra.Command{
		Use:   "init NAME",
		Short: "Add an agent to the configuration, with every key and what it does",
		Long:  `Adds a table [agents.NAME] to your configuration file, at its end. What the file has stays as it is. Keys that have a default are comments.`,
		Example: `  plimsoll agent init reviewer
  plimsoll agent init reviewer --dry-run`,
		Args: oneArg("name", "plimsoll agent init reviewer"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if dryRun {
				return config.WriteAgentInit(cmd.OutOrStdout(), args[0])
			}
			file, err := config.NewDirs(os.Getenv).ConfigFile()
			if err != nil {
				return err
			}
			if err := config.AddAgent(file, args[0]); err != nil {
				return err
			}
			fmt.Fprintf(cmd.OutOrStdout(), "%s: [agents.%s] is at its end; then: plimsoll ask --agent %s \"…\"\n", file, args[0], args[0])
			return nil
		},
	}
	cmd.Flags().BoolVarP(&dryRun, "dry-run", "n", false, "print the table and change nothing")
	return cmd
}
