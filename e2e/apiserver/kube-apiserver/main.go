// Command kube-apiserver is Kubernetes' own API server, without the rest of a cluster: it takes, checks and keeps objects, and nobody acts on them.
//
//	kube-apiserver --help
//
// The test of e2e/helm starts it on loopback, behind the etcd beside it.
// Its version is set when it is built: see the package above.
package main

import (
	"os"

	"k8s.io/component-base/cli"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
)

func main() { os.Exit(cli.Run(app.NewAPIServerCommand())) }
