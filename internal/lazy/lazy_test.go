package lazy_test

import (
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
