package simulator

import (
	"slices"
	"strings"
)

func getVersion(c *call) {
	text := c.options.Version
	if !strings.Contains(text, "+") {
		text += "+109ca7c"
	}
	build := `,"BuildDate":"2026-08-12T11:24:40Z","GitCommit":"109ca7ca71139e514114499d294a492e7910a965","GitTreeState":"clean","GoVersion":"go1.26.8",` +
		`"Compiler":"gc","Platform":"linux/amd64","KustomizeVersion":"v5.8.1 2026-02-03T12:00:00Z","HelmVersion":"v3.20.0+g1a2b3c4","JsonnetVersion":"v0.22.0"`
	if c.anon {
		build = ""
	}
	c.answer(cat(nil, `{"Version":"`, text, `"`, build, `}`))
}

// accounts returns those that can log in, each as the server writes it.
func accounts() []string {
	return []string{
		`{"name":"admin","enabled":true,"capabilities":["login","apiKey","login"]}`,
		`{"name":"ci","enabled":true,"capabilities":["apiKey"]}`,
		`{"name":"reader","enabled":true,"capabilities":["apiKey","login"]}`,
	}
}

func getAccount(c *call) {
	at := slices.IndexFunc(accounts(), func(one string) bool { return strings.HasPrefix(one, `{"name":"`+c.args[0]+`"`) })
	switch {
	case c.user != nil && (at < 0 || c.user.Name != c.args[0]):
		panic(denied())
	case at < 0:
		fail(notFound, "account '%s' does not exist", c.args[0])
	}
	c.answer([]byte(accounts()[at]))
}

func canI(c *call) {
	resource, action, object := c.args[0], c.args[1], c.args[2]
	project, _, _ := strings.Cut(object, "/")
	shown := slices.Contains([]string{"applications", "applicationsets", "projects"}, resource)
	answer := "no"
	if c.user == nil || shown && c.canRead(project) && (action == "get" || c.user.Writes) {
		answer = "yes"
	}
	c.answer(cat(nil, `{"value":"`, answer, `"}`))
}

func listCertificates(c *call) {
	answer := []byte(`{"metadata":{},"items":null}`)
	if c.user == nil {
		answer = c.render(nil, "certificates", &line{}, 0, roll(c.seed, partMeta, 1<<50))
	}
	c.answer(answer)
}

// fixed returns a call with one answer.
func fixed(answer string) func(*call) { return func(c *call) { c.answer([]byte(answer)) } }
