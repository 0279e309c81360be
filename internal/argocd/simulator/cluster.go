package simulator

import "strconv"

// cluster is a destination: thirteen as they were recorded, and any number of generated
// ones behind them.
type cluster struct {
	Name, Server, Env, Region string
	Version, Project, Status  string
	Role                      bool

	index                                    int
	serverName                               string
	broken, insecure, narrow, whole, sharded bool
	shard                                    int
}

// clusterAt returns the cluster of a number: the first are those of words.json, the others are made from the number alone.
func (s *Simulator) clusterAt(i int) cluster {
	if i < len(s.words.Clusters) {
		c := s.words.Clusters[i]
		c.index = i
		return c
	}
	places := s.words.Places
	k := i - len(s.words.Clusters)
	c := cluster{index: i, Env: "prod", Version: "1.33+", Status: "Successful"}
	c.Region = s.words.Regions[k%len(s.words.Regions)]
	if at := k % len(places); len(places[at]) < 8 {
		c.Env = places[at]
	}
	c.Name = c.Env + "-" + c.Region + "-" + strconv.Itoa(k+2)
	c.Server = "https://10." + strconv.Itoa(64+k>>16&63) + "." + strconv.Itoa(k>>8&255) + "." + strconv.Itoa(k&255) + ":6443"
	if k%97 == 11 {
		c.Status = "Failed"
	}
	return c
}

// findCluster finds a cluster by its name and server; an empty one fits any. It returns false if there is none.
func (s *Simulator) findCluster(name, server string) (cluster, bool) {
	for i := range s.options.Clusters {
		c := s.clusterAt(i)
		if (name == "" || c.Name == name) && (server == "" || c.Server == server) {
			return c, true
		}
	}
	return cluster{}, false
}

// anyCluster rolls a cluster.
func (s *Simulator) anyCluster(d *dice) cluster {
	if s.options.Clusters == 0 {
		return cluster{Name: "in-cluster", Server: "https://kubernetes.default.svc"}
	}
	return s.clusterAt(d.intn(s.options.Clusters))
}

// writeCluster appends a cluster as JSON.
func (s *Simulator) writeCluster(b []byte, c cluster) []byte {
	c.broken, c.insecure = c.Status == "Failed", c.index%5 == 3 && c.Name != "in-cluster"
	if c.Name != "in-cluster" {
		c.serverName = c.Name + ".corp.example.net"
	}
	c.narrow, c.whole = c.Env == "edge" || c.index == 12, c.index == 12
	c.sharded, c.shard = c.index%4 == 1 && c.index < 100, c.index%3
	return s.render(b, "cluster", &c, c.index, newDice(s.seed, partCluster, uint64(c.index)))
}

// getCluster answers with the cluster of a name or server. Who is not the administrator is refused, and so is a cluster that does not
// exist.
func getCluster(c *call) {
	name, server := "", c.args[0]
	switch c.query.Get("id.type") {
	case "name", "name_escaped":
		name, server = server, ""
	}
	found, ok := c.findCluster(name, server)
	if !ok || c.args[0] == "" || c.user != nil {
		panic(deniedRefusal())
	}
	c.answer(c.writeCluster(nil, found))
}

// listClusters answers with the clusters that the name or server in the query selects; only the administrator sees any.
func listClusters(c *call) {
	name, server := c.query.Get("name"), c.query.Get("server")
	c.answerList(clusters, "{}", false, func(s *sink) {
		if c.user != nil {
			return
		}
		for i := range c.options.Clusters {
			cl := c.clusterAt(i)
			if name != "" && cl.Name != name || server != "" && cl.Server != server {
				continue
			}
			s.beginItem()
			s.b = c.writeCluster(s.b, cl)
		}
	})
}
