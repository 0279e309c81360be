// Command kube-controller-manager is Kubernetes' own, which makes the pods of Jobs, and takes away what belongs to something that is gone:
//
//	kube-controller-manager --kubeconfig FILE --leader-elect=false --controllers job-controller,garbage-collector-controller,…
//
// The test of e2e/helm starts it beside the kube-apiserver with the controllers that a Job meets.
package main

import (
	"os"

	"k8s.io/component-base/cli"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app"
)

func main() { os.Exit(cli.Run(app.NewControllerManagerCommand())) }
