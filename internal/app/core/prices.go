package core

import (
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/window/models"
)

// PriceOf returns the price of a model at an upstream, false where it is not known.
type PriceOf func(upstream, model string) (models.Price, bool)

// Prices returns a function that returns the price of a model at an upstream: what the person has written in [models."NAME"], with or without
// the part of the name before the last slash, else what the catalogue has; false where neither has one. A price is never guessed.
func Prices(l *config.Loaded) PriceOf {
	written := slices.DeleteFunc(l.Models(), func(m config.ModelLimits) bool { return m.ModelPrices == (config.ModelPrices{}) })
	return func(upstream, model string) (models.Price, bool) {
		for _, name := range []string{model, model[strings.LastIndexByte(model, '/')+1:]} {
			for i := range written {
				if m := &written[i]; strings.EqualFold(m.Name, name) {
					return models.Price{Rate: models.Rate{Input: m.Input, Output: m.ModelPrices.Output, CacheRead: m.Cached}, Source: models.SourceConfig}, true
				}
			}
		}
		return models.LookupPrice(upstream, model)
	}
}
