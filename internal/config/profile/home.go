package profile

import "path/filepath"

// Home locates the user's files for an agent.
type Home struct {
	// Dir is the user's home, absolute; "" when there is none.
	Dir string
	// Work is the folder that the agent starts in, for relative paths; "" if it is not known, and then those are ignored.
	Work string
	// Get looks up a variable of the agent's environment.
	Get func(name string) string
}

// path returns a path below the home directory; "" without a home.
func (h Home) path(elements ...string) string {
	if h.Dir == "" {
		return ""
	}
	return filepath.Join(append([]string{h.Dir}, elements...)...)
}

// folder returns the folder that a variable names, made absolute, else usual.
func (h Home) folder(variable, usual string) string {
	switch dir := h.Get(variable); {
	case filepath.IsAbs(dir):
		return dir
	case dir != "" && h.Work != "":
		return filepath.Join(h.Work, dir)
	}
	return usual
}

// settings returns the user's folder of settings by the rules of XDG.
func (h Home) settings() string { return h.folder("XDG_CONFIG_HOME", h.path(".config")) }

// joinBelow returns a path below a folder; "" if folder is "".
func joinBelow(folder string, elements ...string) string {
	if folder == "" {
		return ""
	}
	return filepath.Join(append([]string{folder}, elements...)...)
}
