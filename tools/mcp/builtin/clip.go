package builtin

import (
	"github.com/plimsoll/plimsoll/limit"
)

// clip cuts a text to at most maxBytes, between characters, and marks the cut.
func clip(text string, maxBytes int) string { return limit.Short(text, maxBytes) }
