// Package client finds out from a model request who sent it: which agent, whether a person typed its prompts, whether it shows the
// login of a subscription, and how long its client waits.
//
//	s := client.SpeakerOf(header, request)
//	for _, part := range s.Typed(request, message) { … } // what a person typed
//
// What is known of each agent stands in package internal/config/profile. Everything here is a value without state, for any number of
// goroutines; the tests replay sessions that were recorded with the real agents.
package client

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/config/profile"
	"github.com/plimsoll/plimsoll/window/wire"
)

// A Speaker knows whose words the user messages of one client's requests are. The role says little: results of tools,
// reminders, contents of files, expanded commands and the tasks of sub-agents share it. Only what the client's own form proves to
// have been typed by a person counts as that.
//
// The forms stand with what else is known of each agent ([profile.Agent]). They were read off recorded sessions at a terminal
// (testdata/sessions). Whoever holds the proxy's token can imitate them: the proof is against what stands in a conversation, not
// against another program of the user.
type Speaker struct {
	// Client is the name of the profile, "" for a client that is not known.
	Client string
	profile.Origin
}

// SpeakerOf returns what a request's headers and contents tell about who speaks; the zero Speaker for an unknown client.
func SpeakerOf(h http.Header, r *wire.Request) Speaker {
	a, ok := profile.OfUserAgent(h.Get("User-Agent"))
	if !ok {
		return Speaker{}
	}
	s := Speaker{Client: a.Name, Origin: profile.Origin{Side: len(r.Tools) == 0}}
	if a.Speaks != nil {
		s.Origin = a.Speaks(profile.Request{Header: h.Get, Tools: len(r.Tools), System: func() (string, bool) {
			if len(r.System) == 0 || len(r.System[0].Texts) == 0 || r.System[0].Span.Len() > profile.MaxSelfDescription {
				return "", false
			}
			return r.Words(&r.System[0]), true
		}})
	}
	return s
}

// Typed returns the indices of the parts of a message that a person typed. It is nil if the client's form does not prove any.
func (s Speaker) Typed(r *wire.Request, message int) []int {
	m := &r.Messages[message]
	a, known := profile.Find(s.Client)
	if !known || a.Typed == nil || !s.Person || m.Role != wire.RoleUser {
		return nil
	}
	said := make([]profile.Said, len(m.Parts))
	for i := range m.Parts {
		p := &m.Parts[i]
		switch p.Kind {
		case wire.Result, wire.Call, wire.Other:
			return nil // beside a result stands what the client adds to it
		case wire.Media:
			said[i].Media = true
		case wire.Text:
			said[i] = profile.Said{Text: r.Words(p), Single: len(p.Texts) == 1, Bare: p.Raw.IsZero()}
		}
	}
	return a.Typed(said)
}

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

// Patience returns how long a request may be kept waiting for the first byte of its answer before its client gives up: as measured for a
// known client, and at most half of the timeout that a client names.
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
