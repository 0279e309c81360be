//go:build linux || darwin

package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/testfile"
)

// An actionRunner is what a runner of GitHub gives a step of the action: a clean environment and two files.
type actionRunner struct {
	w                     *world
	summary, output, path string
}

func newActionRunner(t *testing.T) *actionRunner {
	t.Helper()
	w := newWorld(t)
	r := &actionRunner{w: w, summary: filepath.Join(w.home, "summary.md"), output: filepath.Join(w.home, "output"), path: filepath.Join(w.home, "path")}
	for _, file := range []string{r.summary, r.output, r.path} {
		write(t, "", file)
	}
	return r
}

// step runs a script of the action. The environment is the one that is given, what a runner sets, and nothing else.
func (r *actionRunner) step(script, path string, variables ...string) result {
	r.w.t.Helper()
	script, err := filepath.Abs(filepath.Join("..", "deploy", "action", script))
	if err != nil {
		r.w.t.Fatal(err)
	}
	return r.w.run(func(cmd *exec.Cmd) {
		cmd.Env = append([]string{
			"PATH=" + path, "HOME=" + r.w.home, "RUNNER_TEMP=" + r.w.home, "GITHUB_STEP_SUMMARY=" + r.summary, "GITHUB_OUTPUT=" + r.output, "GITHUB_PATH=" + r.path,
			"PLIMSOLL_STATE_DIR=" + r.w.state, cookieName + "=" + r.w.cookie,
		}, variables...)
	}, "bash", "--noprofile", "--norc", script)
}

func (r *actionRunner) outputs() map[string]string {
	r.w.t.Helper()
	text, err := os.ReadFile(r.output)
	if err != nil {
		r.w.t.Fatal(err)
	}
	all := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		all[name] = value
	}
	return all
}

const plainPath = "/usr/local/bin:/usr/bin:/bin"

// The step's status is the command's, its outputs and the job's summary say what it used.
func TestActionRuns(t *testing.T) {
	t.Parallel()
	r := newActionRunner(t)
	odd := `echo "a 'b' $(echo c) $ACTION_COMMAND${ACTION_TOOL-unset}"; printf '%s\n' '` + "```" + `'; plimsoll run --quiet --force --tool inner -- true; exit 7`
	got := r.step("run.sh", bin+":"+plainPath, "ACTION_COMMAND="+odd, "ACTION_TOOL=tests", "ACTION_MEMORY_MAX=300M", "ACTION_TIME_MAX=", "ACTION_ENFORCEMENT=best-effort")
	if got.status != 7 || !strings.HasPrefix(got.stdout, "a 'b' c unset\n```\n") {
		t.Errorf("status %d, %q, %s", got.status, got.stdout, got.stderr)
	}
	o := r.outputs()
	if o["outcome"] != "failed" || o["exit-code"] != "7" || !regexp.MustCompile(`^[1-9]\d*$`).MatchString(o["peak-bytes"]) {
		t.Errorf("%q", o)
	}
	if text, err := os.ReadFile(o["report"]); err != nil || !strings.Contains(string(text), `"limit_bytes": 314572800`) {
		t.Errorf("%v: %s", err, text)
	}
	text := testfile.Read(t, r.summary)
	if !strings.HasPrefix(string(text), "### plimsoll: failed\n\n    tests in work: failed, exit status 7\n") || strings.Contains(string(text), "inner in") {
		t.Errorf("%s", text)
	}
	for line := range strings.Lines(strings.SplitN(string(text), "\n\n", 2)[1]) {
		if line != "\n" && !strings.HasPrefix(line, "    ") {
			t.Errorf("the block ends before %q", line)
		}
	}
}

// What takes more than its limit is killed, and the job says so.
func TestActionOverTheLimit(t *testing.T) {
	t.Parallel()
	r := newActionRunner(t)
	got := r.step("run.sh", bin+":"+plainPath, "ACTION_COMMAND=head -c 600M /dev/zero | tail -n 1 | wc -c", "ACTION_TOOL=tests", "ACTION_MEMORY_MAX=200M", "ACTION_ENFORCEMENT=best-effort")
	modes := layers(t)
	if modes[0].layer == "rlimit" || modes[0].layer == "monitor" {
		t.Skip("no layer of this host lets the kernel hold memory")
	}
	if got.status == 0 || r.outputs()["outcome"] != "oom" || !strings.Contains(got.stdout, "::error title=plimsoll::The run came to: oom.") {
		t.Errorf("status %d, %q\n%s%s", got.status, r.outputs(), got.stdout, got.stderr)
	}
	if text, err := os.ReadFile(r.summary); err != nil || !strings.Contains(string(text), "tail was killed for memory") || !strings.Contains(string(text), "--memory-max") {
		t.Errorf("%v: %s", err, text)
	}
}

func TestActionRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		path      string
		variables []string
		want      string
	}{
		"no plimsoll":  {plainPath, []string{"ACTION_COMMAND=true"}, "name a version to install"},
		"no command":   {bin + ":" + plainPath, []string{"ACTION_COMMAND= \n "}, "the command is empty"},
		"no folder":    {bin + ":" + plainPath, []string{"ACTION_COMMAND=true", "ACTION_WORKING_DIRECTORY=none"}, "cannot be entered"},
		"a bad limit":  {bin + ":" + plainPath, []string{"ACTION_COMMAND=touch ran", "ACTION_MEMORY_MAX=plenty"}, "--memory-max"},
		"not enforced": {bin + ":" + plainPath, []string{"ACTION_COMMAND=touch ran", "ACTION_ENFORCEMENT=perhaps"}, "enforcement"},
	} {
		r := newActionRunner(t)
		got := r.step("run.sh", c.path, c.variables...)
		if got.status != 125 || !strings.Contains(got.stdout+got.stderr, c.want) {
			t.Errorf("%s: status %d, %s%s", name, got.status, got.stdout, got.stderr)
		}
		if _, err := os.Stat(filepath.Join(r.w.work, "ran")); err == nil {
			t.Errorf("%s: it ran", name)
		}
	}
}

// A release is installed by its sum: the one that is named, else the one of the release.
func TestActionInstalls(t *testing.T) {
	long(t, "it compiles the program")
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is not here")
	}
	dir := t.TempDir()
	name := "plimsoll-0.1.0-" + runtime.GOOS + "-" + runtime.GOARCH + ".tar.gz"
	if out, err := exec.Command("tar", "-czf", filepath.Join(dir, name), "-C", bin, "plimsoll").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	archive := testfile.Read(t, filepath.Join(dir, name))
	digest := sha256.Sum256(archive)
	sum := hex.EncodeToString(digest[:])
	served := archive
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		switch q.URL.Path {
		case "/releases/download/v0.1.0/SHA256SUMS":
			_, _ = w.Write([]byte(strings.Repeat("0", 64) + "  plimsoll-0.1.0-plan9-mips.tar.gz\n" + sum + "  " + name + "\n"))
		case "/releases/download/v0.1.0/" + name:
			_, _ = w.Write(served)
		default:
			http.NotFound(w, q)
		}
	}))
	t.Cleanup(site.Close)
	from := "ACTION_FROM=" + site.URL + "/releases/"
	for what, variables := range map[string][]string{"by the sum of the release": nil, "by a sum that is named": {"ACTION_SHA256=" + sum}} {
		r := newActionRunner(t)
		got := r.step("install.sh", plainPath, append(variables, "ACTION_VERSION=v0.1.0", from)...)
		folder, _ := os.ReadFile(r.path)
		if got.status != 0 || !strings.Contains(got.stdout, "plimsoll ") {
			t.Errorf("%s: status %d, %s%s", what, got.status, got.stdout, got.stderr)
			continue
		}
		if got := r.step("run.sh", strings.TrimSpace(string(folder))+":"+plainPath, "ACTION_COMMAND=echo it works", "ACTION_MEMORY_MAX=100M"); got.status != 0 || got.stdout != "it works\n" {
			t.Errorf("%s: status %d, %s%s", what, got.status, got.stdout, got.stderr)
		}
	}
	for want, variables := range map[string][]string{
		"is not the file that was meant": {"ACTION_VERSION=0.1.0", "ACTION_SHA256=" + strings.Repeat("a", 64), from},
		"is no version":                  {"ACTION_VERSION=0.1.0/../..", from},
		"is no SHA-256 sum":              {"ACTION_VERSION=0.1.0", "ACTION_SHA256=abc", from},
		"only https:// is":               {"ACTION_VERSION=0.1.0", "ACTION_FROM=http://192.0.2.1"},
		"it has a user name":             {"ACTION_VERSION=0.1.0", "ACTION_FROM=http://127.0.0.1:x@192.0.2.1"},
		"there is such a release":        {"ACTION_VERSION=9.9.9", from},
	} {
		r := newActionRunner(t)
		got := r.step("install.sh", plainPath, variables...)
		if folder, _ := os.ReadFile(r.path); got.status != 1 || !strings.Contains(got.stdout, "::error") || !strings.Contains(got.stdout, want) || len(folder) > 0 {
			t.Errorf("%q: status %d, PATH gets %q, %s%s", want, got.status, folder, got.stdout, got.stderr)
		}
	}
}
