package client

import (
	"net/http"
	"strings"
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
