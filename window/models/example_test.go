package models_test

import (
	"fmt"

	"github.com/plimsoll/plimsoll/window/models"
)

func ExampleResolver() {
	x := models.NewResolver(models.Options{}) // Options.Dir would keep what is learned
	const upstream, model = "anthropic", "claude-sonnet-4-5-20250929"
	w := x.Window(upstream, model, nil)
	fmt.Println(w.Context, w.Source)

	// A refusal named another limit.
	x.Learn(upstream, model, nil, 180_000, true)
	w = x.Window(upstream, model, nil)
	fmt.Println(w.Context, w.Source, w.ForInput(20_000))
	// Output:
	// 200000 catalogue
	// 180000 learned 160000
}
