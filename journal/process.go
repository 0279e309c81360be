package journal

import "time"

// The events of the process plane. Sizes are in bytes.
type (
	// LayerChosen records which sandbox layer a run got and what that layer enforces
	// ("kernel", "process", "watched" or "none" for each property).
	LayerChosen struct {
		Layer  string `json:"layer"`
		Memory string `json:"memory"`
		Swap   string `json:"swap"`
		Pids   string `json:"pids"`
		CPU    string `json:"cpu,omitempty"`
		CPUs   string `json:"cpus,omitempty"`
		Why    string `json:"why,omitempty"`
	}
	// LayerFailed records that a layer that was probed as available did not work for this run.
	LayerFailed struct {
		Layer string `json:"layer"`
		Error string `json:"error"`
	}
	// Waiting records that admission queues a run, and behind how many others.
	Waiting struct {
		Position int    `json:"position"`
		Reason   string `json:"reason"`
	}
	// Admitted records that a run got its reservation, and the sum by which it did.
	Admitted struct {
		ReservationBytes int64         `json:"reservation_bytes"`
		Forced           bool          `json:"forced,omitempty"`
		Nested           bool          `json:"nested,omitempty"`
		Waited           time.Duration `json:"waited_ns,omitempty"`
		// AvailableBytes is the memory that the host had, ClaimedBytes what other runs have reserved and did not use yet, MinFreeBytes
		// what must stay free; all 0 where the memory could not be read.
		AvailableBytes int64 `json:"available_bytes,omitempty"`
		ClaimedBytes   int64 `json:"claimed_bytes,omitempty"`
		MinFreeBytes   int64 `json:"min_free_bytes,omitempty"`
		// ToolRuns and Runs are the slots in use before it, ToolSlots and Slots how many there may be (0: no bound).
		ToolRuns  int `json:"tool_runs,omitempty"`
		ToolSlots int `json:"tool_slots,omitempty"`
		Runs      int `json:"runs,omitempty"`
		Slots     int `json:"slots,omitempty"`
	}
	// Refused records that a run was not admitted.
	Refused struct {
		Reason string `json:"reason"`
		// By names who refused: [RefusedByEnforcement], or "" for the ledger and what keeps it from being asked.
		By string `json:"by,omitempty"`
	}
	// RunStarted records that the command runs.
	RunStarted struct {
		PID        int   `json:"pid"`
		LimitBytes int64 `json:"limit_bytes"`
	}
	// ChildKilled records that the kernel or Plimsoll ended a descendant of the agent for memory.
	ChildKilled struct {
		PID   int    `json:"pid"`
		Name  string `json:"name"`
		Bytes int64  `json:"bytes,omitempty"`
		// By is "kernel" or "plimsoll".
		By string `json:"by"`
	}
	// OOMKills counts kernel OOM kills inside the run as they are noticed; Total is the sum so far.
	OOMKills struct {
		New   int `json:"new"`
		Total int `json:"total"`
	}
	// OOMDKills records that systemd-oomd killed the run's group, or one inside it; Total counts the kills.
	OOMDKills struct {
		Total int `json:"total"`
	}
	// Pressure records that the host runs short of memory and what was done about it
	// ("warn", "stop", "continue", "freeze", "thaw", "kill", and "thaw-peer" for another's run).
	Pressure struct {
		Action string `json:"action"`
		PID    int    `json:"pid,omitempty"`
		Name   string `json:"name,omitempty"`
		Reason string `json:"reason"`
	}
	// MemoryRaised records that the memory limit of a living run has grown.
	MemoryRaised struct {
		FromBytes int64  `json:"from_bytes"`
		ToBytes   int64  `json:"to_bytes"`
		Why       string `json:"why"`
	}
	// Leftover is a descendant that was still there when the command had ended.
	Leftover struct {
		PID  int    `json:"pid"`
		Name string `json:"name"`
		// Fate is "terminated", "killed", "left", or "moved" when it runs on outside of the run's control groups.
		Fate string `json:"fate"`
	}
	// Orphan is a descendant whose parent has ended while the run goes on.
	Orphan struct {
		PID   int    `json:"pid"`
		Start uint64 `json:"start"`
		Name  string `json:"name"`
		Bytes int64  `json:"bytes"`
		// For is the time for which it was seen without its parent, CPUPercent what it used of one processor meanwhile
		// (negative: not known).
		For        time.Duration `json:"for_ns"`
		CPUPercent int           `json:"cpu_percent"`
		Daemon     bool          `json:"daemon,omitempty"`
		// Fate is "warned", "kept", "terminated", "killed" or "survived"; "" when it is asked to end.
		Fate string `json:"fate,omitempty"`
	}
	// RunIdle records that a run has shown no sign of use for a while: no request to a model, no input at its terminal, no processor time.
	RunIdle struct {
		// For is the time since the last sign, without that in which the machine slept or the run was stopped.
		For time.Duration `json:"for_ns"`
	}
	// RunWoke records that an idle run was used again.
	RunWoke struct {
		// By is the sign of it: "request", "input", "processor", "inner run".
		By string `json:"by"`
	}
	// Forgotten records that idle runs together held more than a quarter of the machine's memory when this run started.
	Forgotten struct {
		Runs       []string `json:"runs"` // their IDs, the largest first
		Bytes      int64    `json:"bytes"`
		TotalBytes int64    `json:"total_bytes"` // of the machine
		Text       string   `json:"text"`
	}
	// Warned is something the user should know that stops nothing.
	Warned struct {
		About string `json:"about"`
		Text  string `json:"text"`
	}
	// CleanedUp records that what a run whose supervisor died left behind was removed before this one started.
	CleanedUp struct {
		What string `json:"what"`
	}
	// RunEnded closes a run with what the sandbox measured.
	RunEnded struct {
		ExitCode      int           `json:"exit_code"`
		Signal        string        `json:"signal,omitempty"`
		Outcome       Outcome       `json:"outcome"`
		Duration      time.Duration `json:"duration_ns"`
		PeakBytes     int64         `json:"peak_bytes"`
		PeakAnonBytes int64         `json:"peak_anon_bytes"`
		PeakMethod    string        `json:"peak_method"`
		PeakExact     bool          `json:"peak_exact"`
		OOMKills      int           `json:"oom_kills"`
		// LimitReached names the limit for which the run was ended, "" for none.
		LimitReached string `json:"limit_reached,omitempty"`
		// RanInto names the limit at which an allocation failed that ended the command, where nothing was killed: "heap" (a runtime's own)
		// or "process" (what each process may have), and RanIntoBytes how high that is.
		RanInto      string `json:"ran_into,omitempty"`
		RanIntoBytes int64  `json:"ran_into_bytes,omitempty"`
	}
)

func (LayerChosen) Kind() string  { return "process.layer_chosen" }
func (LayerFailed) Kind() string  { return "process.layer_failed" }
func (Waiting) Kind() string      { return "process.waiting" }
func (Admitted) Kind() string     { return "process.admitted" }
func (Refused) Kind() string      { return "process.refused" }
func (RunStarted) Kind() string   { return "process.run_started" }
func (ChildKilled) Kind() string  { return "process.child_killed" }
func (OOMKills) Kind() string     { return "process.oom_kills" }
func (OOMDKills) Kind() string    { return "process.oomd_kills" }
func (Pressure) Kind() string     { return "process.pressure" }
func (MemoryRaised) Kind() string { return "process.memory_raised" }
func (Leftover) Kind() string     { return "process.leftover" }
func (Orphan) Kind() string       { return "process.orphan" }
func (RunIdle) Kind() string      { return "process.run_idle" }
func (RunWoke) Kind() string      { return "process.run_woke" }
func (Forgotten) Kind() string    { return "process.forgotten" }
func (Warned) Kind() string       { return "process.warned" }
func (CleanedUp) Kind() string    { return "process.cleaned_up" }
func (RunEnded) Kind() string     { return "process.run_ended" }
