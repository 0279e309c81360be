package wrap

import (
	"bytes"

	"github.com/plimsoll/plimsoll/internal/rawjson"
)

// insertFront returns the edit that inserts strings at the beginning of an array, in the array's style: on lines of their own if its
// elements are. open is the offset behind the array's bracket, n the number of its elements.
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

// removeFront returns the edit that removes the first n strings of an array: the inverse of insertFront. places are the spans of all
// elements.
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
	} else { // a comma behind the last one must go too
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
