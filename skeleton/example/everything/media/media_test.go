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
		t.Errorf("it has %d bytes and starts with %q; want %d and RIFF", len(file), file[:12], 44+80)
	}
}
