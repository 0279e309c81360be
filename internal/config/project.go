package config

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
)

// Project identifies the project that a history of peaks belongs to.
type Project struct {
	Name string // base name of Root, for people
	Key  string // Name and a hash of Root: two projects with one name have two keys; safe as a file name
	Root string // absolute
}

// ProjectOf returns the project of a working directory: the git repository or work tree it is in, else the directory of a .plimsoll.toml at
// or above it, else itself. An empty dir means the working directory of the process. Symbolic links are followed, so that a project has one
// history by whatever path it is entered.
func ProjectOf(dir string) Project {
	dir = realPath(dir)
	root := dir
	if top := nearestAbove(dir, ".git"); top != "" {
		root = top
	} else if top := nearestAbove(dir, ProjectFile); top != "" {
		root = top
	}
	name := filepath.Base(root)
	if name == string(filepath.Separator) || name == "." {
		name = "root"
	}
	sum := sha256.Sum256([]byte(root))
	return Project{Name: name, Key: SafeName(name) + "-" + hex.EncodeToString(sum[:6]), Root: root}
}

// nearestAbove returns the nearest directory at or above dir that has an entry of a name, "" if there is none.
func nearestAbove(dir, name string) string {
	for {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
}
