package modelapi

import (
	"errors"
	"fmt"
	"strings"

	"github.com/plimsoll/plimsoll/agent"
)

// maxTokens is more than any request has; some servers report absurd numbers.
const maxTokens = 1 << 40

// Usage returns a provider's count. Input includes cached tokens.
func Usage(input, cached, output int64) agent.Usage {
	sane := func(n int64) int { return int(min(max(n, 0), maxTokens)) }
	return agent.Usage{Input: sane(input), Cached: min(sane(cached), sane(input)), Output: sane(output)}
}

// CheckHeader returns the error of a key or headers that can't be sent. The values are not repeated.
func CheckHeader(key string, header map[string]string) error {
	unfit := func(s string) bool {
		return strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
	}
	if unfit(key) || strings.ContainsAny(key, " \t") {
		return errors.New("the key has a space or a control character in it; was more than the key copied?")
	}
	for name, value := range header {
		if name == "" || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune(`()<>@,;:\"/[]?={}`, r) }) {
			return fmt.Errorf("the header %q has no name that can be sent", name)
		}
		if unfit(value) {
			return fmt.Errorf("the value of the header %q has a control character in it", name)
		}
	}
	return nil
}
