package config

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/config/profile"
	"github.com/plimsoll/plimsoll/limit"
)

// toml returns a value, given as text, in the form that this key has in a file.
func (k *Key) toml(text string) string {
	switch k.Type {
	case TypeCount, TypeToolCount, TypeBool, TypeRatio, TypeNumber:
		return text
	case TypeAutoCount:
		if _, err := strconv.Atoi(text); err == nil {
			return text
		}
	case TypeAutoRatio:
		if _, err := strconv.ParseFloat(text, 64); err == nil {
			return text
		}
	case TypeChoices, TypeNames, TypeHosts, TypeNetworks, TypeOrigins, TypePatterns, TypeArgv, TypePairs, TypeServers:
		var quoted []string
		for part := range strings.SplitSeq(text, ",") {
			quoted = append(quoted, strconv.Quote(strings.Trim(strings.TrimSpace(part), `"`)))
		}
		return "[" + strings.Join(quoted, ", ") + "]"
	case TypeToolSizes:
		return k.example
	}
	return strconv.Quote(text)
}

// WriteInit writes a configuration file with every key, its default and one sentence about it, all commented out, so that it changes
// nothing until a line is uncommented.
func WriteInit(w io.Writer) error { return writeInit(w, false) }

// WriteProjectInit writes such a file for a project, without the keys that a project file may not set.
func WriteProjectInit(w io.Writer) error { return writeInit(w, true) }

