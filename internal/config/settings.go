package config

import (
	"math"
	"net/netip"
	"time"

	"github.com/plimsoll/plimsoll/limit"
)

// Auto is the value of a size in [Settings] that is "auto": whoever uses it computes the size.
const Auto limit.Bytes = -1

// Forever is the [Settings.Wait] of a run that waits for its turn without a limit.
const Forever = time.Duration(math.MaxInt64)

// Enforcement selects what happens when no layer can hold the memory limit in the kernel.
type Enforcement string

// The enforcements, from the loosest to the strictest.
const (
	EnforcementOff        Enforcement = "off"         // measure only
	EnforcementBestEffort Enforcement = "best-effort" // warn and go on
	EnforcementRequired   Enforcement = "required"    // refuse to start
)

// OnExit selects what happens to processes that a command leaves behind.
type OnExit string

// The choices for leftovers.
const (
	OnExitKill  OnExit = "kill"  // end them after the grace period
	OnExitWait  OnExit = "wait"  // wait until they are gone
	OnExitLeave OnExit = "leave" // leave them, and list them in the report
)

// OnPressure selects what to do with a run when the host is about to run out of memory.
type OnPressure string

// The choices under pressure. Auto freezes a run without a terminal and warns on one with
// a terminal, because a frozen agent loses the stream of its provider.
const (
	OnPressureAuto   OnPressure = "auto"
	OnPressureFreeze OnPressure = "freeze"
	OnPressureKill   OnPressure = "kill"
	OnPressureWarn   OnPressure = "warn"
	OnPressureOff    OnPressure = "off"
)

// OnOrphan selects what to do with a process of a live run whose parent has ended.
type OnOrphan string

// The choices for orphans.
const (
	OnOrphanOff  OnOrphan = "off"
	OnOrphanWarn OnOrphan = "warn" // say so, once
	OnOrphanEnd  OnOrphan = "end"  // and end it, unless it is a daemon
)

// OnIdle selects what to do with a run that was used by nobody for idle_max.
type OnIdle string

// The choices.
const (
	OnIdleEnd     OnIdle = "end"
	OnIdleReclaim OnIdle = "reclaim" // move its memory to swap, once in each idle time
)

// OOMD is the request of a run to systemd-oomd.
type OOMD string

// The choices. Avoid asks it to kill other groups first.
const (
	OOMDAvoid   OOMD = "avoid"
	OOMDDefault OOMD = "default"
)

// Names of the layers that can hold a limit, in the order they are tried.
const (
	LayerSystemd = "systemd" // a scope asked of systemd, cgroup v2
	LayerCgroup2 = "cgroup2" // a delegated cgroup v2 directory
	LayerCgroup1 = "cgroup1" // writable cgroup v1 memory and pids groups
	LayerJob     = "job"     // a Windows job object
	LayerRlimit  = "rlimit"  // resource limits of every single process
	LayerMonitor = "monitor" // sampling the process tree
)

