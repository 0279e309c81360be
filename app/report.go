package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/plimsoll/plimsoll/internal/atomicfile"
)

// writeReport writes the run report where it was asked for. A file is replaced whole or not
// at all. A symbolic link in the last element is refused: whoever can write into the directory
// would choose which file of ours is replaced. What is no regular file by its own name is written
// to: a device, a pipe, and /dev/stdout, which leads to a regular file when a shell redirects it.
func (x *execution) writeReport() {
	file := x.opts.ReportFile
	if file == "" {
		return
	}
	body, err := json.MarshalIndent(x.reporter.Report(), "", "  ")
	if err == nil {
		err = putReport(file, append(EscapeJSON(body), '\n'))
	}
	if err != nil {
		x.say.warn("the report was not written: " + err.Error())
	}
}

func putReport(file string, body []byte) error {
	// Opened again a stream would have an offset of its own, and write over what is there.
	switch filepath.Clean(file) {
	case "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1":
		_, err := os.Stdout.Write(body)
		return err
	case "/dev/stderr", "/dev/fd/2", "/proc/self/fd/2":
		_, err := os.Stderr.Write(body)
		return err
	}
	info, err := os.Lstat(file)
	switch {
	case ofSystem(file):
		return appendTo(file, body)
	case err == nil && info.Mode()&fs.ModeSymlink != 0:
		return fmt.Errorf("%s is a symbolic link, and who can write there decides where it leads; name the file itself", file)
	case err == nil && !info.Mode().IsRegular():
		return appendTo(file, body)
	}
	return atomicfile.Write(file, body, 0o600, atomicfile.Durable)
}

// ofSystem says that a name is the system's (/dev/stdout, /proc/self/fd/3): it stands for an
// open file, and neither that file nor the name may be replaced.
func ofSystem(name string) bool {
	abs, err := filepath.Abs(name)
	return err != nil || strings.HasPrefix(abs, "/dev/") || strings.HasPrefix(abs, "/proc/")
}

func appendTo(file string, body []byte) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(body)
	return errors.Join(err, f.Close())
}
