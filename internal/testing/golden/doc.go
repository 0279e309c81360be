// Package golden holds what users see to what was recorded: help texts, keys of JSON, metrics, bytes on the wire.
//
//	golden.Check(t, "testdata/golden/help.txt", text)
//	golden.Check(t, "testdata/golden/doctor.keys", golden.Keys(t, body))
//	golden.Check(t, "testdata/events.txt", golden.Type(reflect.TypeFor[Event]()))
//
// A test that calls Check fails when the text differs from the file, and shows the lines that do. With -update
// it writes the file anew; the difference is then what a reviewer reads:
//
//	go test ./cmd/plimsoll ./journal ./internal/watch/metrics -update
//
// [Keys] and [Type] write the keys of JSON and their types, one a line, and leave the values out. Keys sees what
// one output holds; Type sees every key that can be there, also those that are left out when empty.
package golden
