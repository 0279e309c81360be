package core

import (
	"strings"

	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/window/models"
)

// Overrides returns the windows that the user has set.
func Overrides(w config.WindowSettings) models.Overrides {
	o := models.Overrides{Provider: w.Provider, Max: max(w.MaxTokens, 0), ByProvider: w.ProviderTokens}
	for _, m := range w.Models {
		if o.ByModel == nil {
			o.ByModel = map[string]models.ModelOverride{}
		}
		o.ByModel[strings.ToLower(m.Name)] = models.ModelOverride{Context: m.Context, Output: m.Output}
	}
	return o
}
