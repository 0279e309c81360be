package proxy

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
)

// search puts what one of Google's own tools was asked into the newest answer, the n-th: together with what it found, or alone
// where the answer calls tools of the client; then the next answer begins with what was found.
func (a *appender) search(r *rand.Rand, n int) {
	const form = `{"thoughtSignature":"c2ln","%s":{"id":"srv%d","toolType":"GOOGLE_SEARCH_WEB","%s":{"queries":["what is Halcyon?"]}}},`
	parts := ""
	if a.searching > 0 {
		parts = fmt.Sprintf(form, "toolResponse", a.searching, "response")
		a.searching = 0
	}
	switch how := r.IntN(4); {
	case how == 0 && len(a.open) > 0:
		parts += fmt.Sprintf(form, "toolCall", n, "args")
		a.searching = n
	case how == 1:
		parts += fmt.Sprintf(form, "toolCall", n, "args") + fmt.Sprintf(form, "toolResponse", n, "response")
	}
	last := &a.history[len(a.history)-1]
	*last = json.RawMessage(bytes.Replace(*last, []byte(`"parts":[`), []byte(`"parts":[`+parts), 1))
}
