package result

import (
	"encoding/json"
	"fmt"
)

// structuredPart is the structuredContent that is delivered, nil for none. Where clients
// were told an outputSchema and nothing fits it, refused says so: a client that validates
// would else throw the whole result away, with an error of its own.
func (s *spoolWriter) structuredPart(v *View) (raw []byte, refused string) {
	if !s.hasStruct {
		return nil, ""
	}
	if s.structured != nil && !json.Valid(s.structured) {
		s.structured = nil
	}
	if s.o.Schema == nil {
		if v == nil {
			return s.structured, ""
		}
		return nil, ""
	}
	if s.prescan.failed {
		return nil, "" // an error needs none
	}
	var why error
	if s.structured != nil {
		if why = s.validates(s.structured); why == nil {
			return s.structured, ""
		}
	}
	if v != nil && v.Page.JSON {
		if why = s.validates(v.Page.Text); why == nil {
			return v.Page.Text, ""
		}
	}
	reason := "the document that is kept is no JSON"
	if why != nil {
		reason = shorten(why.Error(), 200)
	}
	return nil, "[plimsoll] No part of structuredContent that fits the bounds validates against the tool's outputSchema (" +
		reason + "), so it is left out. The call itself succeeded: the data is above and under the handle."
}

func (s *spoolWriter) validates(text []byte) error {
	var value any
	if err := json.Unmarshal(text, &value); err != nil {
		return fmt.Errorf("it is no JSON: %w", err)
	}
	return s.o.Schema.Validate(value)
}
