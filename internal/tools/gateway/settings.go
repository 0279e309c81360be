package gateway

import (
	"time"

	"github.com/plimsoll/plimsoll/internal/tools/result"
	"github.com/plimsoll/plimsoll/limit"
)

// Defaults of [Limits] and [Settings].
const (
	// DefaultMaxSearch is the default number of matches beyond which a search is an error that says how to narrow it.
	DefaultMaxSearch = 1000
	// MaxPageItems is the largest page_size for items that are not lines.
	MaxPageItems = 100
)

// Limits are the settings that may differ from tool to tool. Zero values mean the defaults.
type Limits struct {
	// Cap is the size in bytes up to which a result's text reaches the client whole; 0 means the client's cap (see [ProfileOf]), below 0
	// there is no bound.
	Cap limit.Bytes
	// MaxItems is the length up to which a JSON list is not paged if its size allows; a longer list is paged however small it is. 0 means
	// result.DefaultMaxItems, below 0 lists are not counted.
	MaxItems int
	// PageItems is the number of items on a page; 0 means result.DefaultPageItems.
	PageItems int
	// MaxMedia bounds images and other media in bytes; 0 means result.DefaultMaxMedia.
	MaxMedia limit.Bytes
	// MaxResult bounds a message from the server in bytes; 0 means result.DefaultMaxFrame.
	MaxResult limit.Bytes
	// Early bounds the wait for the end of a large result: then its first page is delivered while the rest still comes. 0 waits for the
	// end.
	Early time.Duration
	// Timeout bounds the time that a call may take without an answer or progress; 0 is no bound.
	Timeout time.Duration
}

// Settings are the policy of one server.
type Settings struct {
	Limits
	// Tools are the limits of single tools, by the server's names for them. They replace Limits as a whole.
	Tools map[string]Limits
	// Allow and Deny are patterns of tool names, in which * stands for any text. An empty Allow allows all; Deny overrides Allow.
	Allow, Deny []string
	// Unlisted are the tools that are not listed and may still be called: a rarely used tool costs a model tokens in each of its requests.
	Unlisted []string
	// ReadOnly hides and refuses tools that do not declare that they change nothing (annotations.readOnlyHint).
	ReadOnly bool
	// MaxSearch bounds the matches of one search; 0 means DefaultMaxSearch.
	MaxSearch int
}

// limitsOf returns the limits of a tool, with the defaults for items and media filled in. In the result MaxItems is 0 if lists are not
// counted.
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

// allows reports whether Allow and Deny permit a tool of this name; ReadOnly is not considered.
func (s *Settings) allows(tool string) bool {
	return (len(s.Allow) == 0 || matchesAny(s.Allow, tool)) && !matchesAny(s.Deny, tool)
}

// restrictsTools reports whether the settings may forbid a tool.
func (s *Settings) restrictsTools() bool { return s.ReadOnly || len(s.Allow) > 0 || len(s.Deny) > 0 }

func matchesAny(patterns []string, name string) bool {
	for _, p := range patterns {
		if glob(p, name) {
			return true
		}
	}
	return false
}

// glob reports whether name matches pattern, in which * stands for any text, / included, and every other byte for itself (also brackets and
// question marks, which tools may have in their names).
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
