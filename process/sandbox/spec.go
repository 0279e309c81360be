package sandbox

import (
	"context"
	"iter"
	"os"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/limit"
)

// Unlimited in [Limits].Swap leaves swap alone.
const Unlimited limit.Bytes = -1

// Limits bound one run, all its processes together.
type Limits struct {
	// Memory is the most memory that the run may use, in bytes; 0 sets no limit.
	Memory limit.Bytes
	// Swap is the most swap in bytes that the run may use on top of Memory; 0 allows none, [Unlimited] sets no limit. It is ignored when
	// Memory is 0.
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
	// Time bounds the duration of the run; 0 sets no limit. At the limit the command is asked with
	// SIGTERM, and ended with all it started after [Spec].Grace. Time in which the machine is
	// suspended (Linux, macOS) or the run is stopped does not count.
	Time time.Duration
	// AddressSpace (bytes) and UserProcesses ask the rlimit layer for RLIMIT_AS and
	// RLIMIT_NPROC as well; 0 leaves them alone, as it should for nearly all tools: the
	// first breaks Node, Bun and Go, the second counts all the user's processes.
	AddressSpace  limit.Bytes
	UserProcesses int
}

// OnExit says what [Run] does with descendants that still live when the command has ended.
type OnExit string

// The choices. The zero value means KillLeftovers.
const (
	// KillLeftovers sends them SIGTERM, and SIGKILL to those that still live after [Spec].Grace.
	KillLeftovers OnExit = "kill"
	// WaitForLeftovers waits until they have ended by themselves.
	WaitForLeftovers OnExit = "wait"
	// LeaveLeftovers leaves them running inside their limits.
	LeaveLeftovers OnExit = "leave"
)

// OOMDPreference tells systemd-oomd whether to spare the run's group when the machine is short of memory.
type OOMDPreference string

// The preferences. The zero value means OOMDAvoid.
const (
	// OOMDAvoid asks systemd-oomd to kill other groups first: a run that is killed loses the agent.
	OOMDAvoid OOMDPreference = "avoid"
	// OOMDDefault asks systemd-oomd for nothing.
	OOMDDefault OOMDPreference = "default"
)

// Defaults of [Spec].
const (
	// DefaultGrace is the time that leftovers get between SIGTERM and SIGKILL.
	DefaultGrace = 2 * time.Second
	// DefaultStopGrace is the time that the command gets after a second SIGTERM before SIGKILL.
	DefaultStopGrace = 5 * time.Second
)

