package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	hosts "github.com/plimsoll/plimsoll/internal/fleet"
	"github.com/plimsoll/plimsoll/internal/fleet/windows"
	"github.com/plimsoll/plimsoll/internal/spend"
	"github.com/plimsoll/plimsoll/internal/window/compact"
	"github.com/plimsoll/plimsoll/internal/window/compact/checkpoint"
	"github.com/plimsoll/plimsoll/internal/window/proxy"
	"github.com/plimsoll/plimsoll/internal/window/rate"
	"github.com/plimsoll/plimsoll/journal"
	"github.com/plimsoll/plimsoll/window/models"
)

// proxyCore is the core of the proxies; everything else keeps off it.
const proxyCore = 0

// proxyChild serves in one role until standard input ends. It prints the URL it serves at, and for each line of input the processor time and
// memory it has used.
func proxyChild(o *Out, role string, args []string) {
	var cores unix.CPUSet
	if role == "child-provider" {
		check(unix.SchedGetaffinity(0, &cores))
		if cores.Count() > 1 {
			cores.Clear(proxyCore)
		}
	} else {
		cores.Set(proxyCore)
	}
	// Threads that exist already have an affinity of their own.
	for _, t := range must(os.ReadDir("/proc/self/task")) {
		check(unix.SchedSetaffinity(must(strconv.Atoi(t.Name())), &cores))
	}
	fmt.Println(o.serveRole(role, args))
	for asked := bufio.NewScanner(os.Stdin); asked.Scan(); {
		check(json.NewEncoder(os.Stdout).Encode(cost{CPU: selfCPU(), Peak: statusOf(os.Getpid(), "VmHWM")}))
	}
}

// serveRole begins to serve in a role (the provider, ReverseProxy, or a proxy with this or that) and returns the base URL for a client.
func (o *Out) serveRole(role string, args []string) string {
	switch role {
	case "child-provider":
		return httptest.NewServer(http.HandlerFunc(benchProvider)).URL
	case "child-reverse":
		target := must(url.Parse(args[0]))
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.MaxIdleConnsPerHost = 128 // both keep their connections
		return httptest.NewServer(&httputil.ReverseProxy{
			Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
			Transport:     transport,
			FlushInterval: -1,
		}).URL
	}
	dir, j := o.TempDir(), journal.New(journal.Options{})
	options := proxy.Options{
		Upstreams: []proxy.Upstream{{Name: "openai", URL: args[0] + "/v1"}}, Journal: j, Price: models.LookupPrice,
		Store: must(checkpoint.Open(checkpoint.Options{Dir: dir, Journal: j})),
	}
	limits := spend.Options{Limits: spend.Limits{Tokens: 1e12, Cost: 1e6}}
	switch role {
	case "child-replica":
		options.Compactor = compact.New(compact.Options{ResultBytes: 4000})
		if args[1] != "" {
			warn := func(text string) { fmt.Fprintln(os.Stderr, text) }
			options.Replicas = must(windows.Open(o.ctx, hosts.New(hosts.Options{URL: args[1]}), windows.Options{Secret: "the token of the benchmark", Warn: warn}))
		}
	case "child-queue":
		options.Rate = proxy.Rate{Share: rate.Open(filepath.Join(dir, "rate"), nil), Run: "bench"}
	case "child-limited":
		options.Spend = spend.New(limits)
	case "child-budget":
		limits.Book = spend.OpenBook(dir, "bench", spend.Budget{Day: 1e6, Month: 1e6, ProjectDay: 1e6})
		options.Spend = spend.New(limits)
	}
	return must(must(proxy.New(options)).Listen(proxy.ListenOptions{})).URL() + "/openai"
}

var together struct {
	sync.Mutex
	waiting int
	all     chan struct{}
}

// benchProvider answers a Chat request as its header X-Bench asks: with a stream of so many events, flushed one by one or in bulk; once so
// many requests have arrived together; or at once.
func benchProvider(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	how, number, _ := strings.Cut(r.Header.Get("X-Bench"), " ")
	n, _ := strconv.Atoi(number)
	switch how {
	case "events", "bulk":
		w.Header().Set("Content-Type", "text/event-stream")
		for i := range n {
			fmt.Fprintf(w, "data: {\"id\":\"chatcmpl-1\",\"object\":\"chat.completion.chunk\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"word %d\"}}]}\n\n", i)
			if how == "events" {
				w.(http.Flusher).Flush()
			}
		}
		_, _ = io.WriteString(w, "data: {\"id\":\"chatcmpl-1\",\"choices\":[],\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":5,\"total_tokens\":15}}\n\ndata: [DONE]\n\n")
		return
	case "together":
		together.Lock()
		if together.all == nil {
			together.all = make(chan struct{})
		}
		all := together.all
		if together.waiting++; together.waiting == n {
			close(all)
			together.waiting, together.all = 0, nil
		}
		together.Unlock()
		<-all
	}
	h := w.Header()
	h.Set("Content-Type", "application/json")
	for _, unit := range []string{"Requests", "Tokens"} { // of which there are plenty
		h.Set("X-Ratelimit-Limit-"+unit, "30000000")
		h.Set("X-Ratelimit-Remaining-"+unit, "29999000")
		h.Set("X-Ratelimit-Reset-"+unit, "2ms")
	}
	_, _ = io.WriteString(w, `{"id":"chatcmpl-1","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"`+strings.Repeat("done ", 150)+`"},"finish_reason":"stop"}],"usage":{"prompt_tokens":100,"completion_tokens":150,"total_tokens":250}}`)
}
