package config

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// FleetSettings are the values of table [fleet].
type FleetSettings struct {
	// URL is a list of addresses of one server's or cluster's, nats:// or tls://, with commas between; "" means no fleet.
	URL string `json:"url"`
	// Credentials is the path of a file, "" for none.
	Credentials string `json:"credentials"`
	// Host is the name of this host among the others, "" for the system's own.
	Host string `json:"host"`
}

// fleetKeys are the keys of [fleet], for what hosts share.
var fleetKeys = []*Key{
	{
		Name: "url", Type: TypeNATS, Project: ProjectNever, example: `"nats://10.0.0.5:4222"`,
		Doc: "Server of NATS with JetStream in which hosts share history, budgets and rates; tls:// encrypts, several addresses have commas between.",
		set: func(s *Settings, v any) { s.Fleet.URL = v.(string) },
	},
	{
		Name: "credentials", Type: TypeFile, Project: ProjectNever, example: `"/home/me/.config/plimsoll/fleet.creds"`,
		Doc: "File of mode 0600 with the credentials for it: those of a NATS user, a seed, user:password or a token.",
		set: func(s *Settings, v any) { s.Fleet.Credentials = v.(string) },
	},
	{
		Name: "host", Type: TypeText, Project: ProjectNever, example: `"build-3"`,
		Doc: "Name of this host where all are shown, as in plimsoll top; empty takes the one that the system has.",
		set: func(s *Settings, v any) { s.Fleet.Host = v.(string) },
	},
}

// parseNATS returns the text of w, addresses with commas between them, without spaces; "" if it is empty. Anything else is a *misfit. A password
// has its own place, since addresses are shown.
func (k *Key) parseNATS(w written) (any, error) {
	if !w.isText() || len(w.text) > maxText {
		return nil, k.misfitFor(w, "a URL", k.example)
	}
	list := strings.Split(strings.TrimSpace(w.text), ",")
	if len(list) == 1 && list[0] == "" {
		return "", nil
	}
	for i, one := range list {
		list[i] = strings.TrimSpace(one)
		if err := checkNATS(list[i]); err != nil {
			return nil, &misfit{err.Error(), "write it like " + k.example}
		}
	}
	return strings.Join(list, ","), nil
}

// checkNATS returns an error unless an address is nats:// or tls:// with a host, and a port or none, without a user: credentials have a file of
// their own.
func checkNATS(address string) error {
	u, err := url.Parse(address)
	switch {
	case err != nil || u.Host == "" || u.Path != "" || u.RawQuery != "":
		return errors.New("an address of a fleet has a scheme and a host, and a port where that is not 4222")
	case u.Scheme != "nats" && u.Scheme != "tls":
		return fmt.Errorf("%s:// is no scheme of NATS", u.Scheme)
	case u.User != nil:
		return fmt.Errorf("the address of %s has a user in it; the credentials belong into the file that fleet.credentials names", u.Host)
	}
	return nil
}

// SubmitSettings are the values of table [submit] in force.
type SubmitSettings struct {
	// On is the engine that places what is submitted.
	On string `json:"on"`
	// The rest is for Kubernetes. Context and Namespace are "" for the kubeconfig's own, Image and PlimsollImage for none.
	Context       string   `json:"context"`
	Namespace     string   `json:"namespace"`
	Image         string   `json:"image"`
	PlimsollImage string   `json:"plimsoll_image"`
	Hosts         []string `json:"hosts"`
}

