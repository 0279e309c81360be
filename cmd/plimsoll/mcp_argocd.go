package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/plimsoll/plimsoll/internal/app/mcp"
	"github.com/plimsoll/plimsoll/internal/config"
)

// newMCPArgoCDCommand returns the command mcp argocd, the MCP server of Argo CD, or of a simulated one.
func newMCPArgoCDCommand() *cobra.Command {
	var o mcp.ArgoCDOptions
	var sim simulatorFlags
	var snapshot time.Duration
	served := servedFlags{o: &o.MCPOptions}
	var tokens, tools string
	var writes, list, asJSON bool
	cmd := &cobra.Command{
		Use:   "argocd",
		Short: "The MCP server of Argo CD: pages, counts and exact searches at any size",
		Long: `Serves Argo CD to an agent over MCP: lists in pages with the counts over all of them, a search through
every application, project, application set and cluster, details, logs, events and diffs. Whatever the
size of the installation, memory stays constant and no answer floods the agent.

Which Argo CD: --server or --context, else the instances of [mcp.argocd], else ARGOCD_SERVER with
ARGOCD_AUTH_TOKEN, else the current context of the argocd command. --simulator needs none of them.
Tools that change something are there with --allow-writes only, and ask for a confirmation.`,
		Example: `  plimsoll mcp argocd --simulator
  ARGOCD_SERVER=argocd.example.com ARGOCD_AUTH_TOKEN=… plimsoll mcp argocd
  plimsoll mcp argocd --context staging --allow-writes
  plimsoll mcp argocd --listen 127.0.0.1:7000 --user-tokens require`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if list {
				return printArgoCDTools(cmd.OutOrStdout(), asJSON)
			}
			if asJSON {
				return fmt.Errorf("--json needs --list-tools: else standard output is the client's")
			}
			var flags []config.Flag
			for _, f := range []struct{ name, key, value string }{
				{"snapshot-ttl", "mcp.argocd_snapshot", snapshot.String()},
				{"user-tokens", "mcp.argocd_tokens", tokens},
				{"allow-writes", "mcp.argocd_writes", fmt.Sprint(writes)},
				{"tools", "mcp.argocd_tools", tools},
			} {
				if cmd.Flags().Changed(f.name) {
					flags = append(flags, config.Flag{Name: "--" + f.name, Key: f.key, Value: f.value})
				}
			}
			a, err := served.openServed(cmd, flags)
			if err != nil {
				return err
			}
			if o.Simulator, err = sim.toOptions(cmd); err != nil {
				return err
			}
			o.Version = version()
			return mcp.ServeArgoCD(cmd.Context(), a, o)
		},
	}
	f := cmd.Flags()
	argocdFlags(cmd, &o)
	sim.addFlags(cmd)
	served.addFlags(cmd)
	f.BoolVar(&writes, "allow-writes", false, "also the tools that change something: sync, rollback, create, update, delete …")
	f.StringVar(&tools, "tools", "", "common or all: which tools are listed; those that are not work when called by their names (default common)")
	_ = cmd.RegisterFlagCompletionFunc("tools", cobra.FixedCompletions([]cobra.Completion{"common", "all"}, cobra.ShellCompDirectiveNoFileComp))
	f.DurationVar(&snapshot, "snapshot-ttl", 0, "pages of one listing come from one snapshot for this long (default: read the server for every page)")
	f.StringVar(&tokens, "user-tokens", "", "off, allow or require: whether clients over HTTP act with their own Argo CD tokens")
	f.BoolVar(&list, "list-tools", false, "print the tools and their arguments, and end")
	f.BoolVar(&asJSON, "json", false, "print JSON (with --list-tools)")
	_ = cmd.RegisterFlagCompletionFunc("user-tokens", cobra.FixedCompletions(choicesOf("mcp.argocd_tokens"), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// argocdFlags adds the flags that say which Argo CD is meant.
func argocdFlags(cmd *cobra.Command, o *mcp.ArgoCDOptions) {
	f := cmd.Flags()
	f.StringVar(&o.Server, "server", "", "address of the Argo CD server (default: ARGOCD_SERVER)")
	f.StringVar(&o.Context, "context", "", "a context of the argocd command's own configuration")
	f.StringVar(&o.Instance, "instance", "", "only this instance of [mcp.argocd]")
}

// simulatorFlags ask for a simulated Argo CD.
type simulatorFlags struct{ size, faults string }

// asDefault is the value of --simulator without one.
const asDefault = "819,236,287,13"

// addFlags adds --simulator, which needs no value, and --faults.
func (s *simulatorFlags) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&s.size, "simulator", "", "serve a simulated Argo CD with APPS,PROJECTS,APPSETS,CLUSTERS objects")
	f.Lookup("simulator").NoOptDefVal = asDefault
	f.StringVar(&s.faults, "faults", "", "what goes wrong in the simulated Argo CD, with commas between: latency=200ms cut=100000 status=401 half-started=1 html silent expired")
}

// toOptions returns the simulator that the flags ask for; nil if they ask for none. --faults alone is an error.
func (s *simulatorFlags) toOptions(cmd *cobra.Command) (*mcp.SimulatorOptions, error) {
	if !cmd.Flags().Changed("simulator") {
		if s.faults != "" {
			return nil, fmt.Errorf("--faults needs --simulator: only a simulated Argo CD fails on purpose")
		}
		return nil, nil
	}
	return &mcp.SimulatorOptions{Size: s.size, Faults: s.faults}, nil
}

// printArgoCDTools writes the tools of the server for Argo CD, whether each writes, and its arguments.
func printArgoCDTools(out io.Writer, asJSON bool) error {
	tools, err := mcp.ArgoCDTools()
	if err != nil {
		return err
	}
	if asJSON {
		return printJSON(out, tools)
	}
	t := tabwriter.NewWriter(plainWriter(out), 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "TOOL\t\tARGUMENTS")
	for _, tool := range tools {
		kind := "reads"
		if tool.Writes {
			kind = "writes"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", tool.Name, kind, strings.Join(tool.Arguments, ", "))
	}
	return t.Flush()
}
