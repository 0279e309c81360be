package run

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/plimsoll/plimsoll/internal/printable"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/process/sandbox"
)

// daemonClient is a program that has its work done by a daemon outside of the run.
type daemonClient struct {
	names []string
	// verbs are the words of its command line that hand work over; nil means that every command line does.
	verbs []string
	// bounds are beginnings of words that limit the work already.
	bounds []string
	// bound describes how to limit it, with {memory} in MiB, {pids}, and {name} for the client.
	bound string
}

// clients are searched from the first: the first that fits counts.
var clients = []daemonClient{
	{
		[]string{"docker", "docker-compose", "podman", "podman-compose", "nerdctl"},
		[]string{"compose", "up"},
		nil,
		"mem_limit: {memory}m and pids_limit: {pids} for each service in the compose file",
	},
	{
		[]string{"docker", "docker-buildx", "buildx", "buildctl", "nerdctl"},
		[]string{"build", "buildx", "bake"},
		nil,
		"a builder of its own: docker buildx create --use --driver docker-container --driver-opt memory={memory}m",
	},
	{[]string{"podman"}, []string{"build"}, []string{"--memory", "-m"}, "podman build --memory {memory}m"},
	{[]string{"docker", "podman", "nerdctl"}, []string{"run", "create"}, []string{"--memory", "-m"}, "{name} run --memory {memory}m --pids-limit {pids}"},
	{[]string{"docker", "podman", "nerdctl"}, []string{"exec", "start", "restart"}, nil, "{name} update --memory {memory}m --pids-limit {pids} CONTAINER"},
	{[]string{"systemd-run"}, nil, []string{"MemoryMax=", "-pMemoryMax=", "--property=MemoryMax="}, "systemd-run -p MemoryMax={memory}M -p TasksMax={pids}"},
	{[]string{"at", "batch"}, nil, nil, "plimsoll run in the job itself"},
}

// clientOf returns the client that a command line with this name and these words starts, nil for none; bounded is true if the words limit it.
func clientOf(name string, words []string) (c *daemonClient, bounded bool) {
	words = words[:min(len(words), 64)]
	for i := range clients {
		c := &clients[i]
		if !slices.Contains(c.names, name) || c.verbs != nil && !slices.ContainsFunc(words, func(w string) bool { return slices.Contains(c.verbs, w) }) {
			continue
		}
		return c, slices.ContainsFunc(words, func(w string) bool {
			return slices.ContainsFunc(c.bounds, func(b string) bool { return strings.HasPrefix(w, b) })
		})
	}
	return nil, false
}

// handed watches which work a run hands to programs outside of it. It is safe for concurrent use.
type handed struct {
	warn   func(string)
	memory limit.Bytes
	pids   int

	mu      sync.Mutex
	asked   map[int]string // processes by the name under which they were asked
	any     bool           // something was handed over
	command bool           // by the command itself, of which nothing but that was measured
	warned  bool
	asking  sync.WaitGroup
}

// maxAsked bounds the processes that are remembered. usualMemory stands for the limit of a run without one, in MiB.
const maxAsked, usualMemory = 4096, 4096

// checkProcess examines the command line of a new process of the run, once, if its name is that of a client or a builder whose work a daemon
// may do. It is called with the run's locks held, so it reads the file in a goroutine.
func (h *handed) checkProcess(pid int, name string) {
	if !slices.ContainsFunc(clients, func(c daemonClient) bool { return slices.Contains(c.names, name) }) &&
		!slices.ContainsFunc(builders, func(b builder) bool { return slices.Contains(b.names, name) }) {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.asked[pid] == name || len(h.asked) >= maxAsked {
		return
	}
	if h.asked == nil {
		h.asked = map[int]string{}
	}
	h.asked[pid] = name
	h.asking.Go(func() {
		if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); err == nil && len(text) > 0 {
			h.check(name, strings.Split(string(text), "\x00"), false) // a script has its interpreter first
		}
	})
}

