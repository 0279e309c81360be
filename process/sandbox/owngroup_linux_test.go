package sandbox

import "testing"

// A process is in a run when any element of its path in any hierarchy is a run's group, and the supervisor's own leaf is none.
func TestGroupOfRun(t *testing.T) {
	for _, c := range []struct{ text, run, group string }{
		{"0::/user.slice/user-1000.slice/user@1000.service/app.slice/plimsoll-abc123.scope/run/agent\n", "abc123", "/user.slice/user-1000.slice/user@1000.service/app.slice/plimsoll-abc123.scope/run/agent"},
		{"12:cpu,cpuacct:/plimsoll-abc123\n4:memory:/\n", "abc123", "/plimsoll-abc123"},
		{"4:memory:/docker/x:y/plimsoll-abc123/agent\n", "abc123", "/docker/x:y/plimsoll-abc123/agent"},
		{"4:memory:/plimsoll-abc123 (deleted)\n", "abc123", "/plimsoll-abc123 (deleted)"},
		{"0::/plimsoll-abc123/inner-def456/agent", "abc123", "/plimsoll-abc123/inner-def456/agent"},
		{"0::/system.slice/plimsoll-sup\n1:name=systemd:/\n", "", ""},
		{"0::/system.slice/plimsoll.service\n", "", ""},
		{"0::/system.slice/plimsoll-watch.service\n", "", ""},
		{"0::/xplimsoll-abc\n", "", ""},
		{"", "", ""},
		{"::", "", ""},
		{"0", "", ""},
	} {
		if run, group := parseOwnGroup([]byte(c.text)); run != c.run || group != c.group {
			t.Errorf("%q is in %q %q, want %q %q", c.text, run, group, c.run, c.group)
		}
	}
}
