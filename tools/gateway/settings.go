package gateway

import (
	"time"

	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/tools/result"
)

// Defaults of [Limits] and [Settings].
const (
	// DefaultReuse is how old a kept result may be that answers an identical call: long
	// enough for a model that asks the same again at once, short enough that nobody works
	// with what has long changed.
	DefaultReuse = 30 * time.Second
	// DefaultMaxSearch is the number of matches beyond which a search is an error that says
	// how to narrow it.
	DefaultMaxSearch = 1000
	// MaxPageItems is the largest page_size for items that are not lines.
	MaxPageItems = 100
)

// Limits are what may differ from tool to tool. Zero values mean the defaults.
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
	// Early is how long a large result may be on its way before its first page is
	// delivered; 0 waits for the end.
	Early time.Duration
	// Reuse is how old a kept result may be that answers an identical call; 0 means
	// DefaultReuse, below 0 none does.
	Reuse time.Duration
	// Timeout is how long a call may go without an answer or progress; 0 is no bound.
	Timeout time.Duration
	// Schema is what becomes of the tools' output schemas.
	Schema SchemaMode
	// Augment gives tools that list optional page, page_size and filter arguments.
	Augment bool
}

// SchemaMode is what becomes of a tool's outputSchema in the list of tools, and with it of structuredContent in a result
// that is paged. A result that is not paged passes as it is in each mode.
type SchemaMode uint8

const (
	// RelaxSchema takes out of a schema what forbids a page, and nothing else. Pages have a structuredContent that
	// validates against what is left.
	RelaxSchema SchemaMode = iota
	// KeepSchema leaves schemas as they are. A result of which no page validates keeps its whole structuredContent,
	// beside a page of text.
	KeepSchema
	// StripSchema takes schemas out. Pages have no structuredContent.
	StripSchema
)

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

// limitsOf gives the limits of a tool, with the defaults filled in.
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
	if l.Reuse == 0 {
		l.Reuse = DefaultReuse
	}
	return l
}

func (s *Settings) maxSearch() int {
	if s.MaxSearch <= 0 {
		return DefaultMaxSearch
	}
	return s.MaxSearch
}

// allows says whether a tool of this name may be used, leaving aside what it does.
func (s *Settings) allows(tool string) bool {
	return (len(s.Allow) == 0 || matchesAny(s.Allow, tool)) && !matchesAny(s.Deny, tool)
}

// restrictsTools says whether some tool may have to be kept from the client.
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
