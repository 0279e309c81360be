package pressure

import (
	"cmp"
	"time"
)

// action is one decision.
type action struct {
	kind   ActionKind
	reason string
	// say asks for a line on the terminal: the first of an episode, and one more when the
	// run gives way after a warning.
	say bool
	// peer is whom DoThawPeer is about.
	peer Holder
}

// input holds what the policy decides on at one look.
type input struct {
	now     time.Time
	reading Reading
	// frozen reports whether our run is frozen in fact: a signal for it thaws it too.
	frozen bool
	// ledgerRead is true when the ledger was asked for this look; holders are its runs, and
	// ledgerErr why it did not answer.
	ledgerRead bool
	holders    []Holder
	ledgerErr  error
}

// policy decides for one run. It has no clock and does nothing itself; [watch] acts, and reports back by recordAction, undoAction and recordNoVictim.
type policy struct {
	self       string
	thresholds Lines
	pace       Pace
	state      State

	level          level
	hardLooks      int       // readings in a row below the hard line
	recoveredSince time.Time // since when memory is back above the relaxed line
	inEpisode      bool      // an episode is under way
	said           int       // 0 nothing, 1 a warning, 2 that our run gives way
	warned         bool      // the episode's warning was given
	childless      bool      // there was no descendant worth stopping

	ledgerReadAt time.Time
	peers        int    // how many runs it had
	chosenID     string // whose turn it is
	chosenAt     time.Time
	chosenActed  time.Time           // what that run published last when its turn began
	skipped      map[string]bool     // did not act on their turn, in this episode
	heldBy       map[string]peerHold // peers that hold their run
}

// peerHold records since when a peer has kept its run stopped: stamp by the peer's clock, first by our own, because the wall clock may
// jump.
type peerHold struct {
	stamp, first time.Time
	thawed       bool
}

// newPolicy returns the policy for the run self, which has done nothing yet.
func newPolicy(self string, mode Mode, thresholds Lines, pace Pace) *policy {
	return &policy{
		self: self, thresholds: thresholds, pace: pace, state: State{Mode: mode},
		skipped: map[string]bool{}, heldBy: map[string]peerHold{},
	}
}

// Reading the ledger costs the more the more runs it has, and each of them has a supervisor that reads it: Pace.Peers is for up to
// peersPerLook runs, twice that for up to twice as many, and at most mostPeersPace times.
const (
	peersPerLook  = 16
	mostPeersPace = 4
)

// wantsLedger reports whether this look must read the ledger.
func (p *policy) wantsLedger(now time.Time, r Reading) bool {
	if p.ledgerReadAt.IsZero() {
		return true
	}
	every := p.pace.Peers * time.Duration(min(1+p.peers/peersPerLook, mostPeersPace))
	if p.hardLooks > 0 { // nothing is done at the first
		if l, _ := p.thresholds.findLevel(r); l == hard {
			every = p.pace.Ledger
		}
	}
	return now.Sub(p.ledgerReadAt) >= every
}

// nextPause returns the pause until the next look: short near a threshold, long while there is plenty of memory and nothing is stopped,
// normal otherwise.
func (p *policy) nextPause() time.Duration {
	switch {
	case p.level >= near:
		return p.pace.Fast
	case p.level == normal || p.inEpisode || p.isHolding():
		return p.pace.Normal
	}
	return p.pace.Slow
}

// isHolding reports whether the run or a descendant of it is stopped.
func (p *policy) isHolding() bool { return !p.state.heldSince().IsZero() }

// decide takes one look and returns the actions to do.
func (p *policy) decide(in input) []action {
	var why string
	if p.level = plenty; p.isHolding() || !p.thresholds.isAmple(in.reading) { // else nothing is put into words
		p.level, why = p.thresholds.findLevel(in.reading)
	}
	p.recordLook(in)
	if acts := p.releaseWhenDue(in, why); acts != nil {
		return acts
	}
	var acts []action
	if in.ledgerRead && in.ledgerErr == nil {
		acts = p.thawPeers(in)
	}
	switch {
	case p.hardLooks >= 2:
		acts = append(acts, p.actOnHard(in, why)...)
	case p.level == soft && !p.inEpisode:
		acts = append(acts, action{kind: DoWarn, reason: why})
	}
	if p.level >= soft {
		p.inEpisode = true
	}
	return acts
}

// recordLook records how long memory has been short, or available again, and ends an episode.
func (p *policy) recordLook(in input) {
	if in.ledgerRead {
		p.ledgerReadAt = in.now
		p.peers = len(in.holders)
	}
	if p.level == hard {
		p.hardLooks++
	} else {
		p.hardLooks, p.chosenID = 0, ""
	}
	if p.level >= soft || in.reading.Total < p.thresholds.relaxedLine() {
		p.recoveredSince = time.Time{}
		return
	}
	if p.recoveredSince.IsZero() {
		p.recoveredSince = in.now
	}
	if p.hasRecovered(in.now, p.pace.Calm) && !p.isHolding() {
		p.inEpisode, p.said, p.warned, p.childless, p.chosenID = false, 0, false, false, ""
		clear(p.skipped)
	}
}

