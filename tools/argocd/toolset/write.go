package toolset

import "github.com/plimsoll/plimsoll/tools/builtin"

// writeTools change something.
func (t *Toolset) writeTools() []builtin.Tool { return nil }