// Settings are the values in force for one run: all sources merged, the tool's own table applied, every default filled in. The fields of table
// [resources] stand at the top. Get them from [Loaded.For].
type Settings struct {
	Tool string `json:"tool,omitempty"` // the tool they are for; "" means no particular one

	Enforcement Enforcement `json:"enforcement"`
	MemoryMax   limit.Bytes `json:"memory_max"` // hard limit of the whole tree, or Auto
	MemoryGrow  bool        `json:"memory_grow"`
	SwapMax     limit.Bytes `json:"swap_max"` // swap on top of MemoryMax; 0 means none
	PidsMax     int         `json:"pids_max"` // processes and threads; "auto" is worked out already

	MinFree         limit.Bytes `json:"min_free"`         // memory that admission leaves free on the host, or Auto
	InitialEstimate limit.Bytes `json:"initial_estimate"` // need of a tool without history; 0 means none is configured
	Reservation     limit.Bytes `json:"reservation"`      // to reserve in place of what the history says; 0 means none is set
	CountSwap       bool        `json:"count_swap"`       // free swap counts as available memory

	MaxConcurrent      int           `json:"max_concurrent"`       // runs of this tool at once; 0 means no bound
	MaxConcurrentTotal int           `json:"max_concurrent_total"` // runs of all tools at once; 0 means no bound
	Wait               time.Duration `json:"-"`                    // how long to wait for a turn; 0 means fail at once, or Forever

	OnExit     OnExit        `json:"on_exit"`
	OnPressure OnPressure    `json:"on_pressure"`
	OnOrphan   OnOrphan      `json:"on_orphan"`
	OrphanMax  time.Duration `json:"-"` // 0 means for ever
	OOMD       OOMD          `json:"oomd"`
	Grace      time.Duration `json:"-"`          // between the request to end and the kill
	CPUWeight  int           `json:"cpu_weight"` // 100 is what everything else has
	CPUs       float64       `json:"cpus"`       // most processors at once; 0 means no bound
	TimeMax    time.Duration `json:"-"`          // of a run; 0 means no bound
	IdleMax    time.Duration `json:"-"`          // of a run that nobody uses; 0 means no bound
	OnIdle     OnIdle        `json:"on_idle"`
	TokensMax  int           `json:"tokens_max"` // read and written at models; 0 means no bound
	CostMax    float64       `json:"cost_max"`   // US dollars; 0 means no bound
	QuotaMax   float64       `json:"quota_max"`  // 0 to 1 of a subscription's window; 0 means no bound
	WriteMax   limit.Bytes   `json:"write_max"`  // what a run may add to file systems; 0 means no bound
	FreeMin    limit.Bytes   `json:"free_min"`   // what must stay free on each of them, or Auto
	Layers     []string      `json:"layers"`     // the layers to try, in this order; never empty

	SharedLedger string `json:"shared_ledger"` // directory of a ledger shared between users; "" means none

	Budget   BudgetSettings   `json:"budget"`
	Submit   SubmitSettings   `json:"submit"`
	Window   WindowSettings   `json:"window"`
	Upstream UpstreamSettings `json:"upstream"`
	MCP      MCPSettings      `json:"mcp"`
	Serve    ServeSettings    `json:"serve"`
	Fleet    FleetSettings    `json:"fleet"`
	Watch    WatchSettings    `json:"watch"`
	Memory   MemorySettings   `json:"memory"`

	// Warnings list the values of a project file that were not taken, and why.
	Warnings []Problem `json:"warnings,omitempty"`

	sources map[string]Source // by [Key.ID]
}

// Source returns the source of the value of a key, such as "initial_estimate" or "window.trigger". The zero Source means that there is no
// such key.
func (s Settings) Source(key string) Source { return s.sources[key] }

// Config is the whole configuration at a glance.
type Config struct {
	Resources Settings            `json:"resources"` // for a tool without a table and a profile
	Tools     map[string]Settings `json:"tools"`     // every tool with a table or a built-in profile
	Agents    map[string]Agent    `json:"agents"`    // every agent with a table
}

// BudgetSettings are the values of table [budget] in force, in US dollars; 0 means no bound.
type BudgetSettings struct {
	Day          float64 `json:"day"`
	Month        float64 `json:"month"`
	ProjectDay   float64 `json:"project_day"`
	ProjectMonth float64 `json:"project_month"`
	Plan         bool    `json:"plan"`
}

