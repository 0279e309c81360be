package profile

import (
	"github.com/plimsoll/plimsoll/limit"
)

var _ = add(Agent{
	Name: "cline", Title: "Cline", Packages: []string{"cline"},
	InitialEstimate: 1024 * limit.MiB, // of the measured memory of one turn (PSS 361 MB), with room for the build or test that it starts
	Source:          "measured: 3.0.65", Compacts: true, plan: planCline,

	ServerNames: []string{"/cline_mcp_settings.json"},
	MCPClient:   "cline", // it cuts nothing and hands everything to the model
})

// planCline refuses. Cline 3.0, measured: `cline auth -b URL` writes the address into its own data; there is no variable or flag for one start.
func planCline(w *planner) {
	w.refuse("Cline takes an address only by cline auth -b URL, into its own data; give it the address of plimsoll serve that way")
}
