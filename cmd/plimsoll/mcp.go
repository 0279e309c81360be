package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/plimsoll/plimsoll/internal/app"
	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/app/mcp"
	"github.com/plimsoll/plimsoll/internal/app/run"
	"github.com/plimsoll/plimsoll/internal/app/watch"
	"github.com/plimsoll/plimsoll/internal/config"
)

// newMCPCommand returns the command mcp, the gateway in front of an MCP server, with the MCP servers that Plimsoll has itself.
func newMCPCommand() *cobra.Command {
	var o mcp.MCPOptions
	served := servedFlags{o: &o}
	var allow, deny string
	var readOnly bool
	cmd := &cobra.Command{
		Use:   "mcp [flags] -- SERVER [ARG...]",
		Short: "Stand in front of an MCP server: no result floods the agent",
		Long: `Starts an MCP server inside limits and passes everything between it and the client byte for byte,
except what is too large: of a large result the client gets the first page, and three more tools to
page, search and query the rest, which is kept on disk.

Put it in front of the command in your client's configuration, or let "plimsoll mcp wrap FILE" do it.
With --url the server is a remote one; with --listen the client comes over HTTP.`,
		Example: `  plimsoll mcp -- npx -y @modelcontextprotocol/server-filesystem ~/notes
  plimsoll mcp --url https://example.com/mcp --header Authorization=MY_BEARER
  plimsoll mcp --read-only --deny 'delete_*' -- kubernetes-mcp-server
  plimsoll mcp --listen 127.0.0.1:7000 -- npx -y some-server`,
		// The -- before the command may be left out: some clients take it away.
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			var flags []config.Flag
			for _, f := range []struct {
				name, key string
				value     *string
			}{{"allow", "mcp.allow", &allow}, {"deny", "mcp.deny", &deny}} {
				if cmd.Flags().Changed(f.name) {
					flags = append(flags, config.Flag{Name: "--" + f.name, Key: f.key, Value: *f.value})
				}
			}
			if cmd.Flags().Changed("read-only") {
				flags = append(flags, config.Flag{Name: "--read-only", Key: "mcp.read_only", Value: fmt.Sprint(readOnly)})
			}
			a, err := served.openServed(cmd, flags)
			if err != nil {
				return err
			}
			o.Command = args
			return mcp.Serve(cmd.Context(), a, o)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.URL, "url", "", "address of a remote server that speaks streamable HTTP")
	f.StringVar(&o.URLEnv, "url-env", "", "environment variable with that address, when it holds a secret")
	f.StringVar(&o.BearerEnv, "bearer-env", "", "environment variable with the bearer token for it")
	f.StringVar(&o.Server, "server", "", "name of a server in [mcp.servers]")
	f.StringVar(&o.Name, "name", "", "what the server is called in statistics and in [mcp.servers.NAME] (default: from the command)")
	f.StringArrayVar(&o.Headers, "header", nil, "NAME=VARIABLE: send this header to --url with that variable's value; may be repeated")
	f.StringVar(&allow, "allow", "", "tools that may be used, as 'list_*,get_*' (default: all)")
	f.StringVar(&deny, "deny", "", "tools that may not be used, as 'delete_*'")
	f.BoolVar(&readOnly, "read-only", false, "only tools that say of themselves that they change nothing")
	served.addFlags(cmd)
	served.addInRun(cmd)
	f.SetInterspersed(false) // what follows the command is the server's
	cmd.AddCommand(newMCPWrapCommand(), newMCPArgoCDCommand(), newMCPMemoryCommand(), newMCPRunsCommand())
	return cmd
}

// servedFlags are those of every MCP server of Plimsoll: how clients come to it, and how large a result may be.
type servedFlags struct {
	o                *mcp.MCPOptions
	maxOutput, inRun string
	events           bool
}

// addFlags adds the flags that all commands have which serve MCP.
func (s *servedFlags) addFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&s.o.Listen, "listen", "", "serve streamable HTTP on this address instead of standard streams")
	f.StringVar(&s.o.ReadyFile, "ready-file", "", "write the endpoint's URL into this file when ready, remove it at the end")
	f.StringVar(&s.maxOutput, "max-output", "", "largest text of a result that is not paged, as 20K (default: by the client, 10K for one not known)")
	f.BoolVar(&s.events, "events", false, "print every event as one line of JSON on standard output (with --listen)")
	f.BoolVarP(&s.o.Quiet, "quiet", "q", false, "do not say where it listens")
}

// addInRun adds the flag by which a run tells a server in it where it is.
func (s *servedFlags) addInRun(cmd *cobra.Command) {
	cmd.Flags().StringVar(&s.inRun, "in-run", "", "file that plimsoll run has written for the gateways within it")
	_ = cmd.Flags().MarkHidden("in-run")
}

