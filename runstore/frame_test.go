package runstore

import (
	"bytes"
	"errors"
	"strings"
	"testing"
)

func TestFrame(t *testing.T) {
	key := "run/20261006"
	good, err := sealJSON(key, map[string]string{"text": "a<b & ü"})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(good[frameHead:len(good)-4]), `{"text":"a<b & ü"}`; got != want {
		t.Errorf("payload %s, want %s", got, want)
	}
	newer := seal(key, append(make([]byte, frameHead), "{}"...))
	newer[0] = recordVersion + 1
	newer = append(newer[:len(newer)-4], 0, 0, 0, 0)
	sum := frameSum(key, newer[:len(newer)-4])
	copy(newer[len(newer)-4:], []byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)})
	for _, c := range []struct {
		name, key string
		raw       []byte
		want      any
	}{
		{"as written", key, good, nil},
		{"STA-03 empty", key, []byte{}, new(*DamagedError)},
		{"STA-03 short", key, good[:len(good)-1], new(*DamagedError)},
		{"another key", "run/x", good, new(*DamagedError)},
		{"newer record", key, newer, new(*VersionError)},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := unseal(c.key, c.raw)
			if c.want == nil && err != nil || c.want != nil && !errors.As(err, c.want) {
				t.Errorf("got %v, want %T", err, c.want)
			}
		})
	}
}

// Any flipped bit shows.
func TestFrameFlips(t *testing.T) {
	good, _ := sealJSON("k", "some text")
	for i := range len(good) * 8 {
		raw := bytes.Clone(good)
		raw[i/8] ^= 1 << (i % 8)
		if _, err := unseal("k", raw); err == nil {
			t.Errorf("bit %d flipped, no error", i)
		}
	}
}

func TestRecordLimit(t *testing.T) {
	s := openTest(t, Options{InMemory: true})
	for _, c := range []struct {
		n    int
		want error
	}{{MaxRecord - 2, nil}, {MaxRecord - 1, ErrTooLarge}} {
		err := s.Update(t.Context(), func(tx *Tx) error { return tx.Put(NewKey("k"), strings.Repeat("x", c.n)) })
		if !errors.Is(err, c.want) {
			t.Errorf("%d characters: got %v, want %v", c.n, err, c.want)
		}
	}
}

func FuzzFrame(f *testing.F) {
	good, _ := sealJSON("k/1", map[string]int{"n": 1})
	f.Add("k/1", good)
	f.Add("", []byte{})
	f.Fuzz(func(t *testing.T, key string, raw []byte) {
		payload, err := unseal(key, raw)
		if err != nil {
			return
		}
		again := seal(key, append(make([]byte, frameHead), payload...))
		if !bytes.Equal(again, raw) {
			t.Errorf("%x decodes and encodes as %x", raw, again)
		}
	})
}

func FuzzRedo(f *testing.F) {
	o := newOverlay(nil)
	o.put("a/b", []byte("frame"))
	o.put("c", nil)
	f.Add(redoChunks(o)[0])
	f.Fuzz(func(t *testing.T, raw []byte) {
		o, err := unpackRedo(raw)
		if err != nil || len(o.keys) == 0 {
			return
		}
		again, err := unpackRedo(bytes.Join(redoChunks(o), nil))
		if err != nil || len(again.keys) != len(o.keys) {
			t.Errorf("%d writes, again %d: %v", len(o.keys), len(again.keys), err)
		}
	})
}

func FuzzLog(f *testing.F) {
	f.Add([]byte("\x80\x00\x13\x01\x00!badger!txn\x00\x00\x00\x00\x00\x00\x00\x01\x31\x00\x00\x00\x00"))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if end := logValid(raw); end > len(raw) {
			t.Errorf("valid up to %d of %d bytes", end, len(raw))
		}
		countEnds(raw)
	})
}

func TestSTA11_KeysFromUserText(t *testing.T) {
	s := openTest(t, Options{InMemory: true})
	secret := strings.Repeat("person 4711   ", 4644)
	for _, part := range []string{secret[:65001], "", "!badger!", "a/b", "ü", "a b", strings.Repeat("x", 65), "a\x00"} {
		k := NewKey("note", part)
		err := s.Update(t.Context(), func(tx *Tx) error { return tx.Put(k, 1) })
		if !errors.Is(err, ErrBadKey) {
			t.Errorf("put: got %.80v, want ErrBadKey", err)
		}
		err = s.View(t.Context(), func(tx *Tx) error {
			var n int
			get, scan := tx.Get(k, &n), tx.Scan(k, "", nil)
			if !errors.Is(get, ErrBadKey) || !errors.Is(scan, ErrBadKey) {
				t.Errorf("get %.80v, scan %.80v, want ErrBadKey", get, scan)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		if strings.Contains(k.String(), "person") {
			t.Error("the key shows the text")
		}
	}
	for _, kind := range []string{"", metaKind} {
		if err := s.Update(t.Context(), func(tx *Tx) error { return tx.Put(NewKey(kind, "id"), 1) }); !errors.Is(err, ErrBadKey) {
			t.Errorf("kind %q: got %v, want ErrBadKey", kind, err)
		}
	}
}

func TestSeqSorts(t *testing.T) {
	last := ""
	for _, n := range []int{0, 1, 9, 10, 99, 100, 4294967295, 9999999999} {
		if s := Seq(n); s <= last || len(s) != 10 {
			t.Errorf("Seq(%d) = %q after %q", n, s, last)
		} else {
			last = s
		}
	}
}
