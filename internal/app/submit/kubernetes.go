package submit

import (
	"cmp"

	"github.com/plimsoll/plimsoll/internal/app/core"
	"github.com/plimsoll/plimsoll/internal/jobs"
	"github.com/plimsoll/plimsoll/internal/jobs/kubeapi"
	"github.com/plimsoll/plimsoll/internal/jobs/kubernetes"
)

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

func openKubernetes(s setting) (jobs.Engine, error) {
	tool := s.options.Tool
	if tool == "" && len(s.options.Command) > 0 {
		tool = s.core.Config.Tool(s.options.Command).Tool
	}
	settings, err := s.core.Config.For(tool)
	if err != nil {
		return nil, err
	}
	o := s.options
	return kubernetes.New(kubernetes.Options{
		Open: func(context, namespace string) (*kubeapi.Cluster, error) {
			return OpenCluster(s.core, context, namespace)
		},
		Image: cmp.Or(o.Image, settings.Submit.Image), Plimsoll: settings.Submit.PlimsollImage,
		Priority: o.Priority, Secrets: o.Secrets, Work: o.Work, Hosts: settings.Submit.Hosts, Told: s.told,
	}), nil
}

// OpenCluster opens the cluster that a kubeconfig and the configuration name. "" for context or namespace is the configuration's.
func OpenCluster(c *core.Core, context, namespace string) (*kubeapi.Cluster, error) {
	settings, err := c.Config.For("")
	if err != nil {
		return nil, err
	}
	return kubeapi.Open(cmp.Or(context, settings.Submit.Context), cmp.Or(namespace, settings.Submit.Namespace))
}
