package client

import (
	"net/http"

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

// SpeakerOf reads what a request says of itself.
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

// Typed lists the parts of a message that a person typed, by their positions. Each of them is one text.
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
