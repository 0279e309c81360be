package proxy

import (
	"github.com/plimsoll/plimsoll/internal/window/topic"
	"github.com/plimsoll/plimsoll/window/wire"
)

// reasonTopic is the reason of a compaction between two tasks.
const reasonTopic = "topic"

// boundary returns the place where one task of the conversation ends and another begins, if the request stands there; else false, and for
// a side request of the client. It looks at the client's request: what was cut or added hides no boundary.
func (t *conversation) boundary() (topic.Boundary, bool) {
	if t.speak().Side {
		return topic.Boundary{}, false
	}
	o := topic.Options{Idle: t.idle}
	if s := t.speak(); s.Person {
		o.Typed = func(r *wire.Request, message int) bool { return len(s.Typed(r, message)) > 0 }
	}
	b, ok := topic.Newest(t.received, o)
	t.standing = b.Sign
	return b, ok
}

// sign returns the sign by which the boundary was found at which a compaction for this reason was made; "" unless the reason is
// reasonTopic.
func (t *conversation) sign(reason string) string {
	if reason != reasonTopic {
		return ""
	}
	return string(t.standing)
}
