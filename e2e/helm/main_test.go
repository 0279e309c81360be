package helm_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

const (
	repository = "../.."
	chartDir   = repository + "/deploy/helm/plimsoll"
	examples   = repository + "/deploy/helm/examples"
)

// plimsoll is the binary that rendered containers start.
var plimsoll string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "plimsoll-helm-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	plimsoll = filepath.Join(dir, "plimsoll")
	build := exec.Command("go", "build", "-o", plimsoll, "./cmd/plimsoll")
	build.Dir = repository
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n%s", build, err, out)
		os.Exit(1)
	}
	status := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(status)
}