// WindowSettings are the values of table [window] in force.
type WindowSettings struct {
	Proxy    string `json:"proxy"` // "auto", "on" or "off"
	Mode     string `json:"mode"`  // "enforce", "observe" or "off"
	Provider string `json:"provider"`

	MaxTokens      int            `json:"max_tokens"`       // tokens, or -1 for auto
	Models         []ModelLimits  `json:"models,omitempty"` // of [models.NAME]
	ProviderTokens map[string]int `json:"provider_tokens"`  // by "azure_openai", "openai", "bedrock", "anthropic", "gemini", "vertex"; 0 means none

	Trigger     float64 `json:"trigger"`
	Target      float64 `json:"target"` // or -1 for auto
	MinMessages int     `json:"min_messages"`

	Compact       bool `json:"compact"`
	Repair        bool `json:"repair"`
	CutResults    bool `json:"cut_tool_results"`
	MaxToolOutput int  `json:"max_tool_output"` // bytes kept of one tool result that is cut, or -1 for auto

	Summarizer   string `json:"summarizer"` // "auto", "provider", "extractive", "model" or "off"
	SummaryModel string `json:"summary_model"`
	SummaryURL   string `json:"summary_url"`
	SummaryKey   string `json:"summary_key"` // name of an environment variable

	OnLoop     string      `json:"on_loop"` // "warn", "hint" or "stop"
	RateQueue  bool        `json:"rate_queue"`
	Store      string      `json:"store"` // "off", "memory" or "disk"
	BodyMemory limit.Bytes `json:"body_memory"`
}

// UpstreamSettings are the values of table [upstream] in force: base URLs without a slash at
// the end, and names of environment variables that hold keys ("" passes on the client's).
type UpstreamSettings struct {
	OpenAI       string `json:"openai"`
	Anthropic    string `json:"anthropic"`
	Gemini       string `json:"gemini"`
	Bedrock      string `json:"bedrock"`
	OpenAIKey    string `json:"openai_key"`
	AnthropicKey string `json:"anthropic_key"`
	GeminiKey    string `json:"gemini_key"`
}

// ServeSettings are the values of table [serve] in force.
type ServeSettings struct {
	Listen  string   `json:"listen"`
	Token   string   `json:"token"` // name of an environment variable
	Hosts   []string `json:"hosts"`
	Origins []string `json:"origins"`
	AnyUser bool     `json:"any_user"`
	// PushAllow are hosts, addresses and networks that push notifications and the cards of agents may lead to although they are not public.
	PushAllow []string `json:"push_allow"`
	TLSCert   string   `json:"tls_cert"`
	TLSKey    string   `json:"tls_key"`
}

// Allowed returns PushAllow as networks, where a single address is one too, and as names of hosts.
func (s *ServeSettings) Allowed() (networks []netip.Prefix, hosts []string) {
	for _, text := range s.PushAllow {
		if p, err := netip.ParsePrefix(text); err == nil {
			networks = append(networks, p)
		} else if a, err := netip.ParseAddr(text); err == nil {
			networks = append(networks, netip.PrefixFrom(a, a.BitLen()))
		} else {
			hosts = append(hosts, text)
		}
	}
	return networks, hosts
}

// MCPSettings are the values of table [mcp] in force.
type MCPSettings struct {
	Wrap      string        `json:"wrap"`       // "auto" or "off"
	MaxOutput limit.Bytes   `json:"max_output"` // or Auto
	MaxItems  int           `json:"max_items"`  // 0 means never
	PageItems int           `json:"page_items"`
	MaxSearch int           `json:"max_search"`
	MaxMedia  limit.Bytes   `json:"max_media"`
	Allow     []string      `json:"allow,omitempty"`
	Deny      []string      `json:"deny,omitempty"`
	ReadOnly  bool          `json:"read_only"`
	ToolsMax  int           `json:"tools_max"` // tokens; 0 means no bound
	Early     time.Duration `json:"-"`         // 0 waits for the end
	Timeout   time.Duration `json:"-"`         // 0 means none
	MaxResult limit.Bytes   `json:"max_result"`

	MemoryMax    limit.Bytes   `json:"memory_max"` // of a server's processes
	PidsMax      int           `json:"pids_max"`
	MaxProcesses int           `json:"max_processes"`
	Idle         time.Duration `json:"-"`

	ArgoCDWrites bool   `json:"argocd_writes"`
	ArgoCDTools  string `json:"argocd_tools"`
	// ArgoCDSimulator is "off", "on", or the size of the simulated Argo CD.
	ArgoCDSimulator string        `json:"argocd_simulator"`
	ArgoCDSnapshot  time.Duration `json:"-"`
	ArgoCDTokens    string        `json:"argocd_tokens"` // "off", "allow" or "require"
}
