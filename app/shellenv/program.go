package shellenv

import (
	"os"
	"os/exec"
	"path/filepath"

	"github.com/plimsoll/plimsoll/config"
)

// Program says how this program is started by others for a long time: its path, as PATH has it where PATH leads to it. That may
// be a link which a package manager sets anew with each version, while the file behind it goes.
// inPath says that its bare name does, too.
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

// left are agents that are not protected unless they are named: another well-known program has the same name.
var left = map[string]bool{"goose": true} // pressly/goose migrates databases

// Known are the agents that are protected where they are installed.
func Known() []string {
	var names []string
	for _, p := range config.Profiles() {
		if !left[p.Name] {
			names = append(names, p.Name)
		}
	}
	return names
}

// Installed is the part of names that PATH has a program for.
func Installed(names []string) []string {
	var there []string
	for _, name := range names {
		if found, err := exec.LookPath(name); err == nil && filepath.IsAbs(found) {
			there = append(there, name)
		}
	}
	return there
}
