package redact

import "testing"

func TestValuesUnderTheirNames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, want string }{
		{"example.net/token", "abc", Hidden},
		{"example.net/api-key", "abc", Hidden},
		{"team", "payments", "payments"},
		{"example.net/token", "true", "true"},
		{"hook", "https://u:pw@hooks/x", "https://" + Hidden + "@hooks/x"},
		{lastApplied, `{"kind":"Secret","data":{"a":"abc"}}`, `{"kind":"Secret","data":{"a":"` + Hidden + `"}}`},
		{"argocd.argoproj.io/sync-wave", "-1", "-1"},
		{"\xff", "\xff", "\xff"},
	} {
		if got := Value(c.name, c.text); got != c.want {
			t.Errorf("Value(%q, %q) = %q, want %q", c.name, c.text, got, c.want)
		}
	}
}