// submitKeys are the keys of [submit]. A project's file sets none of them: where a cloned repository's commands run is the user's decision.
var submitKeys = []*Key{
	{
		Name: "on", Type: TypeChoice, Default: "local", Choices: []string{"local", "slurm", "kubernetes"}, Project: ProjectNever, example: `"slurm"`,
		Doc: "Who places what plimsoll submit hands over, where --on does not say: this host's own queue, Slurm or Kubernetes.",
		set: func(s *Settings, v any) { s.Submit.On = v.(string) },
	},
	{
		Name: "context", Type: TypeText, Project: ProjectNever, example: `"staging"`,
		Doc: "Context of the kubeconfig that jobs of Kubernetes go to; unset is the current one.",
		set: func(s *Settings, v any) { s.Submit.Context = v.(string) },
	},
	{
		Name: "namespace", Type: TypeText, Project: ProjectNever, example: `"agents"`,
		Doc: "Namespace of jobs of Kubernetes; unset is that of the context.",
		set: func(s *Settings, v any) { s.Submit.Namespace = v.(string) },
	},
	{
		Name: "image", Type: TypeText, PerTool: true, Project: ProjectNever, example: `"registry.example.com/agent:1.4"`,
		Doc: "Image that has the command in it, for jobs of Kubernetes.",
		set: func(s *Settings, v any) { s.Submit.Image = v.(string) },
	},
	{
		Name: "plimsoll_image", Type: TypeText, Project: ProjectNever, example: `"registry.example.com/plimsoll:0.1.0"`,
		Doc: "Image of Plimsoll, which an init container of such a job copies it from.",
		set: func(s *Settings, v any) { s.Submit.PlimsollImage = v.(string) },
	},
	{
		Name: "hosts", Type: TypeHosts, Project: ProjectNever, example: `["github.com"]`,
		Doc: "Hosts that the commit of `--work commit` may be fetched from.",
		set: func(s *Settings, v any) { s.Submit.Hosts = v.([]string) },
	},
}

// WatchSettings are the values of table [watch] in force.
type WatchSettings struct {
	Runs bool `json:"runs"`
	// Notify is the way in which notices are given; nil gives none.
	Notify NoticeWay `json:"notify"`
	// OTLP is the address of an OpenTelemetry collector, "" for none.
	OTLP string `json:"otlp"`
}

// watchKeys are the keys of [watch]. A project's file sets none of them: what is kept of runs is the user's decision.
var watchKeys = []*Key{
	{
		Name: "runs", Type: TypeBool, Default: "true", Project: ProjectNever, example: "true",
		Doc: "Whether events of runs are kept, for plimsoll runs, top and the dashboard; what looks like a secret is left out.",
		set: func(s *Settings, v any) { s.Watch.Runs = v.(bool) },
	},
	{
		Name: "notify", Type: TypeNotify, Default: "off", Project: ProjectNever, example: `"desktop"`,
		Doc: "How you are told that a run was killed, refused, or got its turn after a minute or more: on the desktop, by a POST of JSON, or by a command with JSON on standard input.",
		set: func(s *Settings, v any) { s.Watch.Notify = v.(NoticeWay) },
	},
	{
		Name: "otlp", Type: TypeCollector, Project: ProjectNever, example: `"http://127.0.0.1:4318"`,
		Doc: "OpenTelemetry collector for traces of runs, from serve and watch, by OTLP over HTTP; empty sends none.",
		set: func(s *Settings, v any) { s.Watch.OTLP = v.(string) },
	},
}

// budgetKeys are the keys of [budget], which bounds what all runs and the daemon spend. A project's file may only make it tighter, for the runs in
// that project.
var budgetKeys = []*Key{
	budgetKey("day", "20", "US dollars that all runs may spend in a day of local time; 0 means no bound.", func(b *BudgetSettings) *float64 { return &b.Day }),
	budgetKey("month", "300", "The same in a month.", func(b *BudgetSettings) *float64 { return &b.Month }),
	budgetKey("project_day", "5", "US dollars that the runs of one project may spend in a day of local time; 0 means no bound.", func(b *BudgetSettings) *float64 { return &b.ProjectDay }),
	budgetKey("project_month", "50", "The same in a month.", func(b *BudgetSettings) *float64 { return &b.ProjectMonth }),
	{
		Name: "plan", Type: TypeBool, Default: "false", Project: ProjectNever, example: "true",
		Doc: "Whether what the tokens of a subscription would cost counts as money.",
		set: func(s *Settings, v any) { s.Budget.Plan = v.(bool) },
	},
}

func budgetKey(name, example, doc string, of func(*BudgetSettings) *float64) *Key {
	return &Key{
		Name: name, Type: TypeNumber, Default: "0", Project: ProjectStricter, max: maxDollars, noBound: true, example: example, Doc: doc,
		set: func(s *Settings, v any) { *of(&s.Budget) = v.(float64) },
	}
}
