package simulator

import (
	"slices"
	"strings"
)

func getVersion(c *call) error {
	text := c.version
	if !strings.Contains(text, "+") {
		text += "+109ca7c"
	}
	if c.anon {
		return c.answer([]byte(`{"Version":"` + text + `"}`))
	}
	return c.answer([]byte(`{"Version":"` + text + `","BuildDate":"2026-08-12T11:24:40Z","GitCommit":"109ca7ca71139e514114499d294a492e7910a965","GitTreeState":"clean",` +
		`"GoVersion":"go1.26.8","Compiler":"gc","Platform":"linux/amd64","KustomizeVersion":"v5.8.1 2026-02-03T12:00:00Z","HelmVersion":"v3.20.0+g1a2b3c4","JsonnetVersion":"v0.22.0"}`))
}

// accounts returns those that can log in, each as the server writes it.
func accounts() []string {
	return []string{
		`{"name":"admin","enabled":true,"capabilities":["login","apiKey","login"]}`,
		`{"name":"ci","enabled":true,"capabilities":["apiKey"]}`,
		`{"name":"reader","enabled":true,"capabilities":["apiKey","login"]}`,
	}
}

func listAccounts(c *call) error {
	return c.answer([]byte(`{"items":[` + strings.Join(accounts(), ",") + `]}`))
}

func getAccount(c *call) error {
	name := c.args[0]
	for _, one := range accounts() {
		if strings.HasPrefix(one, `{"name":"`+name+`"`) && (c.user == nil || c.user.Name == name) {
			return c.answer([]byte(one))
		}
	}
	if c.user != nil {
		return denied()
	}
	return refuse(notFound, "account '%s' does not exist", name)
}

func canI(c *call) error {
	resource, action, object := c.args[0], c.args[1], c.args[2]
	project, _, _ := strings.Cut(object, "/")
	shown := slices.Contains([]string{"applications", "applicationsets", "projects"}, resource)
	if c.user == nil || shown && c.canRead(project) && (action == "get" || c.user.Writes) {
		return c.answer([]byte(`{"value":"yes"}`))
	}
	return c.answer([]byte(`{"value":"no"}`))
}

func listCertificates(c *call) error {
	if c.user != nil {
		return c.answer([]byte(`{"metadata":{},"items":null}`))
	}
	return c.answer(c.render(nil, "certificates", &line{}, 0, roll(c.seed, partMeta, 1<<50)))
}

func listKeys(c *call) error { return c.answer([]byte(`{"metadata":{}}`)) }

func getLinks(c *call) error { return c.answer([]byte(`{}`)) }
