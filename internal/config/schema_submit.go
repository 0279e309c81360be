package config

// SubmitSettings are the values of table [submit] in force.
type SubmitSettings struct {
	// On is the engine that places what is submitted.
	On string `json:"on"`
}

// submitKeys are the keys of [submit]. A project's file sets none of them: where a cloned repository's commands run is the user's decision.
var submitKeys = []*Key{
	{
		Name: "on", Type: TypeChoice, Default: "local", Choices: []string{"local", "slurm", "kubernetes"}, Project: ProjectNever, example: `"slurm"`,
		Doc: "Who places what plimsoll submit hands over, where --on does not say: this host's own queue, Slurm or Kubernetes.",
		set: func(s *Settings, v any) { s.Submit.On = v.(string) },
	},
}
