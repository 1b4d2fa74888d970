package mcpcli

import (
	"errors"
	"fmt"
	"io/fs"
	"mime"
	"os"
	"path/filepath"
	"strings"
)

// mostFiles limits the files of one name in a folder.
const mostFiles = 10_000

// save writes data to a new file in a folder, and returns its path. It creates the folder if it does not exist. The file's name is
// derived from name and the MIME type. save never overwrites a file, and never follows a link out of the folder:
// fileName has no separators, and O_EXCL refuses links.
func save(dir, name, mimeType string, data []byte) (string, error) {
	if dir == "" {
		dir = "."
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("writing what the server sent: %w", err)
	}
	stem, ending := fileName(name, mimeType)
	for n := 1; n <= mostFiles; n++ {
		file := stem + ending
		if n > 1 {
			file = fmt.Sprintf("%s-%d%s", stem, n, ending)
		}
		f, err := os.OpenFile(filepath.Join(dir, file), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", fmt.Errorf("writing what the server sent: %w", err)
		}
		_, err = f.Write(data)
		return filepath.Join(dir, file), errors.Join(err, f.Close())
	}
	return "", fmt.Errorf("writing what the server sent: %[4]s has %[1]d files called %[2]s%[3]s; use another folder with --out", mostFiles, stem, ending, dir)
}

// fileName returns a name that is valid on every system, and its extension.
func fileName(name, mimeType string) (stem, ending string) {
	const longest = 60
	stem = strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9', r == '-', r == '_', r == '.':
			return r
		}
		return '_'
	}, name)
	ending = endingOf(mimeType)
	if own := filepath.Ext(stem); own != "" && len(own) <= 8 && (ending == ".bin" || strings.EqualFold(own, ending)) {
		ending = own
	}
	stem = strings.Trim(strings.TrimSuffix(stem, ending), "._")
	if len(stem) > longest {
		stem = stem[:longest]
	}
	switch strings.ToUpper(stem) {
	case "", "CON", "PRN", "AUX", "NUL":
		stem = "output"
	}
	return stem, ending
}

// endingOf returns the file extension for a MIME type.
func endingOf(mimeType string) string {
	kind, _, err := mime.ParseMediaType(mimeType)
	if err != nil {
		return ".bin"
	}
	// The systems' own tables differ from machine to machine.
	const known = "image/png .png image/jpeg .jpg image/gif .gif image/webp .webp image/svg+xml .svg image/bmp .bmp image/tiff .tiff " +
		"audio/wav .wav audio/x-wav .wav audio/mpeg .mp3 audio/ogg .ogg audio/flac .flac audio/mp4 .m4a " +
		"video/mp4 .mp4 video/webm .webm application/pdf .pdf application/json .json application/zip .zip " +
		"application/gzip .gz text/plain .txt text/html .html text/csv .csv text/markdown .md "
	if _, rest, ok := strings.Cut(" "+known, " "+kind+" "); ok {
		ending, _, _ := strings.Cut(rest, " ")
		return ending
	}
	return ".bin"
}

// lastPart returns the last part of a URI that is not empty.
func lastPart(uri string) string {
	if at := strings.IndexAny(uri, "?#"); at >= 0 {
		uri = uri[:at]
	}
	uri = strings.TrimRight(uri, "/")
	return uri[strings.LastIndexAny(uri, "/:")+1:]
}
