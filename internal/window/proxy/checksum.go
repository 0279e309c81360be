package proxy

import (
	"bytes"

	"github.com/plimsoll/plimsoll/window/wire"
)

// withoutChecksum returns the body of an edited request without Claude Code's checksum.
//
// Towards Anthropic itself, Claude Code (2.1.197, watched) writes a checksum of each body
// into the first block of the system prompt: "x-anthropic-billing-header: …; cch=1a2b3;".
// Towards gateways it leaves that out. An edited body is no longer the one that was summed
// up, so it goes the way the tool itself writes it when it makes no such claim. It also
// changes with every turn, and without it the bodies between two compactions begin alike.
func withoutChecksum(r *wire.Request) []byte {
	if !summedUp(r) {
		return r.Body
	}
	span := r.System[0].Texts[0]
	literal := r.Raw(span)
	at := bytes.Index(literal, []byte(" cch="))
	if at < 0 {
		return r.Body
	}
	end := bytes.IndexByte(literal[at:], ';')
	if end < 0 || end > 32 {
		return r.Body
	}
	body, err := wire.Splice(r.Body, []wire.Edit{{Span: wire.Span{Start: span.Start + at, End: span.Start + at + end + 1}}})
	if err != nil {
		return r.Body
	}
	return body
}

// summedUp reports whether the system prompt begins with Claude Code's block that holds the checksum, which differs in every request.
func summedUp(r *wire.Request) bool {
	return len(r.System) > 0 && len(r.System[0].Texts) > 0 &&
		bytes.HasPrefix(r.Raw(r.System[0].Texts[0]), []byte(`"x-anthropic-billing-header:`))
}
