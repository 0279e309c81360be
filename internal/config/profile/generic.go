package profile

// Generic is for programs without a profile of their own, to be used only when the user asks for a proxy.
var Generic = &Agent{Name: "generic", Title: "the program", Source: "documentation", Clouds: true, plan: planGeneric}

// GenericNames lists, for people, the variables from which an unknown program may take its provider's address.
const GenericNames = "OPENAI_BASE_URL, ANTHROPIC_BASE_URL or " + geminiBase

// planGeneric sets the variables that the client libraries of the three providers read, and OPENAI_API_BASE, the older name that many
// programs still use.
func planGeneric(w *planner) {
	w.redirectVariable("OPENAI_BASE_URL", "openai", "openai")
	if w.get("OPENAI_API_BASE") == "" && w.get("OPENAI_BASE_URL") != "" && w.out.Why == "" {
		// One address under both names, as the newer one says.
		w.set("OPENAI_API_BASE", w.out.Env[len(w.out.Env)-1].Value)
	} else {
		w.redirectVariable("OPENAI_API_BASE", "openai", "openai")
	}
	w.redirectVariable("ANTHROPIC_BASE_URL", "anthropic", "anthropic")
	w.redirectVariable(geminiBase, "gemini", "gemini")
}
