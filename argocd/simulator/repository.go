package simulator

// repository is a configured repository.
type repository struct {
	url, kind, name, project string
	insecure, oci, failed    bool
}

// repositories are 24, as in the recorded installation.
func (s *Simulator) repositories() []repository {
	var all []repository
	for i, domain := range s.apps.first[:24] {
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
		if i%6 == 4 && s.projects.n > 0 {
			r.project = s.projects.name(i * s.projects.n / 24)
		}
		all = append(all, r)
	}
	return all
}

func (s *Simulator) writeRepository(b []byte, r repository) []byte {
	b = cat(b, `{"repo":"`, r.url, `","connectionState":{"status":"`)
	if r.failed {
		b = append(b, `Failed","message":"Unable to connect to repository: rpc error: code = Unknown desc = error testing repository connectivity: unable to ls-remote HEAD on repository: failed to list refs: error creating SSH agent: \"SSH agent requested but SSH_AUTH_SOCK not-specified\"`...)
	} else {
		b = append(b, `Successful","message":"`...)
	}
	b = append(b, `","attemptedAt":"2026-11-20T10:33:33Z"}`...)
	if r.insecure {
		b = append(b, `,"insecure":true`...)
	}
	b = cat(b, `,"type":"`, r.kind, `"`)
	if r.name != "" {
		b = cat(b, `,"name":"`, r.name, `"`)
	}
	if r.oci {
		b = append(b, `,"enableOCI":true`...)
	}
	if r.project != "" {
		b = cat(b, `,"project":"`, r.project, `"`)
	}
	return append(b, '}')
}