// check examines a program and its arguments. If they hand work over to a process outside of the run, it notes that and, unless they bound it
// themselves, warns, once for the run. command is true for the run's own command.
func (h *handed) check(name string, words []string, command bool) {
	c, bounded := clientOf(name, words)
	var told string
	if c == nil {
		b := builderOf(name, words)
		if b == nil {
			return
		}
		pid, title := b.running()
		if pid == 0 {
			return
		}
		told = fmt.Sprintf("%s has its work done by process %d (%s), which ran before this run began: what that takes is neither limited nor counted here, and not ended with it; %s",
			name, pid, printable.Text(title), b.instead)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.any, h.command = true, h.command || command
	if bounded || h.warned {
		return
	}
	h.warned = true
	if c == nil {
		h.warn(told)
		return
	}
	megabytes := max(h.memory, 0) / limit.MiB
	megabytes = cmp.Or(megabytes, usualMemory)
	how := strings.NewReplacer("{memory}", strconv.FormatInt(int64(megabytes), 10), "{pids}", strconv.Itoa(max(h.pids, 1)), "{name}", name).Replace(c.bound)
	h.warn(name + " has work done outside of this run: what that takes is neither limited nor counted here, and not ended with it; to bound it: " + how)
}

// finish warns of processes that left the run's groups, unless it has warned before. It returns whether any work was handed over, and
// whether the run's own command did so.
func (h *handed) finish(r *sandbox.Result) (any, command bool) {
	h.asking.Wait()
	moved := r.Moved
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(moved) > 0 {
		h.any = true
		h.command = h.command || r.CommandMoved
		if !h.warned {
			h.warned = true
			h.warn(fmt.Sprintf("%s left the control group of this run (%s): what is used there is neither limited nor counted here, and not ended with it",
				limit.Count(len(moved), "process"), printable.Text(strings.Join(slices.Compact(slices.Sorted(slices.Values(moved))), ", "))))
		}
	}
	return h.any, h.command
}

// builder is a build tool whose work is done by a daemon of its own, which stays when a build is over. A daemon that the tool starts is in
// the run like any child; one that ran before does the work outside of it.
type builder struct {
	names []string
	// words are ends of words of its command line by which it is told from others of the name; nil when every program of the name is meant.
	words []string
	// daemon reports whether a command line names the daemon.
	daemon func(argv []string) bool
	// instead describes how to have the work done inside the run, or how to limit it.
	instead string
}

// called returns a function that reports whether the program's name in an argument vector begins with name.
func called(name string) func([]string) bool {
	return func(argv []string) bool { return strings.HasPrefix(filepath.Base(argv[0]), name) }
}

// hasWord returns a function that reports whether an argument vector has this word.
func hasWord(word string) func([]string) bool {
	return func(argv []string) bool { return slices.Contains(argv, word) }
}

// builders, with what their daemons show in /proc (looked up 2026-11: Bazel's "client/server" page, the launchers of Gradle and mvnd, the process
// titles of Buck2 and MSBuild).
var builders = []builder{
	{[]string{"bazel", "bazelisk"}, nil, called("bazel("), "to have it done inside this run: bazel shutdown"},
	{
		[]string{"gradle", "gradlew", "java"},
		[]string{"gradle-wrapper.jar", "org.gradle.wrapper.GradleWrapperMain", "org.gradle.launcher.GradleMain", "gradle", "gradlew"},
		hasWord("org.gradle.launcher.daemon.bootstrap.GradleDaemon"),
		"to have it done inside this run: gradle --stop, or --no-daemon",
	},
	{[]string{"mvnd"}, nil, hasWord("org.mvndaemon.mvnd.daemon.Server"), "to have it done inside this run: mvnd --stop"},
	{[]string{"buck2"}, nil, called("buck2d["), "to have it done inside this run: buck2 kill"},
	{[]string{"dotnet"}, []string{"build", "publish", "test", "run", "msbuild", "pack"}, hasWord("/nodemode:1"), "to have it done inside this run: dotnet build-server shutdown"},
	{
		[]string{"sccache"},
		nil,
		func(argv []string) bool { return len(argv) == 1 && called("sccache")(argv) }, // a client has the compiler on its command line
		"to have it done inside this run: sccache --stop-server",
	},
	{
		[]string{"nix", "nix-build", "nix-shell", "nix-store"},
		nil,
		called("nix-daemon"),
		"to bound it: systemctl set-property nix-daemon.service MemoryMax=",
	},
}

// builderOf returns the build tool that a command line starts, nil for none; words are its words after the name.
func builderOf(name string, words []string) *builder {
	words = append([]string{name}, words[:min(len(words), 64)]...)
	for i := range builders {
		b := &builders[i]
		if slices.Contains(b.names, name) && (b.words == nil || slices.ContainsFunc(words, func(w string) bool {
			return slices.ContainsFunc(b.words, func(end string) bool { return w == end || strings.HasSuffix(w, "/"+end) })
		})) {
			return b
		}
	}
	return nil
}

// running returns the pid and name of a daemon of the tool that was started before this process; 0 and "" for none.
func (b *builder) running() (pid int, name string) { return sandbox.Older(b.daemon) }
