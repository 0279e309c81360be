package run

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/process/sandbox"
)

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
