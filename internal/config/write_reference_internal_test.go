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

// WriteReference writes the reference of all keys as Markdown, with a section for each table of the configuration.
func WriteReference(w io.Writer) error {
	var b strings.Builder
	for _, t := range tables {
		list := t.keys
		if t.name == resources {
			list = append(slices.Clone(list), matchKey)
		}
		section(&b, t.name, strings.ToUpper(t.doc[:1])+t.doc[1:]+".", list)
		if t.name == "mcp" {
			section(&b, "mcp.servers.NAME", "One MCP server, with exactly one of `command` and `url`. All keys of [mcp] but "+
				codeList(othersOfMCP())+" may stand here too. These may also stand in [mcp.servers.NAME.tools.TOOL], for one tool of it: "+codeList(namesOfMCP(true))+".", keysOfServer(serversTable))
			section(&b, "a2a.NAME", "One agent that speaks A2A, as a server whose tools are its skills, `NAME__SKILL`. The same keys of [mcp] may stand here.", keysOfServer(a2aTable))
			section(&b, "mcp.argocd.NAME", "One Argo CD, for `plimsoll mcp argocd` and for `/mcp/argocd` of the daemon, with at least one of `url` and `context`.", instanceKeys)
		}
	}
	section(&b, "agents.NAME", "One agent, for `plimsoll ask` and, over A2A, the daemon. Its variables are `PLIMSOLL_AGENTS_NAME_KEY`.", agentKeys)
	section(&b, `models."NAME"`, "One model, by the name that requests have for it, with or without what stands before a slash; a name with dots stands in quotes.", modelKeys)
	b.WriteString("### Built-in profiles\n\n| initial_estimate | max_concurrent | tools, with other names |\n|---|---|---|\n")
	var rows []string
	tools := map[string][]string{}
	for _, p := range profile.All() {
		row := fmt.Sprintf("| %s | %d |", p.InitialEstimate.Human(), p.MaxConcurrent)
		if tools[row] == nil {
			rows = append(rows, row)
		}
		tool := codeList([]string{p.Name})
		if len(p.Aliases) > 0 {
			tool += " (" + codeList(p.Aliases) + ")"
		}
		tools[row] = append(tools[row], tool)
	}
	for _, row := range rows {
		b.WriteString(row + " " + strings.Join(tools[row], ", ") + " |\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// othersOfMCP returns the keys of [mcp] that no server has.
func othersOfMCP() []string {
	var out []string
	for _, k := range mcpKeys {
		if !slices.Contains(namesOfMCP(false), k.Name) {
			out = append(out, k.Name)
		}
	}
	return out
}

// namesOfMCP returns the keys of [mcp] that one server may have, or one tool of it.
func namesOfMCP(tool bool) []string {
	var out []string
	for _, k := range mcpKeys {
		if k, _ := lookupServer(serversTable, k.Name, tool); k != nil {
			out = append(out, k.Name)
		}
	}
	return out
}

// section writes the section about one table. What holds for all or most of its keys is said once, above them.
func section(b *strings.Builder, name, doc string, list []*Key) {
	fmt.Fprintf(b, "### [%s]\n\n%s", name, doc)
	var oneTool, allTools []string
	for _, k := range list {
		if k.PerTool {
			oneTool = append(oneTool, k.Name)
		} else {
			allTools = append(allTools, k.Name)
		}
	}
	switch {
	case len(oneTool) == 0:
	case len(allTools) == 0:
		b.WriteString(" All may be set for one tool.")
	case len(oneTool) < len(allTools):
		fmt.Fprintf(b, " For one tool: %s.", codeList(oneTool))
	default:
		fmt.Fprintf(b, " All but %s may be set for one tool.", codeList(allTools))
	}
	b.WriteString("\n\n")
	for _, k := range list {
		k.entry(b)
	}
	b.WriteString("\n")
}

// projectHelp are the words for the rules of project files; a key without a word is not for them.
var projectHelp = map[ProjectRule]string{ProjectFree: "free", ProjectStricter: "stricter", ProjectCapped: "capped"}

// entry writes the entry of a key.
func (k *Key) entry(b *strings.Builder) {
	fmt.Fprintf(b, "- **`%s`**", k.Name)
	switch {
	case k.Type == TypeWait:
		b.WriteString(" `\"\"`")
	case k.Default != "":
		b.WriteString(" `" + k.toml(k.Default) + "`")
	}
	var about []string
	if help := k.valueHelp(); help != "" {
		about = append(about, help)
	}
	if help := projectHelp[k.Project]; help != "" {
		about = append(about, "*"+help+"*")
	}
	if len(about) > 0 {
		b.WriteString(" (" + strings.Join(about, "; ") + ")")
	}
	b.WriteString(".")
	var others []string
	for _, a := range k.Aliases {
		unit := ""
		if a.MiB {
			unit = " (MiB)"
		}
		others = append(others, "`"+a.Name+"`"+unit)
	}
	for _, v := range k.Variables {
		others = append(others, "`"+v+"`")
	}
	doc := k.Doc
	if k == matchKey {
		doc += " Only in [tools.NAME]."
	}
	if len(others) > 0 {
		doc += " Also " + strings.Join(others, ", ") + "."
	}
	b.WriteString(" " + doc + "\n")
}

// valueHelp returns a description of the values that a key allows. A default shows the type of its key.
func (k *Key) valueHelp() string {
	out := string(k.Type)
	switch {
	case k.Type == TypeVariable:
		out = "" // all begin with "Variable that"
	case k.Type == TypeWait:
		out = string(TypeWait)
	case len(k.Choices) > 0:
		out = codeList(k.Choices)
	case k.Default != "" && k.Type != TypeNotify:
		out = ""
	}
	switch {
	case k.max == 0 || k.Type == TypeChoices:
		return out
	case k.Type == TypeText:
		return out + " of at most " + limit.Bytes(k.max).String()
	case out != "":
		out += ", "
	}
	v := func(n int64) string { return strconv.FormatInt(n, 10) }
	switch k.Type {
	case TypeSize, TypeAutoSize:
		v = func(n int64) string { return limit.Bytes(n).String() }
	case TypeDuration, TypeWait:
		v = func(n int64) string {
			text := time.Duration(n).String() // 720h0m0s
			if short, ok := strings.CutSuffix(text, "m0s"); ok {
				text = strings.TrimSuffix(short+"m", "h0m")
				if n%int64(time.Hour) == 0 {
					text += "h"
				}
			}
			return text
		}
	case TypeRatio, TypeAutoRatio, TypeNumber:
		v = func(n int64) string { return format(float64(n) / 100) }
	}
	return out + v(k.min) + "–" + v(k.max)
}

func codeList(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return "`" + strings.Join(names, "`, `") + "`"
}
