package shellenv

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

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

// shellOf returns the shell that a program's name means, "" for what is none that is known. A login shell's name has a "-" in front.
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
