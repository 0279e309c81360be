package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/plimsoll/plimsoll/internal/sorting"
	"github.com/plimsoll/plimsoll/internal/statefile"
	"github.com/plimsoll/plimsoll/limit"
)

// builtinArgoCD is the name of the agent that exists without a table.
const builtinArgoCD = "argocd"

// Agent is one agent of [agents.NAME], every default filled in.
type Agent struct {
	Name     string `json:"name"`
	Model    string `json:"model,omitempty"`    // "" goes by the environment
	Provider string `json:"provider,omitempty"` // "" goes by the model and the environment
	BaseURL  string `json:"base_url,omitempty"` // without a slash at the end
	KeyEnv   string `json:"key_env,omitempty"`  // name of an environment variable
	Builtin  string `json:"builtin,omitempty"`  // "argocd" or ""

	Prompt     string   `json:"prompt,omitempty"`
	PromptFile string   `json:"prompt_file,omitempty"` // absolute; never beside Prompt
	Intro      string   `json:"intro,omitempty"`
	Servers    []string `json:"servers,omitempty"` // of [mcp.servers], or "argocd"

	Window     int     `json:"window"`     // tokens; 0 goes by the model
	MaxOutput  int     `json:"max_output"` // tokens; 0 goes by the model
	Summarizer string  `json:"summarizer"` // "off", "extractive" or "model"
	Trigger    float64 `json:"trigger"`
	Target     float64 `json:"target"` // 0 goes by trigger

	MaxSteps           int           `json:"max_steps"`
	MaxHistoryMessages int           `json:"max_history_messages"`
	MaxStepResult      limit.Bytes   `json:"max_step_result_size"`
	CallHistory        int           `json:"tool_call_history_size"`
	Identical          int           `json:"identical_calls"`
	MaxParallel        int           `json:"max_parallel"`
	MaxQueries         int           `json:"max_queries"`
	ToolTimeout        time.Duration `json:"-"`
	ModelTimeout       time.Duration `json:"-"`

	SearchForced bool `json:"search_forced"`
	A2A          bool `json:"a2a"`

	// Source is the place of the table; zero for an agent without one.
	Source Source `json:"source"`

	sources map[string]Source // by [Key.Name]
}

// From returns the source of the value of a key, such as "model". The zero Source means that there is no such key.
func (a Agent) From(key string) Source { return a.sources[key] }

// MarshalJSON implements json.Marshaler. It writes durations in milliseconds, as tool_timeout_ms and model_timeout_ms.
func (a Agent) MarshalJSON() ([]byte, error) {
	type plain Agent // without this method
	return json.Marshal(struct {
		plain
		ToolTimeoutMS  int64 `json:"tool_timeout_ms"`
		ModelTimeoutMS int64 `json:"model_timeout_ms"`
	}{plain(a), a.ToolTimeout.Milliseconds(), a.ModelTimeout.Milliseconds()})
}

// ReadPrompt returns the system prompt: the content of PromptFile now, without blanks around it, or if that is not set Prompt, which may be "". A
// file that cannot be read, is not a regular file, is not UTF-8 or has more than 64 KiB is an *[Error].
func (a Agent) ReadPrompt() (string, error) {
	if a.PromptFile == "" {
		return a.Prompt, nil
	}
	fail := func(what, fix string) (string, error) {
		return "", &Error{Problems: []Problem{{Where: a.From("prompt_file"), Key: agentsTable + "." + a.Name + ".prompt_file", What: what, Fix: fix}}}
	}
	data, err := statefile.ReadLinked(a.PromptFile, maxPrompt)
	switch {
	case errors.Is(err, statefile.ErrNotRegular):
		return fail(a.PromptFile+" is not a regular file", "name a file with the prompt's text")
	case errors.Is(err, statefile.ErrTooLarge):
		return fail(a.PromptFile+" is larger than "+limit.Bytes(maxPrompt).String(), "shorten it: it is sent with every request")
	case err != nil:
		return fail(err.Error(), "name a file that you can read")
	case !utf8.Valid(data):
		return fail(a.PromptFile+" is not UTF-8 text", "save it as UTF-8")
	}
	return strings.TrimSpace(strings.TrimPrefix(string(data), "\ufeff")), nil
}

// foldAgent returns the form of an agent's name that is compared: in lower case, with - for _.
func foldAgent(name string) string { return strings.ReplaceAll(strings.ToLower(name), "_", "-") }

