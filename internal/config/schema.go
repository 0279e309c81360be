package config

import (
	"slices"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/limit"
)

// Type is the type of a key's value.
type Type string

// The types, as the reference shows them.
const (
	TypeSize      Type = "size"              // "512M"
	TypeAutoSize  Type = "size or auto"      // "512M" or "auto"
	TypeCount     Type = "integer"           // 3
	TypeAutoCount Type = "integer or auto"   // 3 or "auto"
	TypeToolCount Type = "integer or table"  // 3, or a table from tool to integer
	TypeToolSizes Type = "table"             // from tool to size or a number of MiB
	TypeBool      Type = "boolean"           // true
	TypeChoice    Type = "one of the values" // "kill"
	TypeChoices   Type = "list of the values"
	TypeNames     Type = "list of names"
	TypeDuration  Type = "duration"
	TypeWait      Type = "duration or forever"
	TypeDirectory Type = "directory"
	TypeFile      Type = "file"
	TypeRatio     Type = "number below 1"
	TypeAutoRatio Type = "number below 1 or auto"
	TypeNumber    Type = "number" // of hundredths: 1.5
	TypeURL       Type = "URL"
	TypeNATS      Type = "addresses of NATS servers"
	TypeVariable  Type = "name of a variable"
	TypeText      Type = "text"
	TypeAddress   Type = "address"
	TypeHosts     Type = "list of host names"
	TypeNetworks  Type = "list of hosts and networks"
	TypeOrigins   Type = "list of origins"
	TypePatterns  Type = "list of patterns"
	TypeArgv      Type = "list of texts"
	TypePairs     Type = "list of NAME=VALUE"
	TypeCollector Type = "URL of a collector"
	TypeAnyURL    Type = "URL, with any path"
	TypeNearFile  Type = "file, also relative" // to the folder of the file that names it
	TypeServers   Type = "list of MCP servers"
	TypeNotify    Type = "off, desktop, URL, or a command as a list or a line"
)

// ProjectRule limits how a project file may set a key. The file may come with a cloned repository, whose author does not own this machine.
type ProjectRule string

// The rules. A value that a rule forbids is ignored with a warning.
const (
	ProjectFree     ProjectRule = "free"               // any value
	ProjectStricter ProjectRule = "only stricter"      // not looser than what is in force without it
	ProjectCapped   ProjectRule = "up to the user's"   // not above what the user's own file states, if it states it
	ProjectNever    ProjectRule = "not from a project" // concerns the machine or the user
)

// Key is one configuration key. Checking, the generated file, Explain, suggestions, variables and the reference are all made from the one
// list of keys.
type Key struct {
	Name    string // without the table
	Table   string // "resources", "window", …
	Type    Type
	Default string   // as written in a file, without quotes
	Choices []string // of TypeChoice and TypeChoices, the loosest first
	Aliases []Alias
	// Variables are environment variables of other programs that set the key too; the one of
	// Plimsoll's own wins over them.
	Variables []string
	PerTool   bool // may stand in [tools.NAME] too, and below its table's name unless that is resources
	Project   ProjectRule
	Doc       string // one sentence
	// Flag is the flag of plimsoll run that sets the key, without its dashes, "" for none. Usage describes it, and Bare is the value of the flag
	// without one.
	Flag, Usage, Bare string

	min, max int64  // of sizes (bytes), counts and durations (nanoseconds); max 0 means none
	example  string // a value as written in TOML
	auto     string // another word for auto
	of       string // of TypeToolSizes: the per-tool key its members set
	noBound  bool   // 0 means unlimited, the loosest value
	// thousands reports whether 8k may be written for 8000.
	thousands bool
	optional  bool // of counts: 0 is allowed although it is below min
	set       func(*Settings, any)

	perServer  bool // may stand in [mcp.servers.NAME]
	perMCPTool bool // may stand in [mcp.servers.NAME.tools.TOOL]
	setServer  func(*MCPServer, any)
	// setInstance is set for the keys of [mcp.argocd.NAME].
	setInstance func(*ArgoCDInstance, any)
	// setAgent is set for the keys of [agents.NAME].
	setAgent func(*Agent, any)
	// setModel is set for the keys of [models.NAME].
	setModel func(*ModelLimits, any)
}

// Alias is another name of a key, as in the program whose users this one takes over.
type Alias struct {
	Name string
	MiB  bool // the value is a whole number of MiB
}

