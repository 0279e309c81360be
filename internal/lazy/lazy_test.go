package lazy_test

import (
	"slices"
	"testing"

	"github.com/plimsoll/plimsoll/internal/lazy"
)

func TestRegexpIsCompiledOnceByItsFirstUse(t *testing.T) {
	digits := lazy.Regexp(`^\d+$`)
	if !digits().MatchString("42") || digits().MatchString("4x") {
		t.Error("it is another expression")
	}
	first := digits()
	if again := digits(); again != first {
		t.Error("it is compiled again")
	}
	wrong := lazy.Regexp(`(`) // nothing happens here
	defer func() {
		if recover() == nil {
			t.Error("an expression that is none was compiled")
		}
	}()
	wrong()
}

var someText = "# first: words\none two\nthree\n# second: phrases, and words of both\n|from now on|instead \nthree four\n# third: a pattern\n=^\\d+$\n"

func TestListsHaveWordsPhrasesAndPatterns(t *testing.T) {
	lists := lazy.Lists{Text: &someText}
	for word, want := range map[string]uint64{"one": 1, "two": 1, "three": 3, "four": 2, "from": 0, "# first": 0, "^\\d+$": 0} {
		if got := lists.Of(word); got != want {
			t.Errorf("%q is in %b, want %b", word, got, want)
		}
	}
	if got := lists.Phrases(1); !slices.Equal(got, []string{"from now on", "instead "}) || lists.Phrases(0) != nil {
		t.Errorf("phrases %q and %q", got, lists.Phrases(0))
	}
	if p := lists.Pattern(2); !p.MatchString("42") || p.MatchString("4x") || lists.Pattern(2) != p {
		t.Errorf("the pattern is %v", p)
	}
	if len(lists.Words()) != 4 {
		t.Errorf("words %v", lists.Words())
	}
}
