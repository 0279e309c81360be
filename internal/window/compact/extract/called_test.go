package extract_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/window/compact/extract"
)

// Lists of things to do are read as the agents state them, and commands as their shells get them.
func TestWhatACallStates(t *testing.T) {
	for _, c := range []struct {
		tool, arguments string
		todos           []string
		command         string
	}{
		{"TodoWrite", `{"todos":[{"content":"read it","status":"completed","activeForm":"Reading"},{"content":"mend it","status":"pending","activeForm":"Mending"}]}`, []string{"read it", "mend it"}, ""},
		{"update_plan", `{"explanation":"x","plan":[{"step":"read it","status":"pending"},{"step":"mend it","status":"pending"}]}`, []string{"read it", "mend it"}, ""},
		{"write_todos", `{"todos":[{"description":"read it","status":"pending"}]}`, []string{"read it"}, ""},
		{"update_todo_list", `{"todos":"- [x] read it\n- [ ] mend it\n"}`, []string{"read it", "mend it"}, ""},
		{"TaskUpdate", `{"taskId":"1","status":"completed"}`, nil, ""},
		{"Read", `{"file_path":"todo.md"}`, nil, ""},
		{"Bash", `{"command":"git switch -c docs","description":"Switch"}`, nil, "git switch -c docs"},
		{"shell", `{"command":["bash","-lc","cd /a && git checkout -b docs"],"workdir":"/a"}`, nil, "cd /a && git checkout -b docs"},
		{"Bash", `no JSON`, nil, ""},
		{"Bash", `{"command":"` + strings.Repeat("x", 300<<10) + `"}`, nil, ""},
	} {
		if got := extract.Todos(c.tool, c.arguments); !slices.Equal(got, c.todos) {
			t.Errorf("%s %.80s: the list %q, want %q", c.tool, c.arguments, got, c.todos)
		}
		if got := extract.Command(c.tool, c.arguments); got != c.command && c.todos == nil {
			t.Errorf("%s %.80s: the command %q, want %q", c.tool, c.arguments, got, c.command)
		}
	}
}
