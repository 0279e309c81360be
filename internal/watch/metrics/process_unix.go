//go:build linux || darwin

package metrics

import "os"

// countOpenFiles counts the entries of a directory that has one for each open file; the one that reads it is not counted. It returns false if the
// directory cannot be read.
func countOpenFiles(dir string) (int64, bool) {
	f, err := os.Open(dir)
	if err != nil {
		return 0, false
	}
	defer f.Close()
	names, err := f.Readdirnames(-1) // their files are not asked: some of macOS fail
	return int64(len(names)) - 1, err == nil
}
