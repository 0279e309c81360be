package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// newManCommand returns the command man, which prints the manual page: one level of commands, the flags of run, and what is the same for all of
// them.
func newManCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "man",
		Short: "Print the manual page: plimsoll man | man -l -",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := io.WriteString(cmd.OutOrStdout(), manualPage(cmd.Root()))
			return err
		},
	}
}

// manEnvironment are the variables of the manual page.
var manEnvironment = [][2]string{
	{"PLIMSOLL_CONFIG", "file of the configuration, in the place of ~/.config/plimsoll/config.toml"},
	{"PLIMSOLL_STATE_DIR", "directory of what is kept: history, runs, conversations, memory"},
	{"PLIMSOLL_CACHE_DIR", "directory of what can be made again, such as results of tools that are read in pages"},
	{"PLIMSOLL_TABLE_KEY", "any key of the configuration, as PLIMSOLL_RESOURCES_MEMORY_MAX=8G; plimsoll config explain KEY names it"},
	{"PLIMSOLL_RUN_ID", "is set inside a run: its ID"},
	{"OPENAI_API_KEY, ANTHROPIC_API_KEY, ...", "the key of a provider of models, for plimsoll ask, chat and agent serve; a run passes it on to its command"},
	{"OPENAI_BASE_URL, ANTHROPIC_BASE_URL, ...", "the address of that provider; inside a run it is that of the proxy"},
	{"ARGOCD_SERVER, ARGOCD_AUTH_TOKEN, ARGOCD_OPTS", "which Argo CD, for plimsoll mcp argocd and the built-in agent"},
	{"NO_COLOR", "when it is set, nothing is coloured or bold"},
	{"COLUMNS", "the width at which help and reports are wrapped, in the place of the terminal's"},
}

// manExamples are commands of the manual page, with what they do.
var manExamples = [][2]string{
	{"plimsoll run -- claude", "run an agent inside its limits"},
	{"plimsoll run --memory-max 8G --wait -- npm test", "with a limit of its own, when there is room for it"},
	{"plimsoll run --dry-run -- codex", "say what would be decided, and why"},
	{"plimsoll runs last", "tell what happened in the newest run, and what to do next"},
	{"plimsoll stats claude --format k8s", "size a container by what the tool took"},
	{"plimsoll mcp -- npx -y some-server", "stand in front of an MCP server"},
	{"eval \"$(plimsoll shellenv)\"", "let agents run in their limits by their name alone"},
}

// manualPage returns the page in troff, with the macros of man(7).
func manualPage(root *cobra.Command) string {
	var b strings.Builder
	_, date, _ := buildCommit()
	date, _, _ = strings.Cut(date, "T")
	fmt.Fprintf(&b, `.TH PLIMSOLL 1 "%s" "plimsoll %s" "User Commands"`+"\n", date, roff(version()))
	section := func(title string) { fmt.Fprintf(&b, ".SH %s\n", title) }
	text := func(text string) { b.WriteString(roff(text) + "\n") }
	item := func(name, about string) { fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(name), roff(about)) }

	section("NAME")
	b.WriteString("plimsoll \\- " + roff(root.Short) + "\n")
	section("SYNOPSIS")
	b.WriteString(".B plimsoll run\n.RI [ flags ]\n\\-\\-\n.I COMMAND\n.RI [ ARG... ]\n.br\n.B plimsoll\n.I COMMAND\n.RI [ flags ]\n")
	section("DESCRIPTION")
	paragraphs := strings.Split(reflow(root.Long), "\n\n")
	text(strings.TrimSuffix(paragraphs[0], ":") + ": plimsoll run -- claude")
	section("COMMANDS")
	b.WriteString("Each has a help with all its flags: plimsoll\n.I COMMAND\n\\-\\-help.\n")
	for i, g := range commandGroups {
		if i > 0 {
			fmt.Fprintf(&b, ".SS %s\n", roff(strings.ToUpper(g.title[:1])+g.title[1:]))
		}
		for _, name := range g.names {
			if c, _, err := root.Find([]string{name}); err == nil && c != root {
				item(c.Name(), c.Short)
			}
		}
	}
	section("OPTIONS")
	b.WriteString("Of plimsoll run, before the \\-\\- that its command stands behind:\n")
	run, _, _ := root.Find([]string{"run"})
	run.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			item(flagName(f), flagUsage(f))
		}
	})
	section("EXIT STATUS")
	text("That of the command; 128+N if signal N ended it; 125 if Plimsoll failed or refused, 126 if the command can't be executed, 127 if it is not there.")
	section("ENVIRONMENT")
	for _, v := range manEnvironment {
		item(v[0], v[1])
	}
	section("FILES")
	item("~/.config/plimsoll/config.toml", "the configuration; plimsoll config init writes it with every key")
	item(".plimsoll.toml", "what a project says of its own runs, in its top directory")
	section("EXAMPLES")
	for _, e := range manExamples {
		item(e[0], e[1])
	}
	section("SEE ALSO")
	text(strings.TrimSuffix(runPage, "run.md"))
	return b.String()
}

// roff returns text as troff shows it: nothing in it is a request or an escape, hyphens stay those of a command line, and what is not ASCII
// is named.
func roff(text string) string {
	var b strings.Builder
	for i, r := range text {
		switch {
		case r == '\\':
			b.WriteString(`\e`)
		case r == '-':
			b.WriteString(`\-`)
		case (r == '.' || r == '\'') && i == 0:
			b.WriteString(`\&` + string(r))
		case r == '\'':
			b.WriteString(`\(aq`)
		case r == '"':
			b.WriteString(`\(dq`)
		case r == '~':
			b.WriteString(`\(ti`)
		case r == '\n':
			b.WriteString(" ")
		case r >= 0x80:
			fmt.Fprintf(&b, `\[u%04X]`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
