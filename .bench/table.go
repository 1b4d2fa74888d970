package main

import (
	"strings"
	"unicode/utf8"
)

// table writes rows as Markdown, with columns that line up in plain text as well. The
// first row is the header; the first column is aligned to the left, the others to the
// right. All rows must have as many cells as the first.
func table(rows [][]string) string {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell), len("-:"))
		}
	}
	var b strings.Builder
	for n, row := range rows {
		for i, cell := range row {
			b.WriteString("| " + pad(cell, widths[i], i == 0) + " ")
		}
		b.WriteString("|\n")
		if n == 0 {
			b.WriteString(ruler(widths))
		}
	}
	return b.String()
}

// ruler is the line below the header.
func ruler(widths []int) string {
	var b strings.Builder
	for i, width := range widths {
		if i == 0 {
			b.WriteString("|" + strings.Repeat("-", width+2))
		} else {
			b.WriteString("|" + strings.Repeat("-", width+1) + ":")
		}
	}
	return b.String() + "|\n"
}

func pad(cell string, width int, left bool) string {
	blanks := strings.Repeat(" ", width-utf8.RuneCountInString(cell))
	if left {
		return cell + blanks
	}
	return blanks + cell
}
