package simulator

// The words of the recorded installation. Each list of names is sorted in the order of
// name+"-", and no entry with a "-" behind it begins another: so names in the order of
// their parts are in the order of their bytes, and a name can be taken apart again.

func domains() []string {
	return []string{
		"billing", "catalog", "checkout", "data-platform", "edge", "fraud", "fulfilment", "identity", "invoicing", "kyc",
		"ledger", "logistics", "loyalty", "maps", "media", "messaging", "ml-serving", "notifications", "observability",
		"onboarding", "payments", "pricing", "reporting", "returns", "risk", "routing", "search", "support", "treasury",
		"warehouse",
	}
}

func components() []string {
	return []string{
		"admin", "api", "auth", "batch", "bff", "cache", "consumer", "dlq-replayer", "exporter", "frontend", "gateway",
		"indexer", "ingest", "mailer", "migrator", "proxy", "rules", "scheduler", "sidecar", "store", "stream", "sync",
		"web", "webhooks", "worker",
	}
}

// places returns environments, some of them with a region: production is met more often.
func places() []string {
	return []string{
		"dev", "dev-eu-west-1", "dr", "perf", "prod", "prod-ap-southeast-2", "prod-eu-central-1", "sandbox", "stg", "stg-us-east-1",
	}
}

func teams() []string {
	return []string{"core", "experience", "insights", "integrations", "labs", "ops", "platform", "tooling"}
}

func fleets() []string {
	return []string{"all-envs", "fleet", "pr-preview", "regions", "tenants"}
}

type word struct {
	regions, people, charts, tiers, options, failures []string
}

// lists returns the lists by the names that templates know them by.
func (w *word) lists() map[string][]string {
	return map[string][]string{
		"people": w.people, "tiers": w.tiers, "places": places(),
		"requests": {"/healthz", "/api/v1/orders", "/api/v1/items", "/metrics", "/api/v1/sessions"},
	}
}

func words() word {
	return word{
		regions: []string{"eu-west-1", "us-east-1", "ap-southeast-2", "eu-central-1", "us-west-2"},
		people:  []string{"björn.lindqvist", "chen.wei", "d.okafor", "f.rossi", "h.oconnor", "i.silva", "m.ito", "s.kaplan"},
		charts:  []string{"cron", "loki", "postgresql", "redis", "service", "web"},
		tiers:   []string{"bronze", "gold", "silver"},
		options: []string{
			"CreateNamespace=true", "ServerSideApply=true", "ApplyOutOfSyncOnly=true",
			"PrunePropagationPolicy=foreground", "RespectIgnoreDifferences=true", "PruneLast=true",
		},
		failures: []string{
			"could not get secret data from provider",
			"back-off 5m0s restarting failed container=app",
			"Deployment exceeded its progress deadline",
			"ImagePullBackOff: Back-off pulling image",
		},
	}
}

// resourceKind is a kind of Kubernetes object that applications consist of.
type resourceKind struct {
	group, version, kind string
	cluster              bool // has no namespace
	healthy              bool // Argo CD knows a health of it
	pods                 bool
}

// resourceKinds returns the kinds sorted by group and kind, as the server sorts status.resources.
func resourceKinds() []resourceKind {
	return []resourceKind{
		{"", "v1", "ConfigMap", false, false, false},
		{"", "v1", "Namespace", true, false, false},
		{"", "v1", "PersistentVolumeClaim", false, true, false},
		{"", "v1", "Secret", false, false, false},
		{"", "v1", "Service", false, true, false},
		{"", "v1", "ServiceAccount", false, false, false},
		{"apiextensions.k8s.io", "v1", "CustomResourceDefinition", true, false, false},
		{"apps", "v1", "Deployment", false, true, true},
		{"apps", "v1", "StatefulSet", false, true, true},
		{"argoproj.io", "v1alpha1", "Rollout", false, true, true},
		{"autoscaling", "v2", "HorizontalPodAutoscaler", false, true, false},
		{"batch", "v1", "CronJob", false, true, false},
		{"batch", "v1", "Job", false, true, true},
		{"cert-manager.io", "v1", "Certificate", false, true, false},
		{"external-secrets.io", "v1beta1", "ExternalSecret", false, true, false},
		{"gateway.networking.k8s.io", "v1", "HTTPRoute", false, false, false},
		{"keda.sh", "v1alpha1", "ScaledObject", false, true, false},
		{"monitoring.coreos.com", "v1", "PrometheusRule", false, false, false},
		{"monitoring.coreos.com", "v1", "ServiceMonitor", false, false, false},
		{"networking.k8s.io", "v1", "Ingress", false, true, false},
		{"networking.k8s.io", "v1", "NetworkPolicy", false, false, false},
		{"policy", "v1", "PodDisruptionBudget", false, true, false},
		{"rbac.authorization.k8s.io", "v1", "Role", false, false, false},
		{"rbac.authorization.k8s.io", "v1", "RoleBinding", false, false, false},
	}
}

// state is a health and a sync status that occur together, and how often of 819.
type state struct {
	health, sync string
	weight       int
}

// states returns the counts of the recorded list.
func states() []state {
	return []state{
		{"Healthy", "Synced", 474},
		{"Healthy", "OutOfSync", 93},
		{"Degraded", "Synced", 64},
		{"Progressing", "Synced", 50},
		{"Unknown", "Unknown", 32},
		{"Missing", "OutOfSync", 29},
		{"Suspended", "Synced", 21},
		{"Healthy", "Unknown", 17},
		{"Degraded", "OutOfSync", 11},
		{"Progressing", "OutOfSync", 11},
		{"", "", 10},
		{"Suspended", "OutOfSync", 4},
		{"Progressing", "Unknown", 2},
		{"Degraded", "Unknown", 1},
	}
}
