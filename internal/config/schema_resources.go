package config

import (
	"slices"
	"time"

	"github.com/plimsoll/plimsoll/limit"
)

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
		Doc:  "Hard memory limit of the command and all it starts; auto is the largest of 4G, twice the reservation and a stated initial_estimate, within what the host has.",
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