// readAgent reads a value of [agents.NAME]; path is its dotted key. Mistakes are added to the problems.
func (r *reader) readAgent(path []string, w written, src Source) {
	if len(path) == 2 {
		fix := "write [agents." + clip(path[1]) + "] and keys below it"
		if keyNamed(agentKeys, path[1]) != nil {
			fix = "it is of one agent: write it below [agents.NAME]"
		}
		r.problem(src, path, describe(w)+", not a table", fix)
		return
	}
	name, key := path[1], path[2]
	if SafeName(name) != name {
		r.problem(src, path[:2], quote(name)+" is not the name of an agent", "write letters, digits, . _ and -, at most 64, a letter or digit first")
		return
	}
	k := keyNamed(agentKeys, key)
	switch {
	case k == nil && isSecret(key):
		// The value is not repeated: it may be a secret.
		r.problem(src, path[:3], "is no key: a secret does not belong into a file", `put it into an environment variable and write key_env = "OPENAI_API_KEY", the variable's name`)
	case k == nil:
		fix := "plimsoll config init writes a file with every key"
		if near := closest(key, namesOf(agentKeys)); near != "" {
			fix = fmt.Sprintf("did you mean %q?", near)
		} else if table := tableOf(key, false); table != "" {
			fix = "it is a key of table [" + table + "]"
		}
		r.problem(src, path, "unknown key", fix)
	case len(path) > 3:
		r.problem(src, path, "is not a table", "write "+k.Name+" = "+k.example)
	default:
		r.addEntry(address{key: k.ID(), agent: foldAgent(name)}, path, k, Alias{Name: k.Name}, name, w, src)
	}
}

// isSecret reports whether a key has a name that people use for a secret itself, such as token.
func isSecret(key string) bool {
	return slices.Contains([]string{"key", "apikey", "token", "apitoken", "secret", "password", "authorization", "openaiapikey", "anthropicapikey"}, fold(key))
}

// splitAgent splits MY_AGENT_MAX_STEPS, in lower case, into the name of an agent, with - for _, and a key: the longest key that the text ends in.
// If it ends in none, the part after the first _ is taken for the key, and reported as unknown.
func splitAgent(text string) (name, key string) {
	for _, k := range agentKeys {
		if rest, ok := strings.CutSuffix(text, "_"+k.Name); ok && len(k.Name) > len(key) {
			name, key = rest, k.Name
		}
	}
	if key == "" {
		name, key, _ = strings.Cut(text, "_")
	}
	return strings.ReplaceAll(name, "_", "-"), key
}

// agentNames returns the agents that are configured anywhere but in a project's file, by folded name, with the spelling and the place where
// each is written first. Only Name and Source are set.
func (l *Loaded) agentNames() map[string]Agent {
	found := map[string]Agent{}
	for _, o := range origins {
		if o == OriginProject {
			continue // what it says is never taken
		}
		here := map[string]Agent{}
		for at, e := range l.byOrigin[o.rank()] {
			if at.agent == "" {
				continue
			}
			if first, ok := here[at.agent]; !ok || compareSources(e.src, first.Source) {
				here[at.agent] = Agent{Name: e.tool, Source: e.src}
			}
		}
		for name, a := range here {
			if _, ok := found[name]; !ok {
				found[name] = a
			}
		}
	}
	return found
}

// compareSources reports whether a comes before b, of two sources of the same origin: the one on the earlier line, or on equal lines the
// one whose name sorts first.
func compareSources(a, b Source) bool {
	if a.Line != b.Line {
		return a.Line < b.Line
	}
	return a.Name < b.Name
}

// Agent returns an agent of [agents.NAME]; case, _ and - in the name do not matter. If it is not configured, it returns an agent with the
// defaults, and false. The error is an *[Error] about this agent only.
func (l *Loaded) Agent(name string) (Agent, bool, error) {
	a, ok := l.agentNames()[foldAgent(name)]
	if !ok {
		a = Agent{Name: name}
	}
	var probs problems
	l.fillAgent(&a, &probs)
	return a, ok, probs.err()
}

// Agents returns the agents of [agents], sorted by name. The error is an *[Error], as about values of an agent that contradict each other,
// or an unknown server.
func (l *Loaded) Agents() ([]Agent, error) {
	var out []Agent
	var probs problems
	for _, a := range l.agentNames() {
		l.fillAgent(&a, &probs)
		out = append(out, a)
	}
	sorting.By(out, func(a, b Agent) int { return strings.Compare(a.Name, b.Name) })
	return out, probs.err()
}

