package app

import (
	"encoding/json"
	"os"

	"github.com/plimsoll/plimsoll/internal/atomicfile"
)

// writeReport writes the run report where it was asked for. A device or a pipe is written
// to; a file is replaced whole or not at all.
func (x *execution) writeReport() {
	file := x.opts.ReportFile
	if file == "" {
		return
	}
	body, err := json.MarshalIndent(x.reporter.Report(), "", "  ")
	if err == nil {
		body = append(body, '\n')
		if info, statErr := os.Stat(file); statErr == nil && !info.Mode().IsRegular() {
			err = writeTo(file, body)
		} else {
			err = atomicfile.Write(file, body, 0o600)
		}
	}
	if err != nil {
		x.say.warn("the report was not written: " + err.Error())
	}
}

func writeTo(file string, body []byte) error {
	f, err := os.OpenFile(file, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	if _, err := f.Write(body); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}
