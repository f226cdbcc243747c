package runstore

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// A lane is one connection's sequence of commits. Its record holds the number
// of its last commit and is written with it: who lost the answer can look.
const lanePrefix = metaKind + "/lane/"

func laneKey(lane string) string { return lanePrefix + lane }

func laneName(instance string, n int64) string { return fmt.Sprintf("%s/%d", instance, n) }

func laneInstance(key string) string {
	name, _, _ := strings.Cut(strings.TrimPrefix(key, lanePrefix), "/")
	return name
}

var (
	errConflict = errors.New("what the step read has changed")
	errStale    = errors.New("the commit was settled before")
)

func lastCommit(r reader, lane string) (int, error) {
	raw, err := r.get(laneKey(lane))
	n := 0
	if err == nil && raw != nil {
		err = decode(laneKey(lane), raw, &n)
	}
	return n, err
}

func putLast(w *overlay, lane string, n int) error {
	frame, err := sealJSON(laneKey(lane), n)
	if err == nil {
		w.put(laneKey(lane), frame)
	}
	return err
}

// apply checks that nothing c read has changed and adds its writes to w.
func (c *commit) apply(w *overlay, _ time.Time) error {
	last, err := lastCommit(w, c.Lane)
	if err != nil {
		return err
	}
	if last != c.Last {
		return errStale
	}
	for _, g := range c.Gets {
		f, err := w.get(g.Key)
		if err != nil {
			return err
		}
		if sumFrame(f) != g.Sum {
			return errConflict
		}
	}
	for _, s := range c.Scans {
		if err := s.check(w); err != nil {
			return err
		}
	}
	for _, p := range c.Puts {
		if err := p.put(w); err != nil {
			return err
		}
	}
	return putLast(w, c.Lane, c.N)
}

func (s readScan) check(w *overlay) error {
	sum := newScanSum()
	err := w.scan(s.Prefix, s.After, func(k string, value func() ([]byte, error)) (bool, error) {
		if !s.End && k > s.Upto {
			return false, nil
		}
		f, err := value()
		sum.add(k, f)
		return s.End || k < s.Upto, err
	})
	if err == nil && sum.sum() != s.Sum {
		err = errConflict
	}
	return err
}

// put adds a write that came from outside.
func (p record) put(w *overlay) error {
	if !strings.HasPrefix(p.Key, lanePrefix) {
		kind, rest, _ := strings.Cut(p.Key, "/")
		var parts []string
		if rest != "" {
			parts = strings.Split(rest, "/")
		}
		if k := NewKey(kind, parts...); k.check() != nil || k.path != p.Key || kind == metaKind {
			return ErrBadKey
		}
	}
	if p.Gone {
		w.put(p.Key, nil)
		return nil
	}
	if _, err := unseal(p.Key, p.Frame); err != nil {
		return err
	}
	w.put(p.Key, p.Frame)
	return nil
}

// settle finds out whether the commit n of a lane was applied, and if not,
// makes sure that it never is. Its value n+1 tells the second from the first.
func settle(w *overlay, lane string, n int) (done bool, err error) {
	last, err := lastCommit(w, lane)
	if err != nil || last == n || last == n+1 {
		return last == n, err
	}
	return false, putLast(w, lane, n+1)
}
