package config

import (
	"io/fs"
	"os"
)

// On Windows os.Getuid is -1 for everybody and the temporary directory is the user's own, so every existing directory counts as the user's.
func dirOwner(path string) (int, error) {
	_, err := os.Stat(path)
	return -1, err
}

func ownerOf(fs.FileInfo) (int, error) { return -1, nil }
