package main

import (
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"plimsoll": main})
}

// TestScripts runs one script per user story; -update of a golden file is testscript's own
// UpdateScripts, off here because the scripts match by pattern.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{Dir: "testdata/script"})
}
