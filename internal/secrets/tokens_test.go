package secrets

import (
	"strings"
	"testing"
)

func TestTheTableIsWellFormed(t *testing.T) {
	t.Parallel()
	lines := 0
	for line := range strings.Lines(tokenTable) {
		column := strings.Fields(line)
		switch {
		case line[0] == '#':
		case len(column) != 4 || len(column[0]) < 2 || !strings.Contains(" hex alnum url dot any ", " "+column[1]+" ") || !isNumber(column[2]) || !isNumber(column[3]):
			t.Errorf("the line %q", line)
		default:
			lines++
		}
	}
	if lines < 200 {
		t.Errorf("%d formats", lines)
	}
}

func FuzzArgv(f *testing.F) {
	f.Add("curl", "-u", "a:b c")
	f.Add("sh", "-c", "mysql -p'x y' \"$Z\" --token=q")
	f.Add("env", "A_KEY=$(x)", "-H=Cookie: a=b")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		argv := []string{a, b, c}
		once := Environ(nil).Argv(argv)
		if len(once) != 3 {
			t.Fatalf("%q became %q", argv, once)
		}
		if safe := Environ(nil).Argv([]string{a, "--api-key", planted, "X_TOKEN=" + planted, c}); strings.Contains(strings.Join(safe[1:4], " "), planted) && Flag("--api-key") {
			t.Fatalf("%q", safe)
		}
	})
}
