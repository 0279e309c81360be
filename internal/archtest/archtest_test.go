package archtest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/testfile"
)

// root is the top folder of the module, seen from this package's folder.
const root = "../.."

const module = "github.com/plimsoll/plimsoll"

// run returns the standard output of a command started at the top of the module.
func run(t *testing.T, environment []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), environment...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, stderr.Bytes())
	}
	return string(out)
}

var gitFiles = sync.OnceValues(func() ([]string, error) {
	// Files not added yet count too: a rule is best broken before the commit.
	cmd := exec.Command("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	var files []string
	for name := range strings.SplitSeq(string(out), "\x00") {
		if info, err := os.Lstat(filepath.Join(root, name)); err == nil && info.Mode().IsRegular() {
			files = append(files, name)
		}
	}
	return files, nil
})

// files lists the regular files of the repository, by slash-separated path. Outside a
// repository (a source archive) there is nothing to hold the rules against.
func files(t *testing.T, suffix string) []string {
	t.Helper()
	all, err := gitFiles()
	if err != nil {
		if os.Getenv("CI") != "" {
			t.Fatalf("git ls-files: %v", err)
		}
		t.Skipf("not a git repository, or no git: %v", err)
	}
	var found []string
	for _, name := range all {
		if strings.HasSuffix(name, suffix) {
			found = append(found, name)
		}
	}
	if len(found) == 0 {
		t.Fatalf("git knows no file *%s under %s: this test would hold nothing", suffix, root)
	}
	return found
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	text := testfile.Read(t, filepath.Join(root, name))
	return text
}