// hasRecovered reports whether enough memory has been available for d.
func (p *policy) hasRecovered(now time.Time, d time.Duration) bool {
	return !p.recoveredSince.IsZero() && now.Sub(p.recoveredSince) >= d
}

// releaseWhenDue returns the actions that continue what was stopped, when its time is over or memory is available again: first the run, then its
// descendants; nil for none.
func (p *policy) releaseWhenDue(in input, why string) []action {
	s := &p.state
	frozen, stopped := !s.Frozen.IsZero(), len(s.Stopped) > 0
	switch {
	case frozen && !in.frozen: // who asks it to end wants it to get there
		return p.releaseAll(in.now, "it was thawed for a signal")
	case p.isHolding() && in.now.Sub(s.heldSince()) >= p.pace.Hold && in.now.Sub(s.Acted) >= p.pace.Pause:
		return p.releaseAll(in.now, "held for "+p.pace.Hold.String()+"; "+why)
	case !p.hasRecovered(in.now, p.pace.Easy) || in.now.Sub(s.Acted) < p.pace.Pause:
	case frozen:
		return []action{{kind: DoThaw, reason: why}}
	case stopped:
		return []action{{kind: DoContinue, reason: why}}
	}
	return nil
}

// releaseAll returns the actions that end every stop, and leaves the run alone for Pace.Rest.
func (p *policy) releaseAll(now time.Time, reason string) []action {
	var acts []action
	if !p.state.Frozen.IsZero() {
		acts = append(acts, action{kind: DoThaw, reason: reason})
	}
	if len(p.state.Stopped) > 0 {
		acts = append(acts, action{kind: DoContinue, reason: reason})
	}
	p.childless = false
	p.state.Rests = now.Add(p.pace.Rest)
	return acts
}

// actOnHard returns the actions for memory below the hard line.
func (p *policy) actOnHard(in input, why string) []action {
	if !in.ledgerRead {
		return nil // soon: see wants
	}
	if in.ledgerErr != nil {
		return p.warnOnce(why + "; who holds memory cannot be read, so nothing is stopped")
	}
	chosen, state := p.chooseRun(in)
	switch {
	case state == nobodyAbove:
		return p.warnOnce(why + "; no run uses more than it has reserved, so nothing is stopped")
	case state == nobodyActs:
		return p.warnOnce(why + "; the runs above their reservation are not to be stopped")
	case state == wait:
		return nil
	case chosen.ID != p.self:
		p.expectAction(in.now, chosen)
		return nil
	}
	p.chosenID = ""
	over := why + "; this run uses " + chosen.Current.Human() + ", has reserved " + chosen.Reservation.Human() + " and is the youngest above that"
	give := func(k ActionKind) []action {
		a := action{kind: k, reason: over, say: p.said < 2}
		p.said = 2
		return []action{a}
	}
	switch {
	case p.state.Mode == Kill:
		return give(DoKill)
	case len(p.state.Stopped) > 0 || p.childless:
		return give(DoFreeze)
	}
	return give(DoStop)
}

// warnOnce returns a warning, once in an episode; nil after that.
func (p *policy) warnOnce(reason string) []action {
	if p.warned {
		return nil
	}
	p.warned = true
	a := action{kind: DoWarn, reason: reason, say: p.said < 1}
	p.said = max(p.said, 1)
	return []action{a}
}

type choice int

const (
	someone     choice = iota
	nobodyAbove        // no run uses more than it has reserved
	nobodyActs         // those that do are not to be stopped
	wait               // all has been done, or something was just done
)

// chooseRun returns the run that has to give way: the youngest run above its reservation that may be stopped and is not stopped yet. After any action
// of any run, all wait for its effect; choice says which case it is.
func (p *policy) chooseRun(in input) (chosen Holder, _ choice) {
	above, may := false, false
	for _, h := range in.holders {
		s := h.State
		if h.ID == p.self {
			s = p.state // newer than what was published
		}
		if age := in.now.Sub(s.Acted); age >= 0 && age < p.pace.Pause {
			return Holder{}, wait
		}
		if h.Nested || h.Dead || h.Current <= h.Reservation {
			continue
		}
		above = true
		if !s.Mode.stopsRuns() || p.skipped[h.ID] {
			continue
		}
		if p.isOverdue(in.now, h) { // its supervisor is stopped
			continue
		}
		may = true
		if !s.Frozen.IsZero() || s.Rests.After(in.now) && s.Rests.Sub(in.now) <= p.pace.Rest {
			continue
		}
		if chosen.ID == "" || cmp.Or(h.Since.Compare(chosen.Since), cmp.Compare(h.ID, chosen.ID)) > 0 {
			chosen = h
		}
	}
	switch {
	case !above:
		return Holder{}, nobodyAbove
	case !may:
		return Holder{}, nobodyActs
	case chosen.ID == "":
		return Holder{}, wait
	}
	return chosen, someone
}

