package mcp

import (
	"path/filepath"
	"slices"

	"github.com/plimsoll/plimsoll/app/core"
	"github.com/plimsoll/plimsoll/tools/sizes"
)

// sizesDir is where the sizes of tool results are kept, below the state directory.
const sizesDir = "mcp-sizes"

// Size is what is known of the results of one tool, as `stats --mcp --json` prints it.
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
