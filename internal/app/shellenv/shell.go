package shellenv

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/internal/config/profile"
	"github.com/plimsoll/plimsoll/internal/printable"
)

// The shells that there is a text for. SH is for every other shell of POSIX's grammar.
const (
	Bash = "bash"
	Zsh  = "zsh"
	Fish = "fish"
	SH   = "sh"
)

// Shells lists the names that [Options].Shell takes.
func Shells() []string { return []string{Bash, Zsh, Fish, SH} }

// posix are shells of POSIX's grammar that have no text of their own.
var posix = []string{SH, "dash", "ash", "busybox", "ksh", "ksh93", "mksh", "oksh", "yash"}

// shellOf returns the supported shell that a program's name means, "" for any other program. A login shell's name has a "-" in front.
func shellOf(name string) string {
	name = strings.TrimPrefix(filepath.Base(name), "-")
	switch {
	case slices.Contains(Shells(), name):
		return name
	case slices.Contains(posix, name):
		return SH
	case name == "rbash":
		return Bash
	}
	return ""
}

// Detect returns the shell that asks: the one that this process was started by, else the one that SHELL names. The error says to name it.
func Detect(getenv func(string) string) (string, error) { return detect(parent(), getenv("SHELL")) }

// detect returns the shell that parent, the program that started this one, means, else the one that login means.
func detect(parent, login string) (string, error) {
	if shell := shellOf(parent); shell != "" {
		return shell, nil
	}
	if shell := shellOf(login); shell != "" {
		return shell, nil
	}
	return "", fmt.Errorf("which shell is this? It was started by %s, and SHELL is %q; name it: --shell %s",
		printable.Name(orNobody(parent)), printable.Name(login), strings.Join(Shells(), ", "))
}

// orNobody returns name, or words for a program that is not known.
func orNobody(name string) string {
	if name == "" {
		return "an unknown program"
	}
	return name
}

// Choose returns the shell of that name, or with "" the one that asks.
func Choose(name string, getenv func(string) string) (string, error) {
	if name != "" {
		return named(name)
	}
	return Detect(getenv)
}

// named returns the shell that a user has named.
func named(name string) (string, error) {
	if shell := shellOf(name); shell != "" {
		return shell, nil
	}
	return "", fmt.Errorf("--shell %s: there is no text for this shell; it is one of %s", printable.Name(name), strings.Join(Shells(), ", "))
}

// Program returns the path under which other programs can start this one for a long time. That is the one that PATH leads to, if it leads
// here, since it may be a link that a package manager moves with each version; inPath is true then.
func Program() (path string, inPath bool, err error) {
	self, err := os.Executable()
	if err != nil {
		return "", false, err
	}
	real, err := filepath.EvalSymlinks(self)
	if err != nil {
		return "", false, err
	}
	if found, err := exec.LookPath(programName); err == nil && filepath.IsAbs(found) {
		if behind, err := filepath.EvalSymlinks(found); err == nil && behind == real {
			return found, true, nil
		}
	}
	return self, false, nil
}

const programName = "plimsoll"

// Known returns the names of the agents that are protected if they are installed. Agents that share their name with another well-known
// program are not among them.
func Known() []string {
	var names []string
	for _, a := range profile.All() {
		if a.SharesName == "" && a.Adapter == nil { // an editor starts adapters, and no shell
			names = append(names, a.Name)
		}
	}
	return names
}

// Installed returns the part of names that PATH has a program for.
func Installed(names []string) []string {
	var there []string
	for _, name := range names {
		if found, err := exec.LookPath(name); err == nil && filepath.IsAbs(found) {
			there = append(there, name)
		}
	}
	return there
}
