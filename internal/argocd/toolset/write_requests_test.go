package toolset_test

// writings are calls of every tool that writes, and the request that each must make.
var writings = []struct {
	tool, arguments, confirm string
	want                     written
}{
	{
		"sync_application", `{"name":"guestbook","project":"shop","revision":"v2","prune":true,"strategy":"apply","force":true,"resources":[{"group":"apps","kind":"Deployment","name":"ui"}],"sync_options":["ServerSideApply=true"]}`, "guestbook",
		written{"POST", "applications/guestbook/sync", "", map[string]any{
			"name": "guestbook", "project": "shop", "revision": "v2", "prune": true, "dryRun": false,
			"strategy":    map[string]any{"apply": map[string]any{"force": true}},
			"resources":   []any{map[string]any{"group": "apps", "kind": "Deployment", "name": "ui"}},
			"syncOptions": map[string]any{"items": []any{"ServerSideApply=true"}},
		}},
	},
	{
		"sync_application", `{"name":"many","namespace":"teams","revisions":["v3"],"source_positions":[1]}`, "prod/many",
		written{"POST", "applications/many/sync", "", map[string]any{"name": "many", "appNamespace": "teams", "prune": false, "dryRun": false, "revisions": []any{"v3"}, "sourcePositions": []any{1.0}}},
	},
	{"terminate_operation", `{"name":"guestbook","project":"shop"}`, "guestbook", written{"DELETE", "applications/guestbook/operation", "project=shop", nil}},
	{
		"rollback_application", `{"name":"guestbook","id":"3","prune":true}`, "guestbook",
		written{"POST", "applications/guestbook/rollback", "", map[string]any{"name": "guestbook", "id": 3.0, "dryRun": false, "prune": true}},
	},
	{"refresh_application", `{"name":"guestbook","hard":true}`, "guestbook", written{"GET", "applications/guestbook", "refresh=hard", nil}},
	{
		"create_application", `{"name":"fresh","project":"shop","repo_url":"https://git.example.com/a.git","path":"a","dest_server":"https://kubernetes.default.svc","dest_namespace":"a","directory_recurse":true,"labels":{"a":"b"},"spec":{"revisionHistoryLimit":9007199254740993}}`, "fresh",
		written{"POST", "applications", "validate=true", map[string]any{
			"apiVersion": "argoproj.io/v1alpha1", "kind": "Application", "metadata": map[string]any{"name": "fresh", "labels": map[string]any{"a": "b"}},
			"spec": map[string]any{
				"project": "shop", "revisionHistoryLimit": 9007199254740993.0, "destination": map[string]any{"server": "https://kubernetes.default.svc", "namespace": "a"},
				"source": map[string]any{"repoURL": "https://git.example.com/a.git", "path": "a", "targetRevision": "HEAD", "directory": map[string]any{"recurse": true}},
			},
		}},
	},
	{
		"create_application", `{"name":"guestbook","project":"shop","spec":{"sources":[{"repoURL":"https://git.example.com/a.git"}]},"dest_name":"edge","upsert":true,"validate":false,"automated_sync":true,"prune":true}`, "guestbook",
		written{"POST", "applications", "upsert=true&validate=false", map[string]any{
			"apiVersion": "argoproj.io/v1alpha1", "kind": "Application",
			"metadata": map[string]any{"name": "guestbook", "finalizers": []any{"resources-finalizer.argocd.argoproj.io"}},
			"spec": map[string]any{
				"project": "shop", "sources": []any{map[string]any{"repoURL": "https://git.example.com/a.git"}}, "destination": map[string]any{"name": "edge"},
				"syncPolicy": map[string]any{"automated": map[string]any{"prune": true, "selfHeal": false}},
			},
		}},
	},
	{
		"update_application", `{"name":"guestbook","revision":"v2","automated_sync":true,"self_heal":true,"spec":{"info":null,"source":{"path":"other"}},"metadata":{"labels":{"team":null}}}`, "guestbook",
		written{"PATCH", "applications/guestbook", "", map[string]any{
			"name": "guestbook", "patchType": "merge",
			"patch": `{"metadata":{"labels":{"team":null}},"spec":{"info":null,"source":{"path":"other","targetRevision":"v2"},"syncPolicy":{"automated":{"selfHeal":true}}}}`,
		}},
	},
	{
		"update_application", `{"name":"many","revision":"2.0.0","source_position":2,"dest_server":"https://other:6443","automated_sync":false}`, "many",
		written{"PATCH", "applications/many", "", map[string]any{
			"name": "many", "patchType": "merge",
			"patch": `{"spec":{"destination":{"name":null,"server":"https://other:6443"},"sources":[{"ref":"values","repoURL":"https://git.example.com/values.git","targetRevision":"v1"},{"chart":"web","repoURL":"https://charts.example.com","targetRevision":"2.0.0"}],"syncPolicy":{"automated":null}}}`,
		}},
	},
	{
		"update_application", `{"name":"many","project":"other","validate":false}`, "many",
		written{"PUT", "applications/many/spec", "validate=false", map[string]any{
			"project": "other", "destination": map[string]any{"name": "edge", "namespace": "shop"}, "syncPolicy": map[string]any{"automated": map[string]any{"prune": true}},
			"sources": []any{map[string]any{"repoURL": "https://git.example.com/values.git", "targetRevision": "v1", "ref": "values"}, map[string]any{"repoURL": "https://charts.example.com", "chart": "web", "targetRevision": "1.0.0"}},
		}},
	},
	{"delete_application", `{"name":"guestbook","namespace":"argocd"}`, "guestbook", written{"DELETE", "applications/guestbook", "appNamespace=argocd&cascade=false", nil}},
	{"delete_application", `{"name":"guestbook","cascade":true,"propagation_policy":"background"}`, "guestbook", written{"DELETE", "applications/guestbook", "cascade=true&propagationPolicy=background", nil}},
	{
		"run_resource_action", `{"name":"guestbook","action":"restart","kind":"deployment","resource_name":"ui","parameters":{"replicas":"3"}}`, "ui",
		written{"POST", "applications/guestbook/resource/actions/v2", "", map[string]any{
			"name": "guestbook", "action": "restart", "kind": "Deployment", "group": "apps", "version": "v1", "namespace": "shop", "resourceName": "ui",
			"resourceActionParameters": []any{map[string]any{"name": "replicas", "value": "3"}},
		}},
	},
	{
		"project_create", `{"name":"new","description":"","sourceRepos":"*","destinations":[{"server":"*","namespace":"*"}],"labels":{"a":"b"}}`, "new",
		written{"POST", "projects", "", map[string]any{"upsert": false, "project": map[string]any{
			"metadata": map[string]any{"name": "new", "labels": map[string]any{"a": "b"}},
			"spec":     map[string]any{"description": "", "sourceRepos": []any{"*"}, "destinations": []any{map[string]any{"server": "*", "namespace": "*"}}},
		}}},
	},
	{
		"project_update", `{"param_name":"shop","description":"new","spec":{"orphanedResources":{"warn":false}}}`, "shop",
		written{"PUT", "projects/shop", "", map[string]any{"project": map[string]any{
			"metadata": map[string]any{"name": "shop", "resourceVersion": "41", "generation": 9007199254740993.0},
			"spec": map[string]any{
				"description": "new", "sourceRepos": []any{"*"}, "destinations": []any{map[string]any{"server": "*", "namespace": "shop"}}, "orphanedResources": map[string]any{"warn": false},
				"roles": []any{map[string]any{"name": "ci", "policies": []any{"p, a, b, c, d, allow"}, "jwtTokens": []any{map[string]any{"iat": 1700000000.0, "id": "x"}}}},
			},
		}}},
	},
	{"project_delete", `{"param_name":"shop"}`, "shop", written{"DELETE", "projects/shop", "", nil}},
	{
		"applicationset_create", `{"metadata_name":"fleet","metadata_namespace":"teams","spec":{"generators":[{"list":{}}]},"param_upsert":true}`, "fleet",
		written{"POST", "applicationsets", "upsert=true", map[string]any{
			"apiVersion": "argoproj.io/v1alpha1", "kind": "ApplicationSet", "spec": map[string]any{"generators": []any{map[string]any{"list": map[string]any{}}}},
			"metadata": map[string]any{"name": "fleet", "namespace": "teams", "finalizers": []any{"keep.me"}},
		}},
	},
	{"applicationset_service__delete", `{"path_name":"fleet","param_appsetNamespace":"teams"}`, "fleet", written{"DELETE", "applicationsets/fleet", "appsetNamespace=teams", nil}},
}
