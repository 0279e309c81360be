package app

import (
	"path/filepath"
	"slices"

	"github.com/plimsoll/plimsoll/tools/sizes"
)

// sizesDir is where the sizes of tool results are kept, below the state directory.
const sizesDir = "mcp-sizes"

// MCPSize is what is known of the results of one tool, as `stats --mcp --json` prints it.
type MCPSize = sizes.Row

// MCPStats lists how large the results of MCP tools were, the largest sum first; server
// keeps to one server, "" means all. A file that cannot be read is told as a warning.
func (a *App) MCPStats(server string) ([]MCPSize, error) {
	state, err := a.Dirs.State()
	if err != nil {
		return nil, err
	}
	rows, err := sizes.Read(filepath.Join(state, sizesDir))
	if err != nil {
		a.Warn(err.Error())
	}
	if server != "" {
		rows = slices.DeleteFunc(rows, func(r MCPSize) bool { return r.Server != server })
	}
	return rows, nil
}
