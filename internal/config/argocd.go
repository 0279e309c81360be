package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/internal/sorting"
)

// ArgoCDInstance is one Argo CD of [mcp.argocd.NAME]. If Context names a context of the argocd command's own configuration, empty fields
// come from there.
type ArgoCDInstance struct {
	Name      string `json:"name"`
	URL       string `json:"url,omitempty"`
	Context   string `json:"context,omitempty"` // of the argocd command's file
	Token     string `json:"token,omitempty"`   // name of an environment variable
	TokenFile string `json:"token_file,omitempty"`
	// TokenCommand is a program and its arguments, which prints the token.
	TokenCommand []string `json:"token_command,omitempty"`
	Headers      []string `json:"headers,omitempty"` // NAME=VARIABLE
	CA           string   `json:"ca,omitempty"`
	Cert         string   `json:"cert,omitempty"`
	Key          string   `json:"key,omitempty"`
	Insecure     bool     `json:"insecure"`
	Default      bool     `json:"default"`

	// Source is the place of the table.
	Source Source `json:"source"`
}

// tokens returns the names of the set keys that say where the token comes from, sorted.
func (in *ArgoCDInstance) tokens() (keys []string) {
	for key, set := range map[string]bool{"token": in.Token != "", "token_file": in.TokenFile != "", "token_command": len(in.TokenCommand) > 0} {
		if set {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}

// readInstance reads a value of [mcp.argocd.NAME]; path is its dotted key. Mistakes are added to the problems.
func (r *reader) readInstance(path []string, w written, src Source) {
	switch {
	case len(path) == 2:
		r.problem(src, path, describe(w)+", not a table", "write [mcp.argocd.NAME] and keys below it")
		return
	case len(path) == 3:
		fix := "write [" + strings.Join(path, ".") + "] and keys below it"
		if k, _ := lookup("mcp", "argocd_"+path[2], false); k != nil {
			fix = "did you mean argocd_" + path[2] + ", below [mcp]?"
		} else if keyNamed(instanceKeys, path[2]) != nil {
			fix = "it is of one instance: write it below [mcp.argocd.NAME]"
		}
		r.problem(src, path, describe(w)+", not a table", fix)
		return
	}
	name, key := path[2], path[3]
	if SafeName(name) != name {
		r.problem(src, path[:3], quote(name)+" is not the name of an instance", "write letters, digits, . _ and -, at most 64, a letter or digit first")
		return
	}
	k := keyNamed(instanceKeys, key)
	switch {
	case k == nil:
		fix := "plimsoll config init writes a file with every key"
		if near := closest(key, namesOf(instanceKeys)); near != "" {
			fix = fmt.Sprintf("did you mean %q?", near)
		} else if general, _ := lookup("mcp", key, false); general != nil {
			fix = "it concerns all MCP servers: write it below [mcp]"
		}
		r.problem(src, path, "unknown key", fix)
	case len(path) > 4:
		r.problem(src, path, "is not a table", "write "+k.Name+" = "+k.example)
	default:
		r.addEntry(address{key: k.ID(), instance: name}, path, k, Alias{Name: k.Name}, "", w, src)
	}
}

// ArgoCD returns the instances of [mcp.argocd], the default one first, then by name. The error is an *[Error], as about an instance without
// an address, or two defaults.
func (l *Loaded) ArgoCD() ([]ArgoCDInstance, error) {
	names := map[string]Source{}
	for _, o := range origins {
		for at, e := range l.byOrigin[o.rank()] {
			if at.instance == "" {
				continue
			}
			if _, ok := names[at.instance]; !ok || e.src.Line < names[at.instance].Line {
				names[at.instance] = e.src
			}
		}
	}
	var out []ArgoCDInstance
	var probs problems
	for name, src := range names {
		in := ArgoCDInstance{Name: name, Source: src}
		given := false
		for _, k := range instanceKeys {
			for _, c := range l.appendCandidates(nil, k, []address{{key: k.ID(), instance: name}}) {
				if c.ignored == "" {
					k.setInstance(&in, c.value)
					given = true
				}
			}
		}
		if !given {
			continue // a project's file says something of an instance that the user does not have
		}
		where := Problem{Where: src, Key: "mcp.argocd." + name}
		switch {
		case in.URL == "" && in.Context == "":
			where.What, where.Fix = "has neither url nor context", `write url = "https://argocd.example.com", or context = the name of one in the argocd command's configuration`
			probs.add(where)
		case len(in.tokens()) > 1:
			where.What, where.Fix = "has both "+strings.Join(in.tokens(), " and "), "remove one of them"
			probs.add(where)
		case (in.Cert == "") != (in.Key == ""):
			where.What, where.Fix = "has only one of cert and key", "write both or none"
			probs.add(where)
		}
		out = append(out, in)
	}
	sorting.By(out, func(a, b ArgoCDInstance) int {
		if a.Default != b.Default {
			if a.Default {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.Name, b.Name)
	})
	if len(out) > 1 && out[1].Default {
		probs.add(Problem{Where: out[1].Source, Key: "mcp.argocd." + out[1].Name, What: "is a second default beside " + out[0].Name, Fix: "write default = true in one of them"})
	}
	return out, probs.err()
}
