package simulator

import (
	"math/bits"
	"strconv"
	"time"
)

// dice is splitmix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators,
// 2014): no memory, so every part of every object has its own, and a part nobody asked for
// is never rolled.
type dice struct{ state uint64 }

// part names what a dice is for, so that parts of one object do not follow each other.
type part uint64

const (
	partTraits part = iota + 1
	partMeta
	partSpec
	partResources
	partStatus
	partHistory
	partOperation
	partProject
	partSet
	partCluster
	partTree
	partLogs
	partRevision
)

func newDice(seed uint64, p part, index uint64) dice {
	d := dice{state: seed ^ uint64(p)*0xd1342543de82ef95 ^ index*0x9e3779b97f4a7c15}
	d.next()
	return d
}

func (d *dice) next() uint64 {
	d.state += 0x9e3779b97f4a7c15
	z := d.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// intn returns a random number from 0 to n-1.
func (d *dice) intn(n int) int {
	hi, _ := bits.Mul64(d.next(), uint64(n))
	return int(hi)
}

// chance returns true n times of a thousand.
func (d *dice) chance(n int) bool { return d.intn(1000) < n }

// below returns the first of the limits that a random number below 1000 is below, or how many there are.
func (d *dice) below(limits ...int) int {
	k := d.intn(1000)
	for i, limit := range limits {
		if k < limit {
			return i
		}
	}
	return len(limits)
}

func (d *dice) of(words []string) string { return words[d.intn(len(words))] }

// hash returns a git commit's 40 digits.
func (d *dice) hash(b []byte) []byte {
	for range 2 {
		b = hex(b, d.next(), 16)
	}
	return hex(b, d.next(), 8)
}

// uid returns a random UUID of version 4.
func (d *dice) uid(b []byte) []byte {
	x, y := d.next(), d.next()
	b = append(hex(b, x, 8), '-')
	b = append(hex(b, x>>32, 4), '-', '4')
	b = append(hex(b, x>>48, 3), '-', "89ab"[y>>62])
	b = append(hex(b, y>>50, 3), '-')
	return hex(b, y, 12)
}

// stamp appends a moment of the months before the recorded one, from to to days before 20 November 2026.
func (d *dice) stamp(b []byte, from, to int) []byte {
	return moment(b, from+d.intn(to-from+1), d.intn(86400))
}

// moment appends a second of a day before 20 November 2026.
func moment(b []byte, daysAgo, second int) []byte {
	return time.Date(2026, 11, 20-daysAgo, 0, 0, second, 0, time.UTC).AppendFormat(b, time.RFC3339)
}

func stamped(daysAgo, second int) string {
	var b [len(time.RFC3339)]byte
	return string(moment(b[:0], daysAgo, second))
}

func (d *dice) commit() string {
	var b [40]byte
	return string(d.hash(b[:0]))
}

// created returns when an object was made.
func created(index int) string { return stamped(0, 10*3600+3*60+index%60) }

func hex(b []byte, x uint64, digits int) []byte {
	for range digits {
		b = append(b, "0123456789abcdef"[x&15])
		x >>= 4
	}
	return b
}

// cat appends strings.
func cat(b []byte, words ...string) []byte {
	for _, w := range words {
		b = append(b, w...)
	}
	return b
}

func number(b []byte, n int) []byte { return strconv.AppendInt(b, int64(n), 10) }
