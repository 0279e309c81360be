package window

import (
	"path/filepath"
	"testing"

	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/internal/testing/testfile"
)

// A repository may lower the trigger, and set the target as it likes. Neither may make a pair
// that the proxy refuses, for then the run would go without one.
func TestAProjectCannotSwitchTheProxyOffByItsTarget(t *testing.T) {
	for _, c := range []struct {
		user, project string
		want          float64
	}{
		{"", "", 0}, // by the trigger
		{"", "trigger = 0.4", 0},
		{"", "target = 0.9", 0},
		{"target = 0.7", "trigger = 0.4", 0},
		{"target = 0.5", "trigger = 0.6", 0.5},
		{"trigger = 0.4", "", 0},
		{"target = 0.5", "target = 'auto'", 0},
		{"trigger = 0.4", "target = 0.3", 0.3},
		{"target = 0.9", "", 0.9}, // proxy.New says it
	} {
		dir := t.TempDir()
		file := filepath.Join(dir, "user.toml")
		for name, text := range map[string]string{file: c.user, filepath.Join(dir, config.ProjectFile): c.project} {
			testfile.Write(t, name, "[window]\n"+text+"\n")
		}
		loaded, err := config.Load(config.Options{Environ: []string{"PLIMSOLL_CONFIG=" + file}, Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		s, err := loaded.For("")
		if err != nil {
			t.Fatal(err)
		}
		if got := targetOf(s, s.Window.Trigger); got != c.want {
			t.Errorf("user %q, project %q: %g, want %g", c.user, c.project, got, c.want)
		}
	}
}
