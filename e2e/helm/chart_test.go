package helm_test

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	"helm.sh/helm/v3/pkg/releaseutil"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

const namespace = "agents"

// known are Kubernetes' own types and those of the Prometheus operator.
var known = func() *runtime.Scheme {
	s := runtime.NewScheme()
	if err := scheme.AddToScheme(s); err != nil {
		panic(err)
	}
	if err := monitoring.AddToScheme(s); err != nil {
		panic(err)
	}
	return s
}()

// strict refuses fields that a type does not have, and fields that are there twice.
var strict = json.NewSerializerWithOptions(json.DefaultMetaFactory, known, known, json.SerializerOptions{Yaml: true, Strict: true})

// try is what an example says and what somebody gives by hand with it.
func try(t *testing.T, example string, byHand map[string]any) map[string]any {
	t.Helper()
	values := map[string]any{}
	if example != "" {
		text, err := os.ReadFile(filepath.Join(examples, example))
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.UnmarshalStrict(text, &values); err != nil {
			t.Fatalf("%s: %v", example, err)
		}
	}
	given := map[string]any{}
	text, err := yaml.Marshal(byHand) // a copy: tests change what they get
	if err != nil || yaml.Unmarshal(text, &given) != nil {
		t.Fatal(err)
	}
	return chartutil.CoalesceTables(given, values)
}

// needed is what the examples leave to who installs them.
var needed = map[string]map[string]any{
	"self-contained.yaml": {"token": map[string]any{"value": "0123456789abcdef0123456789abcdef"}},
}

// render renders as helm template does, after the check against the schema.
func render(values map[string]any) (map[string]string, error) {
	chart, err := loader.LoadDir(chartDir)
	if err != nil {
		return nil, err
	}
	options := chartutil.ReleaseOptions{Name: "plimsoll", Namespace: namespace, Revision: 1, IsInstall: true}
	all, err := chartutil.ToRenderValues(chart, values, options, chartutil.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	return engine.Render(chart, all)
}

// objects are the manifests that an example gives, by kind and name, decoded strictly. What has no Go type here has nil.
func objects(t *testing.T, values map[string]any) (map[string]runtime.Object, map[string]string) {
	t.Helper()
	files, err := render(values)
	if err != nil {
		t.Fatal(err)
	}
	found, texts := map[string]runtime.Object{}, map[string]string{}
	for name, text := range files {
		if !strings.HasSuffix(name, ".yaml") {
			continue
		}
		for _, one := range releaseutil.SplitManifests(text) {
			var head struct {
				APIVersion, Kind string
				Metadata         struct{ Name string }
			}
			if err := yaml.Unmarshal([]byte(one), &head); err != nil {
				t.Fatalf("%s is no YAML: %v\n%s", name, err, one)
			}
			if head.Kind == "" {
				continue
			}
			id := head.Kind + "/" + head.Metadata.Name
			if _, twice := found[id]; twice {
				t.Errorf("%s is there twice", id)
			}
			found[id], texts[id] = nil, one
			kind := schema.FromAPIVersionAndKind(head.APIVersion, head.Kind)
			if !known.Recognizes(kind) {
				if kind.Group != "cert-manager.io" {
					t.Errorf("%s: nobody knows %s", name, kind)
				}
				continue
			}
			object, _, err := strict.Decode([]byte(one), nil, nil)
			if err != nil {
				t.Errorf("%s: %s: %v\n%s", name, id, err, one)
			}
			found[id] = object
		}
	}
	return found, texts
}

func exampleNames(t *testing.T) []string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(examples, "*.yaml"))
	if err != nil || len(list) < 4 {
		t.Fatalf("%d examples, %v", len(list), err)
	}
	for i := range list {
		list[i] = filepath.Base(list[i])
	}
	return list
}

// helm lint --strict has nothing to say: no warning either.
func TestLint(t *testing.T) {
	for _, name := range exampleNames(t) {
		l := lint.AllWithKubeVersion(chartDir, try(t, name, needed[name]), namespace, nil)
		for _, m := range l.Messages {
			if m.Severity >= support.WarningSev {
				t.Errorf("%s: %s", name, m)
			}
		}
	}
}

