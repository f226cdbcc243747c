package runstore

import (
	"encoding/json"
	"time"
)

// AuditEntry is one line of the store's audit log: what was done, by whom, to
// what. Entries are numbered without gaps and never changed.
type AuditEntry struct {
	Seq    int             `json:"seq"`
	At     time.Time       `json:"at"` // UTC
	What   string          `json:"what"`
	By     string          `json:"by"`
	Run    string          `json:"run,omitempty"`
	Action string          `json:"action,omitempty"`
	Data   json.RawMessage `json:"data,omitempty"`
}

// Audit appends an entry in the same commit as what it tells of.
func (tx *Tx) Audit(e AuditEntry, data any) error {
	raw, err := json.Marshal(data)
	if err != nil {
		return err
	}
	c, err := tx.counters()
	if err != nil {
		return err
	}
	c.Audit++
	e.Seq, e.At, e.Data = c.Audit, tx.Now(), raw
	if err := tx.Put(countersKey(), c); err != nil {
		return err
	}
	return tx.Put(NewKey("audit", Seq(e.Seq)), e)
}

// AuditEntries calls fn with the log's entries after number after, in
// sequence, until fn returns false.
func (tx *Tx) AuditEntries(after int, fn func(AuditEntry) bool) error {
	from := ""
	if after > 0 {
		from = Seq(after)
	}
	return tx.Scan(NewKey("audit"), from, func(_ string, get func(any) error) (bool, error) {
		var e AuditEntry
		if err := get(&e); err != nil {
			return false, err
		}
		return fn(e), nil
	})
}
