package result

import (
	"errors"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/tools/spool"
)

var errBroken = errors.New("connection reset by peer")

func TestAFrameBrokenOffAnywhereIsAnErrorThatSaysHowFarItCame(t *testing.T) {
	s := open(t)
	text := `{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":` + quoted(`{"items":[{"n":1,"t":"é\n"},{"n":2},{"n":3}]}`) + `},{"type":"image","data":"aGk="}],"structuredContent":{"a":[1]},"isError":false}}`
	for i := range len(text) {
		f := frame(text[:i], 20)
		f.Rest.(*pieces).err = errBroken
		got, out := bound(t, f, options(s))
		a := decode(t, got)
		if a.Error == nil || string(a.ID) != "7" || !out.Failed || !errors.Is(out.Cut, errBroken) {
			t.Fatalf("at %d: %+v %s", i, out, got)
		}
		if out.Spilled != strings.Contains(a.Error.Message, "r_") || out.Spilled && a.Error.Data == nil {
			t.Fatalf("at %d: %+v %s", i, out, got)
		}
		if came := i > strings.Index(text, `{\"items`); came != out.Spilled {
			t.Errorf("at %d: spilled %v", i, out.Spilled)
		}
		if !out.Spilled {
			continue
		}
		r, err := s.Read(who, out.Handle)
		if err != nil {
			t.Fatal(err)
		}
		if r.Totals().Cut == "" {
			t.Errorf("at %d: the spool does not know that it broke off", i)
		}
		_ = r.Close()
	}
}

func TestWhatCameOfALargeResultStaysReadable(t *testing.T) {
	s := open(t)
	text := textResponse(list(5000, 100))
	text = text[:len(text)/2]
	f := frame(text, 30, 250)
	f.Rest.(*pieces).err = errBroken
	got, out := bound(t, f, options(s))
	a := decode(t, got)
	if out.Items < 2000 || !strings.Contains(a.Error.Message, itoa(int(out.Items))) || !strings.Contains(a.Error.Message, "connection reset by peer") {
		t.Fatalf("%+v %s", out, got)
	}
	if !strings.Contains(string(a.Error.Data), `"complete":false`) {
		t.Errorf("%s", a.Error.Data)
	}
	r, err := s.Read(who, out.Handle)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if p, err := r.Page(t.Context(), 3, 0); err != nil || !p.JSON || p.From != 41 {
		t.Errorf("%+v %v", p, err)
	}
	if _, err := s.Read("somebody else", out.Handle); err == nil {
		t.Error("it is anybody's")
	} else if _, ok := errors.AsType[*spool.NotFound](err); !ok {
		t.Error(err)
	}
}
