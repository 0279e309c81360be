package breaker_test

import (
	"fmt"

	"github.com/plimsoll/plimsoll/internal/window/breaker"
)

func ExampleBreaker() {
	b := breaker.New(breaker.Options{})
	for range 3 {
		for _, change := range b.Overflow("openai", "gpt-5") {
			fmt.Println(change.Model, change.State, change.Factor)
		}
	}
	state, _ := b.State("openai", "gpt-5")
	fmt.Println(state.Factor, state.Strict)
	// Output:
	// gpt-5 tripped 0.5
	// 0.5 true
}
