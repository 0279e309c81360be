package overflow_test

import (
	"fmt"

	"github.com/plimsoll/plimsoll/internal/window/overflow"
)

func ExampleClassify() {
	body := []byte(`{"type":"error","error":{"type":"invalid_request_error","message":` +
		`"input length and max_tokens exceed context limit: 189136 + 20000 > 204648, decrease input length or max_tokens and try again"}}`)
	o, ok := overflow.Classify(400, "application/json", body)
	fmt.Println(ok, o.Form, o.Limit, o.Actual, o.Output)
	fmt.Println("asking for less output is enough:", o.LowerOutput)
	// Output:
	// true anthropic.output 204648 189136 20000
	// asking for less output is enough: true
}
