package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/testfile"
)

// theirs are the commands of docs/install.md that another test runs, or that no test can run.
var theirs = map[string]struct {
	file, test string // a test by its name
	never      string // a word of the table "What is tested where", in the row of what never ran
}{
	"sudo apt install ./plimsoll_0.1.0-1_amd64.deb": {file: "e2e/packages_linux_test.go", test: "TestDebInTheSystem"},
	"plimsoll doctor": {file: "e2e/packages_linux_test.go", test: "TestDebInTheSystem"},
	"man plimsoll":    {file: "e2e/packages_linux_test.go", test: "TestDebInTheSystem"},
	"sudo dnf install ./plimsoll-0.1.0-1.x86_64.rpm":                                                     {file: "e2e/packages_linux_test.go", test: "TestRPMInTheSystem"},
	"irm https://github.com/plimsoll/plimsoll/releases/latest/download/install.ps1 -OutFile install.ps1": {never: "Windows"},
	`.\install.ps1`: {never: "Windows"},
}

// guideBlocks are the blocks of a guide by what stands behind their opening fence.
func guideBlocks(t *testing.T, name string) (blocks [][]string, kinds []string) {
	t.Helper()
	text := testfile.Read(t, filepath.Join(top, name))
	inside := false
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\n")
		if kind, fence := strings.CutPrefix(line, "```"); fence {
			if inside = !inside; inside {
				blocks, kinds = append(blocks, nil), append(kinds, kind)
			}
		} else if inside {
			blocks[len(blocks)-1] = append(blocks[len(blocks)-1], line)
		}
	}
	return blocks, kinds
}

// Every command of the guide is run: here, by the test that is named, or, as its table says, by none. What the guide shows as a session
// ("console") is typed by the tests of the command line.
func TestEveryCommandOfTheGuideHasATest(t *testing.T) {
	t.Parallel()
	guide := testfile.Read(t, filepath.Join(top, "docs/install.md"))
	var never strings.Builder
	for line := range strings.Lines(string(guide)) {
		if strings.HasPrefix(line, "| never |") {
			never.WriteString(line)
		}
	}
	blocks, kinds := guideBlocks(t, "docs/install.md")
	seen := 0
	for i, block := range blocks {
		if kinds[i] == "console" {
			continue
		}
		for _, line := range block {
			seen++
			owner, other := theirs[line]
			switch {
			case slices.Contains(ours, line):
			case !other:
				t.Errorf("docs/install.md: no test runs %q: run it in TestGuide, or name who does in theirs", line)
			case owner.never != "" && !strings.Contains(never.String(), owner.never):
				t.Errorf("docs/install.md: %q is run by nobody, and no row \"never\" of the table says so of %s", line, owner.never)
			case owner.test != "":
				if text, err := os.ReadFile(filepath.Join(top, owner.file)); err != nil || !strings.Contains(string(text), "func "+owner.test+"(t *testing.T)") {
					t.Errorf("docs/install.md: %s of %s, which is to run %q, is not there: %v", owner.test, owner.file, line, err)
				}
			}
		}
	}
	if seen < len(ours) {
		t.Errorf("only %d commands were found: this test holds next to nothing", seen)
	}
	for _, what := range []string{"Homebrew", "Scoop", "kind", "published", "macOS", "Windows", "arm64"} {
		if !strings.Contains(never.String(), what) {
			t.Errorf("docs/install.md does not say of %s that it never ran", what)
		}
	}
}

// ours are the commands that are run here, in their order.
var ours = []string{
	"curl -fsSLO https://github.com/plimsoll/plimsoll/releases/latest/download/install.sh",
	"sh install.sh --dry-run",
	"sh install.sh",
	"sha256sum --check --ignore-missing SHA256SUMS",
	"CGO_ENABLED=0 go build ./cmd/plimsoll",
	"./plimsoll doctor",
}

// guideHost is where commands of a guide are typed: a folder, and GitHub's part played by a server on this machine.
type guideHost struct {
	t         *testing.T
	dir, home string
	site      string
}

// typed types a command as it stands in the guide, but for GitHub's address.
func (h guideHost) typed(line string, environment ...string) string {
	h.t.Helper()
	cmd := exec.CommandContext(h.t.Context(), "sh", "-c", strings.ReplaceAll(line, homepage+"/releases", h.site))
	cmd.Dir, cmd.Env = h.dir, append(os.Environ(), append(environment, "HOME="+h.home)...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		h.t.Errorf("%s: %v\n%s", line, err, out)
	}
	return string(out)
}

// What the guide and the README tell to type installs the program, checks it and builds it.
func TestGuide(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("these commands are for Linux and macOS")
	}
	for _, name := range []string{"curl", "sha256sum"} {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("%s is not here", name)
		}
	}
	blocks, _ := guideBlocks(t, "README.md")
	if !slices.ContainsFunc(blocks, func(b []string) bool { return slices.Equal(b, []string{ours[0], ours[2]}) }) {
		t.Errorf("README.md does not install by %q", []string{ours[0], ours[2]})
	}
	files, err := release()
	if err != nil {
		t.Fatal(err)
	}
	script := testfile.Read(t, filepath.Join(top, "install.sh"))
	h := guideHost{t: t, dir: t.TempDir(), home: t.TempDir()}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := filepath.Base(r.URL.Path)
		data := files[name]
		if name == "install.sh" { // the script fetches from where it comes from
			data = []byte(strings.Replace(string(script), "from="+homepage+"/releases", "from=http://"+r.Host+"/releases", 1))
		}
		if data == nil {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write(data)
	}))
	t.Cleanup(s.Close)
	h.site = s.URL + "/releases"

	h.typed(ours[0])
	if said := h.typed(ours[1]); !strings.Contains(said, "would install "+h.home+"/.local/bin/plimsoll") {
		t.Errorf("a dry run says %s", said)
	}
	h.typed(ours[2])
	if out, err := exec.CommandContext(t.Context(), filepath.Join(h.home, ".local/bin/plimsoll"), "version").Output(); err != nil || !strings.HasPrefix(string(out), "plimsoll ") {
		t.Errorf("what was installed says %q, %v", out, err)
	}

	// By hand: the sums of what was fetched.
	for name, data := range files {
		if strings.Contains(name, "plan9") {
			continue // is not there, which is no mistake
		}
		testfile.Write(t, filepath.Join(h.dir, name), data)
	}
	if said := h.typed(ours[3]); !strings.Contains(said, ": OK") {
		t.Errorf("%s", said)
	}

	// From a checkout. The program goes into a folder of the test, and what was compiled here before is of use.
	checkout := guideHost{t: t, dir: top, home: os.Getenv("HOME")}
	checkout.typed(ours[4], fmt.Sprintf("GOFLAGS=-o=%s/plimsoll", h.dir), "GOOS=", "GOARCH=")
	state := "PLIMSOLL_STATE_DIR=" + t.TempDir()
	if said := h.typed(ours[5], state); !strings.Contains(said, "monitor") {
		t.Errorf("%s", said)
	}
}
