package journal_test

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/testing/testfile"
	"github.com/plimsoll/plimsoll/journal"
)

// keysOf adds every key of a type's JSON, as "estimate.bytes" and "leftovers[].pid", with
// the word that docs/report.md has for its type.
func keysOf(t *testing.T, prefix string, of reflect.Type, keys map[string]string) {
	t.Helper()
	for f := range of.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" || name == "-" {
			t.Fatalf("%s.%s has no name in JSON", of, f.Name)
		}
		key := prefix + name
		switch f.Type.Kind() {
		case reflect.String:
			keys[key] = "string"
		case reflect.Bool:
			keys[key] = "boolean"
		case reflect.Int, reflect.Int64:
			keys[key] = "number"
		case reflect.Struct:
			keys[key] = "object"
			keysOf(t, key+".", f.Type, keys)
		case reflect.Slice:
			keys[key] = "array of strings"
			if f.Type.Elem().Kind() == reflect.Struct {
				keys[key] = "array of objects"
				keysOf(t, key+"[].", f.Type.Elem(), keys)
			}
		default:
			t.Fatalf("%s.%s is a %s: teach this test its word", of, f.Name, f.Type)
		}
	}
}

// Every key of the report is in its guide, with its type, and no other is.
func TestReportIsDocumented(t *testing.T) {
	want := map[string]string{}
	keysOf(t, "", reflect.TypeFor[journal.Report](), want)

	text := testfile.Read(t, "../docs/report.md")
	got := map[string]string{}
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if len(cells) < 5 || !strings.HasPrefix(strings.TrimSpace(cells[1]), "`") {
			continue
		}
		key := strings.Trim(cells[1], " `")
		if got[key] != "" {
			t.Errorf("docs/report.md has %s twice", key)
		}
		kind, unit, _ := strings.Cut(strings.TrimSpace(cells[2]), ", ")
		got[key] = kind
		if strings.TrimSpace(cells[3]) == "" {
			t.Errorf("docs/report.md does not say what %s means", key)
		}
		if strings.HasSuffix(key, "_bytes") && unit != "bytes" {
			t.Errorf("docs/report.md gives %s in %q", key, unit)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if got[key] != want[key] {
			t.Errorf("docs/report.md has %s as %q, it is a %s", key, got[key], want[key])
		}
	}
	for _, key := range slices.Sorted(maps.Keys(got)) {
		if want[key] == "" {
			t.Errorf("docs/report.md has %s, the report has not", key)
		}
	}
}
