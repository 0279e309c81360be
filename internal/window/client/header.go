package client

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/config/profile"
)

// Subscription reports whether a request shows the login of a person's subscription, and no API key: the providers give that to their own
// clients for their own requests, and count what it does against the person's allowance.
//
// Anthropic's begin with sk-ant-oat and come with the beta oauth-2025-04-20 (Claude Code 2.1); OpenAI's are signed tokens
// (Codex 0.169 with a ChatGPT login), whose keys begin with sk-.
func Subscription(h http.Header) bool {
	for _, line := range h.Values("Anthropic-Beta") {
		if strings.Contains(line, "oauth-") {
			return true
		}
	}
	token, ok := strings.CutPrefix(h.Get("Authorization"), "Bearer ")
	if !ok {
		return false
	}
	return strings.HasPrefix(token, "sk-ant-oat") || strings.HasPrefix(token, "eyJ") || h.Get("Chatgpt-Account-Id") != ""
}

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
