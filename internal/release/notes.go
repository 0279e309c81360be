package main

import (
	"fmt"
	"strings"
)

// notes cuts the section of a version out of the changelog, without its heading; "" is what is not released yet.
func notes(changes []byte, version string) (string, error) {
	head := "Unreleased"
	if version = strings.TrimPrefix(version, "v"); version != "" {
		head = version
	}
	var out strings.Builder
	inside := false
	for line := range strings.Lines(string(changes)) {
		if title, ok := strings.CutPrefix(line, "## "); ok {
			name, _, _ := strings.Cut(strings.TrimSpace(title), " ") // a date may follow
			inside = strings.TrimPrefix(name, "v") == head
			continue
		}
		if inside {
			out.WriteString(line)
		}
	}
	text := strings.TrimSpace(out.String())
	if text == "" {
		return "", fmt.Errorf("CHANGELOG.md has no section \"## %s\", or nothing in it; rename the heading Unreleased in the commit that is tagged", head)
	}
	return text + "\n", nil
}
