package tokens_test

import (
	"fmt"
	"log"

	"github.com/plimsoll/plimsoll/window/tokens"
	"github.com/plimsoll/plimsoll/window/wire"
)

func ExampleEncoding_Count() {
	e := tokens.O200K()
	fmt.Println(e.Count([]byte("Hello, world!")))
	fmt.Println(e.CountLiteral([]byte(`"Hello,\u0020world!"`)))
	// Output:
	// 4
	// 4
}

func ExampleUsage() {
	counter, usage := tokens.NewCounter(tokens.Options{}), tokens.NewUsage(tokens.UsageOptions{})
	tally := func(body string) tokens.Tally {
		r, err := wire.Parse(wire.Messages, []byte(body))
		if err != nil {
			log.Fatal(err)
		}
		return counter.Tally(r, tokens.FamilyOf("anthropic", r.Model))
	}
	const scope = "a credential at an upstream"
	first := tally(`{"model":"claude-sonnet-4-5","messages":[{"role":"user","content":"Count to three."}]}`)
	usage.Report(scope, first, 13) // what the provider's answer said

	next := tally(`{"model":"claude-sonnet-4-5","messages":[{"role":"user","content":"Count to three."},
		{"role":"assistant","content":"One, two, three."},{"role":"user","content":"And back."}]}`)
	in := usage.Input(scope, next)
	over, sure := in.Over(160_000, 200_000)
	fmt.Println(in.Counted, in.Known, in.Low > 13, in.High < 60, over, sure)
	// Output:
	// usage 1 true true false true
}
