package helm_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	core "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/yaml"
)

// definitions are what the Prometheus operator and cert-manager bring to a cluster, as their modules hold it.
var definitions = map[string][]string{
	"github.com/prometheus-operator/prometheus-operator@v0.89.0": {
		"example/prometheus-operator-crd/monitoring.coreos.com_servicemonitors.yaml", "example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml",
	},
	"github.com/cert-manager/cert-manager@v1.21.2": {"deploy/crds/cert-manager.io_certificates.yaml"},
}

// define makes the kinds known to the server, and waits until it serves them.
func define(t *testing.T, config *rest.Config) {
	t.Helper()
	dyn, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	kinds := dyn.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	for module, files := range definitions {
		get := exec.Command("go", "mod", "download", "-json", module)
		get.Dir = t.TempDir() // no module's folder, so that go.mod stays as it is
		said, err := get.Output()
		var there struct{ Dir string }
		if err != nil || json.Unmarshal(said, &there) != nil || there.Dir == "" {
			t.Fatalf("%v: %v: %s", get, err, said)
		}
		for _, file := range files {
			text, err := os.ReadFile(filepath.Join(there.Dir, file))
			if err != nil {
				t.Fatal(err)
			}
			var object unstructured.Unstructured
			if err := yaml.Unmarshal(text, &object.Object); err != nil {
				t.Fatal(err)
			}
			if _, err := kinds.Create(t.Context(), &object, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
				t.Fatalf("%s: %v", file, err)
			}
			for end := time.Now().Add(time.Minute); ; time.Sleep(100 * time.Millisecond) {
				now, err := kinds.Get(t.Context(), object.GetName(), metav1.GetOptions{})
				if err == nil && established(now) {
					break
				}
				if time.Now().After(end) {
					t.Fatalf("%s is not served: %v", object.GetName(), err)
				}
			}
		}
	}
}

// established says that the server serves a kind.
func established(definition *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(definition.Object, "status", "conditions")
	return slices.ContainsFunc(conditions, func(c any) bool {
		m, ok := c.(map[string]any)
		return ok && m["type"] == "Established" && m["status"] == "True"
	})
}

// A real kube-apiserver takes every object as `kubectl apply --server-side --dry-run=server` sends it, with its defaults, its validation and the
// admission of Pod Security at its strictest; a field that it does not know is an error. A server that is named may lack kinds of the Prometheus
// operator and of cert-manager: they are told and left out. One that is started here has their definitions.
func TestAPIServerTakesEveryObject(t *testing.T) {
	address, token := os.Getenv("PLIMSOLL_E2E_APISERVER"), os.Getenv("PLIMSOLL_E2E_APISERVER_TOKEN")
	if address == "" {
		bin := os.Getenv("PLIMSOLL_E2E_APISERVER_BIN")
		if bin == "" {
			t.Skip("PLIMSOLL_E2E_APISERVER names no kube-apiserver (https://127.0.0.1:6443), and PLIMSOLL_E2E_APISERVER_BIN no folder with one and etcd: go -C e2e/apiserver doc")
		}
		address, token = startAPIServer(t, bin)
	}
	config := &rest.Config{
		Host: address, BearerToken: token,
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
	if os.Getenv("PLIMSOLL_E2E_APISERVER_BIN") != "" { // a server of our own
		define(t, config)
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
	if taken < 20 || len(left) > 0 && os.Getenv("PLIMSOLL_E2E_APISERVER_BIN") != "" {
		t.Errorf("only %d objects, without %v", taken, left)
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
