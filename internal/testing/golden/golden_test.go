package golden

import (
	"encoding/json"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/plimsoll/plimsoll/internal/testing/testfile"
)

type inner struct {
	Name string    `json:"name"`
	At   time.Time `json:"at"`
}

type outer struct {
	inner
	ID     int64           `json:"id"`
	List   []inner         `json:"list,omitempty"`
	By     map[string]bool `json:"by"`
	Raw    json.RawMessage `json:"raw"`
	Hidden int             `json:"-"`
	Next   *outer          `json:"next,omitzero"`
}

func TestKeysSeesTypesAndGaps(t *testing.T) {
	got := Keys(t, []byte(`{"a":1,"list":[{"x":"s","y":null},{"x":true}],"none":[]}`+"\n"+`{"a":2}`))
	want := "(all) object\na number\nlist list?\nlist[] object\nlist[].x bool or string\nlist[].y null?\nnone list?\n"
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestTypeSeesEveryKey(t *testing.T) {
	got := Type(reflect.TypeFor[outer]())
	want := "name string\nat string\nid number\nlist list?\nlist[] object\nlist[].name string\nlist[].at string\n" +
		"by object by name\nby.* bool\nraw null\nnext the same again?\n"
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// recorder is a test that is told of failures.
type recorder struct {
	testing.TB
	failures []string
}

func (*recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	for _, a := range args {
		if s, ok := a.(string); ok {
			r.failures = append(r.failures, s)
		}
	}
}

func TestCheckShowsTheLinesThatDiffer(t *testing.T) {
	if Update() {
		t.Skip("-update compares nothing")
	}
	file := filepath.Join(t.TempDir(), "text")
	testfile.Write(t, file, "one\ntwo\nthree\n")
	r := &recorder{TB: t}
	if Check(r, file, "one\ntwo\nthree\n"); r.failures != nil {
		t.Errorf("the same text: %q", r.failures)
	}
	for got, want := range map[string]string{
		"one\n2\nthree\n":        "- two\n+ 2",
		"one\ntwo\n":             "- three",
		"one\none\ntwo\nthree\n": "+ one",
		"two\none\nthree\n":      "another order",
	} {
		r.failures = nil
		if Check(r, file, got); len(r.failures) != 2 || !strings.Contains(r.failures[1], want) {
			t.Errorf("%q: %q, want %q", got, r.failures, want)
		}
	}
}
