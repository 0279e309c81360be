package simulator

import "strconv"

// application describes a generated application: with traits enough for
// filters and counts, with fill what the lists of a template go through.
type application struct {
	seed  uint64
	index uint64
	words *word

	name, domain, component, env, region  string
	project, team                         string
	health, sync                          string
	toServer, toCluster, into             string // destination: server or cluster
	owner, tier                           string // "" when there is none
	labelled, instance, hasLabels         bool
	automated, prune, selfHeal, retry     bool
	disabled                              bool // automated, but not enabled
	finalizer                             string
	finalizers                            bool
	multi                                 bool // spec.sources
	third                                 bool // three of them
	helm, kustomize, directory            bool
	repo, path, chart, target             string
	never                                 bool // was never reconciled
	tree                                  bool // health of resources is kept apart
	phase                                 string
	running, failed                       bool
	count                                 int // of resources
	deployed                              int // entries of the history
	options                               []string
	parameters, values, object, release   bool
	ignore, info, limit                   bool
	alerts, generate, ownerMail, external bool
	updater, applied, refresh, annotated  bool
	deleting                              bool
	conditions, generation                int
	created, sourceType                   string

	resources, results                     []resource
	history                                []deployment
	reconciled, message, started, finished string
}

// application decides about the application of a number.
func (s *Simulator) application(i int, a *application) {
	d := roll(s.seed, partTraits, uint64(i))
	first, second, third, _ := s.apps.triple(i)
	w := &s.words
	*a = application{
		options: a.options[:0], resources: a.resources[:0], history: a.history[:0],
		seed: s.seed, index: uint64(i), words: w,
		name: s.apps.name(i), domain: s.apps.first[first], component: s.apps.second[second],
	}
	place := s.apps.third[third]
	a.env, a.region = place, d.of(w.regions)
	for j := range place {
		if place[j] == '-' {
			a.env, a.region = place[:j], place[j+1:]
			break
		}
	}
	a.project = "default"
	a.team = a.domain + "-" + d.of(s.projects.second)
	from, to := s.projects.span(first)
	if to > from && !d.chance(85) {
		a.project = s.projects.name(from + d.intn(to-from))
		a.team = a.project
	}
	a.created = created(i)
	st := s.state(&d)
	a.health, a.sync = st.health, st.sync
	a.never = st.sync == ""

	if n := s.clusters; n > 0 {
		c := s.cluster(d.intn(n))
		if d.chance(300) {
			a.toCluster = c.name
		} else {
			a.toServer = c.server
		}
	} else {
		a.toServer = "https://kubernetes.default.svc"
	}
	a.into = a.domain + "-" + a.env
	if n := s.sets.n; n > 0 && d.chance(550) {
		a.owner = s.sets.name(d.intn(n))
	}
	a.labelled = !d.chance(67)
	a.instance = d.chance(490)
	if d.chance(287) {
		a.tier = d.of(w.tiers)
	}
	a.sourceOf(&d)
	if k := d.intn(1000); k < 452 {
		a.finalizer = "resources-finalizer.argocd.argoproj.io"
	} else if k < 508 {
		a.finalizer = "resources-finalizer.argocd.argoproj.io/background"
	}
	a.automated, a.prune, a.selfHeal = d.chance(631), d.chance(500), d.chance(500)
	a.retry, a.disabled = a.automated && d.chance(490), d.chance(50)
	if a.automated || d.chance(420) {
		for i := range 1 + d.intn(3)*d.intn(2) {
			a.options = append(a.options, w.options[(int(a.index*7)%len(w.options)+i*5)%len(w.options)])
		}
	}
	a.tree = d.chance(310)
	a.ignore, a.info, a.limit = d.chance(300), d.chance(160), d.chance(230)
	a.alerts, a.generate, a.ownerMail = d.chance(370), d.chance(240), d.chance(130)
	a.external, a.updater, a.applied, a.refresh = d.chance(100), d.chance(95), d.chance(80), d.chance(25)
	a.deleting = !a.never && d.chance(4)
	a.finalizers = a.finalizer != "" || a.deleting
	a.hasLabels = a.labelled || a.instance || a.tier != ""
	a.annotated = a.alerts || a.generate || a.ownerMail || a.external || a.updater || a.applied || a.refresh
	a.generation = 1
	if a.never {
		return
	}
	if a.generation = 2; a.deleting {
		a.generation = 3
	}
	switch k := d.intn(1000); {
	case k < 25:
		a.phase = "Running"
	case k < 100:
		a.phase = "Failed"
	case k < 116:
		a.phase = "Error"
	case k < 944:
		a.phase = "Succeeded"
	}
	a.running, a.failed = a.phase == "Running", a.phase == "Failed"
	switch k := d.intn(1000); {
	case k < 620:
		a.count = 1 + d.intn(9)
	case k < 930:
		a.count = 8 + d.intn(16)
	default:
		a.count = 30 + d.intn(46)
	}
	switch k := d.intn(1000); {
	case k < 220:
	case k < 780:
		a.deployed = 1 + d.intn(3)
	case k < 880:
		a.deployed = 5
	default:
		a.deployed = 10
	}
	if k := d.intn(1000); k < 90 {
		a.conditions = 1
	} else if k < 162 {
		a.conditions = 2
	}
}