// Bounds of values. The pid bound is the kernel's PID_MAX_LIMIT; a process cannot even be
// executed in less than about 1 MiB; no machine has 1 PiB.
const (
	minMemory  = int64(limit.MiB)
	maxMemory  = 1024 * int64(limit.TiB)
	maxDisk    = 1 << 50 // bytes: 1 PiB
	maxPids    = 1 << 22
	maxSlots   = 1 << 16
	maxHistory = 200

	maxSpentTokens = int64(1_000_000_000_000)
	maxDollars     = 100 * 1_000_000 // hundredths
)

// tables holds the tables of the configuration and their keys, in the order of the generated file and the reference.
var tables = []struct {
	name, doc string
	keys      []*Key
}{
	{"resources", "memory, processes and concurrency of a run", resourceKeys},
	{"budget", "what all runs may spend at models", budgetKeys},
	{"submit", "where runs are placed", submitKeys},
	{"window", "the context window of the model", windowKeys},
	{"upstream", "addresses of model providers", upstreamKeys},
	{"mcp", "MCP servers and what they return", mcpKeys},
	{"serve", "the daemon", serveKeys},
	{"fleet", "what hosts share", fleetKeys},
	{"watch", "what is kept of runs, and who is told of them", watchKeys},
	{"memory", "what is kept of conversations, and found again", memoryKeys},
}

// keys holds the keys of all tables, in the same order.
var keys = func() []*Key {
	var out []*Key
	for _, t := range tables {
		for _, k := range t.keys {
			k.Table = t.name
			out = append(out, k)
		}
	}
	return out
}()

