package journal

import (
	"slices"
	"testing"
	"time"
)

// JRN-76: looks at an idle journal get fewer, down to one in 4 s, and as many as
// at first again once something happens.
func TestLooksGetFewer(t *testing.T) {
	var got []time.Duration
	rest := defaultTick
	for _, active := range []bool{true, false, false, false, false, false, true, false} {
		rest = calm(rest, defaultTick, active)
		got = append(got, rest/time.Millisecond)
	}
	if want := []time.Duration{250, 500, 1000, 2000, 4000, 4000, 250, 500}; !slices.Equal(got, want) {
		t.Errorf("the looks are %d ms apart, want %d", got, want)
	}
}
