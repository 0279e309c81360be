package mcp

import (
	"path/filepath"
	"slices"

	"github.com/plimsoll/plimsoll/app/core"
	"github.com/plimsoll/plimsoll/tools/sizes"
)

// sizesDir is the directory of the sizes of tool results, below the state directory.
const sizesDir = "mcp-sizes"

// Size holds the sizes of the results of one tool, as `stats --mcp --json` prints it.
type Size = sizes.Row

// Stats lists how large the results of MCP tools were, the largest sum first; server
// keeps to one server, "" means all. A file that cannot be read is told as a warning.
func Stats(app *core.Core, server string) ([]Size, error) {
	state, err := app.Dirs.State()
	if err != nil {
		return nil, err
	}
	rows, err := sizes.Read(filepath.Join(state, sizesDir))
	if err != nil {
		app.Warn(err.Error())
	}
	if server != "" {
		rows = slices.DeleteFunc(rows, func(r Size) bool { return r.Server != server })
	}
	return rows, nil
}