// Spec describes a run.
type Spec struct {
	// ID names the run's cgroup and unit: 1 to 64 of a-z, 0-9 and '-', which is neither first nor last. It must be unique on the host.
	// Required.
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
	// Heap is the heap limit in bytes that a runtime in the run (node, the JVM) was started with; 0 for none. A command that aborts after
	// it has used nearly as much is reported as [RanIntoHeap].
	Heap limit.Bytes
	// Layers lists the layers to try, in this order; nil means all.
	Layers []Layer
	// Nested is true when the supervisor itself is inside another run.
	Nested bool
	// Reclaims is true when [Run.Reclaim] is to work: layers in which it cannot are left out.
	Reclaims bool
	OnExit   OnExit
	Grace    time.Duration
	// OOMD is the request to systemd-oomd, in the layers that have a group of cgroup v2.
	OOMD OOMDPreference
	// Detach starts the command in a session of its own. Without a controlling terminal
	// this keeps a stray signal to our group away from it.
	Detach bool
	// Caller is the program that talks to the command over standard input ([FindCaller]); nil for none. [Run.Attend] then passes no signal
	// on that the whole process group got, and ends the run when the caller has died and standard input hung up with it.
	Caller *Caller
	// Launcher is true when the command only starts the agent (npx, a shell): the chain of
	// first children that leads to the agent is spared together with the command.
	Launcher bool
	// Agent is set where the command only translates between an editor and an agent that it starts. It reports whether argv, the argument
	// vector of a process below the command, is that of the agent, which is then spared together with the command and whose death for want
	// of memory counts as the run's. It is called with locks held. nil means that the command is the agent.
	Agent func(argv []string) bool
	// OnStop is called when the command was stopped by a signal (SIGSTOP, SIGTSTP, …): a
	// supervisor under job control stops itself the same way. It may block.
	OnStop func(signal int)
	// Attended is true when [Run.Attend] will be called: signals that arrive just before are then kept for it. Otherwise a signal between
	// the start of the command and the call of Attend would end the calling process and leave the command alone.
	Attended bool
	// Subreaper makes the calling process adopt orphans of the run while it lasts, where no group holds
	// them, and take the exit statuses of all that it adopts, there and as the init of its PID namespace
	// (Linux). Children that os/exec waits for are left to it; one that was started otherwise needs [Beside].
	Subreaper bool

	// Remember is called before anything outside of this process is made, and again when more is known, with all that [Remove] needs to
	// clean up after a supervisor that died. An error before the command starts stops the start.
	Remember func(Remains) error
	// Observe is called with each sample, by one goroutine at a time: every half second to two seconds, near the memory limit up to every
	// 10 ms, and of a run that waits in a layer without groups every ten seconds. It is called with locks held and must not call the run.
	Observe func(Sample)
	// Meet is called with a process of the run when it is seen for the first time, when it has become another program as far as that is
	// seen, and in layers without groups at every look. It must not block, nor call the run. A process that lives less than half a second,
	// or less than two in a run that waited, may be missed.
	Meet func(pid int, name string)
	// OnTime is called at [SoftTime], with ended false, and when Limits.Time is used up and the run was asked to end for that, with ended
	// true. used is the time that counted. It is called from a goroutine of its own.
	OnTime func(used time.Duration, ended bool)
	// OnNear is called, from a goroutine of its own, for a sample of [Near] percent of the memory limit or more, unless an earlier call has
	// not returned. used is the working set, memory the limit. It may call [Run.Raise].
	OnNear func(r *Run, used, memory limit.Bytes)
	// Journal takes the events of the run; nil means none are kept.
	Journal *journal.Journal

	// Trials stores which limits were seen to hold; with nil that is known only until this process ends.
	Trials Trials

	isTrial    bool    // the command tries a limit
	remembered Remains // what Remember was called with last
	// starting is the context of Start: it ends the waits of the layers.
	starting context.Context
}

// CookieName is the environment variable that carries Spec.ID into the run.
const CookieName = "PLIMSOLL_RUN_ID"

// Sample is the use of a run at one moment, in bytes.
type Sample struct {
	// Working is anonymous memory, shared memory and kernel memory: what can't be reclaimed.
	Working limit.Bytes
	// Charged is all that counts against the limit, page cache included (0 without a cgroup).
	Charged limit.Bytes
	// File is the page cache charged to the run (0 without a cgroup).
	File limit.Bytes
	// Processes is the number of processes.
	Processes int
	// CPU is the processor time used so far; 0 where it is not known, and without a group also where [Spec].Observe is nil.
	CPU time.Duration
	// Work grows with the processor time that is used, for who asks whether the run is at work. Where no group counts it, it has what short
	// processes have used as well, and falls when some end. It is negative where it is not known.
	Work time.Duration
	// Shares reads the private memory of each process, those of inner runs included, with its name, which may hold any byte. It is set for
	// [Spec].Observe alone, and valid until that returns; with a group it costs two files of each process.
	Shares iter.Seq2[string, limit.Bytes]
}

// Peak is the most memory a run used.
type Peak struct {
	// Bytes is the kernel's high-water mark, page cache included, where Exact; else the highest sample or the command's own ru_maxrss, a
	// lower bound. 0 where nothing was seen.
	Bytes limit.Bytes
	// Working is the highest working set; a lower bound always.
	Working limit.Bytes
	// File is the most page cache seen charged.
	File limit.Bytes
	// Method names the source of Bytes: "memory.peak", "memory.max_usage_in_bytes", "sampled", "ru_maxrss"; on Windows "PeakJobMemoryUsed",
	// "sampled", "PeakPagefileUsage"; "" when Bytes is 0.
	Method string
	Exact  bool
}

// Leftover is a descendant that outlived the command.
type Leftover struct {
	PID  int
	Name string
	// Fate is "terminated", "killed", "left", "survived" when even SIGKILL did not end it in time, or [FateMoved].
	Fate string
}

