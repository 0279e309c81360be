package lab

import "github.com/plimsoll/plimsoll/tools/builtin"

// Options configure the tools.
type Options struct {
	// Hog is the program, with its arguments, that runs Hog: without it there is no tool hog.
	Hog []string
}

// Tools are the tools of the laboratory.
func Tools(o Options) []builtin.Tool { return nil }
