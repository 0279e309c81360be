// Package kubeapi speaks to one Kubernetes cluster over HTTPS, with the credentials that kubectl would use there.
//
//	cluster, err := kubeapi.Open("", "agents")
//	err = cluster.Get(ctx, cluster.Path("v1", "pods", "one"), nil, &pod)
//
// The files of KUBECONFIG count, else ~/.kube/config, else the service account of the pod that this runs in. Tokens in files are read again
// when they rotate, programs that print credentials (exec) are asked again before these expire. Every call has a deadline, every answer a
// bound in bytes, and no redirect is followed. An [Error] says what to do next and holds no credential.
//
// There is no Kubernetes module behind it: callers bring types with the few fields that they need.
package kubeapi
