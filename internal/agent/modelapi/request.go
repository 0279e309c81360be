package modelapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strings"
)

// Member is one member of a JSON object.
type Member struct {
	Name  string
	Value any
}

// Body writes the object of a request. head is an object, in pieces, whose members come first; none stands for an empty one. Then come
// members in their order, without those that are nil. A value in extra replaces the member of that name; the rest of extra follows,
// sorted by name.
func Body(members []Member, extra map[string]json.RawMessage, head ...[]byte) ([]byte, error) {
	var b bytes.Buffer
	size := 512
	for _, piece := range head {
		size += len(piece)
	}
	b.Grow(size)
	for _, piece := range head {
		b.Write(piece)
	}
	if b.Len() == 0 {
		b.WriteByte('{')
	} else {
		b.Truncate(b.Len() - 1) // its closing brace
	}
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // < and > go as they are
	put := func(name string, value any) error {
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		for i, v := range [...]any{name, value} {
			if i > 0 {
				b.WriteByte(':')
			}
			if err := enc.Encode(v); err != nil {
				return err
			}
			b.Truncate(b.Len() - 1) // the line's end
		}
		return nil
	}
	written := map[string]bool{}
	for _, m := range members {
		value := m.Value
		if own, ok := extra[m.Name]; ok {
			value = own
			written[m.Name] = true
		}
		if value == nil {
			continue
		}
		if err := put(m.Name, value); err != nil {
			return nil, err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(extra)) {
		if written[name] {
			continue
		}
		if err := put(name, extra[name]); err != nil {
			return nil, err
		}
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// Split divides the members that the user has set for requests into those with one of the names, which replace the adapter's own, and all
// others. It drops messages and stream, which users may not set.
func Split(extra map[string]json.RawMessage, names ...string) (of, others map[string]json.RawMessage) {
	of, others = map[string]json.RawMessage{}, map[string]json.RawMessage{}
	for name, value := range extra {
		switch {
		case name == "messages" || name == "stream":
		case slices.Contains(names, name):
			of[name] = value
		default:
			others[name] = value
		}
	}
	return of, others
}

// Post sends a request to a path below the base URL. own are the headers of the protocol; header are those that the user set, which win.
func (x *Exchange) Post(path string, body []byte) (*Answer, error) {
	req, err := http.NewRequestWithContext(x.ctx, http.MethodPost, strings.TrimRight(x.e.base, "/")+"/"+path, bytes.NewReader(body))
	if err != nil {
		return nil, x.Failure(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("User-Agent", "plimsoll")
	for _, list := range x.e.headers {
		for name, value := range list {
			req.Header.Set(name, value)
		}
	}
	res, err := x.Do(req)
	if err != nil {
		return nil, x.Failure(err)
	}
	return x.Answer(res)
}

// Decode reads what a provider sent into v, as far as it has the expected types. A member of another type counts as absent, because
// servers that only resemble the protocol send such.
func Decode(data []byte, v any) error {
	err := json.Unmarshal(data, v)
	if _, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return nil
	}
	return err
}

// Count is a number of tokens as servers write it: also with a fraction, or far too large.
type Count int64

// UnmarshalJSON reads anything that is not a number as 0.
func (c *Count) UnmarshalJSON(raw []byte) error {
	var f float64
	if json.Unmarshal(raw, &f) != nil {
		f = 0
	}
	*c = Count(min(max(f, -1), maxTokens))
	return nil
}