// sourceOf sets the fields of a that say where its manifests come from (repository, chart or path, revision and type of source), drawn at
// random from d.
func (a *application) sourceOf(d *dice) {
	a.multi, a.third = d.chance(160), d.chance(400)
	k := d.intn(1000)
	a.helm, a.kustomize, a.directory = k < 280 || k >= 500 && k < 700, k >= 280 && k < 500, k >= 895
	a.sourceType = "Directory"
	switch {
	case a.helm:
		a.sourceType = "Helm"
	case a.kustomize:
		a.sourceType = "Kustomize"
	}
	if a.helm && k >= 500 {
		a.repo = d.of([]string{"oci://registry.corp.example.net/charts", "https://charts.corp.example.net", "https://grafana.github.io/helm-charts"})
		a.chart = d.of(a.words.charts)
	} else {
		switch k := d.intn(1000); {
		case k < 350:
			a.repo = "https://git.corp.example.net/" + a.domain + "/deploy"
		case k < 750:
			a.repo = "https://git.corp.example.net/" + a.domain + "/" + a.team + ".git"
		default:
			a.repo = "git@git.corp.example.net:" + a.domain + "/" + a.team + ".git"
		}
		switch k := d.intn(1000); {
		case k < 200:
			a.path = "."
		case k < 400:
			a.path = "chart"
		case k < 620:
			a.path = "deploy/overlays/" + a.env
		case k < 800:
			a.path = "envs/" + a.env + "/" + a.region
		default:
			a.path = "apps/" + a.component
		}
	}
	switch k := d.intn(1000); {
	case a.chart != "":
		a.target = version(d, "", "")
	case k < 370:
		a.target = "main"
	case k < 560:
		a.target = "release/2026.11"
	case k < 730:
		a.target = "HEAD"
	case k < 900:
		a.target = version(d, "v", "")
	case k < 960:
		a.target = version(d, "v", "-rc."+strconv.Itoa(1+d.intn(9)))
	default:
		a.target = version(d, "v", "+build."+strconv.Itoa(100+d.intn(900)))
	}
	if a.helm {
		a.parameters, a.release = d.chance(500), d.chance(400)
		switch k := d.intn(1000); {
		case k < 340:
			a.values = true
		case k < 560:
			a.object = true
		}
	}
}

func version(d *dice, before, behind string) string {
	return before + strconv.Itoa(d.intn(15)) + "." + strconv.Itoa(d.intn(42)) + "." + strconv.Itoa(d.intn(21)) + behind
}

// state rolls a health and a sync status.
func (s *Simulator) state(d *dice) state {
	k := d.intn(s.weight)
	for _, st := range s.states {
		if k -= st.weight; k < 0 {
			return st
		}
	}
	return s.states[0]
}

// label is one label of an object.
type label struct{ key, value string }

// labels returns the labels in the order of their keys.
func (a *application) labels(into []label) []label {
	into = into[:0]
	if a.instance {
		into = append(into, label{"app.kubernetes.io/instance", a.name})
	}
	if a.tier != "" {
		into = append(into, label{"corp.example.net/tier", a.tier})
	}
	if a.labelled {
		into = append(into, label{"env", a.env}, label{"region", a.region}, label{"team", a.team})
	}
	return into
}

// repos returns the repositories of all sources.
func (a *application) repos(into []string) []string {
	into = append(into[:0], a.repo)
	if a.multi {
		into = append(into, "https://git.corp.example.net/"+a.domain+"/config.git")
		if a.third {
			into = append(into, "https://git.corp.example.net/infra/dashboards.git")
		}
	}
	return into
}

// writeApplication writes the whole application, as it is in a list and alone.
func (s *Simulator) writeApplication(b []byte, a *application) []byte {
	a.fill(s.kinds)
	return s.render(b, "application", a, int(a.index), dice{})
}
