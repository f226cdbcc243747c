package runstore

import (
	"fmt"
	"strings"
	"time"
)

// Tx is a transaction: one consistent state of the store and, in
// [Store.Update], the writes of one step on top of it. It must not be used
// after its function has returned, nor by several goroutines at once.
type Tx struct {
	state  reader
	writes *overlay // nil: read-only
	now    time.Time
}

// Now is the time of the transaction in UTC. It never goes back, whatever the
// machine's clock does: it is at or after every time the store has seen.
func (tx *Tx) Now() time.Time { return tx.now }

// Get decodes the record k into v. Errors: [ErrNotFound], [*DamagedError] when
// the stored bytes are not what was written, [*VersionError].
func (tx *Tx) Get(k Key, v any) error {
	if err := k.check(); err != nil {
		return err
	}
	raw, err := tx.state.get(k.path)
	if err != nil {
		return err
	}
	if raw == nil {
		return fmt.Errorf("%w: %s", ErrNotFound, k.path)
	}
	return decode(k.path, raw, v)
}

// Put saves v as JSON under k. Errors: [ErrTooLarge] above [MaxRecord],
// [ErrReadOnlyTx].
func (tx *Tx) Put(k Key, v any) error {
	if err := tx.writable(k); err != nil {
		return err
	}
	raw, err := sealJSON(k.path, v)
	if err != nil {
		return fmt.Errorf("record %s: %w", k.path, err)
	}
	return tx.write(k.path, raw)
}

// Delete removes the record k; a missing one is no error.
func (tx *Tx) Delete(k Key) error {
	if err := tx.writable(k); err != nil {
		return err
	}
	return tx.write(k.path, nil)
}

// Scan calls fn with every record whose key is prefix/rest, in the sequence of
// their keys and starting after rest == after, until fn returns false. get
// decodes the record; it may be called during fn only. The transaction's own
// writes are seen, also those fn makes further on.
func (tx *Tx) Scan(prefix Key, after string, fn func(rest string, get func(v any) error) (more bool, err error)) error {
	if err := prefix.check(); err != nil {
		return err
	}
	p := prefix.path + "/"
	return tx.state.scan(p, p+after, func(key string, value func() ([]byte, error)) (bool, error) {
		return fn(key[len(p):], func(v any) error {
			raw, err := value()
			if err != nil {
				return err
			}
			return decode(key, raw, v)
		})
	})
}

func (tx *Tx) writable(k Key) error {
	if tx.writes == nil {
		return ErrReadOnlyTx
	}
	if strings.HasPrefix(k.path, metaKind+"/") {
		return ErrBadKey
	}
	return k.check()
}

func (tx *Tx) write(key string, raw []byte) error {
	tx.writes.put(key, raw)
	if tx.writes.size > maxStep {
		return fmt.Errorf("step of over %d MiB: %w", maxStep>>20, ErrTooLarge)
	}
	return nil
}
