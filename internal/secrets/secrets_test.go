package secrets

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

const planted = "Pl4nt3d-S3cr3t-Valu3"

func FuzzText(f *testing.F) {
	for _, s := range []string{"https://a:b@c/d", "Bearer abcdefghijklmnop1", "a: |\n  b\nc: d", "token=x", "-----BEGIN PRIVATE KEY-----", `"pwd":"x`, "\xff: y"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		once := Text(s)
		if twice := Text(once); twice != once {
			t.Fatalf("%q, then %q", once, twice)
		}
		if utf8.ValidString(s) && !utf8.ValidString(once) {
			t.Fatalf("%q is no UTF-8 any more", once)
		}
		for _, around := range []string{"https://u:%@h/", "PASSWORD=% "} {
			// What stands before must not switch the rule off.
			if masked := Text(s + " \n" + strings.ReplaceAll(around, "%", planted)); strings.Contains(masked, planted) && !strings.Contains(s, planted) {
				t.Fatalf("%q still shows it", masked)
			}
		}
	})
}

func TestArgv(t *testing.T) {
	t.Parallel()
	in := []string{"deploy", "--api-key", "abc", "--token=xyz", "-v", "API_KEY=abcd", "https://u:pw@host/x", "sk-" + strings.Repeat("a", 30), "--max-tokens", "4096", "plain"}
	want := []string{"deploy", "--api-key", Hidden, "--token=" + Hidden, "-v", "API_KEY=" + Hidden, "https://" + Hidden + "@host/x", Hidden, "--max-tokens", "4096", "plain"}
	got := Environ(nil).Argv(in)
	if !slices.Equal(got, want) {
		t.Errorf("Argv(%q)\n got %q\nwant %q", in, got, want)
	}
}

func TestValuesOfTheEnvironment(t *testing.T) {
	t.Parallel()
	v := Environ([]string{"MY_API_KEY=" + planted, "DB_PASSWORD=quote\"and\\back", "TOKEN=short", "HOME=/root/long/enough", "PATH=/usr/bin:/bin", "SSH_AUTH_SOCK=/tmp/ssh-abc/agent.1"})
	got := string(v.Hide([]byte(`{"text":"it said ` + planted + `", "b":"quote\"and\\back", "c":"/root/long/enough /tmp/ssh-abc/agent.1 short"}`)))
	want := `{"text":"it said ********", "b":"********", "c":"/root/long/enough /tmp/ssh-abc/agent.1 short"}`
	if got != want {
		t.Errorf("got %s", got)
	}
	var none *Values
	if string(none.Hide([]byte("x"))) != "x" {
		t.Error("nil hides something")
	}
}

func TestTextMasksCredentialsAndKeepsProse(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"fetch https://ci:hunter2@git.example.net/a failed":                "fetch https://********@git.example.net/a failed",
		"Authorization: Bearer abcdefghijklmnop1 sent":                     "Authorization: Bearer ******** sent",
		"token eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJ4In0.abc is expired":        "token ******** is expired",
		"use ghp_0123456789abcdefghijABCDEF now":                           "use ******** now",
		"PGPASSWORD=x psql -h db":                                          "PGPASSWORD=******** psql -h db",
		"password: hunter2":                                                "password: ********",
		`{"token":"abc","a":"b"`:                                           `{"token":"********","a":"b"`,
		"invalid session: token signature is invalid":                      "invalid session: token signature is invalid",
		"secret: not found":                                                "secret: not found",
		"bearer authentication is off":                                     "bearer authentication is off",
		"secrets \"argocd-secret\" is forbidden":                           "secrets \"argocd-secret\" is forbidden",
		"ssh://git@host/x and git@host:x and https://host:6443/x@v1":       "ssh://git@host/x and git@host:x and https://host:6443/x@v1",
		"permission denied: applications, get, p/a, sub: u, iat: 2026-1-1": "permission denied: applications, get, p/a, sub: u, iat: 2026-1-1",
		"": "",
	} {
		if got := Text(in); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
}