// resourceKeys are the keys of [resources], for the process plane.
var resourceKeys = []*Key{
	{
		Name: "enforcement", Type: TypeChoice, Default: "best-effort", Choices: []string{"off", "best-effort", "required"},
		Aliases: []Alias{{Name: "enforcement_mode"}}, PerTool: true, Project: ProjectStricter,
		Doc:  "When the kernel cannot hold the memory limit: only measure, warn and go on, or refuse to start.",
		Flag: "enforcement", Usage: "required, best-effort or off: what to do without kernel enforcement",
		set: func(s *Settings, v any) { s.Enforcement = Enforcement(v.(string)) },
	},
	{
		Name: "memory_max", Type: TypeAutoSize, Default: "auto", Aliases: []Alias{{"memory_max_mb", true}}, PerTool: true,
		Project: ProjectCapped, min: minMemory, max: maxMemory, example: `"4G"`,
		Doc:  "Hard memory limit of the command and all it starts; auto is the larger of 4G and twice the reservation, within what the host has.",
		Flag: "memory-max", Usage: "most memory of the whole run: a size like 4G, or auto",
		set: func(s *Settings, v any) { s.MemoryMax = v.(limit.Bytes) },
	},
	{
		Name: "memory_grow", Type: TypeBool, Default: "true", PerTool: true, Project: ProjectNever, example: "false",
		Doc: "Let an auto memory_max grow, to twice its size at most, where no other run has set the room aside.",
		set: func(s *Settings, v any) { s.MemoryGrow = v.(bool) },
	},
	{
		Name: "swap_max", Type: TypeSize, Default: "0", Aliases: []Alias{{"memory_swap_max_mb", true}}, PerTool: true,
		Project: ProjectCapped, max: maxMemory, example: `"1G"`,
		Doc:  "Swap on top of memory_max; 0 means none.",
		Flag: "swap-max", Usage: "most swap beside it: a size like 1G",
		set: func(s *Settings, v any) { s.SwapMax = v.(limit.Bytes) },
	},
	{
		Name: "pids_max", Type: TypeAutoCount, Default: "auto", PerTool: true, Project: ProjectCapped, min: 1, max: maxPids, example: "512",
		Doc:  "Processes and threads at once; auto is 128 per CPU, at least 256.",
		Flag: "pids-max", Usage: "most processes and threads: a number, or auto",
		set: func(s *Settings, v any) { s.PidsMax = v.(int) },
	},
	{
		Name: "min_free", Type: TypeAutoSize, Default: "auto", Aliases: []Alias{{"min_free_memory_mb", true}}, Project: ProjectNever,
		max: maxMemory, example: `"1G"`,
		Doc: "Memory that must stay free on the host when a run starts; auto is 5 %, between 256M (an eighth, where that is less) and 2G.",
		set: func(s *Settings, v any) { s.MinFree = v.(limit.Bytes) },
	},
	{
		Name: "initial_estimate", Type: TypeSize, PerTool: true, Project: ProjectFree, min: minMemory, max: maxMemory, example: `"1G"`,
		Doc: "Memory to reserve for a tool without history; unset means 500M.",
		set: func(s *Settings, v any) { s.InitialEstimate = v.(limit.Bytes) },
	},
	{
		Name: "reservation", Type: TypeSize, PerTool: true, Project: ProjectNever, min: minMemory, max: maxMemory, example: `"2G"`,
		Doc:  "Memory to reserve whatever the history says; unset means the estimate.",
		Flag: "reserve", Usage: "what to set aside for the run, whatever its history says: a size like 2G",
		set: func(s *Settings, v any) { s.Reservation = v.(limit.Bytes) },
	},
	{
		Name: "initial_estimates", Type: TypeToolSizes, Project: ProjectFree, of: "initial_estimate", example: "{ codex = 4096 }",
		Doc: "initial_estimate of several tools; a bare integer is in MiB.",
	},
	{
		Name: "max_concurrent", Type: TypeToolCount, Default: "0", PerTool: true, Project: ProjectCapped, max: maxSlots, noBound: true,
		example: "3",
		Doc:     "Runs of one tool at once: a number, or a table from tool to number; 0 means no bound.",
		set:     func(s *Settings, v any) { s.MaxConcurrent = v.(int) },
	},
	{
		Name: "max_concurrent_total", Type: TypeCount, Default: "0", Project: ProjectNever, max: maxSlots, noBound: true, example: "8",
		Doc: "Runs of all tools at once; 0 means no bound.",
		set: func(s *Settings, v any) { s.MaxConcurrentTotal = v.(int) },
	},
	{
		Name: "count_swap", Type: TypeBool, Default: "true", Project: ProjectNever, example: "true",
		Doc: "Whether free swap counts as available memory when a run starts.",
		set: func(s *Settings, v any) { s.CountSwap = v.(bool) },
	},
	{
		Name: "wait", Type: TypeWait, PerTool: true, Project: ProjectFree, max: int64(30 * 24 * time.Hour), example: `"10m"`,
		Doc:  "How long a run that does not fit yet waits; empty means not at all.",
		Flag: "wait", Usage: "queue until the machine can carry it; --wait=10m at most so long", Bare: "forever",
		set: func(s *Settings, v any) { s.Wait = v.(time.Duration) },
	},
	{
		Name: "on_exit", Type: TypeChoice, Default: "kill", Choices: []string{"leave", "wait", "kill"}, PerTool: true, Project: ProjectStricter,
		Doc:  "What to do with processes that the command leaves behind.",
		Flag: "on-exit", Usage: "what happens to processes left over: kill, wait or leave",
		set: func(s *Settings, v any) { s.OnExit = OnExit(v.(string)) },
	},
	{
		Name: "on_pressure", Type: TypeChoice, Default: "auto", Choices: []string{"off", "warn", "auto", "freeze", "kill"}, PerTool: true,
		Project: ProjectStricter,
		Doc:     "When the host runs out of memory: auto freezes the run without a terminal and warns with one.",
		Flag:    "on-pressure", Usage: "when the host runs out of memory: auto, freeze, kill, warn or off",
		set: func(s *Settings, v any) { s.OnPressure = OnPressure(v.(string)) },
	},
	{
		Name: "on_orphan", Type: TypeChoice, Default: "warn", Choices: []string{"off", "warn", "end"}, PerTool: true, Project: ProjectNever,
		Doc:  "What to do with a process whose parent has ended: nothing, warn once, or end it unless it is a daemon.",
		Flag: "on-orphan", Usage: "a process whose parent has ended: warn, end or off",
		set: func(s *Settings, v any) { s.OnOrphan = OnOrphan(v.(string)) },
	},
	{
		Name: "orphan_max", Type: TypeDuration, Default: "30m", PerTool: true, Project: ProjectNever, max: int64(30 * 24 * time.Hour), noBound: true, example: `"2h"`,
		Doc: "How long a process may run without its parent before on_orphan counts; 0s means for ever.",
		set: func(s *Settings, v any) { s.OrphanMax = v.(time.Duration) },
	},
	{
		Name: "oomd", Type: TypeChoice, Default: "avoid", Choices: []string{"avoid", "default"}, PerTool: true, Project: ProjectNever,
		Doc: "Ask systemd-oomd to end other groups before this run, or ask nothing.",
		set: func(s *Settings, v any) { s.OOMD = OOMD(v.(string)) },
	},
	{
		Name: "layers", Type: TypeChoices, Default: "systemd, cgroup2, cgroup1, job, rlimit, monitor", PerTool: true, Project: ProjectNever,
		Choices: []string{LayerSystemd, LayerCgroup2, LayerCgroup1, LayerJob, LayerRlimit, LayerMonitor},
		Doc:     "Layers that may hold the limits, in the order they are tried.",
		Flag:    "layer", Usage: "use this layer only: systemd, cgroup2, cgroup1, job, rlimit, monitor",
		set: func(s *Settings, v any) { s.Layers = slices.Clone(v.([]string)) },
	},
	{
		Name: "grace", Type: TypeDuration, Default: "2s", PerTool: true, Project: ProjectStricter, max: int64(time.Hour), example: `"5s"`,
		Doc:  "Time between the request to end and the kill.",
		Flag: "grace", Usage: "time between the request to end and the kill: a duration like 5s",
		set: func(s *Settings, v any) { s.Grace = v.(time.Duration) },
	},
	{
		Name: "cpu_weight", Type: TypeCount, Default: "60", PerTool: true, Project: ProjectStricter, min: 1, max: 10000, example: "100",
		Doc:  "Share of a contended processor, where others have 100; 100 changes nothing.",
		Flag: "cpu-weight", Usage: "share of a busy processor, where everything else has 100: a number",
		set: func(s *Settings, v any) { s.CPUWeight = v.(int) },
	},
	{
		Name: "cpus", Type: TypeNumber, Default: "0", PerTool: true, Project: ProjectStricter, max: 100 * 8192, noBound: true, example: "1.5",
		Doc:  "Processors that a run may use at most; 0 means no bound. Only a control group holds it.",
		Flag: "cpus", Usage: "most processors at once: a number like 1.5",
		set: func(s *Settings, v any) { s.CPUs = v.(float64) },
	},
	{
		Name: "time_max", Type: TypeDuration, Default: "0s", PerTool: true, Project: ProjectStricter, max: int64(30 * 24 * time.Hour), noBound: true,
		example: `"2h"`,
		Doc:     "How long a run may take, stops and sleep aside; 0s means no bound.",
		Flag:    "time-max", Usage: "how long the run may take: a duration like 2h",
		set: func(s *Settings, v any) { s.TimeMax = v.(time.Duration) },
	},
	{
		Name: "idle_max", Type: TypeDuration, Default: "0s", PerTool: true, Project: ProjectStricter, max: int64(30 * 24 * time.Hour), noBound: true,
		example: `"4h"`,
		Doc:     "How long a run may be used by nobody: no request, no input, no processor time; 0s means no bound.",
		Flag:    "idle-max", Usage: "how long nobody may use it before it is ended: a duration like 4h",
		set: func(s *Settings, v any) { s.IdleMax = v.(time.Duration) },
	},
	{
		Name: "on_idle", Type: TypeChoice, Default: "end", Choices: []string{"end", "reclaim"}, PerTool: true, Project: ProjectNever,
		Doc:  "What happens to a run at idle_max: it is ended, or its memory is moved to swap, as far as swap_max allows.",
		Flag: "on-idle", Usage: "what happens then: end, or reclaim, which moves its memory to swap",
		set: func(s *Settings, v any) { s.OnIdle = OnIdle(v.(string)) },
	},
	{
		Name: "tokens_max", Type: TypeCount, Default: "0", PerTool: true, Project: ProjectStricter, max: maxSpentTokens, noBound: true, thousands: true, example: `"2M"`,
		Doc:  "Tokens that a run may read and write at its models, those from a cache among them: 2M is 2,000,000; 0 means no bound.",
		Flag: "tokens-max", Usage: "tokens it may read and write at its models: a number like 2M",
		set: func(s *Settings, v any) { s.TokensMax = v.(int) },
	},
	{
		Name: "cost_max", Type: TypeNumber, Default: "0", PerTool: true, Project: ProjectStricter, max: maxDollars, noBound: true, example: "5",
		Doc:  "US dollars that a run may spend at its models; what a subscription pays does not count. 0 means no bound.",
		Flag: "cost-max", Usage: "US dollars it may spend at its models: a number like 5",
		set: func(s *Settings, v any) { s.CostMax = v.(float64) },
	},
	{
		Name: "quota_max", Type: TypeRatio, Default: "0", PerTool: true, Project: ProjectStricter, max: 100, noBound: true, example: `"60%"`,
		Doc:  "Part of a subscription's window up to which a run may use it, as its provider tells: it leaves the rest to others; 0 means no bound.",
		Flag: "quota-max", Usage: "how far it may use a subscription's window: a part like 60%",
		set: func(s *Settings, v any) { s.QuotaMax = v.(float64) },
	},
	{
		Name: "write_max", Type: TypeSize, Default: "0", PerTool: true, Project: ProjectCapped, max: maxDisk, noBound: true, example: `"50G"`,
		Doc:  "What a run may add to disks (local file systems); beyond it its largest writer is ended, if the run made most of the growth. 0 means no bound.",
		Flag: "write-max", Usage: "what the run may add to the disks: a size like 50G",
		set: func(s *Settings, v any) { s.WriteMax = v.(limit.Bytes) },
	},
	{
		Name: "free_min", Type: TypeAutoSize, Default: "auto", PerTool: true, Project: ProjectNever, max: maxDisk, example: `"10G"`,
		Doc:  "What must stay free on each disk (local file system); below it the run's largest writer is ended. auto is 5 %, between 256M and 2G; 0 means no bound.",
		Flag: "free-min", Usage: "what must stay free on each of them: a size like 10G, or auto",
		set: func(s *Settings, v any) { s.FreeMin = v.(limit.Bytes) },
	},
	{
		Name: "shared_ledger", Type: TypeDirectory, Project: ProjectNever, example: `"/var/lib/plimsoll/shared"`,
		Doc: "Directory (root's, mode 1777) through which several users see each other's reservations.",
		set: func(s *Settings, v any) { s.SharedLedger = v.(string) },
	},
}

