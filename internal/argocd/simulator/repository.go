package simulator

// repository is a configured repository.
type repository struct {
	url, kind, name, project string
	insecure, oci, failed    bool
}

// repositories returns 24, as in the recorded installation.
func (s *Simulator) repositories() []repository {
	var all []repository
	for i, domain := range s.words.Domains[:24] {
		r := repository{kind: "git", failed: true, insecure: i%4 == 3}
		switch i % 4 {
		case 0:
			r.url = "git@git.corp.example.net:" + domain + "/" + domain + "-core.git"
		case 1:
			r.url, r.kind, r.name = "https://charts.corp.example.net/"+domain, "helm", domain+"-charts"
		case 2:
			r.url = "https://git.corp.example.net/" + domain + "/" + domain + "-platform.git"
		default:
			r.url, r.kind, r.oci, r.failed = "registry.corp.example.net/charts/"+domain, "helm", true, false
		}
		if i%6 == 4 && s.names[projects].n > 0 {
			r.project = s.names[projects].name(i * s.names[projects].n / 24)
		}
		all = append(all, r)
	}
	return all
}
