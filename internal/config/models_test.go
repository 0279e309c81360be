package config_test

import (
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/config"
)

func TestModels(t *testing.T) {
	w := newWorld(t)
	w.user("[models.\"gpt-5.9\"]\ncontext = 1000000\noutput = 64000\n[models.'vendor/Odd-1']\ncontext = 32768\n")
	s := w.settings("").Window.Models
	if len(s) != 2 || s[0].Name != "gpt-5.9" || s[0].Context != 1_000_000 || s[0].Output != 64_000 || s[1].Name != "vendor/Odd-1" || s[1].Context != 32_768 || s[1].Output != 0 {
		t.Errorf("%+v", s)
	}
	w = newWorld(t)
	w.user("[models.\"some/model\"]\ninput_price = 3.0\ncached_price = 0.3\noutput_price = 15\n[models.\"plain\"]\ncontext = 10000\n")
	list := w.must().Models()
	if len(list) != 2 || list[0].ModelPrices != (config.ModelPrices{}) || list[1].ModelPrices != (config.ModelPrices{Input: 3, Cached: 0.3, Output: 15}) {
		t.Errorf("%+v", list)
	}
	for text, want := range map[string]string{
		"[models.\"a\"]\ninput_price = -1\n":  "out of range",
		"[models.gpt-5.9]\ncontext = 1000\n":  "stands in quotes",
		"[models.\"a\"]\ncontext = 10\n":      "out of range",
		"[models.\"a\"]\nwindow = 10000\n":    "write context, output or a price",
		"[models]\na = 5\n":                   "not a table",
		"[models.\"a b\"]\ncontext = 10000\n": "is not the name of a model",
	} {
		w := newWorld(t)
		w.user(text)
		if _, err := w.load(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v; want %s", text, err, want)
		}
	}
}
