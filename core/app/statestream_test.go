package app

import (
	"bytes"
	"fmt"
	"testing"
	"time"
)

type bItem struct {
	ID        string    `json:"id"`
	Seq       int64     `json:"seq"`
	Title     string    `json:"title"`
	Note      *string   `json:"note,omitempty"`
	Count     int       `json:"count"`
	CreatedAt time.Time `json:"created_at"`
	UpdatedAt time.Time `json:"updated_at"`
}
type bState struct {
	Items map[string]*bItem `json:"items"`
	Order []string          `json:"order"`
}

func benchState(n int) *bState {
	s := &bState{Items: map[string]*bItem{}}
	for i := range n {
		id := fmt.Sprintf("%016d", i*7919%1000003)
		note := fmt.Sprint("a note of a sentence about item ", i)
		s.Items[id] = &bItem{id, int64(i), fmt.Sprint("item number of the backup ", i), &note, i % 100, time.Now().UTC(), time.Now().UTC()}
		s.Order = append(s.Order, id)
	}
	return s
}

func BenchmarkStateStream(b *testing.B) {
	s := benchState(200_000)
	var out bytes.Buffer
	b.Run("write", func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			out.Reset()
			if err := writeState(&out, s); err != nil {
				b.Fatal(err)
			}
		}
		b.SetBytes(int64(out.Len()))
	})
	b.Run("read", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(out.Len()))
		for range b.N {
			if err := readState(bytes.NewReader(out.Bytes()), new(bState)); err != nil {
				b.Fatal(err)
			}
		}
	})
}
