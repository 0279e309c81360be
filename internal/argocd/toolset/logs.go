package toolset

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/plimsoll/plimsoll/internal/argocd"
	"github.com/plimsoll/plimsoll/internal/argocd/redact"
	"github.com/plimsoll/plimsoll/internal/secrets"
	"github.com/plimsoll/plimsoll/limit"
	"github.com/plimsoll/plimsoll/tools/mcp/builtin"
)

const (
	defaultTail = 100     // lines of each pod; the same as in the Python server
	maxTail     = 100_000 // lines of each pod
	maxFollow   = 10 * time.Minute
	maxLogLine  = 8 << 10 // bytes; a longer line is cut, with a mark
)

type logsArguments struct {
	appArgs
	Pod               string `json:"pod,omitempty" jsonschema:"Only this one"`
	Container         string `json:"container,omitempty" jsonschema:"Needed where pods have several"`
	Kind              string `json:"kind,omitempty" jsonschema:"Of the workload, e.g. Deployment"`
	Group             string `json:"group,omitempty" jsonschema:"API group of the workload, e.g. apps"`
	ResourceName      string `json:"resource_name,omitempty" jsonschema:"Of the workload"`
	ResourceNamespace string `json:"resource_namespace,omitempty" jsonschema:"Of the pods"`
	TailLines         *int   `json:"tail_lines,omitempty" jsonschema:"Of each pod (default 100, at most 100000)"`
	Since             string `json:"since,omitempty" jsonschema:"15m, 2h, 90 (seconds) or a time (RFC 3339)"`
	Until             string `json:"until,omitempty" jsonschema:"Only lines until then: a time (RFC 3339)"`
	Filter            string `json:"filter,omitempty" jsonschema:"Lines with this text; !text: without it"`
	MatchCase         bool   `json:"match_case,omitempty" jsonschema:"The filter minds the case (default false)"`
	Previous          bool   `json:"previous,omitempty" jsonschema:"Before the last restart"`
	Follow            bool   `json:"follow,omitempty" jsonschema:"Wait for new lines too, for follow_seconds"`
	FollowSeconds     int    `json:"follow_seconds,omitempty" jsonschema:"How long to follow (default 15, at most 600)"`
	Timestamps        *bool  `json:"timestamps,omitempty" jsonschema:"The time before each line (default true)"`
}

const logsText = `Logs of an application's pods, oldest line first, by default the last 100 lines of each pod; credentials are masked.
pod picks one, kind with resource_name a workload's (of more than 10 pods, or what the server is set to, there are none). previous=true: what a crashed container said. filter sees the lines that tail_lines or since pick.`

func (t *Toolset) logsTool() builtin.Tool {
	return readTool(t, builtin.Tool{Name: "application_service__pod_logs", Title: "Logs of an application", Description: logsText},
		formerApplication(map[string]string{
			"param_namespace": "resource_namespace", "param_podName": "pod", "param_container": "container", "param_sinceSeconds": "since",
			"param_follow": "follow", "param_untilTime": "until", "param_filter": "filter", "param_kind": "kind", "param_group": "group",
			"param_resourceName": "resource_name", "param_previous": "previous", "param_matchCase": "match_case", "param_tailLines": "tail_lines",
		}),
		func(_ context.Context, c *builtin.Call, client *argocd.Client, in logsArguments) (*builtin.Result, error) {
			q, follow, err := in.logQuery(time.Now())
			if err != nil {
				return nil, err
			}
			return &builtin.Result{Stream: func(ctx context.Context, w io.Writer) error {
				return in.streamLines(ctx, c, client, q, follow, w)
			}}, nil
		})
}

