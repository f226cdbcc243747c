package approvalgate

import (
	"slices"
	"time"

	"orderdesk/runstore"
)

const (
	// MaxGroup is how many requests of one group are kept in view.
	MaxGroup = 300
	// groupMemory is how long one that was carried out still counts.
	groupMemory = 24 * time.Hour
)

// GroupEntry is one request of a group that counts towards the group's total:
// open, or carried out within the last 24 hours.
type GroupEntry struct {
	Run        string
	Action     string
	Target     runstore.Target
	Amount     string
	Status     runstore.ActionStatus
	At         time.Time // when it was queued
	ExecutedAt time.Time // zero: not yet
}

// ledger is all there is of one group, one record under group/<id>, so that it
// is read with one Get in the transaction that queues.
type ledger struct {
	Entries []member `json:"entries"`
}

// member is a GroupEntry with short names: [MaxGroup] of them fit a record.
type member struct {
	Run      string                `json:"r"`
	Action   string                `json:"a"`
	Kind     string                `json:"k"`
	ID       string                `json:"i"`
	Amount   string                `json:"m,omitempty"`
	Status   runstore.ActionStatus `json:"s"`
	Queued   int64                 `json:"q"` // times in Unix nanoseconds
	Expires  int64                 `json:"e"`
	Executed int64                 `json:"x,omitempty"`
}

// counts reports whether m still matters at now. One past its expiry cannot be
// decided or sent any more, whether or not somebody has noted that.
func (m member) counts(now time.Time) bool {
	switch m.Status {
	case runstore.Pending, runstore.Approved:
		return now.UnixNano() < m.Expires
	case runstore.Executing, runstore.Unknown:
		return true
	case runstore.Executed:
		return now.UnixNano()-m.Executed < int64(groupMemory)
	}
	return false
}

func groupKey(group string) runstore.Key { return runstore.NewKey("group", group) }

// Group returns the requests of a group that count, over all runs, in the
// sequence in which they were queued.
func (g *Gate) Group(tx *runstore.Tx, group string) ([]GroupEntry, error) {
	if group == "" {
		return nil, nil
	}
	var l ledger
	if err := ignoreNotFound(tx.Get(groupKey(group), &l)); err != nil {
		return nil, err
	}
	var entries []GroupEntry
	for _, m := range l.Entries {
		if !m.counts(tx.Now()) {
			continue
		}
		e := GroupEntry{
			Run: m.Run, Action: m.Action, Amount: m.Amount, Status: m.Status,
			Target: runstore.Target{Kind: m.Kind, ID: m.ID, Group: group},
			At:     time.Unix(0, m.Queued).UTC(),
		}
		if m.Executed != 0 {
			e.ExecutedAt = time.Unix(0, m.Executed).UTC()
		}
		entries = append(entries, e)
	}
	return entries, nil
}

// note keeps the ledger of a's group in step with a's status and prunes it.
// amount is used when a is new.
func (g *Gate) note(tx *runstore.Tx, a *runstore.Action, amount string) error {
	if a.Target.Group == "" {
		return nil
	}
	k := groupKey(a.Target.Group)
	var l ledger
	if err := ignoreNotFound(tx.Get(k, &l)); err != nil {
		return err
	}
	m := member{
		Run: a.Run, Action: a.ID, Kind: a.Target.Kind, ID: a.Target.ID, Amount: amount,
		Status: a.Status, Queued: a.Queued.UnixNano(), Expires: a.Expires.UnixNano(),
	}
	if a.Status == runstore.Executed {
		m.Executed = tx.Now().UnixNano()
	}
	at := slices.IndexFunc(l.Entries, func(o member) bool { return o.Run == a.Run && o.Action == a.ID })
	if at >= 0 {
		m.Amount = l.Entries[at].Amount
		l.Entries[at] = m
	} else {
		l.Entries = append(l.Entries, m)
	}
	l.Entries = slices.DeleteFunc(l.Entries, func(o member) bool { return !o.counts(tx.Now()) })
	if len(l.Entries) == 0 {
		return tx.Delete(k)
	}
	return tx.Put(k, l)
}
