package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

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

// proxyChild serves in one role until standard input ends. It prints the URL it serves at
// and the one that reports what it has used.
func proxyChild(role string, args []string) error {
	var cores unix.CPUSet
	if role == "child-provider" {
		if err := unix.SchedGetaffinity(0, &cores); err != nil {
			return err
		}
		if cores.Count() > 1 {
			cores.Clear(proxyCore)
		}
	} else {
		cores.Set(proxyCore)
	}
	// Threads that exist already have an affinity of their own.
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		return err
	}
	for _, t := range threads {
		id, err := strconv.Atoi(t.Name())
		if err == nil {
			err = unix.SchedSetaffinity(id, &cores)
		}
		if err != nil {
			return fmt.Errorf("pin to a core: %w", err)
		}
	}
	serve, err := benchRole(role, args)
	if err != nil {
		return err
	}
	ln, err := listenBench()
	if err != nil {
		return err
	}
	go func() { _ = http.Serve(ln, http.HandlerFunc(tellCost)) }()
	fmt.Println(serve, "http://"+ln.Addr().String())
	_, _ = io.Copy(io.Discard, os.Stdin)
	benchCleanup()
	return nil
}

// benchCleanup removes what a role has left on the disk.
var benchCleanup = func() {}

// benchRole starts to serve and returns the base URL of a client.
func benchRole(role string, args []string) (string, error) {
	if slices.Contains([]string{"child-plimsoll", "child-limited", "child-budget", "child-queue", "child-replica"}, role) {
		upstreams := []proxy.Upstream{{Name: "openai", URL: args[0] + "/v1"}}
		dir, err := os.MkdirTemp("", "plimsoll-bench-")
		if err != nil {
			return "", err
		}
		benchCleanup = func() { _ = os.RemoveAll(dir) }
		j := journal.New(journal.Options{})
		store, err := checkpoint.Open(checkpoint.Options{Dir: dir, Journal: j})
		if err != nil {
			return "", err
		}
		o := proxy.Options{Upstreams: upstreams, Journal: j, Store: store, Price: models.LookupPrice}
		switch role {
		case "child-replica":
			o.Compactor = compact.New(compact.Options{ResultBytes: 4000})
			if args[1] != "" {
				shared := hosts.New(hosts.Options{URL: args[1]})
				if o.Replicas, err = windows.Open(context.Background(), shared, windows.Options{Secret: "the token of the benchmark", Warn: func(text string) { fmt.Fprintln(os.Stderr, text) }}); err != nil {
					return "", err
				}
			}
		case "child-queue":
			o.Rate = proxy.Rate{Share: rate.Open(filepath.Join(dir, "rate"), nil), Run: "bench"}
		case "child-limited", "child-budget":
			limits := spend.Options{Limits: spend.Limits{Tokens: 1e12, Cost: 1e6}}
			if role == "child-budget" {
				limits.Book = spend.OpenBook(dir, "bench", spend.Budget{Day: 1e6, Month: 1e6, ProjectDay: 1e6})
			}
			o.Spend = spend.New(limits)
		}
		p, err := proxy.New(o)
		if err != nil {
			return "", err
		}
		s, err := p.Listen(proxy.ListenOptions{})
		if err != nil {
			return "", err
		}
		return s.URL() + "/openai", nil
	}
	ln, err := listenBench()
	if err != nil {
		return "", err
	}
	var h http.Handler = http.HandlerFunc(benchProvider)
	if role == "child-reverse" {
		target, err := url.Parse(args[0])
		if err != nil {
			return "", err
		}
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.MaxIdleConnsPerHost = 128 // both keep their connections
		h = &httputil.ReverseProxy{
			Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
			Transport:     transport,
			FlushInterval: -1,
		}
	}
	go func() { _ = http.Serve(ln, h) }()
	return "http://" + ln.Addr().String(), nil
}

var together struct {
	sync.Mutex
	waiting int
	all     chan struct{}
}

// benchProvider answers a Chat request at once, with a stream, or together with others.
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

func tellCost(w http.ResponseWriter, _ *http.Request) {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	used := cost{CPU: time.Duration(u.Utime.Nano() + u.Stime.Nano())}
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		var kb int64
		_, _ = fmt.Sscan(value, &kb)
		switch name {
		case "VmHWM":
			used.Peak = kb << 10
		case "RssAnon":
			used.Anon = kb << 10
		}
	}
	_ = json.NewEncoder(w).Encode(used)
}
