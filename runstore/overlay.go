package runstore

import (
	"slices"
	"strings"
)

// reader is a consistent view of the stored frames. The two ends are a Badger
// snapshot and one held by the store's owner in another process; overlays
// stack on either.
type reader interface {
	// get returns the frame stored under key, nil if there is none.
	get(key string) ([]byte, error)
	// scan calls fn with the keys that begin with prefix and are > after, in
	// sequence, until fn returns false. value may be called during fn only.
	scan(prefix, after string, fn func(key string, value func() ([]byte, error)) (bool, error)) error
}

// overlay is a set of writes over a base that they do not change. A nil frame
// is a deletion.
type overlay struct {
	base   reader
	frames map[string][]byte
	keys   []string // of frames, sorted
	size   int      // bytes of keys and frames
}

func newOverlay(base reader) *overlay { return &overlay{base: base} }

func (o *overlay) put(key string, frame []byte) {
	old, ok := o.frames[key]
	if !ok {
		if o.frames == nil {
			o.frames = make(map[string][]byte)
		}
		i, _ := slices.BinarySearch(o.keys, key)
		o.keys = slices.Insert(o.keys, i, key)
		o.size += len(key)
	}
	o.size += len(frame) - len(old)
	o.frames[key] = frame
}

// absorb adds the writes of a later overlay.
func (o *overlay) absorb(later *overlay) {
	for _, k := range later.keys {
		o.put(k, later.frames[k])
	}
}

func (o *overlay) get(key string) ([]byte, error) {
	if f, ok := o.frames[key]; ok {
		return f, nil
	}
	return o.base.get(key)
}

// next is the overlay's first key with the prefix after last.
func (o *overlay) next(prefix, last string) (string, bool) {
	from, found := slices.BinarySearch(o.keys, max(prefix, last))
	if found && o.keys[from] == last {
		from++
	}
	if from < len(o.keys) && strings.HasPrefix(o.keys[from], prefix) {
		return o.keys[from], true
	}
	return "", false
}

// scan merges own writes, also those made while it runs, with the base.
func (o *overlay) scan(prefix, after string, fn func(string, func() ([]byte, error)) (bool, error)) error {
	last, stopped := after, false
	own := func(limit string, bounded bool) (bool, error) { // own keys before limit
		for {
			k, ok := o.next(prefix, last)
			if !ok || bounded && k >= limit {
				return true, nil
			}
			last = k
			f := o.frames[k]
			if f == nil {
				continue
			}
			if more, err := fn(k, func() ([]byte, error) { return f, nil }); !more || err != nil {
				return false, err
			}
		}
	}
	err := o.base.scan(prefix, after, func(k string, value func() ([]byte, error)) (bool, error) {
		more, err := own(k, true)
		if _, mine := o.frames[k]; more && err == nil && !mine {
			last = k
			more, err = fn(k, value)
		} else if more && err == nil {
			return true, nil // own write of k: comes with the next call of own
		}
		stopped = !more
		return more, err
	})
	if err != nil || stopped {
		return err
	}
	_, err = own("", false)
	return err
}
