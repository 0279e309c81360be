package mcp

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/plimsoll/plimsoll/internal/tools/wrap"
)

// WrapOptions are the options of `plimsoll mcp wrap`.
type WrapOptions struct {
	// File is a client's configuration file.
	File string
	// Command starts Plimsoll in the file; "" is this program.
	Command string
	// Remote also wraps remote servers that the file has no headers for.
	Remote bool
	// Undo restores the servers as they were.
	Undo bool
	// DryRun changes nothing.
	DryRun bool
}

// WrapServer is one server of a file, with what is done to it.
type WrapServer = wrap.Server

// WrapResult reports the changes made to a file, or that would be.
type WrapResult struct {
	File    string       `json:"file"`
	Changed bool         `json:"changed"`
	DryRun  bool         `json:"dry_run,omitempty"`
	Servers []WrapServer `json:"servers"`
	// Diff shows the change.
	Diff string `json:"diff,omitempty"`
	// Backup is the copy of the file as it was before it was wrapped.
	Backup string `json:"backup,omitempty"`
	// Exact reports whether undoing restored exactly the original bytes.
	Exact bool `json:"exact,omitempty"`
}

// Wrap rewrites a client's configuration so that its MCP servers are started through the gateway, or with Undo as before; with DryRun it only
// tells the changes. A file without MCP servers is an error.
func Wrap(o WrapOptions) (WrapResult, error) {
	if o.Command == "" {
		self, err := os.Executable()
		if err != nil {
			return WrapResult{}, err
		}
		o.Command = self
	}
	wo := wrap.Options{Command: o.Command, Remote: o.Remote}
	preview := func() ([]byte, wrap.Change, error) { return wrap.Preview(o.File, wo) }
	if o.Undo {
		preview = func() ([]byte, wrap.Change, error) { return wrap.PreviewUndo(o.File, false) }
	}
	before, change, err := preview()
	if errors.Is(err, fs.ErrNotExist) {
		return WrapResult{}, fmt.Errorf("there is no file %s; name your client's configuration, such as .mcp.json, ~/.codex/config.toml or ~/.cursor/mcp.json", o.File)
	}
	if err != nil {
		return WrapResult{}, err
	}
	r := WrapResult{
		File: o.File, Changed: change.Changed(before), DryRun: o.DryRun, Servers: change.Servers, Exact: change.Exact,
		Diff: wrap.Diff(o.File, before, change.After),
	}
	if len(change.Servers) == 0 {
		return r, fmt.Errorf("%s names no MCP server; nothing was changed", o.File)
	}
	if o.DryRun || !r.Changed {
		return r, nil
	}
	if o.Undo {
		change, err = wrap.Undo(o.File, false)
	} else {
		change, err = wrap.Apply(o.File, wo)
	}
	r.Servers, r.Exact = change.Servers, change.Exact
	if !o.Undo {
		r.Backup = wrap.Backup(o.File, false)
	}
	return r, err
}
