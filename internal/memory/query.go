package memory

import (
	"slices"
	"time"
)

// Bounds of a [Query] and of a [Filter].
const (
	DefaultLimit = 8
	MaxLimit     = 200
	MaxQuery     = 4 << 10 // bytes of a query's text that are looked at
)

// Query describes a search.
type Query struct {
	// Text is a question or some words. All words but stop words are searched for; none of them must be there.
	Text string
	// Namespaces are searched; none means all.
	Namespaces []string
	// Scope is the scope of the credential that asks: only records of this scope, and those without one, are found.
	Scope string
	// AllScopes finds records of every scope. It is for the owner of the disk.
	AllScopes bool
	Kinds     []Kind   // none means all
	Origins   []Origin // none means all
	// AsOf asks for the facts that counted at a time; the zero time means now.
	AsOf time.Time
	// Since and Until bound the time when the words were said; Until is exclusive. Zero times mean no bound.
	Since, Until time.Time
	Limit        int // (DefaultLimit), at most MaxLimit
	Offset       int
	// Alone has the matches of the turns beside a passage not count for it.
	Alone bool
	// Loose finds only what a person stated: records of origin user, of what was kept of conversations not the questions and orders. For words that
	// none of them has it finds those that are nearly the same: a letter off, shortened (kube, k8s) or initials (DLQ). It looks at the own words of
	// records only, and has the answer say how many hold each word.
	Loose bool
}

// Item is a record that was found.
type Item struct {
	Record
	// Score is comparable within one search only; more is better.
	Score float64 `json:"score"`
	// Replaced is the record whose place this one has taken: it was said later, of the same thing. nil if there is none.
	Replaced *Replaced `json:"replaced,omitempty"`
	// ReplacedBy is the id of the record that has taken its place, and stands before it; "" if there is none.
	ReplacedBy string `json:"replaced_by,omitempty"`
}

// Replaced is a record whose place a newer one has taken.
type Replaced struct {
	ID   string    `json:"id"`
	Text string    `json:"text"`
	Said time.Time `json:"said"`
}

// Results are the records that a search found, the best first.
type Results struct {
	Items []Item `json:"items"`
	// Total is the number of matches of which Items are a page.
	Total  int `json:"total"`
	Offset int `json:"offset"`
	// WordsOnly says in one line why the search by meaning failed. It is "" when that worked, or is not set up, or no vectors exist.
	WordsOnly string `json:"words_only,omitempty"`
	// StatementsWith is, after a [Query.Loose] search, the number of statements that have each term of the query, and Statements that of all statements
	// searched.
	StatementsWith map[string]int `json:"-"`
	Statements     int            `json:"-"`
}

// Filter selects the records for which all its conditions hold. An empty field means no condition.
type Filter struct {
	IDs          []string
	Namespaces   []string
	Scope        string // with AllScopes unset: records of this scope and of none
	AllScopes    bool
	Kinds        []Kind
	Origins      []Origin
	Conversation string
	Run          string
	File         string    // of the source, whole
	Since, Until time.Time // when it was said; Until is exclusive
	// Quarantined selects records that wait for a person's approval (true) or that do not (false); nil selects both.
	Quarantined *bool
	// All confirms that a filter without any condition is meant to match everything. Forget requires that.
	All bool

	// The page of List.
	Limit  int // (DefaultLimit), at most MaxLimit
	Offset int
	Oldest bool // the oldest first, not the newest
}

// Page is a part of the records that a filter matches.
type Page struct {
	Records []Record `json:"records"`
	Total   int      `json:"total"`
	Offset  int      `json:"offset"`
}

// hasCondition reports whether a filter has a condition besides its scope's absence. All and the page do not count.
func (f *Filter) hasCondition() bool {
	return len(f.IDs) > 0 || len(f.Namespaces) > 0 || f.Scope != "" || len(f.Kinds) > 0 || len(f.Origins) > 0 || f.Conversation != "" ||
		f.Run != "" || f.File != "" || !f.Since.IsZero() || !f.Until.IsZero() || f.Quarantined != nil
}

// matches reports whether a record fulfils the conditions of a filter, except for Namespaces, which the caller has checked.
func (f *Filter) matches(r *Record) bool {
	switch {
	case len(f.IDs) > 0 && !slices.Contains(f.IDs, r.ID),
		!f.AllScopes && r.Scope != "" && r.Scope != f.Scope,
		len(f.Kinds) > 0 && !slices.Contains(f.Kinds, r.Kind),
		len(f.Origins) > 0 && !slices.Contains(f.Origins, r.Origin),
		f.Conversation != "" && r.Source.Conversation != f.Conversation,
		f.Run != "" && r.Source.Run != f.Run,
		f.File != "" && r.Source.File != f.File,
		!f.Since.IsZero() && r.Said.Before(f.Since),
		!f.Until.IsZero() && !r.Said.Before(f.Until),
		f.Quarantined != nil && r.Quarantined != *f.Quarantined:
		return false
	}
	return true
}

// pageBounds returns the bounds of a page of n items. limit 0 means DefaultLimit, and at most MaxLimit are returned.
func pageBounds(n, limit, offset int) (from, to int) {
	if limit <= 0 {
		limit = DefaultLimit
	}
	from = min(max(offset, 0), n)
	return from, min(from+min(limit, MaxLimit), n)
}
