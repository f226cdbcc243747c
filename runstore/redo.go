package runstore

import (
	"encoding/binary"
)

// A step too large for one Badger transaction is written twice: first as redo
// records in as many transactions as it takes, then, after one record that
// makes them valid, under its own keys. A crash before that record leaves
// nothing of the step; after it, opening the store writes it again.
const (
	redoPrefix = metaKind + "/redo/"
	redoValid  = metaKind + "/redo-valid"
	redoChunk  = 512 << 10 // bytes of a redo record
)

// putLarge writes o all or nothing. It is not durable before sync.
func (e *engine) putLarge(o *overlay) error {
	chunks := redoChunks(o)
	for i, c := range chunks {
		k := redoPrefix + Seq(i)
		if err := e.put(oneRecord(k, seal(k, append(make([]byte, frameHead), c...)))); err != nil {
			return err
		}
		if err := e.sync(); err != nil {
			return err
		}
	}
	valid, err := sealJSON(redoValid, len(chunks))
	if err != nil {
		return err
	}
	if err := e.put(oneRecord(redoValid, valid)); err != nil {
		return err
	}
	if err := e.sync(); err != nil {
		return err
	}
	return e.applyRedo(chunks)
}

func oneRecord(key string, frame []byte) *overlay {
	o := newOverlay(nil)
	o.put(key, frame)
	return o
}

// applyRedo writes the records packed in chunks under their own keys and ends
// with the one transaction that makes the redo records void.
func (e *engine) applyRedo(chunks [][]byte) error {
	for _, c := range chunks {
		o, err := unpackRedo(c)
		if err != nil {
			return err
		}
		if err := e.put(o); err != nil {
			return err
		}
		if err := e.sync(); err != nil {
			return err
		}
	}
	void := oneRecord(redoValid, nil)
	for i := range chunks {
		void.put(redoPrefix+Seq(i), nil)
	}
	return e.put(void)
}

// finishRedo ends what a crash left of a large step: written to its end if it
// was valid, removed otherwise.
func (e *engine) finishRedo() error {
	txn := e.db.NewTransaction(false)
	defer txn.Discard()
	s := snapshot{txn}
	var chunks [][]byte
	err := s.scan(redoPrefix, redoPrefix, func(k string, value func() ([]byte, error)) (bool, error) {
		raw, err := value()
		if err != nil {
			return false, err
		}
		c, err := unseal(k, raw)
		chunks = append(chunks, c)
		return true, err
	})
	if err != nil || len(chunks) == 0 {
		return err
	}
	n, raw := -1, []byte(nil)
	if raw, err = s.get(redoValid); err == nil && raw != nil {
		err = decode(redoValid, raw, &n)
	}
	if err != nil {
		return err
	}
	if n < 0 {
		chunks, n = make([][]byte, len(chunks)), len(chunks)
	}
	if n != len(chunks) {
		return errRedo()
	}
	if err := e.applyRedo(chunks); err != nil {
		return err
	}
	return e.sync()
}

// redoChunks packs the writes of o. A write is the length of its key, the key,
// 1 plus the length of its frame, or 0 for a deletion, and the frame.
func redoChunks(o *overlay) [][]byte {
	var chunks [][]byte
	var c []byte
	for i, k := range o.keys {
		f := o.frames[k]
		if len(c)+len(k)+len(f) > redoChunk || i%(maxEntries/2) == 0 && c != nil {
			chunks, c = append(chunks, c), nil
		}
		c = append(binary.AppendUvarint(c, uint64(len(k))), k...)
		n := uint64(0)
		if f != nil {
			n = uint64(len(f)) + 1
		}
		c = append(binary.AppendUvarint(c, n), f...)
	}
	return append(chunks, c)
}

func unpackRedo(c []byte) (*overlay, error) {
	o := newOverlay(nil)
	for len(c) > 0 {
		var key, frame []byte
		n, w := binary.Uvarint(c)
		if w <= 0 || n > uint64(len(c)-w) {
			return nil, errRedo()
		}
		key, c = c[w:w+int(n)], c[w+int(n):]
		m, w := binary.Uvarint(c)
		if w <= 0 || m > uint64(len(c)-w)+1 {
			return nil, errRedo()
		}
		c = c[w:]
		if m > 0 {
			frame, c = c[:m-1:m-1], c[m-1:]
		}
		o.put(string(key), frame)
	}
	return o, nil
}

func errRedo() error {
	return &DamagedError{Path: redoValid, What: "the records of a large step are damaged or incomplete"}
}
