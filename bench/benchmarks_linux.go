package main

func init() {
	benchmarks = append(benchmarks, []benchmark{
		{"argocd", "the Argo CD tools against argocd-mcp of npm, on one simulated installation (Linux; 1 min; argument: APPS,PROJECTS,APPSETS,CLUSTERS)", argocdBench},
		{"fleet-history", "a start that asks the fleet, there and away, against one without; 1,000 observations a second into three servers", fleetHistory},
		{"launch", "start and stop of /bin/true in each layer, against bare fork and exec", launch},
		{"mcp", "the MCP gateway over standard streams against the bare server and a proxy of the official SDK (Linux; 30 s)", mcpBench},
		{"memory-size", "full namespaces of memory: disk, heap, cold open, search; --beam DIR takes words from there, else from the sources of Go", sizeMemory},
		{"monitor", "CPU of watching a tree of 200 processes, against reading smaps_rollup of each", monitor},
		{"proxy", "CPU, latency, memory and streams of the model proxy, against httputil.ReverseProxy", proxyBench},
		{"replicas", "what a request waits for when its conversation goes through two replicas and a store, against one proxy alone", replicasBench},
		{"soak", "days of an agent and of the daemon in little: clients that leave, tools and models that fail; what is lost, and whether memory levels off (Linux; DURATION, 2m)", soakBench},
		{"spend", "limits of what runs may spend: the price of a request with them, 200 runs that settle at once, 100 sub-agents at one limit", spendBench},
		{"status", "`plimsoll status --line` on a run with a small file and with a full one, beside 10,000 runs, and `plimsoll shellenv`, against /bin/true", status},
	}...)
}
