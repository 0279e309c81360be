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

import (
	"encoding"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

const update = "update"

func init() {
	if flag.Lookup(update) == nil { // a library for tests may have one of its own, which then counts for both
		flag.Bool(update, false, "write what is expected anew")
	}
}

// Update reports whether -update was given: expectations are to be written, not compared.
func Update() bool {
	given, ok := flag.Lookup(update).Value.(flag.Getter)
	return ok && given.Get() == true
}

// Check compares got with the file, or writes the file when -update was given.
func Check(t testing.TB, file, got string) {
	t.Helper()
	if Update() {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	body, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; -update writes it", err)
	}
	if want := string(body); got != want {
		t.Errorf("%s is another one (-: recorded, +: now; if that is meant, -update writes it anew):\n%s", file, difference(want, got))
	}
}

// difference lists the lines that only one of both has, in the order in which they come, at most 40 of them.
func difference(want, got string) string {
	count := map[string]int{}
	for line := range strings.Lines(want) {
		count[line]++
	}
	var added, removed []string
	for line := range strings.Lines(got) {
		if count[line]--; count[line] < 0 {
			added = append(added, "+ "+strings.TrimSuffix(line, "\n"))
		}
	}
	for line := range strings.Lines(want) {
		if count[line] > 0 {
			count[line]--
			removed = append(removed, "- "+strings.TrimSuffix(line, "\n"))
		}
	}
	lines := append(removed, added...)
	if len(lines) == 0 {
		return "(the same lines in another order, or another end)"
	}
	if len(lines) > 40 {
		lines = append(lines[:40], "…")
	}
	return strings.Join(lines, "\n")
}

// Keys lists the keys of JSON with the types of their values, sorted, one a line: "layers[].name string". A key that
// has several types, or that some elements of a list lack, says so: "number or null", "string?". Several documents in
// a row, as lines of events, count as one list.
func Keys(t testing.TB, documents ...[]byte) string {
	t.Helper()
	at := map[string]*found{}
	for _, body := range documents {
		dec := json.NewDecoder(strings.NewReader(string(body)))
		for dec.More() {
			var v any
			if err := dec.Decode(&v); err != nil {
				t.Fatalf("%v in %.300q", err, body)
			}
			collect(at, "", v)
		}
	}
	var b strings.Builder
	for _, path := range slices.Sorted(maps.Keys(at)) {
		f, optional := at[path], ""
		if parent := at[parentOf(path)]; parent != nil && path != "" && !strings.HasSuffix(path, "[]") && f.times < parent.objects {
			optional = "?"
		}
		fmt.Fprintf(&b, "%s %s%s\n", named(path), strings.Join(slices.Sorted(maps.Keys(f.types)), " or "), optional)
	}
	return b.String()
}

// found lists the values that one path holds.
type found struct {
	types          map[string]bool
	times, objects int
}

// collect notes in at, by path, the types of a JSON value and of all within it.
func collect(at map[string]*found, path string, v any) {
	f := at[path]
	if f == nil {
		f = &found{types: map[string]bool{}}
		at[path] = f
	}
	f.times++
	switch v := v.(type) {
	case map[string]any:
		f.types["object"] = true
		f.objects++
		for key, value := range v {
			collect(at, path+"."+key, value)
		}
	case []any:
		f.types["list"] = true
		for _, value := range v {
			collect(at, path+"[]", value)
		}
	case nil:
		f.types["null"] = true
	case bool:
		f.types["bool"] = true
	case float64:
		f.types["number"] = true
	case string:
		f.types["string"] = true
	}
}

func parentOf(path string) string {
	if i := strings.LastIndexByte(path, '.'); i >= 0 && !strings.HasSuffix(path, "[]") {
		return path[:i]
	}
	return strings.TrimSuffix(path, "[]")
}

func named(path string) string {
	if path == "" {
		return "(all)"
	}
	return strings.TrimPrefix(path, ".")
}

var (
	jsonMarshaler = reflect.TypeFor[json.Marshaler]()
	textMarshaler = reflect.TypeFor[encoding.TextMarshaler]()
)

// Type lists the keys that a value of the type has in JSON, in the order in which they are written, with "?" behind
// those that are left out when empty. What writes itself goes by the JSON of its zero value.
func Type(of reflect.Type) string {
	var b strings.Builder
	describe(&b, "", of, "", nil)
	return b.String()
}

// describe writes a line for a Go type as encoding/json writes it, and lines for all within it. within are the types around it.
func describe(b *strings.Builder, path string, of reflect.Type, optional string, within []reflect.Type) {
	for of.Kind() == reflect.Pointer {
		of = of.Elem()
	}
	line := func(kind string) { fmt.Fprintf(b, "%s %s%s\n", named(path), kind, optional) }
	switch {
	case of.Implements(jsonMarshaler) || reflect.PointerTo(of).Implements(jsonMarshaler):
		line(kindWritten(of))
	case of.Implements(textMarshaler) || reflect.PointerTo(of).Implements(textMarshaler):
		line("string")
	case slices.Contains(within, of):
		line("the same again")
	case of.Kind() == reflect.Struct:
		if path != "" {
			line("object")
		}
		fields(b, path, of, append(slices.Clone(within), of))
	case of.Kind() == reflect.Slice && of.Elem().Kind() == reflect.Uint8:
		line("string (base64)")
	case of.Kind() == reflect.Slice || of.Kind() == reflect.Array:
		line("list")
		describe(b, path+"[]", of.Elem(), "", within)
	case of.Kind() == reflect.Map:
		line("object by name")
		describe(b, path+".*", of.Elem(), "", within)
	default:
		line(plainKind(of.Kind()))
	}
}

// fields writes the lines of a struct's fields, with those of embedded structs.
func fields(b *strings.Builder, path string, of reflect.Type, within []reflect.Type) {
	for f := range of.Fields() {
		tag, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		embedded := f.Type
		if embedded.Kind() == reflect.Pointer {
			embedded = embedded.Elem()
		}
		switch {
		case f.Anonymous && tag == "" && embedded.Kind() == reflect.Struct:
			fields(b, path, embedded, within)
			continue
		case tag == "-" || !f.IsExported():
			continue
		case tag == "":
			tag = f.Name
		}
		optional := ""
		if strings.Contains(options, "omit") {
			optional = "?"
		}
		describe(b, path+"."+tag, f.Type, optional, within)
	}
}

func plainKind(k reflect.Kind) string {
	switch k {
	case reflect.Bool:
		return "bool"
	case reflect.String:
		return "string"
	case reflect.Interface:
		return "anything"
	}
	return "number"
}

// kindWritten returns the JSON type that a type with a method of its own for encoding writes; for its zero value.
func kindWritten(of reflect.Type) string {
	body, err := json.Marshal(reflect.New(of).Interface())
	var v any
	if err != nil || json.Unmarshal(body, &v) != nil {
		return "written by " + of.String()
	}
	at := map[string]*found{}
	collect(at, "", v)
	return strings.Join(slices.Sorted(maps.Keys(at[""].types)), "")
}
