package proxy_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/plimsoll/plimsoll/internal/window/reasoning"
)

// TestTableOfBindings: what the guide says that the thoughts of models are bound to is what the rules say.
func TestTableOfBindings(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile("../../../docs/window.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, ok := strings.Cut(string(guide), "| models | what their thoughts are bound to |")
	if !ok {
		t.Fatal("the guide has no table of bindings")
	}
	table, _, _ = strings.Cut(table, "\n\n")
	name := regexp.MustCompile("`([a-z0-9.-]+)`")
	rows, models := 0, 0
	for row := range strings.Lines(table) {
		cells := strings.Split(row, "|")
		if len(cells) < 4 || strings.HasPrefix(cells[1], "---") {
			continue
		}
		rows++
		want := reasoning.Free
		switch {
		case strings.Contains(cells[2], "all that stood before"):
			want = reasoning.Prefix
		case strings.Contains(cells[2], "the model that made them"):
			want = reasoning.Model
		}
		for _, m := range name.FindAllStringSubmatch(cells[1], -1) {
			models++
			rule := reasoning.RuleFor("", m[1])
			if rule.Family == "" || rule.Binding != want {
				t.Errorf("%s is %s by the rules (family %q), and the guide says %q", m[1], rule.Binding, rule.Family, strings.TrimSpace(cells[2]))
			}
			if refused := strings.Contains(cells[2], "refused"); refused != rule.Refuses {
				t.Errorf("%s is refused: %v by the guide, %v by the rules", m[1], refused, rule.Refuses)
			}
		}
	}
	if rows != 5 || models < 9 {
		t.Errorf("%d rows with %d models were read", rows, models)
	}
}
