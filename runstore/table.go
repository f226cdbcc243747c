package runstore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"

	"github.com/dgraph-io/badger/v4/fb"
	"github.com/klauspost/compress/s2"
)

// verify checks the checksums of a table file without Badger, which would end
// the process over a damaged one. A table is its
// blocks, their index, the index's length (4 bytes), its checksum, and the
// checksum's length (4 bytes); a block ends with checksum and length likewise.
// Unless all is set only index and last block are read, as Badger does to open
// the table.
func (d dbTable) verify(all bool) (err error) {
	damaged := func(what string) error { return &DamagedError{Path: d.path, What: what} }
	defer func() {
		if v := recover(); v != nil { // the index passed its checksum and still leads nowhere
			err = damaged(fmt.Sprint("it does not decode: ", v))
		}
	}()
	f, err := os.Open(d.path)
	if err != nil {
		return damaged("it cannot be read: " + err.Error())
	}
	defer f.Close()
	index, err := readIndex(f)
	if err != nil {
		return damaged("its index " + err.Error())
	}
	t := fb.GetRootAsTableIndex(index, 0)
	from := t.OffsetsLength() - 1
	if all {
		from = 0
	}
	for i := from; i < t.OffsetsLength(); i++ {
		var at fb.BlockOffset
		t.Offsets(&at, i)
		block := make([]byte, at.Len())
		if _, err := f.ReadAt(block, int64(at.Offset())); err != nil {
			return damaged(fmt.Sprintf("block %d cannot be read: %v", i, err))
		}
		if err := d.checkBlock(block); err != nil {
			return damaged(fmt.Sprintf("block %d %v", i, err))
		}
	}
	return nil
}

func (d dbTable) checkBlock(block []byte) error {
	if d.plain {
		return checkSummed(block)
	}
	if n, err := s2.DecodedLen(block); err != nil || n > maxBlock {
		return errPack
	}
	block, err := s2.Decode(nil, block)
	if err != nil {
		return errPack
	}
	return checkSummed(block)
}

const maxBlock = 4 << 20 // bytes; a block holds 4 KiB, or one large record

var (
	errCut  = errors.New("is cut short")
	errSum  = errors.New("fails its checksum")
	errPack = errors.New("does not decompress")
)

// checkSummed checks data, sum, length of sum.
func checkSummed(b []byte) error {
	body, sum, err := splitSum(b)
	if err == nil && uint64(crc32.Checksum(body, castagnoli())) != sum {
		err = errSum
	}
	return err
}

// splitSum takes the checksum off the end of b.
func splitSum(b []byte) (body []byte, sum uint64, err error) {
	if len(b) < 4 {
		return nil, 0, errCut
	}
	n := int64(binary.BigEndian.Uint32(b[len(b)-4:]))
	b = b[:len(b)-4]
	if n > int64(len(b)) {
		return nil, 0, errCut
	}
	raw := b[int64(len(b))-n:]
	for len(raw) > 0 { // a protocol buffer: field 1 the algorithm (CRC-32C is 0), field 2 the sum
		v, w := binary.Uvarint(raw[1:])
		if w <= 0 || raw[0] == 0x08 && v != 0 {
			return nil, 0, errSum
		}
		if raw[0] == 0x10 {
			sum = v
		}
		raw = raw[1+w:]
	}
	return b[:int64(len(b))-n], sum, nil
}

// readIndex reads the end of a table file: its index, checked.
func readIndex(f *os.File) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	tail := make([]byte, min(info.Size(), 64))
	if _, err := f.ReadAt(tail, info.Size()-int64(len(tail))); err != nil {
		return nil, err
	}
	head, sum, err := splitSum(tail)
	if err != nil || len(head) < 4 {
		return nil, errCut
	}
	n := int64(binary.BigEndian.Uint32(head[len(head)-4:]))
	at := info.Size() - int64(len(tail)-len(head)) - 4 - n
	if at < 0 {
		return nil, errCut
	}
	index := make([]byte, n)
	if _, err := f.ReadAt(index, at); err != nil {
		return nil, err
	}
	if uint64(crc32.Checksum(index, castagnoli())) != sum {
		return nil, errSum
	}
	return index, nil
}
