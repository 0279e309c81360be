package gateway

import (
	"time"

	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/tools/result"
)

// Defaults of [Limits] and [Settings].
const (
	// DefaultMaxSearch is the number of matches beyond which a search is an error that says
	// how to narrow it.
	DefaultMaxSearch = 1000
	// MaxPageItems is the largest page_size for items that are not lines.
	MaxPageItems = 100
)

// Limits are the settings that may differ from tool to tool. Zero values mean the defaults.
type Limits struct {
	// Cap is the text of one result in bytes that reaches the client whole; 0 goes by the
	// client (see [ProfileOf]), below 0 nothing is too large.
	Cap limit.Bytes
	// MaxItems is the longest JSON list that is not paged whatever its size; 0 means
	// result.DefaultMaxItems, below 0 lists are not counted.
	MaxItems int
	// PageItems is the number of items on a page; 0 means result.DefaultPageItems.
	PageItems int
	// MaxMedia bounds images and the like in bytes; 0 means result.DefaultMaxMedia.
	MaxMedia limit.Bytes
	// MaxResult bounds a message of the server in bytes; 0 means result.DefaultMaxFrame.
	MaxResult limit.Bytes
	// Early is the time a large result may take before its first page is
	// delivered; 0 waits for the end.
	Early time.Duration
	// Timeout bounds the time of a call without an answer or progress; 0 is no bound.
	Timeout time.Duration
}

// Settings are the policy of one server.
type Settings struct {
	Limits
	// Tools are the limits of single tools, by the names that the server has for them.
	// They stand in the place of Limits as a whole.
	Tools map[string]Limits
	// Allow and Deny are patterns of tool names with * for any text. Nothing in Allow
	// allows all; Deny is stronger.
	Allow, Deny []string
	// Unlisted are tools that are not shown and may be called by their names: what is rarely wanted costs a model tokens in each
	// of its requests.
	Unlisted []string
	// ReadOnly hides and refuses tools that do not say of themselves that they change
	// nothing (annotations.readOnlyHint).
	ReadOnly bool
	// MaxSearch bounds the matches of one search; 0 means DefaultMaxSearch.
	MaxSearch int
}

// limitsOf returns the limits of a tool, with the defaults filled in.
func (s *Settings) limitsOf(tool string) Limits {
	l, ok := s.Tools[tool]
	if !ok {
		l = s.Limits
	}
	switch {
	case l.MaxItems == 0:
		l.MaxItems = result.DefaultMaxItems
	case l.MaxItems < 0:
		l.MaxItems = 0
	}
	if l.PageItems <= 0 {
		l.PageItems = result.DefaultPageItems
	}
	l.PageItems = min(l.PageItems, MaxPageItems)
	if l.MaxMedia == 0 {
		l.MaxMedia = result.DefaultMaxMedia
	}
	return l
}

func (s *Settings) maxSearch() int {
	if s.MaxSearch <= 0 {
		return DefaultMaxSearch
	}
	return s.MaxSearch
}

// allows reports whether a tool of this name may be used, leaving aside what it does.
func (s *Settings) allows(tool string) bool {
	return (len(s.Allow) == 0 || matchesAny(s.Allow, tool)) && !matchesAny(s.Deny, tool)
}

// restrictsTools reports whether some tool may have to be kept from the client.
func (s *Settings) restrictsTools() bool { return s.ReadOnly || len(s.Allow) > 0 || len(s.Deny) > 0 }

func matchesAny(patterns []string, name string) bool {
	for _, p := range patterns {
		if glob(p, name) {
			return true
		}
	}
	return false
}

// glob matches a name with * for any text, / included, and every other byte for itself
// (no brackets, no question marks: tools may have them in their names).
func glob(pattern, name string) bool {
	star, from := -1, 0
	p, n := 0, 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, from = p, n
			p++
		case p < len(pattern) && pattern[p] == name[n]:
			p++
			n++
		case star >= 0: // let the last star take one byte more
			from++
			p, n = star+1, from
		default:
			return false
		}
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}