// openServed returns an App with the flags, and gives the server the streams of this process. With --in-run it sets the variables of the
// run in this process first. --events without --listen is an error.
func (s *servedFlags) openServed(cmd *cobra.Command, flags []config.Flag) (*core.Core, error) {
	if s.inRun != "" {
		if err := run.EnterRun(s.inRun); err != nil {
			return nil, err
		}
	}
	if cmd.Flags().Changed("max-output") {
		flags = append(flags, config.Flag{Name: "--max-output", Key: "mcp.max_output", Value: s.maxOutput})
	}
	a, err := openApp(cmd, flags)
	if err != nil {
		return nil, err
	}
	s.o.Stdin, s.o.Stdout, s.o.Stderr = os.Stdin, os.Stdout, os.Stderr
	if s.events {
		if s.o.Listen == "" {
			return nil, errors.New("--events needs --listen: without it standard output is the client's")
		}
		s.o.Events = cmd.OutOrStdout()
	}
	return a, nil
}

// newMCPWrapCommand returns the command mcp wrap, which puts the gateway in front of the servers in a client's file.
func newMCPWrapCommand() *cobra.Command {
	var o mcp.WrapOptions
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "wrap FILE",
		Short: "Put the gateway in front of every server in a client's configuration file",
		Long: `Rewrites the MCP servers in the configuration file of Claude Code, Claude Desktop, Codex, Gemini CLI,
Cursor, VS Code, opencode and clients that write it like them, in place: comments, order and what it
does not know stay. What the file was is kept beside it; --undo puts it back.

Remote servers that the file has no headers for may need a login that only the client can do, and
are left alone without --remote.`,
		Example: `  plimsoll mcp wrap .mcp.json --dry-run
  plimsoll mcp wrap ~/.codex/config.toml
  plimsoll mcp wrap ~/.codex/config.toml --undo`,
		Args: oneArg("file", "plimsoll mcp wrap .mcp.json"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := openApp(cmd, nil); err != nil {
				return err
			}
			o.File = args[0]
			r, err := mcp.Wrap(o)
			if err != nil {
				return err
			}
			if asJSON {
				return printJSON(cmd.OutOrStdout(), r)
			}
			return printWrap(plainWriter(cmd.OutOrStdout()), r, o.Undo, terminalWidth())
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.DryRun, "dry-run", false, "show the change, make none")
	f.BoolVar(&o.Undo, "undo", false, "take the gateway out again")
	f.BoolVar(&o.Remote, "remote", false, "also wrap remote servers that the file has no headers for")
	f.StringVar(&o.Command, "command", "", "what starts Plimsoll in the file (default: this program's path)")
	f.BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// printWrap writes the change in a dry run, what was done to each server and why, and how to undo it.
func printWrap(w io.Writer, r mcp.WrapResult, undo bool, width int) error {
	if r.DryRun && r.Diff != "" {
		if _, err := io.WriteString(w, r.Diff+"\n"); err != nil {
			return err
		}
	}
	var t table
	t.row("SERVER", "CLIENT", "LINE", "", "WHY")
	for _, s := range r.Servers {
		t.row(app.Printable(s.Name), string(s.Client), strconv.Itoa(s.Line), string(s.Action), s.Why)
	}
	if err := t.writeWithin(w, width); err != nil {
		return err
	}
	w = wrapWriter{w, width}
	switch {
	case r.DryRun:
		fmt.Fprintf(w, "Nothing was changed (--dry-run).\n")
	case !r.Changed:
		fmt.Fprintf(w, "%s needed no change.\n", r.File)
	case undo && r.Exact:
		fmt.Fprintf(w, "%s is what it was, byte for byte.\n", r.File)
	case undo:
		fmt.Fprintf(w, "%s has changed since it was wrapped: each server was put back by itself.\n", r.File)
	default:
		fmt.Fprintf(w, "%s was rewritten. What it was: %s. Restart the client; plimsoll mcp wrap %s --undo puts it back.\n", r.File, r.Backup, r.File)
	}
	return nil
}

// newMCPMemoryCommand returns the command mcp memory, the MCP server of the memory.
func newMCPMemoryCommand() *cobra.Command {
	var o mcp.MemoryOptions
	served := servedFlags{o: &o.MCPOptions}
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
			a, err := served.openServed(cmd, nil)
			if err != nil {
				return err
			}
			o.Version = version()
			return mcp.ServeMemory(cmd.Context(), a, o)
		},
	}
	f := cmd.Flags()
	f.BoolVar(&o.ReadOnly, "read-only", false, "only the tools that change nothing")
	f.StringVar(&o.Namespace, "namespace", "", "where it writes, and finds beside what is the user's: project/ID, agent/NAME or user (default: this directory's project)")
	served.addFlags(cmd)
	served.addInRun(cmd)
	return cmd
}

// newMCPRunsCommand returns the command mcp runs, the MCP server by which an agent learns of its limits and of earlier runs.
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