// matchKey may be set in [tools.NAME] only.
var matchKey = &Key{
	Name: "match", Type: TypeNames, PerTool: true, Project: ProjectNever, example: `["my-agent", "agent.py"]`,
	Doc: "Base names of commands that are this tool, beside the table's name.",
}

// Keys returns the whole schema, in the order of the reference. The last entry, match, may be set in [tools.NAME] only. The keys are
// shared: do not change them.
func Keys() []*Key { return append(slices.Clone(keys), matchKey) }

// Variable returns the name of the environment variable that sets the key, "" if there is none.
func (k *Key) Variable() string {
	if k == matchKey {
		return ""
	}
	return anyPrefix + strings.ToUpper(k.Table+"_"+k.Name)
}

// ID returns the name that identifies the key among all tables: the bare name for [resources], which was the only table once, and
// "table.name" for the others.
func (k *Key) ID() string {
	if k.Table == resources || k == matchKey {
		return k.Name
	}
	return k.Table + "." + k.Name
}

// resources is the table whose keys may be written without its name.
const resources = "resources"

func isTable(name string) bool {
	return slices.ContainsFunc(tableNames(), func(t string) bool { return t == name })
}

// tableNames returns the names of the tables in the schema, without tools.
func tableNames() []string {
	out := make([]string, 0, len(tables))
	for _, t := range tables {
		out = append(out, t.name)
	}
	return out
}