// FateMoved is the [Leftover].Fate of a process that runs on in a control group outside of the run, where somebody has put it. It
// is not ended: it may be meant to be there.
const FateMoved = "moved"

// Result is the end of a run, with its figures.
type Result struct {
	// ExitCode is the command's exit status, or 128+N when signal N ended it.
	ExitCode int
	// Signal is the number of the signal that ended the command, or 0.
	Signal int
	// Layer is the layer that held it.
	Layer    Layer
	Strength Strength
	Started  time.Time
	Duration time.Duration
	Peak     Peak
	// OOMKills counts the kernel's OOM kills in the run; CommandOOM is true when the command, or the agent behind it, was killed for memory
	// by the kernel, the monitor or systemd-oomd.
	OOMKills   int
	CommandOOM bool
	// RanInto names the limit at which an allocation failed and so ended the command, RanIntoBytes is its size; "" and 0 when that did not
	// happen. When it did, CommandOOM is true too.
	RanInto      RanInto
	RanIntoBytes limit.Bytes
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
	// Moved has the names of the processes that left the run's groups, at most 64; CommandMoved is true when the command is one of them.
	// The use of these processes after that is in none of the figures.
	Moved        []string
	CommandMoved bool
	// Reached names the limit for which the run was ended ("time_max", "memory"), or for which the command failed after descendants were
	// ended ("pids", "memory"); "" for none.
	Reached string
	// TimeUsed is the time that counted against Limits.Time; 0 without that limit.
	TimeUsed time.Duration
	// CPU is user and system time of all processes of the run, where the kernel counts them together (CPUExact); else at least that much was used.
	CPU      time.Duration
	CPUExact bool
	// Processor is the processor time it had and the time it would have taken (Linux).
	Processor Processor
}

// RanInto names a limit at which an allocation fails and nothing is killed; see [Result].
type RanInto string

const (
	// RanIntoHeap is the limit of a runtime's heap, [Spec].Heap.
	RanIntoHeap RanInto = "heap"
	// RanIntoProcess is the rlimit layer's limit of each process.
	RanIntoProcess RanInto = "process"
)

// ExecError is returned by [Start] when the command could not be executed. Status is 127 when Path does not exist and 126 when it can't be
// executed, as in a shell.
type ExecError struct {
	Path   string
	Status int
	Err    error
}

// Error implements error.
func (e *ExecError) Error() string { return "can't run " + e.Path + ": " + e.Err.Error() }
func (e *ExecError) Unwrap() error { return e.Err }

// Remains names all that a run leaves behind when its supervisor dies, for [Remove].
// It is stored as JSON in the run's claim.
type Remains struct {
	Layer Layer `json:"layer"`
	// Unit is the systemd scope; Groups are cgroup directories, parents first.
	Unit   string   `json:"unit,omitempty"`
	User   bool     `json:"user_bus,omitempty"`
	Groups []string `json:"groups,omitempty"`
	// ID is [Spec].ID, the value of the cookie in the environment of the run's processes.
	ID string `json:"id"`
	// PID and Start are the command's pid and start time, 0 before it runs, and in layers that do not need them.
	PID   int    `json:"pid,omitempty"`
	Start uint64 `json:"start,omitempty"`
	// Leave is true when the processes may go on: only empty groups are removed.
	Leave bool `json:"leave,omitempty"`
	// Frozen is the time since which the whole run is frozen, zero when it is not; Stopped are the
	// descendants that are stopped one by one. [Thaw] lets them all go on.
	Frozen  time.Time `json:"frozen,omitzero"`
	Stopped []Child   `json:"stopped,omitempty"`
}

// environ returns the command's environment, that of the spec or else ours, with the run's cookie in the place of any other.
func (s *Spec) environ() []string {
	env := s.Env
	if env == nil {
		env = os.Environ()
	}
	cookie := CookieName + "="
	marked := make([]string, 0, len(env)+1)
	for _, e := range env {
		if !strings.HasPrefix(e, cookie) {
			marked = append(marked, e)
		}
	}
	return append(marked, cookie+s.ID)
}

// streams returns the command's standard streams: the spec's, or ours.
func (s *Spec) streams() []*os.File {
	if s.Files != nil {
		return s.Files
	}
	return []*os.File{os.Stdin, os.Stdout, os.Stderr}
}
