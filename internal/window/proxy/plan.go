package proxy

import (
	"encoding/hex"
	"math"
	"net/http"

	"github.com/plimsoll/plimsoll/internal/window/rate"
	"github.com/plimsoll/plimsoll/journal"
)

// maxPlans bounds the windows of plans that were told, so as not to be told twice.
const maxPlans = 256

// tellPlan journals what an answer says of the windows of the client's subscription, where it has changed by a hundredth.
func (t *exchange) tellPlan(h http.Header) {
	plans := rate.PlanOf(h)
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

// login names whom the provider takes the request for, without telling it.
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
