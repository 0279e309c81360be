package jsonrpc

import (
	"bytes"
	"encoding/json"
	"testing"
)

func TestStartTellsWhatItCan(t *testing.T) {
	for _, test := range []struct {
		begin  string
		kind   Kind
		id     ID
		method string
		open   string
	}{
		{`{"jsonrpc":"2.0","id":7,"result":{"content":[{"ty`, Response, "7", "", "result"},
		{`{"result":{"content":"x`, Response, "", "", "result"},
		{` { "result" : [`, Response, "", "", "result"},
		{`{"result":{},"id":12`, Response, "", "", "id"},
		{`{"result":{},"id":12}`, Response, "12", "", ""},
		{`{"result":{},"id":"12"`, Response, `"12"`, "", ""},
		{`{"error":{"message":"`, Response, "", "", "error"},
		{`{"id":1,"method":"sampling/createMessage","params":{"a`, Request, "1", "sampling/createMessage", "params"},
		{`{"method":"notifications/x","params":{"a`, Notification, "", "notifications/x", "params"},
		{`{"method":"roots/list","params":{"a`, Invalid, "", "roots/list", "params"},
		{`{"method":"notifications/x","params":{}}`, Notification, "", "notifications/x", ""},
		{`{"method":"noti`, Invalid, "", "", "method"},
		{`{"meth`, Invalid, "", "", ""},
		{`hello`, Invalid, "", "", ""},
		{``, Invalid, "", "", ""},
	} {
		got := ScanStart([]byte(test.begin))
		if got.Head.Kind != test.kind || got.Head.ID != test.id || got.Head.Method != test.method || got.Open != test.open {
			t.Errorf("%s: %+v", test.begin, got)
		}
	}
}

// FuzzScan holds that a beginning never contradicts the whole message.
func FuzzScan(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":7,"result":{"a":[1,"}"]}}`), uint16(20))
	f.Add([]byte(`{"method":"x","params":{},"id":"a"}`), uint16(9))
	f.Fuzz(func(t *testing.T, message []byte, at uint16) {
		whole, err := Scan(message)
		begin := ScanStart(message[:min(int(at), len(message))])
		if err != nil || !json.Valid(message) {
			return
		}
		var fields map[string]json.RawMessage
		if json.Unmarshal(message, &fields) != nil || len(fields) != countKeys(message) {
			return // a key stands twice: the later one counts
		}
		if id := begin.Head.ID; id != "" && id != whole.ID {
			t.Fatalf("%q: the beginning has the id %q, the message %q", message, id, whole.ID)
		}
		if kind := begin.Head.Kind; kind == Request && kind != whole.Kind {
			t.Fatalf("%q: the beginning is of kind %d, the message of %d", message, kind, whole.Kind)
		}
	})
}

func countKeys(message []byte) int {
	d := json.NewDecoder(bytes.NewReader(message))
	depth, n, key := 0, 0, false
	for {
		token, err := d.Token()
		if err != nil {
			return n
		}
		switch token {
		case json.Delim('{'), json.Delim('['):
			if depth++; depth == 1 {
				key = true
				continue
			}
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth == 1 {
			if key {
				n++
			}
			key = !key
		}
	}
}
