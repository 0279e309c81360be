package a2a

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	sdk "github.com/a2aproject/a2a-go/v2/a2a"
)

// question returns a message as one text for an agent. Data and text files are quoted, other files only described, so that the agent knows
// of them.
func question(m *sdk.Message) string {
	var parts []string
	for _, p := range m.Parts {
		name := "a file"
		if p.Filename != "" {
			name = fmt.Sprintf("the file %q", clipText(p.Filename, maxID))
		}
		kind := p.MediaType
		if kind == "" {
			kind = "of unknown type"
		}
		switch c := p.Content.(type) {
		case sdk.Text:
			parts = append(parts, string(c))
		case sdk.Data:
			text, err := json.Marshal(c.Value)
			if err != nil {
				text = []byte("that can't be written as JSON")
			}
			parts = append(parts, "Data that came with the message:\n"+string(text))
		case sdk.Raw:
			if utf8.Valid(c) && (p.MediaType == "" || strings.HasPrefix(p.MediaType, "text/") || strings.HasPrefix(p.MediaType, "application/json")) {
				parts = append(parts, fmt.Sprintf("Text that came with the message as %s:\n%s", name, c))
				continue
			}
			parts = append(parts, fmt.Sprintf("[With the message came %s, %s, %d bytes. Its content can't be read here.]", name, clipText(kind, 64), len(c)))
		case sdk.URL:
			parts = append(parts, fmt.Sprintf("[With the message came %s, %s, at %s. It was not fetched.]", name, clipText(kind, 64), clipText(string(c), int(maxURL))))
		}
	}
	return strings.Join(parts, "\n\n")
}