// logQuery checks the arguments, and returns the query for the server (ApplicationPodLogsQuery) and how long to follow; 0 means not at all.
func (in logsArguments) logQuery(now time.Time) (q url.Values, follow time.Duration, err error) {
	if err := checkGiven("name", in.Name); err != nil {
		return nil, 0, err
	}
	tail := defaultTail
	if in.TailLines != nil {
		tail = *in.TailLines
	}
	if tail < 1 || tail > maxTail {
		return nil, 0, fmt.Errorf("tail_lines is %d: it can be 1 to %d", tail, maxTail)
	}
	if in.Pod != "" && in.ResourceName != "" && in.ResourceName != in.Pod {
		return nil, 0, fmt.Errorf("pod is %q and resource_name is %q: send one of them", shortQuote(in.Pod), shortQuote(in.ResourceName))
	}
	in.Kind, in.Group = grouped(strings.TrimSpace(in.Kind), strings.TrimSpace(in.Group))
	q = in.query()
	q.Set("tailLines", strconv.Itoa(tail))
	for key, value := range map[string]string{
		"podName": in.Pod, "container": in.Container, "kind": in.Kind, "group": in.Group,
		"resourceName": in.ResourceName, "namespace": in.ResourceNamespace, "filter": in.Filter,
	} {
		setQuery(q, key, strings.TrimSpace(value))
	}
	if in.Filter != "" {
		q.Set("filter", in.Filter) // blanks may be meant
	}
	for key, value := range map[string]bool{"matchCase": in.MatchCase, "previous": in.Previous, "follow": in.Follow || in.FollowSeconds > 0} {
		if value {
			q.Set(key, "true")
		}
	}
	if q.Get("follow") != "" {
		follow = cmp.Or(time.Duration(in.FollowSeconds)*time.Second, 15*time.Second)
		if follow < 0 || follow > maxFollow {
			return nil, 0, fmt.Errorf("follow_seconds is %d: it can be 1 to %d", in.FollowSeconds, int(maxFollow.Seconds()))
		}
	}
	if err := in.addTimes(q, now); err != nil {
		return nil, 0, err
	}
	return q, follow, nil
}

// addTimes adds the arguments since, as seconds before now, and until to the query. It is an error if they cannot be read, or if since is not
// in the past.
func (in logsArguments) addTimes(q url.Values, now time.Time) error {
	if since := strings.TrimSpace(in.Since); since != "" {
		d, err := time.ParseDuration(since)
		if err != nil {
			if seconds, e := strconv.ParseInt(since, 10, 32); e == nil {
				d, err = time.Duration(seconds)*time.Second, nil
			}
		}
		if err != nil {
			at, e := time.Parse(time.RFC3339, since)
			if e != nil {
				return fmt.Errorf("since is %q: write a duration (15m, 2h, 90 for seconds) or a time like 2026-01-02T15:04:05Z", shortQuote(since))
			}
			d = now.Sub(at)
		}
		if d <= 0 {
			return fmt.Errorf("since is %q, which is not in the past", shortQuote(since))
		}
		q.Set("sinceSeconds", strconv.FormatInt(max(1, int64((d+time.Second-1)/time.Second)), 10))
	}
	if until := strings.TrimSpace(in.Until); until != "" {
		if _, err := time.Parse(time.RFC3339, until); err != nil {
			return fmt.Errorf("until is %q: write a time like 2026-01-02T15:04:05Z", shortQuote(until))
		}
		q.Set("untilTime", until)
	}
	return nil
}

// logEntry is LogEntry of server/application/application.proto.
type logEntry struct {
	Content string `json:"content"`
	Time    string `json:"timeStampStr"`
	Last    bool   `json:"last"`
	Pod     string `json:"podName"`
}

// streamLines asks the server for the log and writes its lines to w as they come, with secrets masked; none is held in memory. Following
// ends after follow. After that, and if there are no lines, a line in brackets says so.
func (in logsArguments) streamLines(ctx context.Context, c *builtin.Call, client *argocd.Client, q url.Values, follow time.Duration, w io.Writer) error {
	out := bufio.NewWriterSize(w, 16<<10)
	reading, stop := ctx, context.CancelFunc(func() {})
	if follow > 0 {
		reading, stop = context.WithTimeout(ctx, follow)
	}
	defer stop()
	lines := 0
	keys := keyLines{}
	err := client.Stream(reading, []string{"applications", in.Name, "logs"}, q, func(raw []byte) error {
		var e logEntry
		if err := json.Unmarshal(raw, &e); err != nil {
			return fmt.Errorf("%s: a line of the log is no log entry: %w", client.Name(), err)
		}
		if e.Last && e.Content == "" {
			return nil // the server's mark of the end
		}
		if lines++; lines%progressEvery == 0 {
			c.Progress(float64(lines), 0, fmt.Sprintf("%d lines read", lines))
		}
		if _, err := out.WriteString(in.formatLine(e, keys)); err != nil {
			return err
		}
		if follow > 0 {
			return out.Flush()
		}
		return nil
	})
	over := follow > 0 && ctx.Err() == nil && reading.Err() != nil
	if err != nil && !over {
		if lines > 0 {
			// The lines that came are written, and the error breaks the answer off, so that it is not taken for whole.
			return errors.Join(out.Flush(), err)
		}
		return err
	}
	switch {
	case over:
		_, err = fmt.Fprintf(out, "[followed for %s; %d lines]\n", follow, lines)
	case lines == 0:
		_, err = io.WriteString(out, in.emptyReason())
	}
	return errors.Join(err, out.Flush())
}

