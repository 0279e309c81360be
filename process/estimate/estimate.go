package estimate

import (
	"slices"

	"github.com/plimsoll/plimsoll/limit"
)

// FirstGuess is the estimate for a tool that nobody has run or configured: 500 MB, as 500 × 2^20
// bytes like every other M here.
const FirstGuess = 500 * limit.MiB

// Where an estimate comes from, most specific first. The strings are stable: reports and scripts
// carry them.
const (
	SourceProject    = "history:project"
	SourceTool       = "history:tool"
	SourceConfigured = "configured"
	SourceProfile    = "profile"
	SourceDefault    = "default"
)

// Estimate is how much memory a run is expected to need.
type Estimate struct {
	Bytes limit.Bytes
	// Source is one of the Source constants.
	Source string
	// Samples is how many earlier runs it rests on; 0 unless Source is a history.
	Samples int
}

// Input is everything an estimate can come from; [Input.Estimate] takes the first that there is.
type Input struct {
	// Project holds the samples of this tool in this project, Tool those of the tool
	// in all projects, both oldest first.
	Project, Tool []Sample
	// ToolSamples is called for the samples of the tool in all projects when Project has
	// none and Tool is nil, because getting them means reading many files. It may be nil.
	ToolSamples func() []Sample
	// Configured is the initial estimate of the configuration, Profile that of the built-in
	// profile of the tool; 0 means none.
	Configured, Profile limit.Bytes
	// Estimator is the name of one of [Estimators]; "" means [Default].
	Estimator string
}

// Estimate backs off: the project's history, the tool's, the configured initial estimate, the
// profile's, [FirstGuess]. The error is about an unknown estimator.
func (in Input) Estimate() (Estimate, error) {
	estimator, err := ByName(in.Estimator)
	if err != nil {
		return Estimate{}, err
	}
	if bytes := estimator.Bytes(in.Project); bytes > 0 {
		return Estimate{in.orProfile(bytes, in.Project), SourceProject, min(len(in.Project), estimator.Window)}, nil
	}
	tool := in.Tool
	if tool == nil && in.ToolSamples != nil {
		tool = in.ToolSamples()
	}
	if bytes := estimator.Bytes(tool); bytes > 0 {
		return Estimate{in.orProfile(bytes, tool), SourceTool, min(len(tool), estimator.Window)}, nil
	}
	switch {
	case in.Configured > 0:
		return Estimate{Bytes: in.Configured, Source: SourceConfigured}, nil
	case in.Profile > 0:
		return Estimate{Bytes: in.Profile, Source: SourceProfile}, nil
	}
	return Estimate{Bytes: FirstGuess, Source: SourceDefault}, nil
}

// orProfile is what the history says, but not less than the profile while all of it was over
// within two seconds: a `claude --version` must not make the next session of hours count
// as tiny.
func (in Input) orProfile(bytes limit.Bytes, samples []Sample) limit.Bytes {
	if slices.ContainsFunc(samples, func(s Sample) bool { return !s.Brief }) {
		return bytes
	}
	return max(bytes, in.Profile)
}
