package client

import (
	"net/http"
	"strconv"
	"time"

	"github.com/plimsoll/plimsoll/internal/config/profile"
)

// DefaultPatience is the time for which any client is taken to wait for the first byte of an answer. Some give up after 20 seconds.
const DefaultPatience = 15 * time.Second

// Patience returns how long a request may be kept waiting before the first byte of its answer, without its client giving it up: what was
// measured of a client that is known, and at most half of what a client says that it waits.
func Patience(h http.Header) time.Duration {
	patience := DefaultPatience
	if a, ok := profile.OfUserAgent(h.Get("User-Agent")); ok && a.Patience > 0 {
		patience = a.Patience
	}
	// The libraries of Anthropic and OpenAI tell it in seconds.
	if told, err := strconv.Atoi(h.Get("X-Stainless-Timeout")); err == nil && told >= 0 && told < 1e6 {
		patience = min(patience, time.Duration(told)*time.Second/2)
	}
	return patience
}
