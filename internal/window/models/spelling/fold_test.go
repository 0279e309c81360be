package spelling_test

import (
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/window/models/spelling"
)

func TestFold(t *testing.T) {
	for name, want := range map[string]string{
		"claude-sonnet-4.5": "claude-sonnet-4-5", "Claude_Sonnet_4-5": "claude-sonnet-4-5", "Qwen/Qwen3.5:free": "qwen/qwen3-5-free",
		"": "", "ü": "--", strings.Repeat("x", 300): strings.Repeat("x", spelling.MaxName),
	} {
		if got := spelling.Fold(name); got != want {
			t.Errorf("Fold(%q) = %q, want %q", name, got, want)
		}
	}
}
