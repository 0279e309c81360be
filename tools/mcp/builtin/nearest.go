package builtin

import (
	"fmt"

	"github.com/plimsoll/plimsoll/internal/nearest"
)

// maxShown bounds the part of a client's input that an error quotes, in bytes.
const maxShown = 80

// suggestion returns `, did you mean "x"?` for the known name that is most like name, and "" if none is.
func suggestion(name string, known []string) string {
	if near := nearest.Names(name, known, 1); len(near) > 0 {
		return fmt.Sprintf(", did you mean %q?", near[0])
	}
	return ""
}
