package simulator

import (
	"strconv"
	"strings"
)

// application describes a generated application: with traits enough for
// filters and counts, with fill what the lists of a template go through.
type application struct {
	sim   *Simulator
	index uint64

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
	running, failed, succeeded            bool
	count                                 int // of resources
	deployed                              int // entries of the history
	options                               []string
	parameters, values, object, release   bool
	ignore, info, limit                   bool
	alerts, generate, ownerMail, external bool
	updater, applied, refresh, annotated  bool
	deleting                              bool
	conditions                            []struct{}
	generation                            int
	created, sourceType                   string

	resources, results            []resource
	history                       []deployment
	reconciled, started, finished string
}

// roll replaces a by the application with number i, made by dice that depend on the seed and i only. Slices that a had are used again.
func (a *application) roll(i int) {
	s, w := a.sim, &a.sim.words
	d := newDice(s.seed, partTraits, uint64(i))
	names, inProjects := &s.names[applications], &s.names[projects]
	at, _ := names.parts(i)
	*a = application{
		sim: s, index: uint64(i), options: a.options[:0], resources: a.resources[:0], history: a.history[:0],
		name: names.name(i), domain: w.Domains[at[0]], component: w.Components[at[1]], created: created(i), generation: 1,
	}
	anywhere := d.of(w.Regions)
	if a.env, a.region, _ = strings.Cut(w.Places[at[2]], "-"); a.region == "" {
		a.region = anywhere
	}
	a.project = "default"
	a.team = a.domain + "-" + d.of(w.Teams)
	from, to := inProjects.span(at[0])
	if to > from && !d.chance(85) {
		a.project = inProjects.name(from + d.intn(to-from))
		a.team = a.project
	}
	st := s.rollState(&d)
	a.health, a.sync, a.never = st.Health, st.Sync, st.Sync == ""
	a.toServer = "https://kubernetes.default.svc"
	if n := s.options.Clusters; n > 0 {
		if c := s.clusterAt(d.intn(n)); d.chance(300) {
			a.toServer, a.toCluster = "", c.Name
		} else {
			a.toServer = c.Server
		}
	}
	a.into = a.domain + "-" + a.env
	if sets := &s.names[applicationsets]; sets.n > 0 && d.chance(550) {
		a.owner = sets.name(d.intn(sets.n))
	}
	a.labelled = !d.chance(67)
	a.instance = d.chance(490)
	if d.chance(287) {
		a.tier = d.of(w.Tiers)
	}
	a.rollSource(&d)
	a.finalizer = [...]string{"resources-finalizer.argocd.argoproj.io", "resources-finalizer.argocd.argoproj.io/background", ""}[d.below(452, 508)]
	a.automated, a.prune, a.selfHeal = d.chance(631), d.chance(500), d.chance(500)
	a.retry, a.disabled = a.automated && d.chance(490), d.chance(50)
	if a.automated || d.chance(420) {
		for i := range 1 + d.intn(3)*d.intn(2) {
			a.options = append(a.options, w.Options[(int(a.index*7)%len(w.Options)+i*5)%len(w.Options)])
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
	if a.never {
		return
	}
	if a.generation = 2; a.deleting {
		a.generation = 3
	}
	a.phase = [...]string{"Running", "Failed", "Error", "Succeeded", ""}[d.below(25, 100, 116, 944)]
	a.running, a.failed, a.succeeded = a.phase == "Running", a.phase == "Failed", a.phase == "Succeeded"
	sizes := [...][2]int{{1, 9}, {8, 16}, {30, 46}}[d.below(620, 930)]
	a.count = sizes[0] + d.intn(sizes[1])
	if a.deployed = [...]int{0, 1, 5, 10}[d.below(220, 780, 880)]; a.deployed == 1 {
		a.deployed += d.intn(3)
	}
	a.conditions = make([]struct{}, [...]int{1, 2, 0}[d.below(90, 162)])
}

// rollSource decides with d where the manifests come from, and sets the fields of the source.
func (a *application) rollSource(d *dice) {
	a.multi, a.third = d.chance(160), d.chance(400)
	k := d.intn(1000)
	a.helm, a.kustomize, a.directory = k < 280 || k >= 500 && k < 700, k >= 280 && k < 500, k >= 895
	if a.sourceType = "Directory"; a.helm {
		a.sourceType = "Helm"
	} else if a.kustomize {
		a.sourceType = "Kustomize"
	}
	if a.helm && k >= 500 {
		a.repo = d.of([]string{"oci://registry.corp.example.net/charts", "https://charts.corp.example.net", "https://grafana.github.io/helm-charts"})
		a.chart = d.of(a.sim.words.Charts)
	} else {
		own := a.domain + "/" + a.team + ".git"
		a.repo = [...]string{"https://git.corp.example.net/" + a.domain + "/deploy", "https://git.corp.example.net/" + own, "git@git.corp.example.net:" + own}[d.below(350, 750)]
		a.path = [...]string{".", "chart", "deploy/overlays/" + a.env, "envs/" + a.env + "/" + a.region, "apps/" + a.component}[d.below(200, 400, 620, 800)]
	}
	switch k := d.below(370, 560, 730, 900, 960); {
	case a.chart != "":
		a.target = version(d, "", "")
	case k < 3:
		a.target = [...]string{"main", "release/2026.11", "HEAD"}[k]
	case k == 3:
		a.target = version(d, "v", "")
	case k == 4:
		a.target = version(d, "v", "-rc."+strconv.Itoa(1+d.intn(9)))
	default:
		a.target = version(d, "v", "+build."+strconv.Itoa(100+d.intn(900)))
	}
	if a.helm {
		a.parameters, a.release = d.chance(500), d.chance(400)
		values := d.below(340, 560)
		a.values, a.object = values == 0, values == 1
	}
}

func version(d *dice, before, behind string) string {
	return before + strconv.Itoa(d.intn(15)) + "." + strconv.Itoa(d.intn(42)) + "." + strconv.Itoa(d.intn(21)) + behind
}

// rollState rolls a health and a sync status, each pair as often as its weight says.
func (s *Simulator) rollState(d *dice) state {
	k := d.intn(s.weight)
	for _, st := range s.words.States {
		if k -= st.Weight; k < 0 {
			return st
		}
	}
	return s.words.States[0]
}

// head writes into h what filters need to know of the application; the slices of h are used again.
func (a *application) head(h *head) {
	*h = head{
		name: a.name, namespace: "argocd", project: a.project, health: a.health, sync: a.sync,
		labels: h.labels[:0], repos: append(h.repos[:0], a.repo),
	}
	if a.instance {
		h.labels = append(h.labels, label{"app.kubernetes.io/instance", a.name})
	}
	if a.tier != "" {
		h.labels = append(h.labels, label{"corp.example.net/tier", a.tier})
	}
	if a.labelled {
		h.labels = append(h.labels, label{"env", a.env}, label{"region", a.region}, label{"team", a.team})
	}
	if a.multi {
		h.repos = append(h.repos, "https://git.corp.example.net/"+a.domain+"/config.git")
		if a.third {
			h.repos = append(h.repos, "https://git.corp.example.net/infra/dashboards.git")
		}
	}
}

func (a *application) write(b []byte) []byte {
	a.fillDetails()
	return a.sim.render(b, "application", a, int(a.index), dice{})
}
