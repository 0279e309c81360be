package config

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/config/profile"
	"github.com/plimsoll/plimsoll/limit"
)

// writeModelReference writes the section of the reference about [models."NAME"].
func writeModelReference(b *strings.Builder) {
	b.WriteString("\n### [models.\"NAME\"]\n\nOne model, by the name that requests have for it, with or without what stands before a slash; a name with dots stands in quotes.\n\n")
	b.WriteString("| key | value | project file | what it does |\n|---|---|---|---|\n")
	for _, k := range modelKeys {
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", k.Name, k.valueHelp(), k.Project, k.Doc)
	}
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

// writeInstanceReference writes the section of the reference about [mcp.argocd.NAME].
func writeInstanceReference(b *strings.Builder) {
	b.WriteString("\n### [mcp.argocd.NAME]\n\nOne Argo CD, for `plimsoll mcp argocd` and for `/mcp/argocd` of the daemon; at least one of `url` and `context` is written.\n\n")
	b.WriteString("| key | value | project file | what it does |\n|---|---|---|---|\n")
	for _, k := range instanceKeys {
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", k.Name, k.valueHelp(), k.Project, k.Doc)
	}
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
