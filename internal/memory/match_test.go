package memory_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"time"
	"unicode/utf8"

	"github.com/plimsoll/plimsoll/internal/memory"
)

// A text is found in each form that a file may have it in, and a short one only where it stands alone.
func TestFinder(t *testing.T) {
	const text = "Zoë said: \"<b>ship</b> & sail\"\nat noon 🚢"
	f := memory.Match{Texts: []string{text, "hunter2"}}.Finder()
	once, err := json.Marshal(text)
	if err != nil {
		t.Fatal(err)
	}
	twice, err := json.Marshal(map[string]string{"arguments": string(once)})
	if err != nil {
		t.Fatal(err)
	}
	for _, in := range []string{
		"before " + text + " behind", string(once), string(twice),
		`{"x":"Zo\u00eb said: \"<b>ship</b> & sail\"\nat noon \ud83d\udea2"}`,
		"the password is hunter2.", `{"p":"one\nhunter2"}`, "hunter2",
	} {
		if !f.In([]byte(in)) {
			t.Errorf("not found in %s", in)
		}
	}
	for _, in := range []string{"hunter23", "ahunter2", "Zoë said: ", "hünter2", ""} {
		if f.In([]byte(in)) {
			t.Errorf("found in %s", in)
		}
	}
	if (memory.Match{}).Finder().In([]byte("anything")) {
		t.Error("no text is found")
	}
	line := []byte(`{"a":"` + text[:4] + `hunter2 hunter2x hunter2"}`)
	if n := f.Blot(line); n != 1 || !bytes.Contains(line, []byte("hunter2x *******\"")) {
		t.Errorf("%d, %s", n, line)
	}
}

// What comes in pieces is found across them, with what stands before and behind.
func TestFinderReads(t *testing.T) {
	for _, texts := range [][]string{{"a sentence of nobody else"}, {"hunter2"}, {"a sentence of nobody else", "hunter2", "two", "three", "four", "five"}} {
		f := memory.Match{Texts: texts}.Finder()
		for at := 256<<10 - 80; at < 256<<10+80; at++ {
			for _, c := range []struct {
				before, behind string
				want           bool
			}{{" ", " ", true}, {"x", "y", len(texts[0]) >= 16}} {
				long := strings.Repeat("-", at) + c.before + texts[0] + c.behind + strings.Repeat("-", 100)
				if got, err := f.Read(strings.NewReader(long)); got != c.want || err != nil {
					t.Fatalf("%q at %d, %v: %v, %v", texts[0], at, c, got, err)
				}
			}
		}
		file, err := os.CreateTemp(t.TempDir(), "")
		if err != nil {
			t.Fatal(err)
		}
		long := strings.Repeat(strings.Repeat("-", 65536-len(texts[0])/2)+texts[0]+" x"+texts[0]+"y ", 9)
		if _, err := file.WriteString(long); err != nil {
			t.Fatal(err)
		}
		n, err := f.Overwrite(file)
		want := []byte(long)
		if k := f.Blot(want); n != k || n < 9 || err != nil {
			t.Errorf("%d places, %v; in one piece %d", n, err, k)
		}
		if got, err := os.ReadFile(file.Name()); err != nil || !bytes.Equal(got, want) {
			t.Errorf("in pieces it is another text, %v", err)
		}
		_ = file.Close()
		if got, err := f.Read(iotest.OneByteReader(strings.NewReader("so: " + texts[0]))); !got || err != nil {
			t.Errorf("%v, %v", got, err)
		}
		if _, err := f.Read(iotest.ErrReader(fmt.Errorf("broken"))); err == nil {
			t.Error("no error")
		}
	}
}

// FuzzFinder holds the quick search against a plain one, and that nothing is left of what was blotted out.
func FuzzFinder(f *testing.F) {
	f.Add("one,two two,a long sentence with 🚢", "zero one two two a long sentence with 🚢", "x")
	f.Add("aaaaaaaaaaaaaaaaaaaaaaaaaa,aaaaaaaaaaaaaaaaaa,b,c,d,e,f", strings.Repeat("a", 100), "\"")
	f.Fuzz(func(t *testing.T, list, text, quote string) {
		if !utf8.ValidString(list) || len(list) > 1000 {
			return
		}
		texts := strings.Split(list, ",")
		finder := memory.Match{Texts: texts}.Finder()
		want := false
		for _, one := range texts {
			if len(one) >= 16 {
				want = want || strings.Contains(text, one)
			}
			for range 2 {
				body, err := json.Marshal(quote + " " + one + " " + quote)
				if err != nil {
					t.Fatal(err)
				}
				if one != "" && !finder.In(body) {
					t.Fatalf("%q is not found in %s", one, body)
				}
				one = strings.ToValidUTF8(one, "\ufffd")
			}
		}
		if want && !finder.In([]byte(text)) {
			t.Fatalf("%q is not found in %q", texts, text)
		}
		streamed, err := finder.Read(strings.NewReader(text))
		if err != nil || streamed != finder.In([]byte(text)) {
			t.Fatalf("as a whole %v, in pieces %v, %v", finder.In([]byte(text)), streamed, err)
		}
		body := []byte(text)
		n := finder.Blot(body)
		if len(body) != len(text) || (n > 0) != finder.In([]byte(text)) {
			t.Fatalf("%d places, %q", n, body)
		}
		for _, one := range texts {
			if len(one) >= 16 && !strings.Contains(one, "*") && bytes.Contains(body, []byte(one)) {
				t.Fatalf("%q is left in %q", one, body)
			}
		}
	})
}

// Thousands of texts that begin alike are found each for itself, and looking for them costs about what looking for ten does.
func TestFinderOfMany(t *testing.T) {
	var texts []string
	for i := range 3000 {
		texts = append(texts, fmt.Sprintf("passage number %d said something about the harbour", i*2))
	}
	f := memory.Match{Texts: texts}.Finder()
	for i := range 6000 {
		line := fmt.Appendf(nil, "so: passage number %d said something about the harbour, once", i)
		if start, end, ok := f.Next(line, 0); ok != (i%2 == 0) || ok && string(line[start:end]) != texts[i/2] {
			t.Fatalf("%d: %v at %d to %d", i, ok, start, end)
		}
	}
	few := memory.Match{Texts: texts[:10]}.Finder()
	body := bytes.Repeat([]byte("passage number 1 said nothing about it. "), 100_000)
	cost := func(f *memory.Finder) time.Duration {
		began := time.Now()
		if f.In(body) {
			t.Error("it is found where it is not")
		}
		return time.Since(began)
	}
	if little, much := cost(few), cost(f); much > 20*little+time.Second {
		t.Errorf("ten take %v, three thousand %v", little, much)
	}
}
