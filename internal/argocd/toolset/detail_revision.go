package toolset

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/plimsoll/plimsoll/internal/argocd"
	"github.com/plimsoll/plimsoll/internal/rawjson"
	"github.com/plimsoll/plimsoll/internal/secrets"
	"github.com/plimsoll/plimsoll/internal/sorting"
)

// desiredManifests are the manifests of an application at another revision than its own. Methods of a nil one change nothing.
type desiredManifests struct {
	asked, revision string
	namespace       string            // of manifests that name none
	left            []managedResource // sorted; Target is "" once it was used
}

// manifestsAt returns the manifests of an application at a revision. Argo CD builds them, which deploys nothing.
func manifestsAt(ctx context.Context, client *argocd.Client, in appArgs, revision string) (*desiredManifests, error) {
	app, _, err := readApplication(ctx, client, in)
	if err != nil {
		return nil, err
	}
	if n := len(app.Spec.Sources); n > 0 {
		return nil, fmt.Errorf("%s has %d sources, and a revision is that of one: leave revision out", in.Name, n)
	}
	d := &desiredManifests{asked: revision, namespace: app.Spec.Destination.Namespace}
	query := in.query()
	query.Set("revision", revision)
	held := 0
	rest, err := client.Elements(ctx, []string{"applications", in.Name, "manifests"}, query, map[string]func([]byte) error{"manifests": func(raw []byte) error {
		r := managedResource{}
		if err := decode(client, "a manifest", raw, &r.Target); err != nil {
			return err
		}
		if held += len(r.Target); held > maxManaged {
			return errTooMuch
		}
		var m struct {
			Version  string `json:"apiVersion"`
			Kind     string `json:"kind"`
			Metadata struct {
				Name        string            `json:"name"`
				Namespace   string            `json:"namespace"`
				Annotations map[string]string `json:"annotations"`
			} `json:"metadata"`
		}
		if err := decode(client, "a manifest", []byte(r.Target), &m); err != nil {
			return err
		}
		r.treeRef = treeRef{Kind: m.Kind, Namespace: m.Metadata.Namespace, Name: m.Metadata.Name}
		if group, _, is := strings.Cut(m.Version, "/"); is {
			r.Group = group
		}
		r.Hook = m.Metadata.Annotations["argocd.argoproj.io/hook"] != "" || m.Metadata.Annotations["helm.sh/hook"] != ""
		d.left = append(d.left, r)
		return nil
	}})
	if err != nil {
		return nil, err
	}
	var said struct {
		Revision string `json:"revision"`
	}
	if err := decode(client, "the manifests", rest, &said); err != nil {
		return nil, err
	}
	d.revision = said.Revision
	sorting.StableBy(d.left, compareRefs)
	return d, nil
}

func compareRefs(a, b managedResource) int {
	return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Name, b.Name))
}

// replaceDesired replaces the desired state of r by the manifest of the revision, and sets r.Modified. For nil it does nothing.
func (d *desiredManifests) replaceDesired(r *managedResource) error {
	if d == nil {
		return nil
	}
	r.Target, r.Normal, r.Predicted, r.Modified = "", "", "", false
	for at, _ := slices.BinarySearchFunc(d.left, *r, compareRefs); at < len(d.left) && compareRefs(d.left[at], *r) == 0; at++ {
		one := &d.left[at]
		// A manifest may leave its namespace out, or name one for a resource without namespaces.
		if one.Target == "" || one.Namespace != r.Namespace && one.Namespace != "" && r.Namespace != "" || one.Namespace == "" && r.Namespace != "" && r.Namespace != d.namespace {
			continue
		}
		r.Target, one.Target = one.Target, ""
		if r.Namespace == "" && one.Namespace != "" {
			var err error
			if r.Target, err = withoutNamespace(r.Target); err != nil {
				return err
			}
		}
		break
	}
	if absent(r.Live) || absent(r.Target) {
		return nil
	}
	if r.Kind == "Secret" && r.Group == "" { // the server masks the values, and differently in the two answers
		for _, state := range []*string{&r.Live, &r.Target} {
			without, err := rawjson.Remove([]byte(*state), "data", "stringData")
			if err != nil {
				return err
			}
			*state = string(without)
		}
	}
	_, all, err := diffManifests(r.Live, r.Target, true)
	r.Modified = all > 0
	return err
}

// withoutNamespace returns a manifest without its namespace, which the cluster drops for a resource without namespaces.
func withoutNamespace(manifest string) (string, error) {
	metadata, err := rawjson.Remove(rawjson.Get([]byte(manifest), "metadata").Of([]byte(manifest)), "namespace")
	if err != nil {
		return "", err
	}
	out, err := rawjson.Set([]byte(manifest), "metadata", metadata)
	return string(out), err
}

// forRemaining calls take for the resources that only the revision has.
func (d *desiredManifests) forRemaining(take func(managedResource) error) error {
	if d == nil {
		return nil
	}
	for _, r := range d.left {
		if r.Target == "" {
			continue
		}
		if err := take(r); err != nil {
			return err
		}
	}
	return nil
}

// revisionNote returns a sentence about the revision that was compared with; "" for nil.
func (d *desiredManifests) revisionNote() string {
	if d == nil {
		return ""
	}
	text := "Compared with revision " + cutText(secrets.Text(d.asked))
	if d.revision != "" && d.revision != d.asked {
		text += " (" + cutText(d.revision) + ")"
	}
	return text + ": what its manifests name, value by value, without the values of Secrets; what Argo CD ignores or takes for equal may be shown. "
}
