package usage

import (
	"errors"
	"io/fs"
	"slices"

	"github.com/plimsoll/plimsoll/internal/atomicfile"
	"github.com/plimsoll/plimsoll/internal/statefile"
)

// Forget removes the runs kept of a tool in a project, of all its variants, and returns how many they were. Other tools keep theirs. The
// error is an [OffError] or wraps [ErrInvalid], and then nothing was removed; a damaged file is left for the next [History.Append] to set
// aside.
func (h *History) Forget(projectKey, tool string) (runs int, err error) {
	if err := errors.Join(validKey(projectKey), validTool(tool)); err != nil {
		return 0, err
	}
	root, err := statefile.OpenRoot(h.directory)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return 0, nil
		}
		return 0, h.offError(h.directory, err)
	}
	defer root.Close()
	unlock, err := h.lock(projectKey)
	if err != nil {
		return 0, err
	}
	defer unlock()
	name := projectKey + extension
	d, err := h.read(root, name, projectKey)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if damaged, ok := errors.AsType[*damage](err); ok {
		h.warnFound(name, damaged)
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	runs = d.forget(tool)
	if runs == 0 {
		return 0, nil
	}
	if err := h.put(root, name, d); err != nil {
		return 0, err
	}
	atomicfile.SyncDir(root)
	return runs, nil
}

// forget removes a tool with all its variants, and returns the number of its runs.
func (d *document) forget(tool string) (runs int) {
	d.Tools = slices.DeleteFunc(d.Tools, func(s *toolHistory) bool {
		of, _ := splitHistoryKey(s.Tool)
		if of == tool {
			runs += len(s.Runs)
		}
		return of == tool
	})
	return runs
}
