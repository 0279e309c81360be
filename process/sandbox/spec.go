package sandbox

import (
	"context"
	"os"
	"time"

	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

// Unlimited in [Limits].Swap leaves swap alone.
const Unlimited limit.Bytes = -1

// Limits bound one run, all its processes together.
type Limits struct {
	// Memory is the most memory in bytes; 0 sets no limit.
	Memory limit.Bytes
	// Swap is the most swap beside it in bytes; 0 allows none, Unlimited leaves it alone.
	// It counts only together with Memory.
	Swap limit.Bytes
	// Pids is the most processes and threads; 0 sets no limit.
	Pids int
	// CPUWeight is the run's share of a contended processor, where everything else has
	// [NormalWeight]: 1 to 10000; 0 and NormalWeight leave it alone. Below NormalWeight
	// descendants give way to the command too. Where no group holds it, nice values do.
	CPUWeight int
	// CPUs is the most processor time per time, in processors (1.5); 0 sets no limit. Only
	// groups hold it.
	CPUs float64
	// Time is how long the run may take; 0 sets no limit. At the limit the command is asked with
	// SIGTERM, and ended with all it started after [Spec].Grace. Time in which the machine is
	// suspended (Linux, macOS) or the run is stopped does not count.
	Time time.Duration
	// AddressSpace (bytes) and UserProcesses ask the rlimit layer for RLIMIT_AS and
	// RLIMIT_NPROC as well; 0 leaves them alone, as it should for nearly all tools: the
	// first breaks Node, Bun and Go, the second counts all the user's processes.
	AddressSpace  limit.Bytes
	UserProcesses int
}

// OnExit says what happens to descendants that outlive the command.
type OnExit string

// The choices. The zero value means KillLeftovers.
const (
	// KillLeftovers asks them with SIGTERM and ends them after the grace.
	KillLeftovers OnExit = "kill"
	// WaitForLeftovers waits until they have ended by themselves.
	WaitForLeftovers OnExit = "wait"
	// LeaveLeftovers leaves them running inside their limits.
	LeaveLeftovers OnExit = "leave"
)

// OOMDPreference says what systemd-oomd is asked to do when the machine is short of memory.
type OOMDPreference string

// The preferences. The zero value means OOMDAvoid.
const (
	// OOMDAvoid asks it to kill other groups first: a run that is killed loses the agent.
	OOMDAvoid OOMDPreference = "avoid"
	// OOMDDefault asks nothing.
	OOMDDefault OOMDPreference = "default"
)

// Defaults of [Spec].
const (
	// DefaultGrace is what leftovers get between SIGTERM and SIGKILL.
	DefaultGrace = 2 * time.Second
	// DefaultStopGrace is what the command gets after a second SIGTERM before SIGKILL.
	DefaultStopGrace = 5 * time.Second
)

// Spec describes a run.
type Spec struct {
	// ID names the run's cgroup and unit: 1 to 64 of a-z, 0-9 and '-'. It must be unique
	// on the host. Required.
	ID string
	// Path is the executable, Args the whole argument vector with the name first. Required.
	Path string
	Args []string
	// Env is the environment, as given; nil means the supervisor's own. The cookie by which
	// descendants are recognised ([CookieName]) is added.
	Env []string
	// Dir is the working directory; "" means the supervisor's own.
	Dir string
	// Files are the standard streams; nil means the supervisor's own three. Descriptors
	// above 2 that are inherited without close-on-exec pass on by themselves.
	Files []*os.File

	Limits      Limits
	Enforcement Enforcement
	// Layers restricts and orders what is tried; nil means all.
	Layers []Layer
	// Nested says that the supervisor itself is inside another run.
	Nested bool
	OnExit OnExit
	Grace  time.Duration
	// OOMD is what is asked of systemd-oomd, in the layers that have a group of cgroup v2.
	OOMD OOMDPreference
	// Detach starts the command in a session of its own. Without a controlling terminal
	// this is what keeps a stray signal to our group away from it.
	Detach bool
	// Launcher says that the command only starts the agent (npx, a shell): the chain of
	// first children that leads to the agent is spared together with the command.
	Launcher bool
	// OnStop is called when the command was stopped by a signal (SIGSTOP, SIGTSTP, …): a
	// supervisor under job control stops itself the same way. It may block.
	OnStop func(signal int)
	// Attended says that [Run.Attend] will be called: the signals that it attends to are kept
	// for it from just before the command starts. Without it one that comes between would end
	// the calling process and leave the command alone.
	Attended bool
	// Subreaper makes the calling process adopt orphans of the run while it lasts (Linux).
	// A program that waits for other children of its own should know that it will meet theirs.
	Subreaper bool

	// Remember is called before anything outside of this process is made, with all it
	// takes to clean up after a supervisor that died. An error stops the start.
	Remember func(Remains) error
	// Observe is called with a sample at most every half second, from one goroutine.
	Observe func(Sample)
	// OnTime is called when Limits.Time is nearly used up, and with ended when it was and the
	// run was asked to end for it. used is what counted. It is called from a goroutine of its own.
	OnTime func(used time.Duration, ended bool)
	// Journal takes the events of the run; nil means none are kept.
	Journal *journal.Journal

	// Trials remembers which limits were tried; nil forgets them with this process.
	Trials Trials

	isTrial    bool    // the command tries a limit
	remembered Remains // what Remember was called with last
	// starting is the context of Start: it ends the waits of the layers.
	starting context.Context
}

// CookieName is the environment variable that carries Spec.ID into the run.
const CookieName = "PLIMSOLL_RUN_ID"

// Sample is what a run used at one moment, in bytes.
type Sample struct {
	// Working is anonymous memory, shared memory and kernel memory: what can't be reclaimed.
	Working limit.Bytes
	// Charged is all that counts against the limit, page cache included (0 without a cgroup).
	Charged limit.Bytes
	// File is the page cache charged to the run (0 without a cgroup).
	File limit.Bytes
	// Processes is the number of processes.
	Processes int
	// CPU is the processor time used so far; 0 where nobody listens ([Spec.Observe]), or where it is not known.
	CPU time.Duration
}

// Peak is the most memory a run used.
type Peak struct {
	// Bytes is the high-water mark: what the kernel kept where Exact, page cache included;
	// else the highest sample, which is a lower bound. 0 where nothing was seen of it.
	Bytes limit.Bytes
	// Working is the highest working set; a lower bound always.
	Working limit.Bytes
	// File is the most page cache seen charged.
	File limit.Bytes
	// Method names the source: "memory.peak", "memory.max_usage_in_bytes", "sampled", "ru_maxrss";
	// on Windows "PeakJobMemoryUsed", "sampled", "PeakPagefileUsage".
	Method string
	Exact  bool
}

// Leftover is a descendant that outlived the command.
type Leftover struct {
	PID  int
	Name string
	// Fate is "terminated", "killed", "left", or "survived" when even SIGKILL did not end it in time.
	Fate string
}

// Result is how a run ended.
type Result struct {
	// ExitCode is the command's exit status, or 128+N when signal N ended it.
	ExitCode int
	// Signal is the signal number that ended it, or 0.
	Signal int
	// Layer is the layer that held it.
	Layer    Layer
	Strength Strength
	Started  time.Time
	Duration time.Duration
	Peak     Peak
	// OOMKills counts the kernel's OOM kills in the run; CommandOOM says that the command
	// itself was among them, or was ended by the monitor or by systemd-oomd for memory.
	OOMKills   int
	CommandOOM bool
	// OOMDKills counts how often systemd-oomd killed the run's group, or one inside it, because the
	// machine was short of memory.
	OOMDKills int
	// LimitKills counts processes that Plimsoll ended over a watched limit.
	LimitKills int
	// PidsKills counts those of them that were over a watched limit of processes, and
	// ForksRefused how often the kernel refused a new one at its limit.
	PidsKills    int
	ForksRefused int
	Leftovers    []Leftover
	// Reached names the limit for which the run was ended, or for which it failed after
	// descendants were ended, as the configuration does ("time_max"); "" for none.
	Reached string
	// TimeUsed is what counted against Limits.Time; 0 without that limit.
	TimeUsed time.Duration
	// CPU is user and system time of all processes of the run, where the kernel counts them together (CPUExact); else at least that much was used.
	CPU      time.Duration
	CPUExact bool
}

// ExecError is returned by [Start] when the command could not be executed. Status is 127
// when it is not there and 126 when it can't be executed, as a shell has it.
type ExecError struct {
	Path   string
	Status int
	Err    error
}

func (e *ExecError) Error() string { return "can't run " + e.Path + ": " + e.Err.Error() }
func (e *ExecError) Unwrap() error { return e.Err }

// Remains is what a run leaves behind when its supervisor dies: all that [Remove] needs.
// It is stored as JSON in the run's claim.
type Remains struct {
	Layer Layer `json:"layer"`
	// Unit is the systemd scope; Groups are cgroup directories, parents first.
	Unit   string   `json:"unit,omitempty"`
	User   bool     `json:"user_bus,omitempty"`
	Groups []string `json:"groups,omitempty"`
	// ID is the cookie.
	ID string `json:"id"`
	// PID and Start identify the command once it runs.
	PID   int    `json:"pid,omitempty"`
	Start uint64 `json:"start,omitempty"`
	// Leave says that the processes may go on: only empty groups are removed.
	Leave bool `json:"leave,omitempty"`
	// Frozen is since when the whole run is frozen, zero when it is not; Stopped are the
	// descendants that are stopped one by one. [Thaw] lets them all go on.
	Frozen  time.Time `json:"frozen,omitzero"`
	Stopped []Child   `json:"stopped,omitempty"`
}
