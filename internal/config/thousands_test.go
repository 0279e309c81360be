package config

import (
	"strings"
	"testing"
)

// Tokens may be written by the thousand where a key says so, in a file and in the environment, and nowhere else.
func TestThousands(t *testing.T) {
	t.Parallel()
	tokens, _ := lookup("mcp", "tools_max", false)
	items, _ := lookup("mcp", "max_items", false)
	for _, c := range []struct {
		key  *Key
		in   written
		want any
	}{
		{tokens, written{form: formString, text: "8k"}, 8000},
		{tokens, written{form: formText, text: "8K"}, 8000},
		{tokens, written{form: formInt, text: "8_000"}, 8000},
		{tokens, written{form: formString, text: "k"}, nil},
		{tokens, written{form: formString, text: "8000"}, nil},
		{tokens, written{form: formString, text: "99999999999k"}, nil},
		{items, written{form: formString, text: "8k"}, nil},
		{items, written{form: formText, text: "8k"}, nil},
	} {
		got, err := c.key.parse(c.in, Alias{Name: c.key.Name})
		if c.want == nil && err == nil || c.want != nil && got != c.want {
			t.Errorf("%s = %+v: %v, %v", c.key.Name, c.in, got, err)
		}
	}
	// What is said of it is what was written.
	if _, err := tokens.parse(written{form: formText, text: "1k"}, Alias{Name: tokens.Name}); err == nil || !strings.Contains(err.Error(), "1k is out of range") {
		t.Errorf("1k: %v", err)
	}
}
