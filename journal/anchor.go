package journal

import "encoding/hex"

// marks checks anchors while a journal is walked once.
type marks struct {
	open []Anchor
}

func newMarks(anchors []Anchor) *marks {
	m := &marks{}
	for _, a := range anchors {
		if a.Seq > 0 {
			m.open = append(m.open, a)
		}
	}
	return m
}

// look strikes out the anchors that e, stored as line, confirms.
func (m *marks) look(e entry, line []byte) {
	for i := 0; i < len(m.open); {
		if m.open[i].Seq != e.seq || !m.open[i].names(line) {
			i++
			continue
		}
		m.open = append(m.open[:i], m.open[i+1:]...)
	}
}

// missing returns an anchor that was not confirmed.
func (m *marks) missing() (Anchor, bool) {
	if len(m.open) == 0 {
		return Anchor{}, false
	}
	return m.open[0], true
}

// names says whether the head's link is that of a stored line.
func (h Head) names(line []byte) bool {
	link := linkOf(line)
	return h.Link == hex.EncodeToString(link[:])
}
