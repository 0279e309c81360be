package profile

import "github.com/plimsoll/plimsoll/limit"

// Kilo grew from opencode, and takes the address and servers as that does, under names of its own. Its own service, which a login leads to,
// goes around the proxy.
var _ = add(Agent{
	Name: "kilo", Title: "Kilo", Aliases: []string{"kilocode"}, Packages: []string{"@kilocode/cli"},
	InitialEstimate: 1536 * limit.MiB, // of the measured memory of one turn (peak 719 MiB), with room for the build or test that it starts
	Source:          "measured: 7.7.7", Compacts: true, plan: kiloNames.plan,
	Resume: "kilo --continue",

	ServerFiles: kiloNames.user,
	ServerNames: []string{"/kilo.json", "/kilo.jsonc"},
	Servers:     kiloNames.servers,

	UserAgent: "Kilo-Code/",
})

var kiloNames = openCodeForm{
	variables: "KILO", folder: "kilo", files: []string{"config.json", "kilo.json", "kilo.jsonc", "opencode.json", "opencode.jsonc"},
	project: []string{
		"opencode.json", "opencode.jsonc", "kilo.json", "kilo.jsonc", ".kilocode/opencode.json", ".kilocode/opencode.jsonc",
		".kilocode/kilo.json", ".kilocode/kilo.jsonc", ".kilo/opencode.json", ".kilo/opencode.jsonc", ".kilo/kilo.json", ".kilo/kilo.jsonc",
	},
}
