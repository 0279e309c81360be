package wrap

import (
	"bytes"

	"github.com/plimsoll/plimsoll/internal/rawjson"
)

// insertFront puts strings at the beginning of an array whose bracket is right before open
// and which has n elements, in the manner of the array: on lines of their own where its
// elements have such.
func insertFront(data []byte, open, n int, values []string, quote func(string) []byte) rawjson.Edit {
	space := open
	for space < len(data) && bytes.IndexByte([]byte(" \t\r\n"), data[space]) >= 0 {
		space++
	}
	before := string(data[open:space])
	var b []byte
	for i, v := range values {
		switch {
		case before != "":
			b = append(b, before...)
		case i > 0:
			b = append(b, ' ')
		}
		b = append(b, quote(v)...)
		if i < len(values)-1 || n > 0 {
			b = append(b, ',')
		}
	}
	if before == "" && n > 0 {
		b = append(b, ' ')
	}
	return rawjson.Edit{Span: span{Start: open, End: open}, With: b}
}

// removeFront takes the first n strings of an array out: the inverse of insertFront.
func removeFront(data []byte, open int, places []span, n int) rawjson.Edit {
	end := places[n-1].End
	if len(places) > n {
		for end < places[n].Start && data[end] != ',' {
			end++
		}
		end++
		if places[0].Start == open && end < places[n].Start && data[end] == ' ' {
			end++
		}
	} else { // a comma behind the last one may not stand alone
		comma := end
		for comma < len(data) && bytes.IndexByte([]byte(" \t\r\n"), data[comma]) >= 0 {
			comma++
		}
		if comma < len(data) && data[comma] == ',' {
			end = comma + 1
		}
	}
	return rawjson.Edit{Span: span{Start: open, End: end}}
}
