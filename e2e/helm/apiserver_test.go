package helm_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	core "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/yaml"
)

// A real kube-apiserver takes every object as `kubectl apply --server-side --dry-run=server` sends it, with its defaults, its validation and the
// admission of Pod Security at its strictest; a field that it does not know is an error. Kinds that it does not have (of the Prometheus operator and
// of cert-manager, without their definitions) are told and left out.
func TestAPIServerTakesEveryObject(t *testing.T) {
	address := os.Getenv("PLIMSOLL_E2E_APISERVER")
	if address == "" {
		t.Skip("PLIMSOLL_E2E_APISERVER names no kube-apiserver (https://127.0.0.1:6443)")
	}
	config := &rest.Config{
		Host: address, BearerToken: os.Getenv("PLIMSOLL_E2E_APISERVER_TOKEN"),
		TLSClientConfig: rest.TLSClientConfig{Insecure: true}, // a server of this test's, on loopback
	}
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	version, err := clients.Discovery().ServerVersion()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("kube-apiserver %s", version.GitVersion)
	_, err = clients.CoreV1().Namespaces().Create(t.Context(), &core.Namespace{ObjectMeta: metav1.ObjectMeta{
		Name: namespace, Labels: map[string]string{"pod-security.kubernetes.io/enforce": "restricted"},
	}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	disco, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(disco))
	dyn, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	apply := func(t *testing.T, text string) (left bool, err error) {
		var object unstructured.Unstructured
		if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
			t.Fatal(err)
		}
		kind := object.GroupVersionKind()
		mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if meta.IsNoMatchError(err) {
			return true, nil
		}
		if err != nil {
			t.Fatal(err)
		}
		body, err := object.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		_, err = dyn.Resource(mapping.Resource).Namespace(namespace).Patch(t.Context(), object.GetName(), types.ApplyPatchType, body, metav1.PatchOptions{
			DryRun: []string{metav1.DryRunAll}, FieldManager: "plimsoll-test", Force: new(true), FieldValidation: metav1.FieldValidationStrict,
		})
		return false, err
	}
	taken, left := 0, []string{}
	for _, name := range exampleNames(t) {
		_, texts := objects(t, try(t, name, needed[name]))
		for id, text := range texts {
			out, err := apply(t, text)
			switch {
			case out:
				left = append(left, strings.SplitN(id, "/", 2)[0])
			case err != nil:
				t.Errorf("%s: %s: %v", name, id, err)
			default:
				taken++
			}
		}
	}
	slices.Sort(left)
	t.Logf("%d objects were taken; not known to this server: %v", taken, slices.Compact(left))
	if taken < 20 {
		t.Errorf("only %d objects", taken)
	}
	for _, text := range blocks(t, "yaml manifest") {
		if _, err := apply(t, text); err != nil {
			t.Errorf("the guide's manifest: %v", err)
		}
	}
	// It looks: what the chart must not give is refused.
	for _, wrong := range []string{
		"apiVersion: v1\nkind: Pod\nmetadata: {name: root}\nspec: {containers: [{name: a, image: a}]}",
		"apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {ports: [{port: 70000}]}",
		"apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {replica: 1}",
	} {
		if _, err := apply(t, wrong); err == nil {
			t.Errorf("taken: %s", wrong)
		}
	}
}
