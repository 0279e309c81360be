package submit

import (
	"cmp"
	"fmt"
	"os"
	"strings"

	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/jobs"
	"github.com/plimsoll/plimsoll/internal/jobs/kubeapi"
	"github.com/plimsoll/plimsoll/internal/jobs/kubernetes"
	"github.com/plimsoll/plimsoll/internal/jobs/slurm"
)

// Names of engines.
const (
	Local      = jobs.Local
	Slurm      = "slurm"
	Kubernetes = "kubernetes"
)

// Names lists all engines, as --on takes them.
var Names = []string{Local, Slurm, Kubernetes}

// openEngine opens the engine of a name. Options is the zero value for who only asks about jobs.
func openEngine(c *core.Core, name string, o Options) (jobs.Engine, error) {
	if flag := o.ofKubernetes(); flag != "" && name != Kubernetes {
		return nil, fmt.Errorf("%s is for jobs of Kubernetes; leave it out, or write --on kubernetes", flag)
	}
	switch name {
	case Local:
		return openLocal(c, o)
	case Slurm:
		return slurm.New(c.Warn), nil
	case Kubernetes:
		return openKubernetes(c, o)
	}
	return nil, fmt.Errorf("--on %s: nothing places runs there; write one of: %s", name, strings.Join(Names, ", "))
}

// ofKubernetes returns a flag that was given and means something for Kubernetes only, "" for none.
func (o *Options) ofKubernetes() string {
	switch {
	case o.Image != "":
		return "--image"
	case o.Work != "":
		return "--work"
	case o.Priority != "":
		return "--priority"
	case len(o.Secrets) > 0:
		return "--secret"
	}
	return ""
}

func openKubernetes(c *core.Core, o Options) (jobs.Engine, error) {
	tool := o.Tool
	if tool == "" && len(o.Command) > 0 {
		tool = c.Config.Tool(o.Command).Tool
	}
	settings, err := c.Config.For(tool)
	if err != nil {
		return nil, err
	}
	return kubernetes.New(kubernetes.Options{
		Open:  func(context string) (*kubeapi.Cluster, error) { return OpenCluster(c, context, "") },
		Image: cmp.Or(o.Image, settings.Submit.Image), Plimsoll: settings.Submit.PlimsollImage,
		Priority: o.Priority, Secrets: o.Secrets, Work: o.Work, Hosts: settings.Submit.Hosts, Told: c.Warn,
	}), nil
}

// OpenCluster opens the cluster that a kubeconfig and the configuration name. "" for context or namespace is the configuration's.
func OpenCluster(c *core.Core, context, namespace string) (*kubeapi.Cluster, error) {
	settings, err := c.Config.For("")
	if err != nil {
		return nil, err
	}
	home, _ := os.UserHomeDir()
	return kubeapi.Open(kubeapi.Options{
		Getenv: os.Getenv, Home: home, Context: cmp.Or(context, settings.Submit.Context), Namespace: cmp.Or(namespace, settings.Submit.Namespace),
	})
}
