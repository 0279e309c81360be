// Package apiserver builds a kube-apiserver and the etcd behind it from their modules, for the test of e2e/helm that shows it the chart:
//
//	go build -o DIR/ ./etcd ./kube-apiserver
//	PLIMSOLL_E2E_APISERVER_BIN=DIR go -C ../helm test -run APIServer -v ./...
//
// It is a module of its own and in no step of the gate: it takes about 15 minutes of two processors, and 4 GB.
package apiserver
