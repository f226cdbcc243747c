package mcpserver

import (
	"sync"

	"orderdesk/runstore"
	"orderdesk/tools"
)

// held remembers whose the runs are that this process works on, so that not
// every call has to ask: an owner and a source never change. Whether the lease
// is still ours is asked by the step itself.
type held struct {
	mu   sync.Mutex
	runs map[string]heldRun
}

type heldRun struct {
	owner  string
	source runstore.Source
}

// maxHeld bounds what is remembered; then it begins anew.
const maxHeld = 4096

func (h *held) put(run *runstore.Run) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.runs == nil || len(h.runs) >= maxHeld {
		h.runs = map[string]heldRun{}
	}
	h.runs[run.ID] = heldRun{run.Owner, run.Source}
}

// of finds the source of a run that is who's.
func (h *held) of(id string, who tools.Principal) (runstore.Source, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	r, ok := h.runs[id]
	return r.source, ok && r.owner == who.Name
}

func (h *held) drop(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.runs, id)
}
