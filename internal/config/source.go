package config

import (
	"fmt"
	"slices"
)

// Origin is one of the places a value can come from.
type Origin string

// The origins, each overriding those before it.
const (
	OriginDefault     Origin = "default"
	OriginProfile     Origin = "profile"
	OriginUser        Origin = "user"
	OriginProject     Origin = "project"
	OriginEnvironment Origin = "environment"
	OriginFlag        Origin = "flag"
)

// origins is the order of precedence, the weakest first.
var origins = []Origin{OriginDefault, OriginProfile, OriginUser, OriginProject, OriginEnvironment, OriginFlag}

func (o Origin) rank() int { return slices.Index(origins, o) }

// Source is the place a value comes from.
type Source struct {
	Origin Origin `json:"origin"`
	File   string `json:"file,omitempty"`   // of the user and project origins
	Line   int    `json:"line,omitempty"`   // from 1
	Column int    `json:"column,omitempty"` // from 1, in bytes
	Name   string `json:"name,omitempty"`   // the variable, the flag or the profile
}

// String returns file:line:column, the name of the variable or flag, "built-in profile NAME", or "default".
func (s Source) String() string {
	switch {
	case s.File != "" && s.Line == 0:
		return s.File
	case s.File != "":
		return fmt.Sprintf("%s:%d:%d", s.File, s.Line, s.Column)
	case s.Origin == OriginProfile:
		return "built-in profile " + s.Name
	case s.Name != "":
		return s.Name
	}
	return string(s.Origin)
}
