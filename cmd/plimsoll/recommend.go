package main

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/plimsoll/plimsoll/internal/app"
	"github.com/plimsoll/plimsoll/internal/app/submit"
	"github.com/plimsoll/plimsoll/internal/config"
	"github.com/plimsoll/plimsoll/limit"
)

// recommendFormats are the values of --format.
var recommendFormats = []string{"text", "json", "patch"}

// newRecommendCommand returns the command recommend, which compares what a cluster's agents ask for with what they need.
func newRecommendCommand(open opener) *cobra.Command {
	o := submit.RecommendOptions{On: "kubernetes"}
	format, asJSON := recommendFormats[0], false
	cmd := &cobra.Command{
		Use:   "recommend [NAME]",
		Short: "Compare what a cluster's agents ask for with what they need",
		Long: `Lists what already runs in a namespace of Kubernetes under plimsoll run, with the memory that
it asks for, and what runs of its tool have shown to need where this is called: Deployments,
StatefulSets, CronJobs, Jobs, and the SandboxTemplates of agent-sandbox.

A container whose command is another one is counted as the tool that the annotation
plimsoll.dev/tool of its pod's template names.

With --format patch it prints what to change, for kubectl and Kustomize. It changes nothing.`,
		Example: `  plimsoll recommend --on kubernetes
  plimsoll recommend --on kubernetes --namespace agents reviewer
  plimsoll recommend --on kubernetes --format patch > memory.yaml`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return fmt.Errorf("recommend takes one name, not %d", len(args))
			}
			o.Name = strings.Join(args, "")
			if asJSON {
				format = "json"
			}
			write, ok := map[string]func(io.Writer, []submit.Recommendation) error{
				"text": printRecommendations, "patch": printPatches,
				"json": func(w io.Writer, all []submit.Recommendation) error { return printJSON(w, all) },
			}[format]
			if !ok {
				return fmt.Errorf("--format %q is unknown; there are %s", format, strings.Join(recommendFormats, ", "))
			}
			a, err := open(cmd)
			if err != nil {
				return err
			}
			all, err := submit.Recommend(cmd.Context(), a, o)
			if err != nil {
				return err
			}
			return write(plainWriter(cmd.OutOrStdout()), all)
		},
	}
	f := cmd.Flags()
	f.StringVar(&o.On, "on", o.On, "where it runs: kubernetes")
	f.StringVar(&o.Context, "context", "", "the context of the kubeconfig (default: submit.context)")
	f.StringVarP(&o.Namespace, "namespace", "n", "", "the namespace (default: submit.namespace)")
	f.StringVar(&format, "format", format, strings.Join(recommendFormats, ", "))
	f.BoolVar(&asJSON, "json", false, "print JSON")
	cmd.MarkFlagsMutuallyExclusive("format", "json")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions(recommendFormats, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// printRecommendations writes a table of what is asked for and what was learned, "-" where there is none, or a sentence without any.
func printRecommendations(w io.Writer, all []submit.Recommendation) error {
	if len(all) == 0 {
		_, err := fmt.Fprintln(w, "Nothing in this namespace runs plimsoll run -- COMMAND, or names its tool in the annotation plimsoll.dev/tool.")
		return err
	}
	size := func(b limit.Bytes) string {
		if b == 0 {
			return "-"
		}
		return b.Human()
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "KIND\tNAME\tTOOL\tRUNS\tREQUEST\tLEARNED\tLIMIT\tLEARNED")
	unknown := ""
	for i := range all {
		r := &all[i]
		tool := config.NameTool(r.Tool, r.Variant)
		fmt.Fprintf(t, "%s\t%s\t%s\t%d\t%s\t%s\t%s\t%s\n", r.Kind, app.Printable(r.Name), app.Printable(tool), r.Samples,
			size(r.RequestBytes), size(r.LearnedRequestBytes), size(r.LimitBytes), size(r.LearnedLimitBytes))
		if r.LearnedRequestBytes == 0 {
			unknown = tool
		}
	}
	if err := t.Flush(); err != nil || unknown == "" {
		return err
	}
	_, err := fmt.Fprintf(w, "No run of %s has shown a need here; plimsoll stats %[1]s --all lists what is known of it.\n", app.Printable(unknown))
	return err
}

// printPatches writes the patches as documents of YAML, and what is no patch as a comment.
func printPatches(w io.Writer, all []submit.Recommendation) error {
	for i := range all {
		r := &all[i]
		text := fmt.Sprintf("# %s %s: no run of %s has shown a need here\n", r.Kind, r.Name, r.Tool)
		switch {
		case r.Command != "":
			text = "# " + r.Command + "\n"
		case r.Patch != nil:
			body, err := submit.YAML(r.Patch)
			if err != nil {
				return err
			}
			text = "---\n" + body
		}
		if _, err := io.WriteString(w, text); err != nil {
			return err
		}
	}
	return nil
}
