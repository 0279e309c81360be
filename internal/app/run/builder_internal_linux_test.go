package run

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/wait"
	"github.com/plimsoll/plimsoll/process/sandbox"
)

func TestBuildersAreTold(t *testing.T) {
	for line, daemon := range map[string]string{
		"bazel build //...": "bazel(src) -server -Djava.library.path=/x",
		"java -cp /w/gradle-wrapper.jar org.gradle.wrapper.GradleWrapperMain build": "/usr/bin/java -cp /g/gradle-daemon-main-9.2.jar org.gradle.launcher.daemon.bootstrap.GradleDaemon 9.2",
		"java -jar /w/gradle/wrapper/gradle-wrapper.jar build":                      "/usr/bin/java org.gradle.launcher.daemon.bootstrap.GradleDaemon",
		"gradlew build":        "/usr/bin/java org.gradle.launcher.daemon.bootstrap.GradleDaemon",
		"mvnd package":         "/usr/bin/java -cp x org.mvndaemon.mvnd.daemon.Server",
		"buck2 build //:a":     "buck2d[repo] --isolation-dir v2 daemon",
		"dotnet build":         "/usr/bin/dotnet MSBuild.dll /nologo /nodemode:1 /nodeReuse:true",
		"sccache gcc -c a.c":   "/usr/bin/sccache",
		"nix build":            "nix-daemon --daemon",
		"java -jar server.jar": "",
		"dotnet app.dll":       "",
		"make bazel":           "",
	} {
		words := strings.Fields(line)
		b := builderOf(words[0], words[1:])
		switch {
		case b == nil:
			if daemon != "" {
				t.Errorf("%s: no builder", line)
			}
		case daemon == "":
			t.Errorf("%s: taken for a builder that says %q", line, b.instead)
		case !b.daemon(strings.Fields(daemon)) || b.daemon(words) || b.daemon([]string{"/bin/sh"}):
			t.Errorf("%s: %q is not told from the rest", line, daemon)
		}
	}
}

// A process of this test is younger than the test and so never taken; the test's own parent is older.
func TestOnlyAnOlderDaemonIsOutside(t *testing.T) {
	young := exec.Command("sleep", "60")
	young.Args[0] = "bazel(young)"
	if err := young.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = young.Process.Kill(); _ = young.Wait() }()
	is := func(argv []string) bool { return argv[0] == "bazel(young)" }
	wait.Until(t, "it has its name", func() bool {
		text, _ := os.ReadFile("/proc/" + strconv.Itoa(young.Process.Pid) + "/cmdline")
		return strings.HasPrefix(string(text), "bazel(young)")
	})
	if pid, _ := sandbox.Older(is); pid != 0 {
		t.Errorf("process %d is younger than this one", pid)
	}
	parent, err := os.ReadFile("/proc/" + strconv.Itoa(os.Getppid()) + "/cmdline")
	if err != nil {
		t.Skip(err)
	}
	whole := strings.TrimSuffix(string(parent), "\x00")
	if pid, name := sandbox.Older(func(argv []string) bool { return strings.Join(argv, "\x00") == whole }); pid == 0 || name == "" {
		t.Errorf("the parent %q was not found: %d %q", whole, pid, name)
	}
}
