package lazy

import (
	"regexp"
	"sync"
)

// Regexp returns a regular expression that is compiled by its first use. One that does not
// compile panics there, so each wants a test that uses it.
//
//go:noinline
func Regexp(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
