package helm_test

import (
	"slices"
	"strings"
	"testing"

	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
)

// Several daemons share a store, are not all ended at once, and have a volume each; one has none of that.
func TestReplicas(t *testing.T) {
	values := try(t, "replicas.yaml", nil)
	found, _ := objects(t, values)
	set := found["StatefulSet/plimsoll"].(*apps.StatefulSet)
	if *set.Spec.Replicas != 3 || len(set.Spec.VolumeClaimTemplates) != 1 || len(set.Spec.Template.Spec.TopologySpreadConstraints) != 1 {
		t.Errorf("%d replicas, %d claims", *set.Spec.Replicas, len(set.Spec.VolumeClaimTemplates))
	}
	container := set.Spec.Template.Spec.Containers[0]
	for name, value := range map[string]string{"PLIMSOLL_FLEET_URL": "nats://nats:4222", "PLIMSOLL_FLEET_CREDENTIALS": "/etc/plimsoll/fleet/credentials"} {
		if !slices.ContainsFunc(container.Env, func(e core.EnvVar) bool { return e.Name == name && e.Value == value }) {
			t.Errorf("%s is not %s", name, value)
		}
	}
	if !slices.ContainsFunc(set.Spec.Template.Spec.Volumes, func(v core.Volume) bool { return v.Secret != nil && v.Secret.SecretName == "nats-plimsoll" }) {
		t.Error("the credentials are no volume")
	}
	budget, ok := found["PodDisruptionBudget/plimsoll"].(*policy.PodDisruptionBudget)
	if !ok || budget.Spec.MaxUnavailable.IntValue() != 1 || budget.Spec.Selector.MatchLabels["app.kubernetes.io/component"] != "serve" {
		t.Errorf("%+v", budget)
	}
	egress := found["NetworkPolicy/plimsoll-serve"].(*networking.NetworkPolicy).Spec.Egress
	if last := egress[len(egress)-1]; len(last.Ports) != 1 || last.Ports[0].Port.IntValue() != 4222 {
		t.Errorf("the store is not reached: %+v", egress)
	}

	serve := values["serve"].(map[string]any)
	serve["fleet"] = map[string]any{"url": "nats://a,tls://b:4333"}
	found, _ = objects(t, values)
	egress = found["NetworkPolicy/plimsoll-serve"].(*networking.NetworkPolicy).Spec.Egress
	if n := len(egress); egress[n-2].Ports[0].Port.IntValue() != 4222 || egress[n-1].Ports[0].Port.IntValue() != 4333 {
		t.Errorf("%+v", egress)
	}

	delete(serve, "replicas")
	delete(serve, "fleet")
	found, texts := objects(t, values)
	set = found["StatefulSet/plimsoll"].(*apps.StatefulSet)
	if _, ok := found["PodDisruptionBudget/plimsoll"]; ok || *set.Spec.Replicas != 1 || strings.Contains(texts["StatefulSet/plimsoll"], "FLEET") {
		t.Errorf("one daemon has what several need:\n%s", texts["StatefulSet/plimsoll"])
	}
}
