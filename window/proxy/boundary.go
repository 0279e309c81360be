package proxy

import (
	"github.com/plimsoll/plimsoll/window/topic"
	"github.com/plimsoll/plimsoll/window/wire"
)

// reasonTopic is the reason of a compaction between two tasks.
const reasonTopic = "topic"

// boundary returns the place where one task of the conversation ends and another begins, if the request stands there and is near enough to
// the trigger, or over it. A request that is none of the conversation with the user stands at none. The request is looked at as the client
// sent it: what was cut or added before hides no boundary.
func (t *conversation) boundary(over bool) (topic.Boundary, bool) {
	lines := t.lines()
	if lines.Topic <= 0 || !over && !lines.Near(t.in) || t.speak().Side {
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

// sign returns the sign of the boundary at which a compaction was made; "" for one that was made for another reason.
func (t *conversation) sign(reason string) string {
	if reason != reasonTopic {
		return ""
	}
	return string(t.standing)
}
