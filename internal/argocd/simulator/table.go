package simulator

import (
	"net/http"
	"strings"
)

// table lists the calls that are played.
func (s *Simulator) table() []route {
	var all []route
	add := func(call string, handle func(*call) error) *route {
		method, path, _ := strings.Cut(call, " ")
		all = append(all, route{method: method, pattern: strings.Split(strings.TrimPrefix(path, "/"), "/"), handle: handle})
		return &all[len(all)-1]
	}
	add("GET /api/version", getVersion).open = true
	add("GET /api/v1/account", listAccounts)
	add("GET /api/v1/account/{}", getAccount)
	add("GET /api/v1/account/can-i/{}/{}/{**}", canI)
	add("GET /api/v1/certificates", listCertificates)
	add("GET /api/v1/gpgkeys", listKeys)
	add("GET /api/v1/repositories", listRepositories)
	add("GET /api/v1/clusters", listClusters)
	add("GET /api/v1/clusters/{}", getCluster)

	add("GET /api/v1/projects", listProjects)
	add("GET /api/v1/projects/{}", getObject(projects))
	add("GET /api/v1/projects/{}/detailed", getDetailed)

	add("GET /api/v1/applicationsets", listSets)
	add("GET /api/v1/applicationsets/{}", getObject(applicationsets))

	add("GET /api/v1/applications", listApplications)
	add("GET /api/v1/applications/{}", getObject(applications))
	add("GET /api/v1/applications/{}/resource-tree", getTree)
	add("GET /api/v1/applications/{}/managed-resources", getManaged)
	add("GET /api/v1/applications/{}/events", getEvents)
	add("GET /api/v1/applications/{}/syncwindows", getWindows)
	add("GET /api/v1/applications/{}/links", getLinks)
	add("GET /api/v1/applications/{}/manifests", getManifests)
	add("GET /api/v1/applications/{}/resource", getResource)
	add("GET /api/v1/applications/{}/resource/actions", getActions)
	add("GET /api/v1/applications/{}/logs", getLogs).stream = true

	for _, call := range writes() {
		add(call.call, call.handle)
	}
	return all
}

// written is a call that changes something.
type written struct {
	call   string
	handle func(*call) error
}

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

const accounts = `{"name":"admin","enabled":true,"capabilities":["login","apiKey","login"]},{"name":"ci","enabled":true,"capabilities":["apiKey"]},{"name":"reader","enabled":true,"capabilities":["apiKey","login"]}`

func listAccounts(c *call) error {
	if c.user != nil {
		return c.answer(cat(nil, `{"items":[{"name":"`, quoted(c.user.Name), `","enabled":true,"capabilities":["apiKey","login"]}]}`))
	}
	return c.answer([]byte(`{"items":[` + accounts + `]}`))
}

func getAccount(c *call) error {
	name := c.args[0]
	for one := range strings.SplitSeq(accounts, "},") {
		if strings.HasPrefix(one, `{"name":"`+name+`"`) && (c.user == nil || c.user.Name == name) {
			return c.answer([]byte(strings.TrimSuffix(one, "}") + "}"))
		}
	}
	if c.user != nil {
		return denied()
	}
	return refuse(notFound, "account '%s' does not exist", name)
}

func canI(c *call) error {
	resource, action, object := c.args[0], c.args[1], c.args[2]
	yes := c.user == nil
	if !yes && (resource == "applications" || resource == "applicationsets" || resource == "projects") {
		project, _, _ := strings.Cut(object, "/")
		yes = c.canRead(project) && (action == "get" || c.user.Writes)
	}
	if yes {
		return c.answer([]byte(`{"value":"yes"}`))
	}
	return c.answer([]byte(`{"value":"no"}`))
}

func listCertificates(c *call) error {
	if c.user != nil {
		return c.answer([]byte(`{"metadata":{},"items":null}`))
	}
	b := append([]byte(nil), `{"metadata":{},"items":[`...)
	d := roll(c.seed, partMeta, 1<<50)
	for i, host := range []string{"git.corp.example.net", "github.com", "gitlab.com"} {
		for _, algorithm := range []string{"ecdsa-sha2-nistp256", "ssh-ed25519"} {
			b = cat(b, `{"serverName":"`, host, `","certType":"ssh","certSubType":"`, algorithm, `","certData":null,"certInfo":"SHA256:`)
			b = append(hex(hex(b, d.next(), 16), d.next(), 16), `"},`...)
		}
		if i == 0 {
			b = cat(b, `{"serverName":"`, host, `","certType":"https","certSubType":"rsa","certData":null,"certInfo":"CN=Example Corp Root CA,O=Example Corp"},`)
		}
	}
	return c.answer(append(b[:len(b)-1], `]}`...))
}

func listKeys(c *call) error { return c.answer([]byte(`{"metadata":{}}`)) }

func getCluster(c *call) error {
	if c.user != nil {
		return denied()
	}
	name, server := "", c.args[0]
	switch c.query.Get("id.type") {
	case "name", "name_escaped":
		name, server = server, ""
	}
	found, ok := c.findCluster(name, server)
	if !ok || c.args[0] == "" {
		return denied()
	}
	return c.answer(c.writeCluster(nil, found))
}

func getLinks(c *call) error { return c.answer([]byte(`{}`)) }

// quoted returns text as it stands between the quotes of JSON.
func quoted(text string) string {
	q := marshal(text)
	return string(q[1 : len(q)-1])
}

var _ http.Handler = (*Simulator)(nil)