func writeInit(w io.Writer, project bool) error {
	var b strings.Builder
	b.WriteString("# Plimsoll configuration. Every line is commented out and shows the default.\n" +
		"# Sizes are written 512M or 4G (M is 2^20, G is 2^30), durations 500ms, 2s or 10m.\n" +
		"# What overrides what: the user's file < .plimsoll.toml of a project < environment < flags.\n")
	if project {
		b.WriteString("# This is a project's file: it may tighten limits and set estimates, not loosen what its user says.\n")
	}
	for _, t := range tables {
		if project && !slices.ContainsFunc(t.keys, func(k *Key) bool { return k.Project != ProjectNever }) {
			continue
		}
		fmt.Fprintf(&b, "\n# [%s]\n", t.name)
		for _, k := range t.keys {
			if k.Type == TypeToolSizes || project && k.Project == ProjectNever {
				continue // the table stands below
			}
			b.WriteString("\n")
			comment(&b, k.Doc)
			if len(k.Choices) > 0 {
				comment(&b, "Values: "+strings.Join(k.Choices, ", ")+".")
			}
			fmt.Fprintf(&b, "# %s = %s\n", k.Name, k.toml(k.shown()))
		}
	}
	b.WriteString("\n# Memory to reserve for a tool without history, in MiB or as a size.\n# [resources.initial_estimates]\n")
	for _, p := range profile.All() {
		fmt.Fprintf(&b, "# %s = %d\n", p.Name, p.InitialEstimate/limit.MiB)
	}
	b.WriteString("\n# One tool. Most keys of [resources] may stand here and count for this tool only; those of\n# [window] below [tools.my-agent.window].\n# [tools.my-agent]\n")
	if !project {
		comment(&b, matchKey.Doc)
		fmt.Fprintf(&b, "# match = %s\n", matchKey.example)
	}
	b.WriteString("# memory_max = \"8G\"\n")
	if !project {
		b.WriteString("\n# One MCP server, for /mcp/my-server and plimsoll mcp --server my-server. Most keys of [mcp] may\n" +
			"# stand here too; those about results also below [mcp.servers.my-server.tools.TOOL].\n# [mcp.servers.my-server]\n")
		for _, k := range keysOfServer(serversTable) {
			comment(&b, k.Doc)
			mark := "# "
			if k.Name == "url" || k.Name == "token" || k.Name == "headers" {
				mark = "#   " // in the place of command
			}
			fmt.Fprintf(&b, "%s%s = %s\n", mark, k.Name, k.example)
		}
		b.WriteString("\n# One agent that speaks A2A, as an MCP server whose tools are its skills, helper__SKILL: for servers of\n" +
			"# [agents.NAME], /mcp/helper and plimsoll mcp --server helper. Keys of [mcp] may stand here as below a server.\n# [a2a.helper]\n")
		for _, k := range keysOfServer(a2aTable) {
			comment(&b, k.Doc)
			fmt.Fprintf(&b, "# %s = %s\n", k.Name, k.example)
		}
		b.WriteString("\n# One Argo CD, for plimsoll mcp argocd and for /mcp/argocd of plimsoll serve.\n# [mcp.argocd.production]\n")
		for _, k := range instanceKeys {
			comment(&b, k.Doc)
			mark := "# "
			if k.Name == "token_file" || k.Name == "token_command" {
				mark = "#   " // in the place of token
			}
			fmt.Fprintf(&b, "%s%s = %s\n", mark, k.Name, k.example)
		}
	}
	if !project {
		b.WriteString("\n# One agent, for plimsoll ask --agent my-agent and for /a2a/my-agent of plimsoll serve.\n# [agents.my-agent]\n")
		for _, k := range agentKeys {
			comment(&b, k.Doc)
			if len(k.Choices) > 0 {
				comment(&b, "Values: "+strings.Join(k.Choices, ", ")+".")
			}
			mark, value := "# ", k.example
			if k.Default != "" {
				value = k.toml(k.Default)
			}
			if k.Name == "prompt_file" || k.Name == "base_url" || k.Name == "servers" {
				mark = "#   " // in the place of prompt, or only where there is such a thing
			}
			fmt.Fprintf(&b, "%s%s = %s\n", mark, k.Name, value)
		}
	}
	if !project {
		b.WriteString("\n# One model, by the name that requests have for it, where what is known of its window is wrong.\n# [models.\"my-model\"]\n")
		for _, k := range modelKeys {
			comment(&b, k.Doc)
			fmt.Fprintf(&b, "# %s = %s\n", k.Name, k.example)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// writeAgentReference writes the section of the reference about [agents.NAME].
func writeAgentReference(b *strings.Builder) {
	b.WriteString("\n### [agents.NAME]\n\nOne agent, for `plimsoll ask` and, over A2A, the daemon. Its variables are `PLIMSOLL_AGENTS_NAME_KEY`.\n\n")
	b.WriteString("| key | value | default | project file | what it does |\n|---|---|---|---|---|\n")
	for _, k := range agentKeys {
		def := "none"
		if k.Default != "" {
			def = "`" + k.toml(k.Default) + "`"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s | %s |\n", k.Name, k.valueHelp(), def, k.Project, k.Doc)
	}
}

// writeServerReference writes the sections of the reference about [mcp.servers.NAME] and [a2a.NAME].
func writeServerReference(b *strings.Builder) {
	b.WriteString("\n### [mcp.servers.NAME]\n\nOne MCP server; exactly one of `command` and `url` is written. ")
	list := func(tool bool) string {
		var out []string
		for _, k := range mcpKeys {
			if k, _ := lookupServer(serversTable, k.Name, tool); k != nil {
				out = append(out, "`"+k.Name+"`")
			}
		}
		return strings.Join(out, ", ")
	}
	b.WriteString("Of [mcp] these may stand here too: " + list(false) + "; and below [mcp.servers.NAME.tools.TOOL], for one tool of the server: " + list(true) + ".\n\n")
	b.WriteString("| key | value | default | project file | what it does |\n|---|---|---|---|---|\n")
	row := func(k *Key) {
		def := "none"
		if k.Default != "" {
			def = "`" + k.toml(k.Default) + "`"
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s | %s |\n", k.Name, k.valueHelp(), def, k.Project, k.Doc)
	}
	for _, k := range keysOfServer(serversTable) {
		row(k)
	}
	b.WriteString("\n### [a2a.NAME]\n\nOne agent that speaks A2A, as a server whose tools are its skills, `NAME__SKILL`. Of [mcp] the same may stand here as below a server.\n\n")
	b.WriteString("| key | value | default | project file | what it does |\n|---|---|---|---|---|\n")
	for _, k := range keysOfServer(a2aTable) {
		row(k)
	}
}

// keysOfServer returns the keys that only a server in the given table has.
func keysOfServer(table string) []*Key {
	return slices.DeleteFunc(slices.Clone(serverKeys), func(k *Key) bool { return k.Table != table })
}

// writeInstanceReference writes the section of the reference about [mcp.argocd.NAME].
func writeInstanceReference(b *strings.Builder) {
	b.WriteString("\n### [mcp.argocd.NAME]\n\nOne Argo CD, for `plimsoll mcp argocd` and for `/mcp/argocd` of the daemon; at least one of `url` and `context` is written.\n\n")
	b.WriteString("| key | value | project file | what it does |\n|---|---|---|---|\n")
	for _, k := range instanceKeys {
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", k.Name, k.valueHelp(), k.Project, k.Doc)
	}
}

// shown returns the value of a key in the generated file: the default, or the example if the default cannot be written.
func (k *Key) shown() string {
	switch {
	case k.Default != "":
		return k.Default
	case k.optional:
		return "0"
	case k.min > 0:
		return strings.Trim(k.example, `"`)
	case k.Type == TypeHosts || k.Type == TypeNetworks || k.Type == TypeNames || k.Type == TypeOrigins || k.Type == TypePatterns:
		return strings.Trim(k.example, `[]"`)
	}
	return ""
}

// commentWidth is the column at which comments of the generated file wrap.
const commentWidth = 96

func comment(b *strings.Builder, text string) {
	line := "#"
	for word := range strings.FieldsSeq(text) {
		if len(line)+1+len(word) > commentWidth {
			b.WriteString(line + "\n")
			line = "#"
		}
		line += " " + word
	}
	b.WriteString(line + "\n")
}

// WriteReference writes the reference of all keys as Markdown, with a section for each table of the configuration.
func WriteReference(w io.Writer) error {
	var b strings.Builder
	for i, t := range tables {
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "### [%s]\n\n%s%s.\n\n", t.name, strings.ToUpper(t.doc[:1]), t.doc[1:])
		b.WriteString("| key | value | default | one tool | project file | other names | what it does |\n|---|---|---|---|---|---|---|\n")
		for _, k := range t.keys {
			k.row(&b)
		}
		if t.name == resources {
			matchKey.row(&b)
		}
		if t.name == "mcp" {
			writeServerReference(&b)
			writeInstanceReference(&b)
		}
	}
	writeAgentReference(&b)
	writeModelReference(&b)
	b.WriteString("\n### Built-in profiles\n\n| tool | other names | packages | initial_estimate | max_concurrent | goes on after a kill with |\n|---|---|---|---|---|---|\n")
	for _, p := range profile.All() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %d | %s |\n", p.Name, codeList(p.Aliases), codeList(p.Packages), p.InitialEstimate.Human(), p.MaxConcurrent, codeList(strings.FieldsFunc(p.Resume, func(r rune) bool { return r == 0 })))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// row writes the row of a key in a table of the reference.
func (k *Key) row(b *strings.Builder) {
	def := "none"
	switch {
	case k.Type == TypeWait:
		def = "`\"\"`"
	case k.Default != "":
		def = "`" + k.toml(k.Default) + "`"
	}
	var others []string
	for _, a := range k.Aliases {
		unit := ""
		if a.MiB {
			unit = " (MiB)"
		}
		others = append(others, "`"+a.Name+"`"+unit)
	}
	for _, v := range append([]string{k.Variable()}, k.Variables...) {
		if v != "" {
			others = append(others, "`"+v+"`")
		}
	}
	tool := "no"
	if k.PerTool {
		tool = "yes"
	}
	if k == matchKey {
		tool = "only there"
	}
	fmt.Fprintf(b, "| `%s` | %s | %s | %s | %s | %s | %s |\n", k.Name, k.valueHelp(), def, tool, k.Project, strings.Join(others, ", "), k.Doc)
}

// valueHelp returns a description of the values that a key allows.
func (k *Key) valueHelp() string {
	out := string(k.Type)
	if len(k.Choices) > 0 {
		out = "`" + strings.Join(k.Choices, "`, `") + "`"
		if k.Type == TypeChoices {
			out = "list of " + out
		}
	}
	switch {
	case k.max == 0:
		return out
	case k.Type == TypeText:
		return out + " of at most " + limit.Bytes(k.max).String()
	}
	v := func(n int64) string { return strconv.FormatInt(n, 10) }
	switch k.Type {
	case TypeSize, TypeAutoSize:
		v = func(n int64) string { return limit.Bytes(n).String() }
	case TypeDuration, TypeWait:
		v = func(n int64) string { return time.Duration(n).String() }
	case TypeRatio, TypeAutoRatio, TypeNumber:
		v = func(n int64) string { return format(float64(n) / 100) }
	}
	return out + ", " + v(k.min) + " to " + v(k.max)
}

func codeList(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return "`" + strings.Join(names, "`, `") + "`"
}
