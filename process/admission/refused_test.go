package admission_test

import (
	"testing"

	"github.com/plimsoll/plimsoll/process/admission"
)

func TestToolTable(t *testing.T) {
	for tool, want := range map[string]string{"claude": "[tools.claude]", "build.py": `[tools."build.py"]`, "a b": `[tools."a b"]`} {
		if got := admission.ToolTable(tool); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}
