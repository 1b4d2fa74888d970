package media_test

import (
	"bytes"
	"image/png"
	"testing"

	"github.com/petrock/petrock/skeleton/example/everything/media"
)

func TestPixel(t *testing.T) {
	file, err := media.Pixel()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := png.Decode(bytes.NewReader(file)); err != nil {
		t.Error(err)
	}
}

func TestSilence(t *testing.T) {
	if file := media.Silence(); len(file) != 44+80 || !bytes.HasPrefix(file, []byte("RIFF")) {
		t.Errorf(`got %d bytes: %q; want len(file) == 44+80 and file starting with []byte("RIFF")`, len(file), file[:12])
	}
}
