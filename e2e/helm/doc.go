// Package helm holds the chart of deploy/helm to what a cluster would say of it, without one: Helm's own linter and renderer, Kubernetes' own
// types, and the evaluator behind Pod Security admission. What a rendered container starts is started, with its own command and environment.
//
// It is a module of its own, so that Helm and Kubernetes are compiled for its tests alone.
//
//	go test ./...     in this folder; the gate's step e2e does it
//
// A job that plimsoll submits is held to the same, and is started as it is written.
//
// A real kube-apiserver takes every object with a dry run, where one is named, or a folder with one and etcd (e2e/apiserver builds both):
//
//	PLIMSOLL_E2E_APISERVER=https://127.0.0.1:6443 PLIMSOLL_E2E_APISERVER_TOKEN=… go test -run APIServer -v ./...
//	PLIMSOLL_E2E_APISERVER_BIN=DIR go test -run APIServer -v ./...
package helm
