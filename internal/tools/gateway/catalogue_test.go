package gateway

import (
	"fmt"
	"testing"
)

func TestListsAreRememberedOnceAndForABoundedNumberOfPrincipals(t *testing.T) {
	c := NewCatalogue()
	list := func(sum byte) *toolList {
		return &toolList{sum: [32]byte{sum}, traits: map[string]toolTraits{"a": {readOnly: sum == 1}}}
	}
	for i := range 3 * maxPrincipals {
		c.put(fmt.Sprint("p", i), list(1))
	}
	c.put("other", list(2))
	if len(c.of) > maxPrincipals || len(c.byUse) > maxPrincipals {
		t.Errorf("%d principals are remembered", len(c.of))
	}
	a, _ := c.get(fmt.Sprint("p", 3*maxPrincipals-1))
	b, _ := c.get(fmt.Sprint("p", 3*maxPrincipals-2))
	other, _ := c.get("other")
	if a == nil || a != b || other == a || other.trait("a").readOnly || !a.trait("a").readOnly {
		t.Error("equal lists are not one, or different ones are")
	}
	if gone, _ := c.get("p0"); gone != nil {
		t.Error("the first principal is still remembered")
	}
	c.changed()
	if _, stale := c.get("other"); !stale {
		t.Error("after a change the list is not stale")
	}
}
