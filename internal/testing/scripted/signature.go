package scripted

import (
	"encoding/json"
	"fmt"

	"github.com/plimsoll/plimsoll/internal/modelserver"
)

// checkSignatures refuses thinking that was changed, in the messages behind the last one
// that is the user's own: those are the turn that is still running.
func checkSignatures(r *Request) error {
	for i := len(r.list) - 1; i >= 0; i-- {
		var e struct {
			Role    string
			Content []struct{ Type, Thinking, Signature string }
		}
		if json.Unmarshal(r.list[i], &e) != nil {
			return nil // a plain text of the user
		}
		own := e.Role == "user"
		for k, b := range e.Content {
			if b.Type == "thinking" && b.Signature != modelserver.Sign(b.Thinking) {
				return deny(CauseSignature, fmt.Sprintf("messages.%d.content.%d: Invalid `signature` in `thinking` block", i, k))
			}
			own = own && b.Type != "tool_result"
		}
		if own {
			return nil
		}
	}
	return nil
}