// keyNamed returns the key with a name in a list; nil if there is none.
func keyNamed(list []*Key, name string) *Key {
	if i := slices.IndexFunc(list, func(k *Key) bool { return k.Name == name }); i >= 0 {
		return list[i]
	}
	return nil
}

// namesOf returns the names of keys.
func namesOf(list []*Key) []string {
	names := make([]string, len(list))
	for i, k := range list {
		names[i] = k.Name
	}
	return names
}

// lookup returns the key of a table with a name or an alias, and the name that matched; nil if there is none. With tool only keys count
// that may be set for one tool.
func lookup(table, name string, tool bool) (*Key, Alias) {
	if tool && table == resources && name == matchKey.Name {
		return matchKey, Alias{Name: name}
	}
	for _, k := range keys {
		if k.Table != table || tool && !k.PerTool {
			continue
		}
		if k.Name == name {
			return k, Alias{Name: name}
		}
		for _, a := range k.Aliases {
			if a.Name == name {
				return k, a
			}
		}
	}
	return nil, Alias{}
}

// tableOf returns the first table that has a key of this name, "" if none has.
func tableOf(name string, tool bool) string {
	for _, table := range tableNames() {
		if k, _ := lookup(table, name, tool); k != nil {
			return table
		}
	}
	return ""
}

// keyNames returns the names and aliases of a table's keys, as [lookup] knows them.
func keyNames(table string, tool bool) []string {
	var out []string
	for _, k := range keys {
		if k.Table != table || tool && !k.PerTool {
			continue
		}
		out = append(out, k.Name)
		for _, a := range k.Aliases {
			out = append(out, a.Name)
		}
	}
	if tool && table == resources {
		out = append(append(out, matchKey.Name), toolTables()...)
	}
	return out
}

// toolTables returns the names of the tables that may be written below [tools.NAME].
func toolTables() []string {
	var out []string
	for _, t := range tables {
		if slices.ContainsFunc(t.keys, func(k *Key) bool { return k.PerTool }) {
			out = append(out, t.name)
		}
	}
	return out
}
