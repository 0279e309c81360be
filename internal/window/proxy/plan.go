package proxy

import (
	"encoding/hex"
	"math"
	"net/http"
	"time"

	"github.com/plimsoll/plimsoll/internal/spend"
	"github.com/plimsoll/plimsoll/internal/window/rate"
	"github.com/plimsoll/plimsoll/journal"
)

// maxPlans bounds the windows of plans that were told, so as not to be told twice.
const maxPlans = 256

// tellPlan journals what an answer says of the windows of the client's subscription, where it has changed by a hundredth.
func (t *exchange) tellPlan(h http.Header) {
	plans := rate.PlanOf(h)
	t.boundPlan(plans)
	if len(plans) == 0 {
		return
	}
	account := t.login()
	for _, now := range plans {
		key := account + now.Window
		then, told := t.p.plans.Get(key)
		if told && math.Abs(then.Utilization-now.Utilization) < 0.01 && then.Status == now.Status && then.Reset.Equal(now.Reset) {
			continue
		}
		t.p.plans.Put(key, now)
		t.p.event(journal.WindowPlan{
			Upstream: t.rt.up.Name, Account: account, Window: now.Window, Utilization: now.Utilization, Status: now.Status, Reset: now.Reset,
		})
	}
}

// unknownReset is the time for which a window counts whose provider does not tell when it begins anew.
const unknownReset = 10 * time.Minute

// boundPlan gives the limit of what the run may use of a plan what the provider says of it.
func (t *exchange) boundPlan(plans []rate.Plan) {
	if t.p.o.Spend == nil {
		return
	}
	var windows []spend.Window
	for _, p := range plans {
		if p.Reset.IsZero() {
			p.Reset = t.p.now().Add(unknownReset)
		}
		windows = append(windows, spend.Window{Name: p.Window, Used: p.Utilization, Reset: p.Reset})
	}
	t.p.o.Spend.See(windows)
}

// login names the login that the provider sees, without telling it.
func (t *exchange) login() string {
	if q := t.p.o.Rate; q.Share != nil {
		return q.Share.Digest(t.payer())[:12]
	}
	s := t.p.scope(t.payer())
	return hex.EncodeToString(s[:6])
}

// payer is the credential that the provider sees, with its address.
func (t *exchange) payer() string {
	who := t.rt.up.key
	if who == "" {
		who = credential(t.r.Header, t.r.URL.RawQuery)
	}
	return t.rt.up.base.String() + "\x00" + who
}
