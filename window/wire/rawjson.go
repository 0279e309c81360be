package wire

import "github.com/plimsoll/plimsoll/internal/rawjson"

// Unquote appends the text of a JSON string literal (quotes included) to dst. A lone half
// of a surrogate pair becomes U+FFFD, as encoding/json has it. Bytes that are no UTF-8,
// and escapes that JSON does not know, stay as they are.
func Unquote(dst, literal []byte) []byte { return rawjson.Unquote(dst, literal) }

// Quote appends text as a JSON string literal, quotes included: the shortest form, with
// nothing escaped but what JSON demands. Bytes that are no UTF-8 become U+FFFD.
func Quote[T string | []byte](dst []byte, text T) []byte { return rawjson.Quote(dst, text) }

// Edit puts With in place of the bytes of Span. An empty span inserts.
type Edit = rawjson.Edit

// Splice returns body with the edits made, in memory of its own. The edits are sorted by
// position and do not overlap; several may insert at one place, in their order.
func Splice(body []byte, edits []Edit) ([]byte, error) { return rawjson.Splice(body, edits) }
