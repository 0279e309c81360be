package run

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// maxNested bounds the runs inside one another. Each has a supervisor with its own threads, which count in the limits of the outermost.
const maxNested = 10

// nesting is the part of a run's claim that a run inside of it reads to find out whether it is a step of a loop: a script of the agent's
// name that calls `plimsoll run` with that name finds itself again.
type nesting struct {
	Path string `json:"path,omitempty"`
	// Given is a hash of the arguments and the environment that the command was given.
	Given string `json:"given,omitempty"`
	// Depth is the number of runs around this one, Again how many of them in a row ran the same script.
	Depth int `json:"depth,omitempty"`
	Again int `json:"again,omitempty"`
}

// checkNesting returns an error for a run that would start the command of the run around it again without an end, and for one that is
// nested too deep. A script that calls itself with other arguments or in another environment may have a reason, once.
func (x *process) checkNesting() error {
	outer, nested := x.claim.Parent()
	if !nested {
		return nil
	}
	var above claimRecord
	if json.Unmarshal(outer.Remains, &above) != nil {
		return nil // of a server, or from another version
	}
	own := &x.notes.record.Nesting
	own.Depth = above.Nesting.Depth + 1
	path := x.decision.Path
	direct := above.IsCommand(os.Getpid(), outer.Owner.PID) // the script has become us by exec
	script := isScript(path)
	if above.Nesting.Path == path && (direct || script && above.IsCommand(os.Getppid(), outer.Owner.PID)) {
		if script {
			own.Again = above.Nesting.Again + 1
		}
		if own.Again > 1 || above.Nesting.Given == invocationHash(x.opts.Command, os.Environ()) {
			return loopError(path, x.opts.Command[0])
		}
	}
	if own.Depth >= maxNested {
		return fmt.Errorf("%d runs are inside one another already, and the last of them wants to run %s: where a script calls plimsoll run with its own name, "+
			"let it name the program behind it by its path", maxNested, path)
	}
	return nil
}

// loopError returns the error that names the script, and the program that was meant, where PATH has one.
func loopError(path, name string) error {
	meant := "by its path (type -a " + name + " shows all of that name)"
	if other := otherProgram(path, name); other != "" {
		meant = "by its path: plimsoll run -- " + other
	}
	return fmt.Errorf("%s was run, and runs plimsoll run -- %s, which is %s again: without an end; let it name the program behind it %s", path, name, path, meant)
}

// otherProgram returns the path of another executable with the same name in PATH, "" for none.
func otherProgram(path, name string) string {
	if filepath.Base(name) != name {
		return ""
	}
	self, err := os.Stat(path)
	if err != nil {
		return ""
	}
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		other := filepath.Join(dir, name)
		info, err := os.Stat(other)
		if err == nil && filepath.IsAbs(other) && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 && !os.SameFile(info, self) {
			return other
		}
	}
	return ""
}

// isScript reports whether a file begins with "#!".
func isScript(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	var head [2]byte
	_, err = io.ReadFull(f, head[:])
	return err == nil && string(head[:]) == "#!"
}

// changing are the variables that a run or a shell sets anew each time, which given leaves out.
var changing = []string{"PLIMSOLL_RUN_ID", "SHLVL", "_", "PWD", "OLDPWD"}

// invocationHash returns a hash of the arguments and the environment, without variables that change by themselves, for [nesting].Given.
func invocationHash(args, environ []string) string {
	h := sha256.New()
	environ = slices.Sorted(slices.Values(environ))
	for _, text := range slices.Concat(args, []string{""}, environ) {
		if name, _, _ := strings.Cut(text, "="); !slices.Contains(changing, name) {
			_, _ = fmt.Fprintf(h, "%d %s", len(text), text)
		}
	}
	return base64.RawStdEncoding.EncodeToString(h.Sum(nil)[:18])
}
