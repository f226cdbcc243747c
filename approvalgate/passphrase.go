package approvalgate

import (
	"crypto/rand"
	"crypto/subtle"
	"errors"
	"unicode/utf8"

	"golang.org/x/crypto/argon2"
)

// Cost is what one argon2id hash costs. It is kept with every passphrase, so
// that raising it leaves the old ones valid.
type Cost struct {
	Time      uint32 `json:"time"`       // passes
	MemoryKiB uint32 `json:"memory_kib"` // memory
	Threads   uint8  `json:"threads"`
}

// DefaultCost is the second recommendation of RFC 9106: 3 passes, 64 MiB, 4 lanes.
func DefaultCost() Cost { return Cost{Time: 3, MemoryKiB: 64 << 10, Threads: 4} }

// sane keeps a damaged record from asking for all memory there is.
func (c Cost) sane() bool {
	return c.Time >= 1 && c.Time <= 64 && c.Threads >= 1 && c.MemoryKiB >= 8 && c.MemoryKiB <= 1<<20
}

// secret is what is kept of a passphrase.
type secret struct {
	Cost Cost   `json:"cost"`
	Salt []byte `json:"salt"`
	Key  []byte `json:"key"`
}

const (
	saltSize = 16
	keySize  = 32

	minPassphrase = 8    // characters
	maxPassphrase = 1024 // bytes
)

var errDamagedSecret = errors.New("the stored passphrase of this approver is damaged; remove the approver and add it again")

func passphraseProblem(p string) string {
	switch {
	case utf8.RuneCountInString(p) < minPassphrase:
		return "has fewer than 8 characters"
	case len(p) > maxPassphrase:
		return "has more than 1024 bytes"
	}
	return ""
}

func newSecret(passphrase string, c Cost) secret {
	s := secret{Cost: c, Salt: make([]byte, saltSize)}
	_, _ = rand.Read(s.Salt) // never fails
	s.Key = argon2.IDKey([]byte(passphrase), s.Salt, c.Time, c.MemoryKiB, c.Threads, keySize)
	return s
}

// matches takes its time whether or not it matches.
func (s secret) matches(passphrase string) (bool, error) {
	if !s.Cost.sane() || len(s.Salt) != saltSize || len(s.Key) != keySize {
		return false, errDamagedSecret
	}
	key := argon2.IDKey([]byte(passphrase), s.Salt, s.Cost.Time, s.Cost.MemoryKiB, s.Cost.Threads, keySize)
	return subtle.ConstantTimeCompare(key, s.Key) == 1, nil
}
