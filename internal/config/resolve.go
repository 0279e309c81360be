package config

import (
	"fmt"
	"maps"
	"slices"
	"sort"
)

// candidate is a value that is given for a key, and may be the one in force.
type candidate struct {
	entry
	ignored string // why it does not count; "" if it does
}

// candidates returns every value given for a key that counts for a tool ("" for none in particular), the weakest first. Within one source
// the tool's own table follows the general one. The last that is not ignored is in force.
func (l *Loaded) candidates(k *Key, tool string) []candidate {
	return l.appendCandidates(nil, k, addresses(nil, k.ID(), tool))
}

// addresses appends to in the addresses of a key for a tool, "" for none in particular, the weaker first.
func addresses(in []address, id, tool string) []address {
	in = append(in, address{key: id})
	if tool != "" {
		in = append(in, address{key: id, tool: foldTool(tool)})
	}
	return in
}

// appendCandidates returns the values given for a key at any of the addresses, the weakest first, in the memory of out, which must be empty. A
// value that a project's file may not set has the reason in ignored.
func (l *Loaded) appendCandidates(out []candidate, k *Key, in []address) []candidate {
	var base entry // in force without the project file
	for _, o := range origins {
		for _, at := range in {
			e, ok := l.byOrigin[o.rank()][at]
			if !ok {
				continue
			}
			c := candidate{entry: e}
			if o == OriginProject {
				c.ignored = k.projectObjection(e.value, base)
			}
			out = append(out, c)
		}
		if o == OriginUser && len(out) > 0 {
			base = out[len(out)-1].entry
		}
	}
	return out
}

// projectObjection returns the reason why a project file may not set a value, given the entry in force without it; "" if it may.
func (k *Key) projectObjection(v any, base entry) string {
	switch k.Project {
	case ProjectNever:
		return "a project file may not set it"
	case ProjectStricter:
		if v == true && base.value != true {
			return "a project file may only switch it off"
		}
		if k.looseness(v) > k.looseness(base.value) {
			return fmt.Sprintf("a project file may only make it stricter than %s (%s)", format(base.value), base.src)
		}
	case ProjectCapped:
		if base.src.Origin == OriginUser && k.looseness(v) > k.looseness(base.value) {
			return fmt.Sprintf("a project file may not raise it above your %s (%s)", format(base.value), base.src)
		}
	}
	return ""
}

// For returns the settings of one run of a tool, "" for none in particular. The error is about an invalid name of a tool.
func (l *Loaded) For(tool string) (Settings, error) {
	if tool != "" && SafeName(tool) != tool {
		return Settings{}, fmt.Errorf("%s is not the name of a tool; write letters, digits, . _ and -, at most %d, a letter or digit first, like %q",
			quote(tool), maxToolName, SafeName(tool))
	}
	s := Settings{Tool: CanonicalTool(tool), sources: make(map[string]Source, len(keys))}
	// Both are used again for each of two hundred keys, which every start of a run resolves twice.
	var in []address
	var found []candidate
	for _, k := range keys {
		if k.set == nil {
			continue
		}
		id := k.ID()
		in = addresses(in[:0], id, tool)
		found = l.appendCandidates(found[:0], k, in)
		for _, c := range found {
			if c.ignored != "" {
				s.Warnings = append(s.Warnings, c.warning())
				continue
			}
			k.set(&s, c.value)
			s.sources[id] = c.src
		}
	}
	s.Window.Models = l.Models()
	if s.PidsMax == int(Auto) {
		s.PidsMax = AutoPids(l.cpus)
	}
	for _, c := range l.candidates(matchKey, tool) {
		if c.ignored != "" {
			s.Warnings = append(s.Warnings, c.warning())
		}
	}
	return s, nil
}

// warning returns the problem to report of a value that is ignored; c.ignored says why.
func (c candidate) warning() Problem {
	return Problem{
		Where: c.src, Key: c.name, What: format(c.value) + " is ignored: " + c.ignored,
		Fix: "set it in your own file, in the environment or by a flag",
	}
}

// AutoPids returns the value of pids_max = "auto". A thread counts as a process, and build tools start threads by the number of CPUs, so
// the 256 of the forerunner is only the minimum.
func AutoPids(cpus int) int { return min(max(256, 128*cpus), maxPids) }

// Tools returns the names of all tools that have a table, a variable or a built-in profile, sorted.
func (l *Loaded) Tools() []string {
	out := make([]string, 0, len(l.names))
	for _, name := range l.names {
		out = append(out, name)
	}
	sort.Strings(out)
	return out
}

// Config returns the settings of every known tool and agent.
func (l *Loaded) Config() Config {
	c := Config{Tools: map[string]Settings{}, Agents: map[string]Agent{}}
	c.Resources, _ = l.For("")
	for _, tool := range l.Tools() {
		// Names of tools were checked when they were read.
		c.Tools[tool], _ = l.For(tool)
	}
	agents, _ := l.Agents() // Load has checked them
	for _, a := range agents {
		c.Agents[a.Name] = a
	}
	return c
}

// matchLists maps base names of commands to the tool whose match list names them. Of several such tools the first by name counts, so that
// the result is the same in every run.
func (l *Loaded) matchLists() map[string]string {
	tools := map[string]bool{}
	for _, entries := range l.byOrigin {
		for at := range entries {
			if at.key == matchKey.Name {
				tools[at.tool] = true
			}
		}
	}
	out := map[string]string{}
	for _, tool := range slices.Sorted(maps.Keys(tools)) {
		var names []string
		for _, c := range l.candidates(matchKey, tool) {
			if c.ignored == "" {
				names = c.value.([]string)
			}
		}
		for _, base := range names {
			if _, taken := out[base]; !taken {
				out[base] = l.names[tool]
			}
		}
	}
	return out
}
