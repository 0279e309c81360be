package config

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/plimsoll/plimsoll/limit"
)

// Explanation describes the value in force of a key and its source.
type Explanation struct {
	Key    string `json:"key"` // dotted: "resources.memory_max"
	Tool   string `json:"tool,omitempty"`
	Value  string `json:"value"` // as it is written in a file, without quotes
	Source Source `json:"source"`
	Doc    string `json:"doc"`

	// Overridden are the other values given for the key, the strongest first.
	Overridden []Overridden `json:"overridden"`
}

// Overridden is a value that is not in force.
type Overridden struct {
	Value   string `json:"value"`
	Source  Source `json:"source"`
	Ignored string `json:"ignored,omitempty"` // why a project file's value was not taken
}

// Explain returns the value in force of a key and its source, for a tool, or with tool "" for none in particular. The key may be written with its
// table and as an alias: memory_max, resources.memory_max, memory_max_mb, tools.codex.memory_max, agents.argocd.model. An unknown key, one that is
// a table of many values, and an invalid name of a tool are errors.
func (l *Loaded) Explain(key, tool string) (Explanation, error) {
	if rest, ok := strings.CutPrefix(key, agentsTable+"."); ok {
		return l.explainAgent(rest)
	}
	table, name := resources, key
	if t, rest, ok := strings.Cut(key, "."); ok && isTable(t) {
		table, name = t, rest
	}
	if rest, ok := strings.CutPrefix(key, "tools."); ok {
		of, k, ok := strings.Cut(rest, ".")
		if !ok || tool != "" && foldTool(of) != foldTool(tool) {
			return Explanation{}, fmt.Errorf("%s does not name one value of one tool; write tools.NAME.KEY", quote(key))
		}
		tool, name = of, k
		if t, rest, ok := strings.Cut(k, "."); ok && isTable(t) {
			table, name = t, rest
		}
	}
	if t := tableOf(name, false); table == resources && t != "" && name != matchKey.Name {
		table = t // a name that stands in one table needs none in front
	}
	k, _ := lookup(table, name, tool != "")
	if k == nil {
		k, _ = lookup(table, name, false)
	}
	if k == nil || k.Type == TypeToolSizes {
		fix := "plimsoll config show lists the keys"
		if near := closest(name, keyNames(table, tool != "")); k != nil {
			fix = "explain " + k.of + " with --tool"
		} else if near != "" {
			if strings.HasPrefix(key, table+".") {
				near = table + "." + near
			}
			fix = fmt.Sprintf("did you mean %q?", near)
		} else if about := keysAbout(name); len(about) > 0 {
			fix = "keys about it are " + strings.Join(about, ", ")
		}
		return Explanation{}, fmt.Errorf("%s is not a key with one value; %s", quote(key), fix)
	}
	if tool != "" && SafeName(tool) != tool {
		return Explanation{}, fmt.Errorf("%s is not the name of a tool; write one like %q", quote(tool), SafeName(tool))
	}
	e := Explanation{Key: k.Table + "." + k.Name, Tool: CanonicalTool(tool), Doc: k.Doc}
	if k == matchKey {
		e.Key = "tools." + e.Tool + "." + k.Name
		e.Source = Source{Origin: OriginDefault}
	}
	e.fill(k, l.candidates(k, tool), l.cpus)
	return e, nil
}

// maxAbout bounds the keys that are named where one was meant.
const maxAbout = 4

// keysAbout returns the ids of keys for a search: first those with word in their name, then those with it in their description, at most
// maxAbout. A word of less than three letters finds none.
func keysAbout(word string) (list []string) {
	word = strings.ToLower(word)
	if len(word) < 3 {
		return nil
	}
	for _, in := range []func(k *Key) string{func(k *Key) string { return k.Name }, func(k *Key) string { return k.Doc }} {
		for _, k := range keys {
			words := strings.FieldsFunc(strings.ToLower(in(k)), func(r rune) bool { return !unicode.IsLetter(r) })
			told := slices.Contains(words, word) || slices.Contains(words, word+"s")
			if told && k.set != nil && len(list) < maxAbout && !slices.Contains(list, k.ID()) {
				list = append(list, k.ID())
			}
		}
	}
	return list
}

// TableExplanation describes a table of the configuration: all its keys.
type TableExplanation struct {
	Table string        `json:"table"`
	Doc   string        `json:"doc"`
	Keys  []Explanation `json:"keys"`
	// Near are keys of the limits whose names begin as the table's does, which a person may have meant: memory_max for [memory].
	Near []string `json:"near"`
}

