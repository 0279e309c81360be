package shellenv

import (
	"os"
	"os/exec"
	"path/filepath"

	"github.com/plimsoll/plimsoll/internal/config/profile"
)

// Program returns the path by which others start this program for a long time, as PATH has it where PATH leads to it. That may
// be a link which a package manager sets anew with each version, while the file behind it goes.
// inPath is true when its bare name does, too.
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

// Known returns the agents that are protected where they are installed. Those of whose name another well-known program is are only protected
// where they are named.
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
