package mcp

import (
	"path/filepath"
	"slices"

	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/tools/sizes"
)

// sizesDir is the name of the directory of the sizes of tool results, below the state directory.
const sizesDir = "mcp-sizes"

// Size holds the sizes of the results of one tool, as `stats --mcp --json` prints it.
type Size = sizes.Row

// Stats returns the sizes of the results of MCP tools, the largest sum first, of one server, or of all if server is "". A file that cannot
// be read is a warning.
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