// ExplainTable returns what [Loaded.Explain] says of each key of a table that has one value, "memory" or "[memory]". ok is false when there is no
// such table.
func (l *Loaded) ExplainTable(name, tool string) (t TableExplanation, ok bool, err error) {
	for _, table := range tables {
		if table.name != strings.TrimSuffix(strings.TrimPrefix(name, "["), "]") {
			continue
		}
		t = TableExplanation{Table: table.name, Doc: table.doc, Near: []string{}}
		for _, name := range keyNames(resources, false) {
			if k, _ := lookup(resources, name, false); k != nil && k.Name == name && k.set != nil && strings.HasPrefix(name, table.name+"_") {
				t.Near = append(t.Near, name)
			}
		}
		for _, k := range table.keys {
			if k.set == nil {
				continue
			}
			e, err := l.Explain(k.ID(), tool)
			if err != nil {
				return t, true, err
			}
			t.Keys = append(t.Keys, e)
		}
		return t, true, nil
	}
	return t, false, nil
}

// fill sets the value in force, which is the last of given that is not ignored, and lists all others as overridden. given has the weakest
// value first.
func (e *Explanation) fill(k *Key, given []candidate, cpus int) {
	e.Overridden = []Overridden{}
	found := false
	for _, c := range slices.Backward(given) {
		value := format(c.value)
		if k.Name == "pids_max" && value == "auto" {
			value = fmt.Sprintf("auto (%d)", AutoPids(cpus))
		}
		if !found && c.ignored == "" {
			e.Value, e.Source, found = value, c.src, true
			continue
		}
		e.Overridden = append(e.Overridden, Overridden{Value: value, Source: c.src, Ignored: c.ignored})
	}
}

// Values returns the explanation of every key for a tool, in the order of the reference, and then those of every agent.
func (l *Loaded) Values(tool string) ([]Explanation, error) {
	var out []Explanation
	for _, k := range keys {
		if k.set == nil {
			continue
		}
		e, err := l.Explain(k.Table+"."+k.Name, tool)
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	agents, err := l.Agents()
	for _, a := range agents {
		for _, k := range agentKeys {
			out = append(out, l.valueOfAgent(a.Name, k))
		}
	}
	return out, err
}

// MarshalJSON implements json.Marshaler. It writes sizes in bytes, null for auto, and durations in milliseconds as wait_ms (null for
// forever), grace_ms, time_max_ms and idle_max_ms.
func (s Settings) MarshalJSON() ([]byte, error) {
	type plain Settings // without this method
	size := func(b limit.Bytes) *limit.Bytes {
		if b == Auto {
			return nil
		}
		return &b
	}
	wait := new(s.Wait.Milliseconds())
	if s.Wait == Forever {
		wait = nil
	}
	return json.Marshal(struct {
		plain
		MemoryMax *limit.Bytes `json:"memory_max"`
		MinFree   *limit.Bytes `json:"min_free"`
		FreeMin   *limit.Bytes `json:"free_min"`
		WaitMS    *int64       `json:"wait_ms"`
		GraceMS   int64        `json:"grace_ms"`
		TimeMaxMS int64        `json:"time_max_ms"`
		IdleMaxMS int64        `json:"idle_max_ms"`
	}{plain(s), size(s.MemoryMax), size(s.MinFree), size(s.FreeMin), wait, s.Grace.Milliseconds(), s.TimeMax.Milliseconds(), s.IdleMax.Milliseconds()})
}

// MarshalJSON implements json.Marshaler. It writes max_tokens, max_tool_output and target as null for auto.
func (w WindowSettings) MarshalJSON() ([]byte, error) {
	type plain WindowSettings // without this method
	number := func(n int) *int {
		if n == int(Auto) {
			return nil
		}
		return &n
	}
	target := &w.Target
	if w.Target == float64(Auto) {
		target = nil
	}
	return json.Marshal(struct {
		plain
		MaxTokens     *int     `json:"max_tokens"`
		MaxToolOutput *int     `json:"max_tool_output"`
		Target        *float64 `json:"target"`
	}{plain(w), number(w.MaxTokens), number(w.MaxToolOutput), target})
}

// MarshalJSON implements json.Marshaler. It writes max_output as null for auto, and durations in milliseconds.
func (m MCPSettings) MarshalJSON() ([]byte, error) {
	type plain MCPSettings // without this method
	size := &m.MaxOutput
	if m.MaxOutput == Auto {
		size = nil
	}
	return json.Marshal(struct {
		plain
		MaxOutput  *limit.Bytes `json:"max_output"`
		EarlyMS    int64        `json:"early_ms"`
		TimeoutMS  int64        `json:"timeout_ms"`
		IdleMS     int64        `json:"idle_ms"`
		SnapshotMS int64        `json:"argocd_snapshot_ms"`
	}{plain(m), size, m.Early.Milliseconds(), m.Timeout.Milliseconds(), m.Idle.Milliseconds(), m.ArgoCDSnapshot.Milliseconds()})
}

// MarshalJSON implements json.Marshaler. It writes the age in milliseconds, as age_ms.
func (m MemorySettings) MarshalJSON() ([]byte, error) {
	type plain MemorySettings // without this method
	return json.Marshal(struct {
		plain
		AgeMS int64 `json:"age_ms"`
	}{plain(m), m.Age.Milliseconds()})
}
