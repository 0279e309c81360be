package heldout

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/window/wire"
)

func everySession(t *testing.T) (list []Session) {
	for _, set := range []string{"first", "second", "third", "fourth", "fifth", "turkish", "chinese", "spanish", "japanese", "portuguese", "korean", "vietnamese", "indonesian", "swahili", "romanian", "polish", "persian", "ukrainian", "czech", "tamil"} {
		one, err := Sessions(set)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, one...)
	}
	return list
}

func TestSessions(t *testing.T) {
	list, again := everySession(t), everySession(t)
	if len(list) != 31 {
		t.Fatalf("%d sessions", len(list))
	}
	for i, s := range list {
		if !bytes.Equal(s.Body, again[i].Body) {
			t.Errorf("%s: other bytes at the second call", s.Name)
		}
		if len(s.Body) < 25_000 || len(s.Body) > 1_200_000 {
			t.Errorf("%s has %d bytes", s.Name, len(s.Body))
		}
		r, err := wire.Parse(s.Dialect, s.Body)
		if err != nil || r.Bypass.Room() != wire.RoomAtTrigger {
			t.Fatalf("%s: %v, %v", s.Name, err, r.Bypass)
		}
		var v any
		if err := json.Unmarshal(s.Body, &v); err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		var walk func(any)
		walk = func(v any) {
			switch v := v.(type) {
			case string:
				text.WriteString(v + "\n")
				var inner any
				if strings.HasPrefix(v, "{") && json.Unmarshal([]byte(v), &inner) == nil {
					walk(inner) // arguments of a call
				}
			case []any:
				for _, one := range v {
					walk(one)
				}
			case map[string]any:
				for _, one := range v {
					walk(one)
				}
			}
		}
		walk(v)
		kinds, seen := map[string]int{}, map[string]bool{}
		for _, f := range s.Facts {
			kinds[f.Kind]++
			if !strings.Contains(text.String(), f.AnyOf[0]) {
				t.Errorf("%s: the %s %q is not in it", s.Name, f.Kind, f.AnyOf[0])
			}
			if seen[f.AnyOf[0]] {
				t.Errorf("%s: %q is there twice", s.Name, f.AnyOf[0])
			}
			seen[f.AnyOf[0]] = true
		}
		t.Logf("%s: %d bytes, %v", s.Name, len(s.Body), kinds)
	}
}
