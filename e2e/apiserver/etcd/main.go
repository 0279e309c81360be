// Command etcd is etcd's own server, which keeps what the kube-apiserver beside it is told:
//
//	etcd --data-dir DIR --listen-client-urls http://127.0.0.1:2379 --advertise-client-urls http://127.0.0.1:2379
//
// The test of e2e/helm starts it on loopback and removes its folder at the end.
package main

import (
	"os"

	"go.etcd.io/etcd/server/v3/etcdmain"
)

func main() { etcdmain.Main(os.Args) }
