package basis

import "github.com/basisagent/basis/journal"

func (h *Home) performer(d Drive) func(*journal.Writer) (Performer, bool) { panic("x") }