// Every object that an example gives has only fields that its type has.
func TestObjectsDecodeStrictly(t *testing.T) {
	for name, want := range map[string][]string{
		"serve.yaml": {
			"ConfigMap/plimsoll", "NetworkPolicy/plimsoll-serve", "Pod/plimsoll-test", "PrometheusRule/plimsoll", "Service/plimsoll", "ServiceAccount/plimsoll",
			"ServiceMonitor/plimsoll", "StatefulSet/plimsoll",
		},
		"agents.yaml": {
			"CronJob/plimsoll-nightly", "Deployment/plimsoll-chat", "Deployment/plimsoll-reviewer", "NetworkPolicy/plimsoll-agents", "ServiceAccount/plimsoll",
		},
		"self-contained.yaml": {
			"ConfigMap/plimsoll", "Job/plimsoll-once", "NetworkPolicy/plimsoll-agents", "NetworkPolicy/plimsoll-serve", "Pod/plimsoll-test", "Secret/plimsoll-tls",
			"Secret/plimsoll-token", "Service/plimsoll", "ServiceAccount/plimsoll", "StatefulSet/plimsoll",
		},
		"cert-manager.yaml": {
			"Certificate/plimsoll", "ConfigMap/plimsoll", "NetworkPolicy/plimsoll-serve", "Pod/plimsoll-test", "Service/plimsoll", "ServiceAccount/plimsoll",
			"ServiceMonitor/plimsoll", "StatefulSet/plimsoll",
		},
	} {
		found, _ := objects(t, try(t, name, needed[name]))
		if got := slices.Sorted(maps.Keys(found)); !slices.Equal(got, want) {
			t.Errorf("%s gives\n%q, want\n%q", name, got, want)
		}
	}
	for _, name := range exampleNames(t) {
		objects(t, try(t, name, needed[name]))
	}
}

// The decoder is strict: what the chart would get wrong, it finds.
func TestStrictDecodeFindsMistakes(t *testing.T) {
	for _, wrong := range []string{
		"apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: a}\nspec: {replica: 1}",
		"apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: a, readinessProb: {}}]}",
		"apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {type: ClusterIP, type: NodePort}",
		"apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\nmetadata: {name: a}\nspec: {endpoints: [{prot: https}]}",
	} {
		if _, _, err := strict.Decode([]byte(wrong), nil, nil); err == nil {
			t.Errorf("taken: %s", wrong)
		}
	}
}

// The alerts of the chart are those of deploy/prometheus, which have their tests there.
func TestRulesAreTheSame(t *testing.T) {
	want, err := os.ReadFile(repository + "/deploy/prometheus/plimsoll.rules.yml")
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(chartDir + "/files/plimsoll.rules.yml")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("the chart's alerts differ: cp deploy/prometheus/plimsoll.rules.yml deploy/helm/plimsoll/files/")
	}
	found, _ := objects(t, try(t, "serve.yaml", nil))
	rule, ok := found["PrometheusRule/plimsoll"].(*monitoring.PrometheusRule)
	if !ok {
		t.Fatal("no PrometheusRule")
	}
	var file monitoring.PrometheusRuleSpec
	if err := yaml.Unmarshal(want, &file); err != nil {
		t.Fatal(err)
	}
	if len(rule.Spec.Groups) == 0 || len(rule.Spec.Groups) != len(file.Groups) {
		t.Fatalf("%d groups, want %d", len(rule.Spec.Groups), len(file.Groups))
	}
	for i, g := range file.Groups {
		if len(g.Rules) < 10 || len(rule.Spec.Groups[i].Rules) != len(g.Rules) {
			t.Errorf("group %s has %d rules, want %d", g.Name, len(rule.Spec.Groups[i].Rules), len(g.Rules))
		}
		for j, r := range g.Rules {
			if got := rule.Spec.Groups[i].Rules[j]; got.Alert != r.Alert || got.Expr != r.Expr || got.Annotations["summary"] != r.Annotations["summary"] {
				t.Errorf("%s is %+v", r.Alert, got)
			}
		}
	}
}

func decodeYAML(t *testing.T, text string) map[string]any {
	t.Helper()
	var v map[string]any
	if err := yaml.UnmarshalStrict([]byte(text), &v); err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return v
}