// expectAction records that it is another run's turn, and marks that run to be skipped if it has not acted within Pace.Turn.
func (p *policy) expectAction(now time.Time, h Holder) {
	if p.chosenID != h.ID || !p.chosenActed.Equal(h.State.Acted) {
		p.chosenID, p.chosenAt, p.chosenActed = h.ID, now, h.State.Acted
		return
	}
	if now.Sub(p.chosenAt) >= p.pace.Turn {
		p.skipped[h.ID] = true
		p.chosenID = ""
	}
}

// thawPeers returns actions that continue runs whose supervisor should have done so and has not, because it is stopped or dead. The run of a dead
// supervisor waits only for its clean-up, and so is continued as soon as memory is not short.
func (p *policy) thawPeers(in input) []action {
	var acts []action
	there := map[string]bool{}
	for _, h := range in.holders {
		stamp := h.State.heldSince()
		if h.ID == p.self || stamp.IsZero() {
			continue
		}
		there[h.ID] = true
		k := p.heldBy[h.ID]
		if !k.stamp.Equal(stamp) {
			k = peerHold{stamp: stamp, first: in.now}
		}
		p.heldBy[h.ID] = k
		if !k.thawed && (p.isOverdue(in.now, h) || h.Dead && p.level < soft) {
			who := "its supervisor is stopped"
			if h.Dead {
				who = "its supervisor is dead"
			}
			acts = append(acts, action{kind: DoThawPeer, peer: h, reason: "run " + h.ID + " is held since " + stamp.Format(time.TimeOnly) + " and " + who})
		}
	}
	for id := range p.heldBy {
		if !there[id] {
			delete(p.heldBy, id)
		}
	}
	return acts
}

// isOverdue reports whether a peer has held its run for longer than it may, by the wall-clock time that it published, or by our own clock since we
// first saw that.
func (p *policy) isOverdue(now time.Time, h Holder) bool {
	stamp := h.State.heldSince()
	if stamp.IsZero() || h.ID == p.self {
		return false
	}
	late := p.pace.Hold + p.pace.PeerGrace
	k, known := p.heldBy[h.ID]
	return now.Sub(stamp) >= late || known && k.stamp.Equal(stamp) && now.Sub(k.first) >= late
}

// recordAction records that an action is about to be done to c, and returns the new state, which must be published before it is done.
func (p *policy) recordAction(now time.Time, k ActionKind, c Child) State {
	s := &p.state
	switch k {
	case DoStop:
		s.Stopped, s.StoppedSince = append(s.Stopped, c), now
	case DoFreeze:
		s.Frozen = now
	case DoThaw:
		s.Frozen = time.Time{}
	case DoContinue:
		s.Stopped, s.StoppedSince = nil, time.Time{}
	case DoWarn, DoThawPeer:
		return *s
	}
	s.Acted = now
	return *s
}

// undoAction takes back an action that could not be done, and returns the state. The run then rests, so that the action is not tried again at once
// and another run gets the turn.
func (p *policy) undoAction(now time.Time, k ActionKind) State {
	s := &p.state
	switch k {
	case DoStop:
		s.Stopped, s.StoppedSince = nil, time.Time{}
	case DoFreeze:
		s.Frozen = time.Time{}
	case DoThaw: // tried again after a pause
		s.Acted = now
		return *s
	case DoContinue, DoThawPeer, DoWarn:
		return *s
	}
	s.Rests = now.Add(p.pace.Rest)
	return *s
}

// recordNoVictim records that the run has no descendant large enough to stop or end: the whole run is the next to be frozen. In mode Kill the run
// rests, so that another one gets the turn, and a warning is returned.
func (p *policy) recordNoVictim(now time.Time, reason string) []action {
	p.said = min(p.said, 1)
	if p.state.Mode != Kill {
		p.childless = true
		return nil
	}
	p.state.Rests = now.Add(p.pace.Rest)
	return p.warnOnce(reason + "; it has no descendant worth ending")
}

// recordThawed records that we let the run of a peer go.
func (p *policy) recordThawed(id string) {
	if k, ok := p.heldBy[id]; ok {
		k.thawed = true
		p.heldBy[id] = k
	}
}
