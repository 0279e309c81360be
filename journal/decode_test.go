package journal_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/journal"
)

// filled sets every field of an event, so that one that is lost on the way is seen.
func filled(t *testing.T, e journal.Event) journal.Event {
	t.Helper()
	v := reflect.New(reflect.TypeOf(e)).Elem()
	fill(t, v)
	return v.Interface().(journal.Event)
}

func fill(t *testing.T, v reflect.Value) {
	t.Helper()
	if v.Type() == reflect.TypeFor[time.Time]() {
		v.Set(reflect.ValueOf(time.Unix(1_800_000_000, 0).UTC()))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString("a \"text\"\u202e")
	case reflect.Int, reflect.Int64:
		v.SetInt(12345)
	case reflect.Uint64:
		v.SetUint(99)
	case reflect.Float64:
		v.SetFloat(1.5)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		for i := range 2 {
			fill(t, v.Index(i))
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			fill(t, field)
		}
	default:
		t.Fatalf("no value for %s", v.Type())
	}
}

func TestEveryEventIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 24, 1, 2, 3, 4, time.UTC)
	for _, e := range events {
		want := journal.Record{Seq: 7, Time: at, Event: filled(t, e)}
		text, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		var got journal.Record
		if err := json.Unmarshal(text, &got); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%s\nbecame %+v\nwas    %+v: %v", text, got, want, err)
		}
	}
}

func TestEventsOfANewerVersionAreKept(t *testing.T) {
	t.Parallel()
	const line = `{"seq":3,"time":"2026-11-24T01:02:03Z","kind":"memory.kept","event":{"a":[1,2]}}`
	var r journal.Record
	if err := json.Unmarshal([]byte(line), &r); err != nil {
		t.Fatal(err)
	}
	if again, err := json.Marshal(r); err != nil || string(again) != line {
		t.Errorf("%s, %v", again, err)
	}
	for _, bad := range []string{`{}`, `{"kind":""}`, `{"kind":"process.oom_kills","event":{"total":"many"}}`, `[]`, `{"kind":"process.oom_kills","event":[]}`} {
		if err := json.Unmarshal([]byte(bad), &r); err == nil {
			t.Errorf("%s is taken for a record", bad)
		}
	}
}

func FuzzRecord(f *testing.F) {
	for _, e := range events {
		text, _ := json.Marshal(journal.Record{Seq: 1, Event: e})
		f.Add(text)
	}
	f.Add([]byte(`{"seq":3,"kind":"x","event":` + strings.Repeat("[", 1000) + strings.Repeat("]", 1000) + `}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var r journal.Record
		failed := json.Unmarshal(text, &r)
		// With its members in another order it is read by encoding/json alone, and is the same.
		var members map[string]json.RawMessage
		if json.Unmarshal(text, &members) == nil && len(members) == 4 && members["event"] != nil && members["kind"] != nil && members["time"] != nil && members["seq"] != nil {
			turned := fmt.Appendf(nil, `{"event":%s,"kind":%s,"time":%s,"seq":%s}`, members["event"], members["kind"], members["time"], members["seq"])
			var long journal.Record
			if err := json.Unmarshal(turned, &long); (err == nil) != (failed == nil) || failed == nil && !reflect.DeepEqual(r, long) {
				t.Fatalf("%s is read as %+v, %v; in another order as %+v, %v", text, r, failed, long, err)
			}
		}
		if failed != nil {
			return
		}
		again, err := json.Marshal(r)
		if err != nil {
			return // a year beyond 9999, or a body that is no JSON value
		}
		var second journal.Record
		if err := json.Unmarshal(again, &second); err != nil {
			t.Fatalf("%s became %s, which cannot be read: %v", text, again, err)
		}
	})
}