// formatLine returns a line of a log with its time and pod, as far as the arguments want them, and with credentials masked.
func (in logsArguments) formatLine(e logEntry, keys keyLines) string {
	var b strings.Builder
	if at := e.Time; at != "" && (in.Timestamps == nil || *in.Timestamps) && !strings.HasPrefix(at, "0001-") {
		if t, err := time.Parse(time.RFC3339Nano, at); err == nil {
			at = t.UTC().Format("2006-01-02T15:04:05.000Z")
		}
		b.WriteString(clip(at, 40) + " ")
	}
	if in.Pod == "" && e.Pod != "" {
		b.WriteString(clip(e.Pod, 260) + ": ")
	}
	b.WriteString(keys.maskedLine(e.Pod, e.Content))
	b.WriteByte('\n')
	return b.String()
}

// cleanLine returns a line with credentials masked, without the escape sequences of terminals (colours), and cut at maxLogLine bytes.
func cleanLine(line string) string {
	line = strings.TrimRight(line, "\r\n")
	rest := 0
	if len(line) > maxLogLine {
		at := limit.Boundary(line, maxLogLine)
		line, rest = line[:at], len(line)-at
	}
	line = secrets.Text(strings.ToValidUTF8(plainText(line), "\uFFFD"))
	if rest > 0 {
		line += fmt.Sprintf("… (%d bytes more)", rest)
	}
	return line
}

// plainText returns a text without colours: ESC [ … letter (ECMA-48, 5.4).
func plainText(s string) string {
	if strings.IndexByte(s, '\x1b') < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\x1b' {
			b.WriteByte(s[i])
			continue
		}
		if i+1 < len(s) && s[i+1] == '[' {
			for i += 2; i < len(s) && (s[i] < '@' || s[i] > '~'); {
				i++
			}
		}
	}
	return b.String()
}

// emptyReason returns the text that says why there may be no lines.
func (in logsArguments) emptyReason() string {
	why := "no pod of the application matches, or its pods have written nothing"
	switch {
	case in.Filter != "":
		why = "no line among those that were read holds the filter's text: raise tail_lines, or give since"
	case in.Since != "" || in.Until != "":
		why = "nothing was written in that time"
	case in.Previous:
		why = "no container was restarted, or the cluster has thrown its logs away"
	}
	return "[no log lines: " + why + "; get_application_resource_tree with kind=Pod lists the pods]\n"
}

const (
	// maxKeyLines bounds the lines of a private key. An RSA key of 8192 bits has a hundred lines of 64
	// characters.
	maxKeyLines = 120
	// maxKeyPods bounds the pods in whose logs a key is masked at one time.
	maxKeyPods = 256
)

// keyLines maps each pod in whose log a private key has begun to the number of lines that may still belong to the key. Logs come line by
// line, and no line of a key can be recognised alone.
type keyLines map[string]int

// maskedLine returns a line of a pod as logLine does, or the mask if the line may belong to a private key. It keeps for each of maxKeyPods
// pods whether a key is under way, for at most maxKeyLines lines.
func (k keyLines) maskedLine(pod, text string) string {
	left := k[pod]
	_, begins, _ := cutLast(text, "-----BEGIN ")
	switch {
	case strings.Contains(begins, "PRIVATE KEY") && !strings.Contains(begins, "-----END "):
		if len(k) < maxKeyPods {
			k[pod] = maxKeyLines
		}
	case left == 0:
	case strings.Contains(text, "-----END "):
		delete(k, pod)
	default:
		if k[pod]--; left == 1 {
			delete(k, pod)
		}
		if mayBeKeyText(text) {
			return redact.Hidden
		}
	}
	return cleanLine(text)
}

// cutLast cuts text around the last separator; without one, before is all of it.
func cutLast(text, separator string) (before, after string, found bool) {
	if i := strings.LastIndex(text, separator); i >= 0 {
		return text[:i], text[i+len(separator):], true
	}
	return text, "", false
}

// mayBeKeyText reports whether a line may belong to a key: base64, perhaps behind a logger's prefix. The last line of a key may be short;
// then it must stand alone.
func mayBeKeyText(line string) bool {
	fields := strings.Fields(plainText(line))
	if len(fields) == 0 {
		return false
	}
	last := strings.Trim(strings.TrimSuffix(fields[len(fields)-1], `\n`), "\"',|")
	for i := range len(last) {
		switch c := last[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '+', c == '/', c == '=':
		default:
			return false
		}
	}
	return len(fields) == 1 || len(last) >= 24
}
