package config

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

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

// writeInit writes a configuration file with every key commented out and its default; with project only the keys that a project's file may set.
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
			writeComment(&b, k.Doc)
			if len(k.Choices) > 0 {
				writeComment(&b, "Values: "+strings.Join(k.Choices, ", ")+".")
			}
			value := k.shown()
			if project && k.Type == TypeBool && k.Project == ProjectStricter {
				value = "false" // all that a project may say
			}
			fmt.Fprintf(&b, "# %s = %s\n", k.Name, k.toml(value))
		}
	}
	b.WriteString("\n# Memory to reserve for a tool without history, in MiB or as a size.\n# [resources.initial_estimates]\n")
	for _, p := range profile.All() {
		fmt.Fprintf(&b, "# %s = %d\n", p.Name, p.InitialEstimate/limit.MiB)
	}
	b.WriteString("\n# One tool. Most keys of [resources] may stand here and count for this tool only; those of\n# [window] below [tools.my-agent.window].\n# [tools.my-agent]\n")
	if !project {
		writeComment(&b, matchKey.Doc)
		fmt.Fprintf(&b, "# match = %s\n", matchKey.example)
	}
	b.WriteString("# memory_max = \"8G\"\n")
	if !project {
		b.WriteString("\n# One MCP server, for /mcp/my-server and plimsoll mcp --server my-server. Most keys of [mcp] may\n" +
			"# stand here too; those about results also below [mcp.servers.my-server.tools.TOOL].\n# [mcp.servers.my-server]\n")
		for _, k := range keysOfServer(serversTable) {
			writeComment(&b, k.Doc)
			mark := "# "
			if k.Name == "url" || k.Name == "token" || k.Name == "headers" {
				mark = "#   " // in the place of command
			}
			fmt.Fprintf(&b, "%s%s = %s\n", mark, k.Name, k.example)
		}
		b.WriteString("\n# One agent that speaks A2A, as an MCP server whose tools are its skills, helper__SKILL: for servers of\n" +
			"# [agents.NAME], /mcp/helper and plimsoll mcp --server helper. Keys of [mcp] may stand here as below a server.\n# [a2a.helper]\n")
		for _, k := range keysOfServer(a2aTable) {
			writeComment(&b, k.Doc)
			fmt.Fprintf(&b, "# %s = %s\n", k.Name, k.example)
		}
		b.WriteString("\n# One Argo CD, for plimsoll mcp argocd and for /mcp/argocd of plimsoll serve.\n# [mcp.argocd.production]\n")
		for _, k := range instanceKeys {
			writeComment(&b, k.Doc)
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
			writeComment(&b, k.Doc)
			if len(k.Choices) > 0 {
				writeComment(&b, "Values: "+strings.Join(k.Choices, ", ")+".")
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
			writeComment(&b, k.Doc)
			fmt.Fprintf(&b, "# %s = %s\n", k.Name, k.example)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// keysOfServer returns the keys that only a server in the given table has.
func keysOfServer(table string) []*Key {
	return slices.DeleteFunc(slices.Clone(serverKeys), func(k *Key) bool { return k.Table != table })
}

// shown returns the value of a key in the generated file: the default, else 0 if that means none, else the example where the empty value cannot be
// written, else "".
func (k *Key) shown() string {
	switch {
	case k.Default != "":
		return k.Default
	case k.optional:
		return "0"
	case k.min > 0 || k.Type == TypeBool:
		return strings.Trim(k.example, `"`)
	case k.Type == TypeHosts || k.Type == TypeNetworks || k.Type == TypeNames || k.Type == TypeOrigins || k.Type == TypePatterns:
		return strings.Trim(k.example, `[]"`)
	}
	return ""
}

// commentWidth is the column at which comments of the generated file wrap.
const commentWidth = 96

// writeComment writes a text as comment lines of at most commentWidth bytes, or of one longer word.
func writeComment(b *strings.Builder, text string) {
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