// fillAgent sets the fields of an agent, of which Name is set already, to the values in force, and adds what contradicts itself to probs. An agent
// argocd that names no servers and no prompt is the built-in one.
func (l *Loaded) fillAgent(a *Agent, probs *problems) {
	a.sources = map[string]Source{}
	for _, k := range agentKeys {
		for _, c := range l.appendCandidates(nil, k, agentAddresses(k, a.Name)) {
			if c.ignored != "" {
				continue
			}
			v := c.value
			if k.Type == TypeNearFile {
				v = l.absolutePath(v.(string), c.src)
			}
			k.setAgent(a, v)
			a.sources[k.Name] = c.src
		}
	}
	if foldAgent(a.Name) == builtinArgoCD && a.From("builtin").Origin == OriginDefault && len(a.Servers) == 0 && a.Prompt == "" && a.PromptFile == "" {
		a.Builtin = builtinArgoCD // who writes [agents.argocd] model = … means the built-in one, with another model
	}
	wrong := func(key, what, fix string) {
		probs.add(Problem{Where: a.From(key), Key: agentsTable + "." + a.Name + "." + key, What: what, Fix: fix})
	}
	if a.Prompt != "" && a.PromptFile != "" {
		wrong("prompt_file", "is written beside prompt", "remove one of them")
	}
	if a.Provider != "" && a.Provider != "openai" && a.Provider != "anthropic" && a.BaseURL == "" {
		wrong("provider", quote(a.Provider)+" has no base_url beside it", `write base_url = "https://…", where its API that speaks OpenAI's protocol is`)
	}
	if a.Target >= a.Trigger {
		wrong("target", format(a.Target)+" is not below trigger, "+format(a.Trigger), "write a smaller target, or a larger trigger")
	}
	if a.Window > 0 && a.MaxOutput >= a.Window {
		wrong("max_output", fmt.Sprintf("%d leaves nothing of the window of %d", a.MaxOutput, a.Window), "write a smaller max_output, or a larger window")
	}
	if a.Identical > a.CallHistory {
		wrong("identical_calls", fmt.Sprintf("%d calls are never in a history of %d", a.Identical, a.CallHistory), "write a larger tool_call_history_size")
	}
	l.checkServers(a, wrong)
}

// checkServers reports servers that the agent names and that do not exist; argocd and memory always do. If the servers' own tables have mistakes
// it reports none.
func (l *Loaded) checkServers(a *Agent, wrong func(key, what, fix string)) {
	if len(a.Servers) == 0 {
		return
	}
	servers, err := l.Servers("")
	if err != nil {
		return // said already
	}
	known := []string{"argocd", "memory"}
	for _, s := range servers {
		known = append(known, s.Name)
	}
	for _, name := range a.Servers {
		if slices.Contains(known, name) {
			continue
		}
		fix := "write a table [mcp.servers." + name + "] with its command or url"
		if near := closest(name, known); near != "" {
			fix = fmt.Sprintf("did you mean %q?", near)
		}
		wrong("servers", "there is no MCP server "+quote(name), fix)
	}
}

// explainAgent explains NAME.KEY. An agent that is not configured has the defaults; an unknown key is an error.
func (l *Loaded) explainAgent(rest string) (Explanation, error) {
	i := strings.LastIndexByte(rest, '.')
	if i < 0 || SafeName(rest[:i]) != rest[:i] {
		return Explanation{}, fmt.Errorf("%s does not name one value of one agent; write agents.NAME.KEY", quote(agentsTable+"."+rest))
	}
	name, key := rest[:i], rest[i+1:]
	k := keyNamed(agentKeys, key)
	if k == nil {
		fix := "the keys are " + strings.Join(namesOf(agentKeys), ", ")
		if near := closest(key, namesOf(agentKeys)); near != "" {
			fix = fmt.Sprintf("did you mean %q?", agentsTable+"."+name+"."+near)
		}
		return Explanation{}, fmt.Errorf("%s is not a key of an agent; %s", quote(key), fix)
	}
	if a, ok := l.agentNames()[foldAgent(name)]; ok {
		name = a.Name
	}
	return l.valueOfAgent(name, k), nil
}

// valueOfAgent explains the value of a key for the agent with this name.
func (l *Loaded) valueOfAgent(name string, k *Key) Explanation {
	e := Explanation{Key: agentsTable + "." + name + "." + k.Name, Doc: k.Doc}
	e.fill(k, l.appendCandidates(nil, k, agentAddresses(k, name)), l.cpus)
	return e
}

// agentAddresses returns where a value of an agent may be set: as a default, and in its own table, which is stronger.
func agentAddresses(k *Key, name string) []address {
	return []address{{key: k.ID()}, {key: k.ID(), agent: foldAgent(name)}}
}

// absolutePath returns the absolute path of a file whose path is relative to the folder of the configuration file that names it, or to the
// working directory if src is not a file.
func (l *Loaded) absolutePath(path string, src Source) string {
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	dir := l.dir
	if src.File != "" {
		dir = filepath.Dir(src.File)
	}
	path = filepath.Join(dir, path)
	if abs, err := filepath.Abs(path); err == nil {
		return abs
	}
	return path
}

// projectAgents warns about agents in a project's file, which are ignored.
func (l *Loaded) projectAgents(warn func(Problem)) {
	told := map[string]entry{}
	for at, e := range l.byOrigin[OriginProject.rank()] {
		if first, ok := told[at.agent]; at.agent != "" && (!ok || compareSources(e.src, first.src)) {
			told[at.agent] = e
		}
	}
	for _, e := range told {
		warn(Problem{
			Where: e.src, Key: agentsTable + "." + e.tool, What: "is ignored: a project file may not set up agents",
			Fix: "write it into your own file",
		})
	}
}
