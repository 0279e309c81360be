package profile

import "github.com/plimsoll/plimsoll/limit"

var _ = add(Agent{
	Name: "cn", Title: "Continue", Packages: []string{"@continuedev/cli"},
	InitialEstimate: 1024 * limit.MiB, // of the measured memory of one turn (peak 244 MiB), with room for the build or test that it starts
	Source:          "measured: 1.5.47", Compacts: true, plan: planContinue,
	Resume: "cn --resume",
})

// planContinue refuses. The command line of Continue, measured, takes an address only by apiBase of a model in its YAML; there is no
// variable, and --config replaces the user's whole file.
func planContinue(w *planner) {
	w.refuse("Continue takes an address only by apiBase of a model in its config.yaml; give it the address of plimsoll serve there")
}
