package usage

import (
	"fmt"
	"strings"
	"time"
)

// variantMark stands between a tool and its variant in a file. A Plimsoll that knows no variants takes
// "make › test" for a tool, keeps it, and goes on under "make". So the schema is the same.
const variantMark = " › "

// maxVariant bounds a variant, in bytes.
const maxVariant = 100

// briefRun is the duration below which a run is taken for a question (a version, a help text)
// and not for work.
const briefRun = 2 * time.Second

func historyKey(tool, variant string) string {
	if variant == "" {
		return tool
	}
	return tool + variantMark + variant
}

func splitHistoryKey(name string) (tool, variant string) {
	tool, variant, _ = strings.Cut(name, variantMark)
	return tool, variant
}

func validVariant(variant string) error {
	if variant == "" {
		return nil
	}
	if len(variant) > maxVariant || strings.Contains(variant, variantMark) {
		return fmt.Errorf("%w: the variant %.40q has %d bytes; it must have at most %d, without %q", ErrInvalid, variant, len(variant), maxVariant, variantMark)
	}
	return validTool(variant)
}

// Variants returns the runs kept of a tool in a project by variant, each oldest first; nil when there are none. "" holds the runs without a
// variant, and those recorded before there were variants. A damaged file is treated as by [History.Runs].
func (h *History) Variants(projectKey, tool string) (map[string][]Run, error) {
	d, err := h.open(projectKey)
	if err != nil || d == nil {
		return nil, err
	}
	return d.variants(tool), nil
}

func (d *document) variants(tool string) map[string][]Run {
	found := map[string][]Run{}
	for _, s := range d.Tools {
		if of, variant := splitHistoryKey(s.Tool); of == tool {
			found[variant] = s.runs()
		}
	}
	return found
}
