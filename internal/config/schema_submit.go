package config

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
