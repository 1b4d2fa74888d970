// Package media creates a minimal image and a minimal sound.
package media

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/color"
	"image/png"
)

// Pixel returns a red pixel as a PNG file.
func Pixel() ([]byte, error) {
	dot := image.NewRGBA(image.Rect(0, 0, 1, 1))
	dot.Set(0, 0, color.RGBA{R: 255, A: 255})
	var file bytes.Buffer
	err := png.Encode(&file, dot)
	return file.Bytes(), err
}

// Silence returns 10 ms of silence as a WAV file.
func Silence() []byte {
	const rate, samples = 8000, 80 // of one byte each
	file := []byte("RIFF")
	file = binary.LittleEndian.AppendUint32(file, 36+samples)
	file = append(file, "WAVEfmt "...)
	file = binary.LittleEndian.AppendUint32(file, 16)
	file = binary.LittleEndian.AppendUint16(file, 1) // not compressed
	file = binary.LittleEndian.AppendUint16(file, 1) // one channel
	file = binary.LittleEndian.AppendUint32(file, rate)
	file = binary.LittleEndian.AppendUint32(file, rate)
	file = binary.LittleEndian.AppendUint16(file, 1)
	file = binary.LittleEndian.AppendUint16(file, 8)
	file = append(file, "data"...)
	file = binary.LittleEndian.AppendUint32(file, samples)
	return append(file, bytes.Repeat([]byte{128}, samples)...)
}
