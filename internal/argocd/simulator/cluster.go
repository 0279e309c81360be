package simulator

import "strconv"

// cluster is a destination: thirteen as they were recorded, and any number of generated
// ones behind them.
type cluster struct {
	index                     int
	name, server, env, region string
	version, project, status  string
	role                      bool

	serverName                               string
	broken, insecure, narrow, whole, sharded bool
	shard                                    int
}

func recordedClusters() []cluster {
	return []cluster{
		{name: "stg-us-east-1", server: "https://10.41.12.7:6443", env: "stg", region: "us-east-1", version: "v1.30.9-eks-7f9249a", status: "Successful"},
		{name: "dr-eu-central-1", server: "https://10.60.0.5:6443", env: "dr", region: "eu-central-1", version: "1.33+", status: "Failed"},
		{name: "edge-pop-fleet", server: "https://edge-k3s.corp.example.net:6443", env: "edge"},
		{name: "ml-gpu-us-east-1", server: "https://34.118.20.77", env: "ml", version: "1.32.4", project: "ml-serving-core", status: "Successful"},
		{name: "perf-us-west-2", server: "https://10.43.7.19:6443", env: "perf", region: "us-west-2", version: "1.33+", status: "Successful"},
		{name: "prod-eu-central-1", server: "https://0A1B2C3D4E5F60718293A4B5C6D7E8F9.yl4.eu-central-1.eks.amazonaws.com", env: "prod", region: "eu-central-1", version: "1.33+", status: "Successful", role: true},
		{name: "dev-eu-west-1", server: "https://10.42.0.1:6443", env: "dev", region: "eu-west-1", version: "1.33+", status: "Successful"},
		{name: "in-cluster", server: "https://kubernetes.default.svc", env: "mgmt", version: "v1.30.9-eks-7f9249a", status: "Successful"},
		{name: "prod-ap-southeast-2", server: "https://aks-prod-apse2-7c1d9e2f.hcp.australiaeast.azmk8s.io:443", env: "prod", region: "ap-southeast-2", version: "1.32.4", status: "Successful"},
		{name: "prod-eu-west-1", server: "https://7F3A9C21D4E8B6A05C1D2E3F4A5B6C7D.gr7.eu-west-1.eks.amazonaws.com", env: "prod", region: "eu-west-1", version: "1.33+", status: "Successful", role: true},
		{name: "prod-us-east-1", server: "https://C0FFEE00C0FFEE00C0FFEE00C0FFEE00.sk1.us-east-1.eks.amazonaws.com", env: "prod", region: "us-east-1", version: "v1.30.9-eks-7f9249a", status: "Successful", role: true},
		{name: "prod-us-west-2", server: "https://DEADBEEF0123456789ABCDEF01234567.gr7.us-west-2.eks.amazonaws.com", env: "prod", region: "us-west-2", version: "1.32.4", status: "Successful", role: true},
		{name: "stg-eu-west-1", server: "https://10.40.12.7:6443", env: "stg", region: "eu-west-1", version: "1.33+", status: "Successful"},
	}
}

// cluster returns the cluster of a number.
func (s *Simulator) cluster(i int) cluster {
	if i < len(s.named) {
		c := s.named[i]
		c.index = i
		return c
	}
	places := s.apps.third
	k := i - len(s.named)
	c := cluster{index: i, env: "prod", version: "1.33+", status: "Successful"}
	c.region = s.words.regions[k%len(s.words.regions)]
	if at := k % len(places); len(places[at]) < 8 {
		c.env = places[at]
	}
	c.name = c.env + "-" + c.region + "-" + strconv.Itoa(k+2)
	c.server = "https://10." + strconv.Itoa(64+k>>16&63) + "." + strconv.Itoa(k>>8&255) + "." + strconv.Itoa(k&255) + ":6443"
	if k%97 == 11 {
		c.status = "Failed"
	}
	return c
}

// findCluster finds a cluster by its name or server.
func (s *Simulator) findCluster(name, server string) (cluster, bool) {
	for i := range s.clusters {
		c := s.cluster(i)
		if (name == "" || c.name == name) && (server == "" || c.server == server) {
			return c, true
		}
	}
	return cluster{}, false
}

// anyCluster rolls a cluster.
func (s *Simulator) anyCluster(d *dice) cluster {
	if s.clusters == 0 {
		return cluster{name: "in-cluster", server: "https://kubernetes.default.svc"}
	}
	return s.cluster(d.intn(s.clusters))
}

func (s *Simulator) writeCluster(b []byte, c cluster) []byte {
	c.broken, c.insecure = c.status == "Failed", c.index%5 == 3 && c.name != "in-cluster"
	if c.name != "in-cluster" {
		c.serverName = c.name + ".corp.example.net"
	}
	c.narrow, c.whole = c.env == "edge" || c.index == 12, c.index == 12
	c.sharded, c.shard = c.index%4 == 1 && c.index < 100, c.index%3
	return s.render(b, "cluster", &c, c.index, roll(s.seed, partCluster, uint64(c.index)))
}
