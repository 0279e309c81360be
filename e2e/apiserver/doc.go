// Package apiserver builds a kube-apiserver, the etcd behind it, a scheduler and a controller manager from their modules, for the tests of e2e/helm that
// show them the chart and a submitted job:
//
//	V=k8s.io/component-base/version
//	go build -ldflags "-X $V.gitVersion=v1.37.2 -X $V.gitMajor=1 -X $V.gitMinor=37" -o DIR/ ./etcd ./kube-apiserver ./kube-scheduler ./kube-controller-manager
//	PLIMSOLL_E2E_APISERVER_BIN=DIR go -C ../helm test -run APIServer -v ./...
//
// With PLIMSOLL_E2E_HELM=FILE and kubectl in PATH the guide's commands run on it too. Without those flags a server says that it is v0.0.0, and the chart
// refuses it.
//
// It is a module of its own and built by night only: the first two take about 15 minutes of two processors, and 4 GB.
package apiserver
