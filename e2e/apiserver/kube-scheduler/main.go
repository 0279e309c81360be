// Command kube-scheduler is Kubernetes' own scheduler, which gives pods the nodes that they run on:
//
//	kube-scheduler --kubeconfig FILE --leader-elect=false --secure-port 0
//
// The test of e2e/helm starts it beside the kube-apiserver; the nodes are objects that the test keeps.
package main

import (
	"os"

	"k8s.io/component-base/cli"
	"k8s.io/kubernetes/cmd/kube-scheduler/app"
)

func main() { os.Exit(cli.Run(app.NewSchedulerCommand())) }
