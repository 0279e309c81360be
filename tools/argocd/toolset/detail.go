package toolset

import "github.com/plimsoll/plimsoll/tools/builtin"

// detailTools read single objects and what belongs to them.
func (t *Toolset) detailTools() []builtin.Tool { return nil }
